package allocator

import (
	"fmt"
	"sort"
	"testing"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/snaptest"
)

// record simulates and writes down what PyTorch would have recorded on the way: a snapshot with a trace.
func record(t *testing.T, q *Requests, cfg *Config, capacity int64) (*torchmem.Snapshot, *Result) {
	t.Helper()
	var events []torchmem.TraceEvent
	pending := map[int32]torchmem.TraceEvent{}
	step, clock := 0, int64(1e15)
	add := func(a torchmem.Action, addr uint64, size int64, stream uint64) {
		clock += 1000
		events = append(events, torchmem.TraceEvent{Time: clock, Action: a, Addr: addr, Size: size, Stream: stream, Stack: torchmem.StackID(step + 1)})
	}
	var mod *model
	finished := func() {
		for _, b := range sortedBlocks(pending) {
			if mod.block[b] == noNode {
				e := pending[b]
				add(torchmem.FreeCompleted, e.Addr, e.Size, e.Stream)
				delete(pending, b)
			}
		}
	}
	begin := func(m *model) {
		mod = m
		m.segment = func(a torchmem.Action, addr uint64, size int64, stream uint64) {
			finished()
			add(a, addr, size, stream)
		}
	}
	check := func(m *model) {
		o := q.ops[step]
		if o.kind == opGiveBack && m.block[o.block] >= 0 {
			n := m.nodes[m.block[o.block]]
			pending[o.block] = torchmem.TraceEvent{Addr: n.addr, Size: q.size[o.block], Stream: n.pool.stream}
			add(torchmem.FreeRequested, n.addr, q.size[o.block], n.pool.stream)
		}
		finished()
		if o.kind == opAlloc {
			if i := m.block[o.block]; i >= 0 {
				add(torchmem.Alloc, m.nodes[i].addr, q.size[o.block], m.nodes[i].pool.stream)
			} else {
				add(torchmem.OOM, uint64(m.capacity-m.reserved), q.size[o.block], 0)
			}
		}
		step++
	}
	res := q.Simulate(cfg, Options{Capacity: capacity, begin: begin, check: check})
	s := &torchmem.Snapshot{Traces: []torchmem.Trace{torchmem.TraceOf(events)}, Settings: torchmem.Settings{Known: true, Conf: cfg.Text, MaxSplitSize: cfg.MaxSplitSize,
		GCThreshold: cfg.GCThreshold, Expandable: cfg.Expandable, RoundupPower2: cfg.Roundup}}
	for _, g := range res.Final {
		seg := torchmem.Segment{Addr: g.Addr, Size: g.Size, Stream: g.Stream, Small: g.Small, Expandable: g.Expandable}
		for _, b := range g.Blocks {
			sb := torchmem.SnapshotBlock{Addr: b.Addr, Size: b.Size, State: b.State}
			if b.Block >= 0 {
				sb.Requested = q.size[b.Block]
			}
			seg.Blocks = append(seg.Blocks, sb)
		}
		s.Segments = append(s.Segments, seg)
	}
	return s, res
}

func sortedBlocks(m map[int32]torchmem.TraceEvent) []int32 {
	var out []int32
	for b := range m {
		out = append(out, b)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// waves are requests of a program whose tensors grow from step to step; a few stay, and some linger where streams still
// use them.
func waves(steps, each int, linger bool) *Requests {
	q := &Requests{known: learn(nil, nil), replay: &torchmem.Replay{}}
	x := uint64(7)
	for s := range steps {
		first := int32(len(q.size))
		for i := range each {
			x = x*6364136223846793005 + 1442695040888963407
			b := int32(len(q.size))
			size := int64(1000 + i*100)
			if i%3 > 0 {
				size = int64(x>>40)%(300<<10)*int64(s+1)*int64(i%7+1) + 1
			}
			q.size = append(q.size, size)
			q.pool = append(q.pool, 0)
			q.ops = append(q.ops, op{b, b, opAlloc})
			if x>>33%4 == 0 && b > first { // a temporary
				q.ops = append(q.ops, op{b, b - 1, opGiveBack}, op{b, b - 1, opFinish})
			}
		}
		last := int32(len(q.size))
		for b := first; b < last; b++ {
			if b%37 != 0 {
				q.ops = append(q.ops, op{last, b, opGiveBack})
				if !linger {
					q.ops = append(q.ops, op{last, b, opFinish})
				}
			}
		}
		for b := first; b < last; b++ {
			q.ops = append(q.ops, op{last, b, opFinish})
		}
	}
	return q
}

// TestRoundTrip lets the model record snapshots, on a card large enough and on one that is not, replays them, and
// simulates them again: everything must come out as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	failed, retries := 0, 0
	for k, text := range fuzzConfigs {
		cfg := mustParse(t, text)
		for card := range 3 {
			// Blocks that linger are finished early where the card is full, which a trace does not tell from their end.
			q := waves(12, 40, card == 0)
			for i := range q.ops { // the cache is emptied now and then
				if i%700 == 699 {
					q.ops[i] = op{q.ops[i].event, -1, opEmpty}
				}
			}
			q.pools = []poolID{{0, 0}, {99, 0}}
			for i := range q.pool {
				q.pool[i] = uint32(i / 16 % 2)
			}
			capacity := [3]int64{0, q.threshold(cfg), 200 << 20}[card]
			if cfg.GCThreshold > 0 && capacity == 0 {
				continue
			}
			name := fmt.Sprintf("%d %q on %d MiB", k, text, capacity>>20)
			s, want := record(t, q, cfg, capacity)
			r, err := s.Replay(0)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r.Doubts != (torchmem.Doubts{}) {
				t.Errorf("%s: doubts %+v", name, r.Doubts)
			}
			u := r.Whole()
			if u.AllocatedPeak != want.PeakAllocated || u.ReservedPeak > want.PeakReserved || u.AllocatedEnd != want.EndAllocated || u.ReservedEnd != want.EndReserved {
				t.Errorf("%s: replayed %+v, was %d and %d at most, %d and %d at the end", name, u, want.PeakAllocated, want.PeakReserved, want.EndAllocated, want.EndReserved)
			}
			if len(r.Failures) != want.FailedRequests {
				t.Errorf("%s: %d failures, were %d", name, len(r.Failures), want.FailedRequests)
			}
			failed += want.FailedRequests
			retries += want.Retries
			snaptest.CheckMap(t, r.StateAt(r.Events/2))
			again := RequestsOf(r).Simulate(cfg, Options{Recorded: true})
			checkFinal(t, name, s, again)
			if again.PeakAllocated != want.PeakAllocated {
				t.Errorf("%s: simulated %d allocated at most, was %d", name, again.PeakAllocated, want.PeakAllocated)
			}
			if capacity == 0 && again.PeakReserved != want.PeakReserved {
				t.Errorf("%s: simulated %d reserved at most, was %d", name, again.PeakReserved, want.PeakReserved)
			}
		}
	}
	if failed == 0 || retries <= failed {
		t.Errorf("%d failures, %d retries: the small cards are not small enough", failed, retries)
	}
	t.Logf("%d failures, %d retries", failed, retries)
}
