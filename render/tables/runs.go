package tables

import (
	"slices"

	"nsysmem/align"
)

// A Run is one track of one report among those of many.
type Run struct {
	Label         string // tells it from the others
	Rank          int64  // -1 where unknown
	Group         string // shared by the ranks of one job; empty without rank
	Path          string // of the report
	Source        *align.Source
	Collected     *align.Collected
	Track         *align.Track // without its iterations and phases
	Iterations    int          // how many it has
	PeakIteration string       // name of the iteration with the device level's peak; empty outside iterations
	PeakBy        align.PeakBy // what made it there
	Findings      []string     // severity and text
	Warnings      []string
}

func (r *Run) collected() *align.Collected { return r.Collected }

// peakIn is where the device level of a run was highest.
func (r *Run) peakIn() string {
	switch {
	case r.PeakIteration == "":
		return "outside iterations"
	case r.PeakBy.Phase == "":
		return r.PeakIteration
	}
	return r.PeakIteration + ", " + r.PeakBy.String()
}

// peakOf is the peak of a level beside the device level.
func peakOf(key, head string, kind align.LevelKind) Column[*Run] {
	return Column[*Run]{Key: key, Head: head, Unit: Bytes, Int: func(r *Run) int64 { return r.Track.Level(kind).Peak },
		Known: func(r *Run) bool { return r.Track.Level(kind) != nil }}
}

func hasDevice(r *Run) bool { return r.Collected.Memory && r.Track.Level(align.LevelDevice) != nil }

func hasPool(r *Run) bool { return r.Track.Pool != nil }

// owner are the columns that say whose row it is, of runs and of all that runs have.
var owner = []Column[*Run]{
	{Key: "run", Head: "run", Text: func(r *Run) string { return r.Label }},
	{Key: "rank", Head: "rank", Unit: ID, Int: func(r *Run) int64 { return r.Rank }, Known: func(r *Run) bool { return r.Rank >= 0 }},
	{Key: "pid", Head: "process", Unit: ID, Int: func(r *Run) int64 { return r.Track.PID }},
	{Key: "device", Head: "device (as the process sees it)", Unit: ID, Int: func(r *Run) int64 { return r.Track.Device }},
}

var runs = slices.Concat(owner, []Column[*Run]{
	{Key: "rank_group", Text: func(r *Run) string { return r.Group }},
	{Key: "report", Head: "report", Text: func(r *Run) string { return r.Path }},
	{Key: "process", Head: "process name", Text: func(r *Run) string { return r.Track.Process }},
	{Key: "device_name", Head: "device name", Text: func(r *Run) string { return r.Track.DeviceName }},
	{Key: "device_uuid", Head: "device UUID", Text: func(r *Run) string { return r.Track.DeviceUUID }},
	{Key: "device_total_bytes", Head: "device memory", Unit: Bytes, Int: func(r *Run) int64 { return r.Track.DeviceTotal },
		Known: func(r *Run) bool { return r.Track.DeviceTotal > 0 }},
	{Key: "nsys_version", Head: "Nsight Systems", Text: func(r *Run) string { return r.Source.NsysVersion }},
	{Key: "export_schema", Text: func(r *Run) string { return r.Source.SchemaVersion }},
	{Key: "start_utc_ns", Unit: Time, Int: func(r *Run) int64 { return r.Source.StartUTC }, Known: func(r *Run) bool { return r.Source.StartUTC != 0 }},
	{Key: "duration_ns", Head: "recorded", Unit: Time, Int: func(r *Run) int64 { return r.Source.Duration() }},
	{Key: "iterations_from", Head: "found by", Text: func(r *Run) string { return string(r.Track.IterationsFrom.How) }},
	{Key: "iterations_pattern", Text: func(r *Run) string { return r.Track.IterationsFrom.Pattern }},
	{Key: "iterations_confidence", Unit: Ratio, Real: func(r *Run) float64 { return r.Track.IterationsFrom.Confidence }},
	{Key: "iterations", Head: "iterations", Unit: Count, Int: func(r *Run) int64 { return int64(r.Iterations) }},
	{Key: "peak_in", Head: "peak in", Text: (*Run).peakIn, Known: hasDevice},
	{Key: "peak_iteration", Text: func(r *Run) string { return r.PeakIteration }},
	{Key: "peak_phase", Text: func(r *Run) string { return r.PeakBy.Phase }},
	{Key: "unmatched_frees", Unit: Count, Int: func(r *Run) int64 { return r.Track.Level(align.LevelDevice).UnmatchedFrees }, Known: hasDevice},
	{Key: "partial", Unit: Flag, Int: func(r *Run) int64 { return one(hasDevice(r) && r.Track.Level(align.LevelDevice).Partial) }},
	peakOf("managed_peak_bytes", "managed peak", align.LevelManaged),
	peakOf("pinned_peak_bytes", "pinned peak", align.LevelPinned),
	peakOf("pageable_peak_bytes", "pageable peak", align.LevelPageable),
	{Key: "pool_peak_size_bytes", Head: "pools, largest", Unit: Bytes, Int: func(r *Run) int64 { return r.Track.Pool.PeakSize }, Known: hasPool},
	{Key: "pool_peak_used_bytes", Unit: Bytes, Int: func(r *Run) int64 { return r.Track.Pool.PeakUsed }, Known: hasPool},
	{Key: "findings", Head: "findings", Unit: Count, Texts: func(r *Run) []string { return r.Findings }},
	{Key: "warnings", Head: "warnings", Unit: Count, Texts: func(r *Run) []string { return r.Warnings }},
}, named(totals()))

// totals are the figures of the whole run. Where memory events ended before the program did, its level at the end is
// unknown.
func totals() []Column[*Run] {
	cols := useColumns("", "", func(r *Run) *align.Use { return &r.Track.Total }, (*Run).collected)
	for i := range cols {
		if c := &cols[i]; c.Key == "end_bytes" || c.Key == "net_bytes" {
			known := c.Known
			c.Known = func(r *Run) bool {
				l := r.Track.Level(align.LevelDevice)
				return known(r) && (l == nil || !l.Ended)
			}
		}
	}
	return cols
}

// Runs has a row for each track of many reports.
var Runs = define(runs, Views{
	BatchWorkbook: "run, rank, pid, process, device, device_name, device_uuid, iterations, iterations_from, peak_bytes, peak_in, end_bytes, " +
		"start_bytes=Baseline, allocs, alloc_bytes, static_allocs, frees, free_bytes, failed_allocs, kernels, kernel_ns, busy_ns, " +
		"h2d_bytes, d2h_bytes, d2d_bytes, api_alloc_ns, api_free_ns, api_sync_ns, managed_peak_bytes, pinned_peak_bytes, " +
		"pool_peak_size_bytes, duration_ns, peak_bytes!, end_bytes!, alloc_bytes!, free_bytes!, kernel_ns!, device_total_bytes, " +
		"nsys_version, findings, warnings, report",
	Parquet: "rank, pid, device, run=track, rank_group, report, process, device_name, device_uuid, device_total_bytes, nsys_version, " +
		"export_schema, start_utc_ns, duration_ns, iterations_from, iterations_pattern, iterations_confidence, iterations, " +
		"peak_bytes, peak_at_ns, peak_iteration, peak_phase, end_bytes, start_bytes=baseline_bytes, allocs, alloc_bytes, frees, free_bytes, " +
		"unmatched_frees, failed_allocs, partial, managed_peak_bytes, pinned_peak_bytes, pageable_peak_bytes, pool_peak_size_bytes, " +
		"pool_peak_used_bytes, " + workInParquet + ", findings, warnings",
})[0]

// owners leads the rows of other tables.
var owners = Views{BatchWorkbook: "run, rank", Parquet: "rank, pid, device, run=track"}

// An Owned row is a row of one run among those of many.
type Owned[R any] struct {
	Run *Run
	Row R
}

// OwnedBy are the columns of rows of one run, behind those that say which run it is.
func OwnedBy[R any](o Output, cols []Column[R]) []Column[Owned[R]] {
	return append(Lift(lead(owner, o, owners[o]), func(r Owned[R]) *Run { return r.Run }), Lift(cols, func(r Owned[R]) R { return r.Row })...)
}
