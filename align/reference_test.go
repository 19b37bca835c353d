package align

import (
	"fmt"
	"math"
	"regexp"
	"sort"
	"testing"

	"nsysmem/nsysdb"
)

// The reference counts a script's rows again, slowly and from the rules alone: lists are walked for every question,
// and nothing of the package is used but the script's rows. Iterations are the ranges that match refIteration.

var refIteration = regexp.MustCompile(`^iteration \d+$`)

type refRange struct {
	nvRow
	parent *refRange
	iter   *refRange // the iteration that it lies in, or itself
	path   string
}

// before is the order in which ranges of one thread open.
func (r *refRange) before(q *refRange) bool {
	a, b := refIteration.MatchString(r.text), refIteration.MatchString(q.text)
	switch {
	case r.start != q.start:
		return r.start < q.start
	case r.end != q.end:
		return r.end > q.end
	case a != b:
		return a
	}
	return r.text < q.text
}

func refNumber(r *refRange) (n int) {
	fmt.Sscanf(r.text, "iteration %d", &n)
	return n
}

type refUse struct {
	start, end, net, peak, need            int64
	calls                                  int
	allocs, allocBytes, frees, freeBytes   int64
	failed                                 int64
	kernels, kernelNS, copies, memsetBytes int64
}

type refTrack struct {
	pid, dev                  int64
	peak, end, base           int64
	unmatched, lost           int64
	same, other, none, nocall int64
	iters                     []*refRange
	iterEnd                   map[*refRange]int64
	uses                      map[string]*refUse // by iteration name and path, see key
	order                     []string
	steps                     []refStep
	kernelTotal, kernelNS     int64
}

// A refStep is the device level after one event.
type refStep struct{ t, level int64 }

func refKey(it *refRange, k int, path string) string {
	return fmt.Sprintf("%d %s: %s", k, it.text, path)
}

type reference struct {
	s        *script
	ranges   map[int64][]*refRange // by thread
	iters    map[int64][]*refRange // by process
	carrier  map[int64]int64
	iterStop map[*refRange]int64
}

func newReference(s *script) *reference {
	ref := &reference{s: s, ranges: map[int64][]*refRange{}, iters: map[int64][]*refRange{}, carrier: map[int64]int64{}, iterStop: map[*refRange]int64{}}
	for _, n := range s.nvs {
		if n.typ != nvPushPop && n.typ != nvStartEnd {
			continue
		}
		r := &refRange{nvRow: n}
		if r.end == null || r.end < r.start {
			r.end = math.MaxInt64
		}
		ref.ranges[r.tid] = append(ref.ranges[r.tid], r)
	}
	for t, rs := range ref.ranges {
		sort.SliceStable(rs, func(i, j int) bool { return rs[i].before(rs[j]) })
		ref.iterate(t, rs)
	}
	return ref
}

// iterate finds the iterations of a thread, and the paths of the ranges in them. The scripts have iterations on one
// thread of a process only.
func (ref *reference) iterate(t int64, rs []*refRange) {
	var iters []*refRange
	for _, r := range rs {
		if !refIteration.MatchString(r.text) {
			continue
		}
		if n := len(iters); n > 0 {
			// One inside another is no iteration of its own; inside one that was never closed is what does not have
			// a higher number.
			q := iters[n-1]
			if q.end == math.MaxInt64 && refNumber(r) <= refNumber(q) || q.end != math.MaxInt64 && r.start < q.end && r.end <= q.end {
				continue
			}
		}
		iters = append(iters, r)
	}
	if len(iters) == 0 {
		return
	}
	pid := nsysdb.PID(t)
	ref.iters[pid], ref.carrier[pid] = iters, t
	for i, it := range iters {
		it.iter = it
		ref.iterStop[it] = it.end
		if it.end == math.MaxInt64 && i+1 < len(iters) {
			ref.iterStop[it] = iters[i+1].start // never closed: ends where the next begins
		}
	}
	for i, r := range rs {
		if r.iter != nil {
			continue
		}
		// The last iteration that has begun is the one that it lies in, if it began before that ended.
		for _, q := range rs[:i] {
			if q.iter == q && r.start < ref.iterStop[q] {
				r.iter = q
			} else if q.iter == q {
				r.iter = nil
			}
		}
		if r.iter == nil {
			continue
		}
		stop := ref.iterStop[r.iter]
		for _, q := range rs[:i] {
			if q.iter == r.iter && q != r.iter && q.start <= r.start && r.start < min(q.end, stop) && min(q.end, stop) >= min(r.end, stop) {
				r.parent = q
			}
		}
		r.path = r.text
		if r.parent != nil {
			r.path = r.parent.path + "/" + r.text
		}
	}
}

func (ref *reference) innermost(t, at int64) *refRange {
	var in *refRange
	for _, r := range ref.ranges[t] {
		if r.start <= at && at < r.end {
			in = r
		}
	}
	return in
}

// find attributes an event to a range by its call.
func (ref *reference) find(pid, corr int64) (r *refRange, way string) {
	if corr <= 0 {
		return nil, "nocall"
	}
	for _, c := range ref.s.rts {
		if nsysdb.PID(c.tid) != pid || c.corr != corr {
			continue
		}
		return ref.at(c.tid, c.start)
	}
	return nil, "nocall"
}

func (ref *reference) at(t, at int64) (*refRange, string) {
	if r := ref.innermost(t, at); r != nil {
		return r, "same"
	}
	if main, ok := ref.carrier[nsysdb.PID(t)]; ok && main != t {
		if r := ref.innermost(main, at); r != nil {
			return r, "other"
		}
	}
	return nil, "none"
}

func refOnDevice(kind int64) bool { return kind == 2 || kind == 3 || kind == 5 }

type refBlock struct{ dev, kind, bytes int64 }

// A refChange is one event of the device level of a track, with what it counts as.
type refChange struct {
	t, change int64
	e         memRow
	what      string // "alloc", "free" or "lost"
	bytes     int64
}

// changes pairs the memory rows of a process.
func (ref *reference) changes(pid int64) (out map[int64][]refChange, base, unmatched map[int64]int64) {
	var rows []memRow
	for _, m := range ref.s.mems {
		if m.pid == pid && m.start != null && m.bytes != null && m.bytes >= 0 {
			rows = append(rows, m)
		}
	}
	// At one time stamp allocations come first; but where the stamp has several rows of one address, all its rows come
	// in the order of their calls.
	byCall := make(map[int64]bool)
	for i, m := range rows {
		for _, n := range rows[:i] {
			if m.start == n.start && m.addr == n.addr {
				byCall[m.start] = true
			}
		}
	}
	sort.SliceStable(rows, func(i, j int) bool {
		x, y := rows[i], rows[j]
		if x.start != y.start {
			return x.start < y.start
		}
		keys := [][2]int64{{x.op, y.op}, {x.corr, y.corr}, {x.addr, y.addr}, {x.bytes, y.bytes}, {x.dev, y.dev}, {x.kind, y.kind}}
		if byCall[x.start] {
			keys[0], keys[1] = keys[1], keys[0]
		}
		for _, k := range keys {
			if k[0] != k[1] {
				return k[0] < k[1]
			}
		}
		return false
	})
	live := map[int64]refBlock{}
	out, base, unmatched = map[int64][]refChange{}, map[int64]int64{}, map[int64]int64{}
	for _, m := range rows {
		b, is := live[m.addr]
		switch m.op {
		case 0:
			if is && refOnDevice(b.kind) {
				out[b.dev] = append(out[b.dev], refChange{m.start, -b.bytes, m, "lost", b.bytes})
			}
			live[m.addr] = refBlock{m.dev, m.kind, m.bytes}
			if refOnDevice(m.kind) {
				out[m.dev] = append(out[m.dev], refChange{m.start, m.bytes, m, "alloc", m.bytes})
			}
		case 1:
			if !is {
				b = refBlock{m.dev, m.kind, m.bytes}
				if refOnDevice(m.kind) {
					base[m.dev] += m.bytes
					unmatched[m.dev]++
				}
			}
			delete(live, m.addr)
			if refOnDevice(b.kind) {
				out[b.dev] = append(out[b.dev], refChange{m.start, -b.bytes, m, "free", b.bytes})
			}
		}
	}
	return out, base, unmatched
}

// track counts one process on one device.
func (ref *reference) track(pid, dev int64, failHere bool) *refTrack {
	t := &refTrack{pid: pid, dev: dev, iters: ref.iters[pid], iterEnd: ref.iterStop, uses: map[string]*refUse{}}
	changes, base, unmatched := ref.changes(pid)
	t.base, t.unmatched = base[dev], unmatched[dev]
	level := t.base
	t.peak = level
	for _, c := range changes[dev] {
		level += c.change
		t.steps = append(t.steps, refStep{c.t, level})
		t.peak = max(t.peak, level)
		if c.what == "lost" {
			t.lost++
		}
	}
	t.end = level
	place := map[*refRange]string{} // range → iteration's number
	for k, it := range t.iters {
		place[it] = refKey(it, k, "")
		t.call(place[it], it.start, ref.iterStop[it])
		for _, r := range ref.ranges[ref.carrier[pid]] {
			if r.iter == it && r != it {
				place[r] = refKey(it, k, r.path)
				t.call(place[r], r.start, min(r.end, ref.iterStop[it]))
			}
		}
	}
	// count adds to the row of a range and those above it, each row once.
	count := func(r *refRange, f func(*refUse)) {
		for q := r; q != nil && q != q.iter; q = q.parent {
			if q.iter == nil {
				return
			}
			f(t.uses[place[q]])
		}
		if r != nil && r.iter != nil {
			f(t.uses[place[r.iter]])
		}
	}
	for _, c := range changes[dev] {
		r, _ := ref.find(pid, c.e.corr)
		count(r, func(u *refUse) {
			switch c.what {
			case "alloc":
				u.allocs++
				u.allocBytes += c.bytes
			case "free":
				u.frees++
				u.freeBytes += c.bytes
			}
		})
	}
	for _, k := range ref.s.kernels {
		if k.pid != pid || k.dev != dev {
			continue
		}
		r, way := ref.find(pid, k.corr)
		switch way {
		case "same":
			t.same++
		case "other":
			t.other++
		case "none":
			t.none++
		default:
			t.nocall++
		}
		t.kernelTotal++
		t.kernelNS += k.end - k.start
		count(r, func(u *refUse) { u.kernels++; u.kernelNS += k.end - k.start })
	}
	for _, k := range ref.s.copies {
		if k.pid == pid && k.dev == dev {
			r, _ := ref.find(pid, k.corr)
			count(r, func(u *refUse) { u.copies++ })
		}
	}
	for _, k := range ref.s.memsets {
		if k.pid == pid && k.dev == dev {
			r, _ := ref.find(pid, k.corr)
			count(r, func(u *refUse) { u.memsetBytes += k.bytes })
		}
	}
	if failHere {
		for _, c := range ref.s.rts {
			if nsysdb.PID(c.tid) == pid && c.ret > 0 && c.name == "cudaMalloc_v3020" {
				r, _ := ref.at(c.tid, c.start)
				count(r, func(u *refUse) { u.failed++ })
			}
		}
	}
	return t
}

func (t *refTrack) before(at int64) int64 {
	level := t.base
	for _, s := range t.steps {
		if s.t < at {
			level = s.level
		}
	}
	return level
}

func (t *refTrack) call(key string, from, to int64) {
	a, b := t.before(from), t.before(to)
	if to == math.MaxInt64 {
		b = t.end
	}
	peak := a
	for _, s := range t.steps {
		if s.t >= from && s.t < to {
			peak = max(peak, s.level)
		}
	}
	u := t.uses[key]
	if u == nil {
		u = &refUse{start: a, peak: peak}
		t.uses[key] = u
		t.order = append(t.order, key)
	}
	u.end = b
	u.net += b - a
	u.peak = max(u.peak, peak)
	u.need = max(u.need, peak-a)
	u.calls++
}

func refUseOf(u *Use, calls int) refUse {
	m, g := &u.Memory, &u.GPU
	return refUse{start: m.Start, end: m.End, net: m.Net, peak: m.Peak, need: m.Need, calls: calls,
		allocs: m.Allocs, allocBytes: m.AllocBytes, frees: m.Frees, freeBytes: m.FreeBytes, failed: m.FailedAllocs,
		kernels: g.Kernels, kernelNS: g.KernelNS, copies: g.Copies, memsetBytes: g.MemsetBytes}
}

// compareReference checks every figure of a report that the reference counts too.
func compareReference(t *testing.T, s *script, rep *Report) {
	t.Helper()
	ref := newReference(s)
	first := map[int64]bool{}
	for _, g := range rep.Tracks {
		w := ref.track(g.PID, g.Device, !first[g.PID])
		first[g.PID] = true
		name := fmt.Sprintf("%d/%d", g.PID, g.Device)
		if l := g.Level("device"); l != nil {
			got := [5]int64{l.Peak, l.End, l.Baseline, l.UnmatchedFrees, l.LostFrees}
			if want := [5]int64{w.peak, w.end, w.base, w.unmatched, w.lost}; got != want {
				t.Errorf("%s: peak, end, baseline, unmatched, lost %v, want %v", name, got, want)
			}
		} else if len(w.steps) > 0 {
			t.Errorf("%s: no device level", name)
		}
		at := g.Attribution
		got := [4]int64{at.SameThread, at.OtherThread, at.None, at.NoLaunch}
		if want := [4]int64{w.same, w.other, w.none, w.nocall}; got != want {
			t.Errorf("%s: attribution %v, want %v", name, got, want)
		}
		if g.Total.GPU.Kernels != w.kernelTotal || g.Total.GPU.KernelNS != w.kernelNS {
			t.Errorf("%s: total kernels %d, %d ns, want %d, %d", name, g.Total.GPU.Kernels, g.Total.GPU.KernelNS, w.kernelTotal, w.kernelNS)
		}
		if len(g.Iterations) != len(w.iters) {
			t.Errorf("%s: %d iterations, want %d", name, len(g.Iterations), len(w.iters))
			continue
		}
		seen := 0
		check := func(key string, got refUse) {
			want, ok := w.uses[key]
			switch {
			case !ok:
				t.Errorf("%s: %s is not expected", name, key)
			case got != *want:
				t.Errorf("%s: %s:\n got %+v\nwant %+v", name, key, got, *want)
			}
			seen++
		}
		for k := range g.Iterations {
			it, wit := &g.Iterations[k], w.iters[k]
			if stop := w.iterEnd[wit]; it.Name != wit.text || it.Start != wit.start || stop != math.MaxInt64 && it.End != stop {
				t.Errorf("%s: iteration %q [%d, %d), want %q [%d, %d)", name, it.Name, it.Start, it.End, wit.text, wit.start, stop)
			}
			check(refKey(wit, k, ""), refUseOf(&it.Use, 1))
			for n := range it.Phases {
				if p := &it.Phases[n]; p.Path != OtherPhase {
					check(refKey(wit, k, p.Path), refUseOf(&p.Use, p.Calls))
				}
			}
		}
		if seen != len(w.uses) {
			t.Errorf("%s: %d rows, want %d: %v", name, seen, len(w.uses), w.order)
		}
		checkLaws(t, g)
	}
}
