package align

import (
	"fmt"
	"reflect"
	"testing"
)

// additive are the figures of a row of which the top-level phases and "(other)" make up the iteration.
func additive(u *Use) map[string]int64 {
	out := map[string]int64{
		"kernels": u.GPU.Kernels, "kernel ns": u.GPU.KernelNS, "graphs": u.GPU.Graphs, "graph ns": u.GPU.GraphNS,
		"copies": u.GPU.Copies, "copy ns": u.GPU.MemcpyNS, "h2d": u.GPU.H2D, "d2h": u.GPU.D2H, "d2d": u.GPU.D2D,
		"memsets": u.GPU.Memsets, "memset bytes": u.GPU.MemsetBytes, "memset ns": u.GPU.MemsetNS,
		"calls": u.API.Calls, "alloc ns": u.API.AllocNS, "free ns": u.API.FreeNS, "sync ns": u.API.SyncNS,
	}
	add := func(level LevelKind, m *MemoryUse) {
		for k, v := range map[string]int64{"net": m.Net, "allocs": m.Allocs, "alloc bytes": m.AllocBytes,
			"frees": m.Frees, "free bytes": m.FreeBytes, "failed": m.FailedAllocs} {
			out[string(level)+" "+k] = v
		}
	}
	add("device", &u.Memory)
	for i := range u.Other {
		add(u.Other[i].Level, &u.Other[i].MemoryUse)
	}
	return out
}

// checkLaws checks what holds for every track, whatever the report.
func checkLaws(t *testing.T, tr *Track) {
	t.Helper()
	name := fmt.Sprintf("%d/%d", tr.PID, tr.Device)
	memory := func(where string, m *MemoryUse, single bool) {
		t.Helper()
		if m.Start < 0 || m.End < 0 {
			t.Errorf("%s %s: a level below zero: %+v", name, where, *m)
		}
		if m.Peak < m.Start || m.Need < 0 {
			t.Errorf("%s %s: peak below the start: %+v", name, where, *m)
		}
		if single && (m.Peak < m.End || m.Start+m.Net != m.End || m.Need != m.Peak-m.Start) {
			t.Errorf("%s %s: start, net, end, peak and need do not fit: %+v", name, where, *m)
		}
	}
	each := func(where string, u *Use, single bool) {
		t.Helper()
		memory(where, &u.Memory, single)
		for i := range u.Other {
			memory(where+" "+string(u.Other[i].Level), &u.Other[i].MemoryUse, single)
		}
		if u.GPU.BusyNS > u.GPU.KernelNS+u.GPU.GraphNS {
			t.Errorf("%s %s: busy %d ns of %d ns of work", name, where, u.GPU.BusyNS, u.GPU.KernelNS+u.GPU.GraphNS)
		}
	}
	each("total", &tr.Total, true)
	for i := range tr.Iterations {
		it := &tr.Iterations[i]
		if it.End < it.Start {
			t.Errorf("%s %s ends before it starts", name, it.Name)
		}
		each(it.Name, &it.Use, true)
		sum := make(map[string]int64)
		for k := range it.Phases {
			p := &it.Phases[k]
			each(it.Name+": "+p.Path, &p.Use, p.Calls == 1 && p.Path != OtherPhase)
			if p.Depth == 1 {
				for f, v := range additive(&p.Use) {
					sum[f] += v
				}
			}
			if (p.Path == OtherPhase) != (k == len(it.Phases)-1) {
				t.Errorf("%s %s: %s is phase %d of %d", name, it.Name, p.Path, k, len(it.Phases))
			}
		}
		if whole := additive(&it.Use); len(it.Phases) > 0 && !reflect.DeepEqual(sum, whole) {
			for f, v := range whole {
				if sum[f] != v {
					t.Errorf("%s %s: %s of its phases is %d, its own %d", name, it.Name, f, sum[f], v)
				}
			}
		}
	}
	a := tr.Attribution
	if a.SameThread+a.OtherThread+a.None+a.NoLaunch != a.Kernels || a.Kernels != tr.Total.GPU.Kernels {
		t.Errorf("%s: attribution does not add up: %+v of %d kernels", name, a, tr.Total.GPU.Kernels)
	}
	checkBlocks(t, name, tr)
	checkDetails(t, name, tr)
}

// checkBlocks checks that the blocks make up the levels.
func checkBlocks(t *testing.T, name string, tr *Track) {
	t.Helper()
	if tr.Blocks == nil {
		return
	}
	sum := func(bs []Block, kind LevelKind) (n int64) {
		for i := range bs {
			if bs[i].Kind == kind {
				n += bs[i].Bytes
			}
		}
		return n
	}
	for i := range tr.Levels {
		l := &tr.Levels[i]
		var alloc, free, lost, end, allocs, frees, losts, before int64
		for k := range tr.Blocks {
			b := &tr.Blocks[k]
			if b.Kind != l.Kind {
				continue
			}
			if b.Start == Never {
				before += b.Bytes
			} else {
				alloc, allocs = alloc+b.Bytes, allocs+1
			}
			switch {
			case b.Lost:
				lost, losts = lost+b.Bytes, losts+1
			case b.End == Never:
				end += b.Bytes
			default:
				free, frees = free+b.Bytes, frees+1
			}
		}
		got := [...]int64{alloc, allocs, free, frees, losts, end, before, l.Baseline + alloc - free - lost}
		want := [...]int64{l.AllocBytes, l.Allocs, l.FreeBytes, l.Frees, l.LostFrees, l.End, l.Baseline, l.End}
		if got != want {
			t.Errorf("%s %s: blocks say %v, the level %v", name, l.Kind, got, want)
		}
		switch l.Kind {
		case "device":
			if n := sum(tr.LiveAtPeak, "device"); n != l.Peak {
				t.Errorf("%s: blocks live at the peak hold %d, the peak is %d", name, n, l.Peak)
			}
			fallthrough
		case "managed":
			if n := sum(tr.LiveAtEnd, l.Kind); n != l.End {
				t.Errorf("%s %s: blocks live at the end hold %d, the level ends at %d", name, l.Kind, n, l.End)
			}
		}
	}
}

// checkDetails checks that kernels, copies and calls by phase make up the totals.
func checkDetails(t *testing.T, name string, tr *Track) {
	t.Helper()
	if tr.Kernels == nil && tr.Calls == nil {
		return
	}
	var n, ns, copies, calls int64
	for _, k := range tr.Kernels {
		n, ns = n+k.Count, ns+k.NS
		if k.MinNS > k.MaxNS || k.MinNS*k.Count > k.NS || k.MaxNS*k.Count < k.NS {
			t.Errorf("%s: times of kernel %+v do not fit", name, k)
		}
	}
	for _, c := range tr.Copies {
		copies += c.Count
	}
	for _, c := range tr.Calls {
		calls += c.Count
	}
	g := &tr.Total.GPU
	got := [...]int64{n, ns, copies, calls}
	want := [...]int64{g.Kernels + g.Graphs, g.KernelNS + g.GraphNS, g.Copies + g.Memsets, tr.Total.API.Calls}
	if got != want {
		t.Errorf("%s: details add up to %v, the totals are %v (kernels, ns, copies, calls)", name, got, want)
	}
}

// checkCurves checks a track's curves against its levels, whole and thinned.
func checkCurves(t *testing.T, path string, rep *Report, tr *Track) {
	t.Helper()
	every, thinned := curves(t, path, rep, tr, 0), curves(t, path, rep, tr, 7)
	if p := tr.Pool; p != nil {
		for kind, want := range map[LevelKind][2]int64{LevelPoolSize: {p.PeakSize, p.EndSize}, LevelPoolUsed: {p.PeakUsed, p.EndUsed}} {
			c := ofKind(every, kind)
			hi, last := c.Before, c.Before
			for _, q := range c.Points {
				hi, last = max(hi, q.High), q.Last
			}
			if got := [2]int64{hi, last}; got != want {
				t.Errorf("%d/%d %s: highest and last of the curve %v, of the track %v", tr.PID, tr.Device, kind, got, want)
			}
		}
	}
	for i := range tr.Levels {
		l := &tr.Levels[i]
		var whole [3]int64
		for _, points := range []int{0, 7} {
			c := ofKind(every, l.Kind)
			if points > 0 {
				c = ofKind(thinned, l.Kind)
			}
			if c == nil {
				t.Errorf("%d/%d: no curve of %s", tr.PID, tr.Device, l.Kind)
				return
			}
			lo, hi, last := c.Before, c.Before, c.Before
			for k, p := range c.Points {
				lo, hi, last = min(lo, p.Low), max(hi, p.High), p.Last
				if p.Low > p.Last || p.Last > p.High || k > 0 && p.Time < c.Points[k-1].Time {
					t.Errorf("%d/%d %s: point %+v", tr.PID, tr.Device, l.Kind, p)
				}
			}
			if got := [3]int64{lo, hi, last}; points == 0 {
				whole = got
			} else if got != whole {
				t.Errorf("%d/%d %s: lowest, highest, last of the thinned curve %v, of the whole %v", tr.PID, tr.Device, l.Kind, got, whole)
			}
			if points > 0 && len(c.Points) > points {
				t.Errorf("%d/%d %s: %d points, asked for at most %d", tr.PID, tr.Device, l.Kind, len(c.Points), points)
			}
			if lo < 0 || c.Before != l.Baseline || hi != l.Peak || last != l.End {
				t.Errorf("%d/%d %s: curve starts at %d, lowest %d, highest %d, last %d; level %+v", tr.PID, tr.Device, l.Kind, c.Before, lo, hi, last, *l)
			}
		}
	}
}

// firstDifference names the first part in which two reports differ.
func firstDifference(a, b any) string {
	return difference("report", reflect.ValueOf(a), reflect.ValueOf(b))
}

func difference(path string, a, b reflect.Value) string {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return path
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return difference(path, a.Elem(), b.Elem())
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if d := difference(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d and %d of them", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
	}
	return fmt.Sprintf("%s: %v and %v", path, a, b)
}
