package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/render/phrase"
)

// A Cache is the allocator's cache at one time.
type Cache struct {
	Track *align.Track
	From  int64  // ns; start of the report, from which people count
	When  string // why it was looked at
	*align.Cache
}

func (c *Cache) track() *align.Track { return c.Track }

func (c *Cache) place() Place { return Place{c.Track, c.Iteration, c.Phase} }

// misfit says "yes" where enough was free, but in no single block.
func (c *Cache) misfit() string {
	if c.Misfit() {
		return "yes"
	}
	return ""
}

// Caches has a row for each state of the cache.
var Caches = &define(slices.Concat(
	trackColumns((*Cache).track),
	placeColumns((*Cache).place),
	[]Column[*Cache]{
		iterationName((*Cache).place),
		{Key: "when", Head: "when", Text: func(c *Cache) string { return c.When }},
		{Key: "time_ns", Unit: Time, Int: func(c *Cache) int64 { return c.Time }},
		{Key: "at_ns", Head: "at", Unit: Time, Int: func(c *Cache) int64 { return c.Time - c.From }},
		{Key: "in", Head: "in", Text: func(c *Cache) string { return phrase.CachePlace(c.Track, c.Cache) }},
		unknown(Column[*Cache]{Key: "request_bytes", Head: "request", Unit: Bytes, Int: func(c *Cache) int64 { return c.Request }}),
		{Key: "free_bytes", Head: "free in cache", Unit: Bytes, Bar: true, Int: func(c *Cache) int64 { return c.Free }},
		{Key: "largest_free_bytes", Head: "largest free block", Unit: Bytes, Bar: true, Int: func(c *Cache) int64 { return c.LargestFree }},
		{Key: "misfit", Head: "enough free, in no block", Text: (*Cache).misfit},
		{Key: "stuck_bytes", Head: "stuck", Unit: Bytes, Int: func(c *Cache) int64 { return c.Stuck }},
		{Key: "allocated_bytes", Head: "allocated", Unit: Bytes, Int: func(c *Cache) int64 { return c.Allocated }},
		{Key: "reserved_bytes", Head: "reserved", Unit: Bytes, Int: func(c *Cache) int64 { return c.Reserved }},
		optional(Column[*Cache]{Key: "device_free_bytes", Head: "free on the card", Unit: Bytes, Int: func(c *Cache) int64 { return c.DeviceFree }}),
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

// FailedCaches are the states of the cache at some requests that could not be served.
func FailedCaches(rep *align.Report, t *align.Track, failures []align.Holding) []*Cache {
	var out []*Cache
	for i := range failures {
		if c := failures[i].Cache; c != nil {
			out = append(out, &Cache{t, rep.Source.Start, "", c})
		}
	}
	return out
}

// Misfits are the states of the cache when a segment was added although enough was free.
func Misfits(rep *align.Report, t *align.Track) []*Cache {
	var out []*Cache
	for i := range t.Tensors.Growth {
		if c := &t.Tensors.Growth[i]; c.Misfit() {
			out = append(out, &Cache{t, rep.Source.Start, "", c})
		}
	}
	return out
}

// CacheGrid is the table of the cache of all tracks: at the peak of what it reserved, at each failed request and at each
// segment that was added.
func CacheGrid(rep *align.Report) Grid {
	var all []*Cache
	for _, t := range rep.Tracks {
		ten := t.Tensors
		if ten == nil {
			continue
		}
		add := func(when string, c *align.Cache) {
			if c != nil {
				all = append(all, &Cache{t, rep.Source.Start, when, c})
			}
		}
		add("reserved peak", ten.AtReserved)
		for i := range ten.Failures {
			add(failedRequest(i), ten.Failures[i].Cache)
		}
		for i := range ten.Growth {
			add("segment added", &ten.Growth[i])
		}
	}
	return Rows(Caches.Columns(Workbook), all)
}
