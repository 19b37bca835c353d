package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// A doubter collects warnings.
type doubter struct{ out []Warning }

// say adds a warning about a process, 0 for the whole report.
func (d *doubter) say(pid int64, code align.Code, format string, args ...any) {
	d.out = append(d.out, Warning{PID: pid, Code: string(code), Text: fmt.Sprintf(format, args...)})
}

// track adds a warning about a track.
func (d *doubter) track(t *align.Track, code align.Code, format string, args ...any) {
	d.say(t.PID, code, "process %d device %d: "+format, append([]any{t.PID, t.Device}, args...)...)
}

// warnings puts into words what makes the figures doubtful.
func warnings(rep *align.Report) []Warning {
	d := &doubter{}
	d.recording(&rep.Recording)
	d.collected(rep)
	for i := range rep.Warnings {
		d.met(rep, &rep.Warnings[i])
	}
	for _, t := range rep.Tracks {
		for i := range t.Levels {
			d.level(t, &t.Levels[i])
		}
		if n := t.Attribution.NoLaunch; n > 0 {
			d.track(t, "no_launch", "%d of %d kernels have no launching call in the report: they are in the totals, in no phase", n, t.Attribution.Kernels)
		}
		if ten := snapshotOf(t); ten != nil {
			d.snapshot(t, ten)
		}
	}
	slices.SortStableFunc(d.out, func(x, y Warning) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Text, y.Text))
	})
	return d.out
}

// recording tells of the file, and of what the profiler said itself.
func (d *doubter) recording(r *align.Recording) {
	for _, w := range r.File {
		d.say(0, align.Code(w.Code), "%s", w.Text)
	}
	for _, m := range r.Diagnostics {
		pid := int64(0)
		if len(m.PIDs) == 1 {
			pid = m.PIDs[0]
		}
		d.say(pid, align.Code("profiler_"+m.Severity), "the profiler said%s: %s", saidOf(&m), m.Text)
	}
	if r.WholeGraphs {
		d.say(0, "graphs_whole", "CUDA graphs are traced whole: record with --cuda-graph-trace=node to see their kernels")
	}
}

// saidOf says how often and of which processes the profiler said something, such as " 3 times, of processes 7 and 9"; empty
// for once, of none.
func saidOf(m *align.Diagnostic) string {
	const most = 4 // processes that are named
	s := ""
	if m.Count > 1 {
		s = " " + wording.Count(m.Count) + " times"
	}
	n := len(m.PIDs)
	switch {
	case n == 0:
		return s
	case n > most:
		return s + fmt.Sprintf(", of %d processes", n)
	}
	names := make([]string, n)
	for i, pid := range m.PIDs {
		names[i] = strconv.FormatInt(pid, 10)
	}
	if s != "" {
		s += ","
	}
	if n == 1 {
		return s + " of process " + names[0]
	}
	return s + " of processes " + wording.And(names)
}

// collected tells of what was not recorded, and how to record it.
func (d *doubter) collected(rep *align.Report) {
	c, r := &rep.Collected, &rep.Recording
	switch {
	case c.Allocs > 0:
		d.say(0, "memory_not_collected", "memory usage was to be recorded, but %s of device memory left no event: the profiler could not trace the GPU",
			wording.Plural(c.Allocs, "allocation"))
	case !c.Memory:
		d.say(0, "memory_not_collected", "memory events were not collected: record with nsys profile -t cuda,nvtx --cuda-memory-usage=true")
	case r.MemoryEvents == 0:
		d.say(0, "no_memory_events", "memory events were collected, but there is none in the recorded time")
	case !r.MemoryKinds:
		d.say(0, "no_memory_kind", "the export does not say the kind of memory: host and device memory cannot be told apart")
	}
	if why := NoGPU(c); why != "" {
		d.say(0, "no_gpu_activity", "%s", why)
	}
	if !c.API {
		d.say(0, "api_not_collected", "CUDA API calls were not collected: GPU work and memory events cannot be joined to ranges; record with -t cuda,nvtx")
	}
	if !c.NVTX {
		d.say(0, "nvtx_not_collected", "NVTX ranges were not collected: record with -t cuda,nvtx and mark iterations with NVTX ranges")
	}
	if c.Memory {
		for _, u := range r.Unseen {
			d.say(u.PID, "vmm_unseen", "process %d: %d virtual-memory calls (cuMemCreate and alike) were seen without memory events: the curve leaves that memory out", u.PID, u.Calls)
		}
	}
}

// counted are the sentences about what align met on its way and counted.
var counted = map[align.Code]string{
	align.UnknownEvents: "%d memory events are neither allocation nor free and do not count",
	align.DamagedEvents: "%d memory events have no usable size and do not count",
	align.DamagedRanges: "%d ranges end at 0 or before their start and are treated as never closed",
	align.OpenRanges:    "%d ranges were never closed: they are cut off at the end of the capture",
	align.ClippedRanges: "%d ranges outlast their iteration and are clipped to it",
}

// met puts into words what align met on its way.
func (d *doubter) met(rep *align.Report, w *align.Warning) {
	sentence, ok := counted[w.Code]
	switch {
	case ok:
		d.say(w.PID, w.Code, sentence, w.Count)
	case w.Code == align.MemoryColumns:
		d.say(w.PID, w.Code, "the memory table lacks a column that every version has: its events are left out")
	case w.Code == align.Disagreement:
		d.say(w.PID, w.Code, "process %d: %d ranges named %q are taken for iterations, but the GPU work tells %d others: "+
			"compare the two with --infer always, or choose the ranges with --iteration", w.PID, w.Numbers[0], w.Pattern, w.Count)
	case w.Code == align.IterationGap:
		d.say(w.PID, w.Code, "process %d: numbers %v are missing from the iterations %q", w.PID, w.Numbers, w.Pattern)
	case w.Code == align.TraceEnded:
		d.say(w.PID, w.Code, "%s", endedText(w, rep.Source.Start))
	case w.Code == align.KernelsLost:
		d.say(w.PID, w.Code, "process %d: kernels are missing from %s, first from %s, although their launches are there: the profiler lost them, and what they "+
			"tell there is unknown, not 0; record again, fewer iterations or with --cuda-flush-interval=1000", w.PID, wording.Plural(int(w.Count), "iteration"), w.Name)
	case w.Code == align.MemoryLost:
		d.say(w.PID, w.Code, "process %d: %s of device memory left no event, though other processes have theirs: its memory is unknown, not 0; "+
			"record again, with --cuda-memory-usage=true for all processes", w.PID, wording.Plural(int(w.Count), "allocation"))
	case w.Code == align.SnapshotRival:
		d.say(w.PID, w.Code, "process %d device %d: the snapshot %q is left out: %q is of the same process and device, and goes no worse with the report",
			w.PID, w.Device, w.Name, w.Other)
	case w.Code == align.SnapshotLeftOut:
		d.say(0, w.Code, "the snapshot %q is left out: %s", w.Name, w.Why)
	case w.Code == align.Aside:
		d.say(w.PID, w.Code, "process %d device %d: %d kernels were launched in a framework's or library's own ranges on other threads: "+
			"they count for those ranges, in no iteration; --threads through, the default, gives them to the phase open at that time", w.PID, w.Device, w.Count)
	default: // better a bare word than silence
		d.say(w.PID, w.Code, "%s", w.Code)
	}
}

// level tells of a level that is not what the program had.
func (d *doubter) level(t *align.Track, l *align.Level) {
	if l.UnmatchedFrees > 0 {
		d.track(t, "unmatched_frees", "%d frees of %s memory (%s) have no allocation in the report: the level starts at that baseline, and levels and peak are lower bounds",
			l.UnmatchedFrees, l.Kind, wording.Bytes(l.Baseline))
	}
	if l.LostFrees > 0 {
		d.track(t, "lost_frees", "%d blocks of %s memory were never freed in the report, but their address was allocated anew: they end there", l.LostFrees, l.Kind)
	}
	if !l.Kind.Known() {
		d.track(t, "unknown_kind", "%d allocations are of memory %q and count for no known level", l.Allocs, l.Kind)
	}
}

// matchShare is the share of a snapshot's segments that should be in the report, in tenths. Some never are: the
// profiler may have begun after the program took them.
const matchShare = 9

// snapshot tells of a snapshot that is not whole, or goes badly with the report.
func (d *doubter) snapshot(t *align.Track, ten *tensor.Memory) {
	if ten.Replay == nil || ten.Clock == nil {
		return
	}
	x := ten.Replay.Doubts
	if x.Cut || x.UnmatchedFrees+x.LostFrees+x.Misplaced+x.SegmentFrees+x.SegmentsLost+x.UnknownActions > 0 {
		d.track(t, "snapshot_doubts", "the snapshot's trace leaves doubts: it began after the program did (%v), %d frees without a block, %d blocks lost, %d out of place, %d segments lost, %d unknown entries",
			x.Cut, x.UnmatchedFrees, x.LostFrees, x.Misplaced, x.SegmentFrees+x.SegmentsLost, x.UnknownActions)
	}
	if c := ten.Clock; 10*c.Matched < matchShare*c.Segments {
		d.track(t, "snapshot_match", "only %d of %d segments of the snapshot are in the report", c.Matched, c.Segments)
	}
}
