package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/render/phrase"
)

// A LevelLine is a level of a track over the whole report, or the size or used part of its memory pools.
type LevelLine struct {
	Kind       string
	Peak, End  int64
	level      *align.Level // nil for pools
	peakInside string       // iteration and phase of the peak
}

// levelLines are the levels of a track, with its pools behind them.
func levelLines(t *align.Track) []LevelLine {
	var out []LevelLine
	for i := range t.Levels {
		l := &t.Levels[i]
		it, by := t.PeakPlace(l)
		out = append(out, LevelLine{Kind: string(l.Kind), Peak: l.Peak, End: l.End, level: l, peakInside: inside(it, by.String())})
	}
	if p := t.Pool; p != nil {
		out = append(out, LevelLine{Kind: "pool size", Peak: p.PeakSize, End: p.EndSize}, LevelLine{Kind: "pool used", Peak: p.PeakUsed, End: p.EndUsed})
	}
	return out
}

// inside names an iteration and a phase of it as the program does: each writer cleans names for its own output.
func inside(it *align.Iteration, phase string) string {
	switch {
	case it == nil:
		return phrase.Place(nil, "")
	case phase == "":
		return it.Name
	}
	return it.Name + ", " + phase
}

type levelRow = Row[LevelLine]

func isLevel(r *levelRow) bool { return r.Item.level != nil }

// tellsFailures says that requests can fail which are of the level: of the driver's kinds, and of what tensors ask for. What
// the allocator asked the driver for in vain is a failed call, of whatever kind it asked for.
func tellsFailures(r *levelRow) bool { return isLevel(r) && failsByKind(r.Item.level.Kind) }

func failsByKind(k align.LevelKind) bool { return k == align.LevelAllocated || !k.FromSnapshot() }

func isLeast(r *levelRow) bool { return isLevel(r) && r.Item.level.Least() }

func isEnded(r *levelRow) bool { return isLevel(r) && r.Item.level.Ended }

func isPartial(r *levelRow) bool { return isLevel(r) && r.Item.level.Partial }

// levelCount is a figure that levels have and pools have not.
func levelCount(key, head string, u Unit, get func(*align.Level) int64, known func(*align.Collected) bool) Column[*levelRow] {
	return Column[*levelRow]{Key: key, Head: head, Unit: u, Has: isLevel, Int: func(r *levelRow) int64 { return get(r.Item.level) },
		Known: func(r *levelRow) bool { return known(r.collected()) }}
}

// peakedIn is where a level peaked, with a word where iterations or phases are not annotated.
func peakedIn(r *levelRow) string {
	if it, _ := r.Track.PeakPlace(r.Item.level); it != nil && phrase.Inferred(r.Track) != "" {
		return r.Item.peakInside + " (inferred)"
	}
	return r.Item.peakInside
}

var levels = slices.Concat(trackColumns[LevelLine](), []Column[*levelRow]{
	{Key: "kind", Head: "memory traced", Text: func(r *levelRow) string { return r.Item.Kind }},
	{Key: "in", Head: "in", Has: isLevel, Text: func(r *levelRow) string { return r.Item.peakInside }},
	{Key: "in_note", Head: "peak in", Has: isLevel, Text: peakedIn},
	{Key: "peak_bytes", Head: "peak", Unit: Bytes, Least: isLeast, Int: func(r *levelRow) int64 { return r.Item.Peak }},
	{Key: "end_bytes", Head: "end", Unit: Bytes, Least: isPartial, Known: func(r *levelRow) bool { return !isEnded(r) },
		Int: func(r *levelRow) int64 { return r.Item.End }},
	{Key: "at_ns", Head: "at", Unit: Time, Has: isLevel, Int: func(r *levelRow) int64 { return r.after(r.Item.level.PeakAt) }},
	levelCount("peak_at_ns", "", Time, func(l *align.Level) int64 { return l.PeakAt }, knowsMemory),
	levelCount("baseline_bytes", "baseline", Bytes, func(l *align.Level) int64 { return l.Baseline }, knowsMemory),
	levelCount("allocs", "allocs", Count, func(l *align.Level) int64 { return l.Allocs }, knowsMemory),
	levelCount("alloc_bytes", "", Bytes, func(l *align.Level) int64 { return l.AllocBytes }, knowsMemory),
	levelCount("frees", "frees", Count, func(l *align.Level) int64 { return l.Frees }, knowsMemory),
	levelCount("free_bytes", "", Bytes, func(l *align.Level) int64 { return l.FreeBytes }, knowsMemory),
	levelCount("unmatched_frees", "", Count, func(l *align.Level) int64 { return l.UnmatchedFrees }, knowsMemory),
	{Key: "failed_allocs", Head: "failed", Unit: Count, Has: tellsFailures, Int: func(r *levelRow) int64 { return r.Item.level.FailedAllocs },
		Known: func(r *levelRow) bool { return r.Item.level.Kind == align.LevelAllocated || knowsAPI(r.collected()) }},
	{Key: "static_allocs", Unit: Count, Int: func(r *levelRow) int64 { return r.Item.level.Static },
		Known: func(r *levelRow) bool { return knowsMemory(r.collected()) }},
	{Key: "some_static", Head: "of them static", Unit: Count, Int: func(r *levelRow) int64 { return r.Item.level.Static },
		Has: func(r *levelRow) bool { return isLevel(r) && r.Item.level.Static > 0 }},
	levelCount("static_alloc_bytes", "", Bytes, func(l *align.Level) int64 { return l.StaticBytes }, knowsMemory),
	levelCount("lost_frees", "", Count, func(l *align.Level) int64 { return l.LostFrees }, knowsMemory),
	{Key: "partial", Unit: Flag, Int: func(r *levelRow) int64 { return one(isPartial(r)) }},
	{Key: "note", Head: "note", Text: func(r *levelRow) string {
		switch {
		case isEnded(r):
			return "its events ended early: lower bounds"
		case isPartial(r):
			return "partial: lower bounds"
		}
		return ""
	}},
})

// Levels has a row for each kind of traced memory, and for the memory pools.
var Levels = define(levels, Views{
	Terminal: "kind, peak_bytes, at_ns:4, in:2/22, end_bytes:1, baseline_bytes:7, allocs:5, some_static:8, frees:6, failed_allocs:3",
	Markdown: "kind, in=Peak in, peak_bytes, end_bytes, allocs, some_static, frees, failed_allocs",
	JSON: "peak_bytes, peak_at_ns, end_bytes, baseline_bytes, allocs, alloc_bytes, frees, free_bytes, unmatched_frees, " +
		"failed_allocs, static_allocs, static_alloc_bytes, lost_frees, partial",
	Workbook: "pid, device, kind=Kind, peak_bytes, at_ns=Peak at, in_note~, end_bytes, baseline_bytes, allocs, some_static, frees, " +
		"failed_allocs=Failed allocs, peak_bytes!, end_bytes!, note~",
})[0]

// LevelRows are the rows of a track.
func LevelRows(rep *align.Report, t *align.Track) []*Row[LevelLine] {
	return AllRows(rep, t, levelLines(t))
}

// LevelGrid is a table of the levels of all tracks, without pools.
func LevelGrid(rep *align.Report) Grid {
	return trackRows(rep, Levels.Columns(Workbook), func(t *align.Track) []*levelRow {
		return LevelRows(rep, t)[:len(t.Levels)]
	})
}
