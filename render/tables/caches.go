package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/render/phrase"
)

// A Cache is the allocator's cache at one time.
type Cache struct {
	When string // why it was looked at
	*tensor.Cache
}

type cacheRow = Row[Cache]

func cachePlace(c *Cache) (int, string) { return c.Iteration, c.Phase }

// misfit says "yes" where enough was free, but in no single block.
func misfit(r *cacheRow) string {
	if r.Item.Misfit() {
		return "yes"
	}
	return ""
}

// Caches has a row for each state of the cache.
var Caches = define(slices.Concat(trackColumns[Cache](), placed(cachePlace), []Column[*cacheRow]{
	optional(iterationName("iteration", cachePlace)),
	{Key: "when", Head: "when", Text: func(r *cacheRow) string { return r.Item.When }},
	{Key: "time_ns", Unit: Time, Int: func(r *cacheRow) int64 { return r.Item.Time }},
	{Key: "at_ns", Head: "at", Unit: Time, Int: func(r *cacheRow) int64 { return r.after(r.Item.Time) }},
	{Key: "in", Head: "in", Text: func(r *cacheRow) string { return phrase.At(r.Track, r.Item.Iteration, r.Item.Phase) }},
	unknown(Column[*cacheRow]{Key: "request_bytes", Head: "request", Unit: Bytes, Int: func(r *cacheRow) int64 { return r.Item.Request }}),
	{Key: "free_bytes", Head: "free in cache", Unit: Bytes, Bar: true, Int: func(r *cacheRow) int64 { return r.Item.Free }},
	{Key: "largest_free_bytes", Head: "largest free block", Unit: Bytes, Bar: true, Int: func(r *cacheRow) int64 { return r.Item.LargestFree }},
	{Key: "misfit", Head: "enough free, in no block", Text: misfit},
	{Key: "stuck_bytes", Head: "stuck", Unit: Bytes, Int: func(r *cacheRow) int64 { return r.Item.Stuck }},
	{Key: "allocated_bytes", Head: "allocated", Unit: Bytes, Int: func(r *cacheRow) int64 { return r.Item.Allocated }},
	{Key: "reserved_bytes", Head: "reserved", Unit: Bytes, Int: func(r *cacheRow) int64 { return r.Item.Reserved }},
	optional(Column[*cacheRow]{Key: "device_free_bytes", Head: "free on the card", Unit: Bytes, Int: func(r *cacheRow) int64 { return r.Item.DeviceFree }}),
}), Views{
	Terminal: "at_ns:5, in:2/16, request_bytes, free_bytes=free, largest_free_bytes=largest free, stuck_bytes:8, allocated_bytes:7, " +
		"reserved_bytes:4, device_free_bytes:3",
	Markdown: "in, at_ns, request_bytes, free_bytes=Free, largest_free_bytes=Largest free, stuck_bytes, allocated_bytes, reserved_bytes, device_free_bytes",
	JSON: "time_ns, iteration_name=iteration, phase, request_bytes, allocated_bytes, reserved_bytes, free_bytes, largest_free_bytes, " +
		"stuck_bytes, device_free_bytes",
	Workbook: "pid, device, when, at_ns, iteration, phase, from, request_bytes, free_bytes, largest_free_bytes, misfit, stuck_bytes, " +
		"allocated_bytes, reserved_bytes, device_free_bytes, request_bytes!, free_bytes!, largest_free_bytes!, stuck_bytes!, " +
		"allocated_bytes!, reserved_bytes!",
})[0]

// FailedCaches are the rows of the cache at some requests of a track that could not be served.
func FailedCaches(rep *align.Report, t *align.Track, failures []tensor.Holding) []*Row[Cache] {
	var out []*cacheRow
	for i := range failures {
		if c := failures[i].Cache; c != nil {
			out = append(out, &cacheRow{Report: rep, Track: t, Item: &Cache{failedRequest(i), c}})
		}
	}
	return out
}

// GrowthCaches are the rows of the cache when a segment was added to it.
func GrowthCaches(rep *align.Report, t *align.Track) []*Row[Cache] {
	var out []*cacheRow
	for i := range t.Tensors.Growth {
		out = append(out, &cacheRow{Report: rep, Track: t, Item: &Cache{"segment added", &t.Tensors.Growth[i]}})
	}
	return out
}

// CacheGrid is the table of the cache of all tracks: at the peak of what it reserved, at each failed request and at each
// segment that was added.
func CacheGrid(rep *align.Report) Grid {
	return trackRows(rep, Caches.Columns(Workbook), func(t *align.Track) []*cacheRow {
		ten := t.Tensors
		if ten == nil {
			return nil
		}
		var rows []*cacheRow
		if ten.AtReserved != nil {
			rows = append(rows, &cacheRow{Report: rep, Track: t, Item: &Cache{"reserved peak", ten.AtReserved}})
		}
		return slices.Concat(rows, FailedCaches(rep, t, ten.Failures), GrowthCaches(rep, t))
	})
}
