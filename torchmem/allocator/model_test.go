package allocator

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
	"nsysmem/torchmem/internal/snaptest"
)

func mustParse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSimulateOwnSetting simulates each recording under its own setting: the segments at the end, the peaks and the
// number of calls must be the recorded ones.
func TestSimulateOwnSetting(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "../..") {
		s := rec.Read(t)
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		res := RequestsOf(r).Simulate(mustParse(t, rec.Conf), Options{Recorded: true})
		if res.PeakReserved != rec.PeakReserved() {
			t.Errorf("%s: %d bytes reserved at most, PyTorch says %d", rec.Name, res.PeakReserved, rec.PeakReserved())
		}
		if want := r.Whole().AllocatedPeak; res.PeakAllocated != want {
			t.Errorf("%s: %d bytes allocated at most, PyTorch says %d", rec.Name, res.PeakAllocated, want)
		}
		if int64(res.CUDAMallocs) != rec.Stats["num_device_alloc"] || int64(res.Retries) != rec.Stats["num_alloc_retries"] {
			t.Errorf("%s: %d calls and %d retries, PyTorch says %d and %d", rec.Name, res.CUDAMallocs, res.Retries, rec.Stats["num_device_alloc"], rec.Stats["num_alloc_retries"])
		}
		checkFinal(t, rec.Name, s, res)
	}
}

// checkFinal compares segments and blocks at the end with those of the snapshot.
func checkFinal(t *testing.T, name string, s *torchmem.Snapshot, res *Result) {
	t.Helper()
	byAddr := map[uint64]*torchmem.Segment{}
	for i := range s.Segments {
		byAddr[s.Segments[i].Addr] = &s.Segments[i]
	}
	for _, g := range res.Final {
		w := byAddr[g.Addr]
		if w == nil || w.Size != g.Size || w.Small != g.Small || w.Expandable != g.Expandable || len(w.Blocks) != len(g.Blocks) {
			t.Errorf("%s: segment %#x of %d bytes in %d blocks, the snapshot has %+v", name, g.Addr, g.Size, len(g.Blocks), w)
			continue
		}
		for k, b := range g.Blocks {
			if w.Blocks[k].Addr != b.Addr || w.Blocks[k].Size != b.Size || w.Blocks[k].State != b.State {
				t.Errorf("%s: block %+v, the snapshot has %+v", name, b, w.Blocks[k])
			}
		}
	}
	if len(res.Final) != len(s.Segments) {
		t.Errorf("%s: %d segments at the end, the snapshot has %d", name, len(res.Final), len(s.Segments))
	}
}

// TestSimulateOtherSettings tells from each run of one program what the others, under other settings, reserved.
func TestSimulateOtherSettings(t *testing.T) {
	t.Parallel()
	recs := snaptest.Runs(t, "../..", "unet_0", "unet_1", "unet_2", "unet_3", "unet_4")
	for _, from := range recs {
		q := RequestsOf(from.Replay(t))
		for _, to := range recs {
			res := q.simulateOrders(mustParse(t, to.Conf), Options{})
			want := to.PeakReserved()
			if res.PeakReserved != want || int64(res.CUDAMallocs) != to.Stats["num_device_alloc"] {
				t.Errorf("%s under %q: %d bytes in %d calls, PyTorch says %d in %d", from.Name, to.Conf, res.PeakReserved, res.CUDAMallocs, want, to.Stats["num_device_alloc"])
			}
			if r := res.ReservedRange; r[0] > want || r[1] < want || r[1]-r[0] > want*3/100 {
				t.Errorf("%s under %q: range %v for %d", from.Name, to.Conf, r, want)
			}
		}
	}
}

// TestSimulateCutTrace starts in the middle, where everything must be laid out as it was.
func TestSimulateCutTrace(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "../..", "cnn_default", "gpt_amp", "unet_1", "unet_2", "unet_3") {
		s := rec.Read(t)
		snaptest.Cut(s, s.Traces[0].Len()/3)
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		res := RequestsOf(r).Simulate(mustParse(t, rec.Conf), Options{Recorded: true, check: func(m *model) { checkModel(t, m) }})
		if res.PeakReserved != rec.PeakReserved() {
			t.Errorf("%s: %d bytes reserved at most, PyTorch says %d", rec.Name, res.PeakReserved, rec.PeakReserved())
		}
		checkFinal(t, rec.Name, s, res)
	}
}

// threshold is the smallest capacity of a setting by itself.
func (q *Requests) threshold(cfg *Config) int64 {
	return q.smallest(cfg, q.Simulate(cfg, Options{})).Threshold
}

// TestCapacity asks the question that settings are for: a card on which the default fails with more in its cache than
// was asked for, while expandable segments run through.
func TestCapacity(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "../..", "unet_0") {
		q := RequestsOf(rec.Replay(t))
		def, exp := mustParse(t, ""), mustParse(t, "expandable_segments:True")
		need := [2]int64{q.threshold(def), q.threshold(exp)}
		if need[0] <= need[1] {
			t.Fatalf("the default needs %d bytes, expandable segments %d", need[0], need[1])
		}
		for i, c := range []*Config{def, exp} {
			if n := q.Simulate(c, Options{Capacity: need[i]}).FailedRequests; n > 0 {
				t.Errorf("%q: %d requests fail with the smallest capacity %d", c.Text, n, need[i])
			}
			if n := q.Simulate(c, Options{Capacity: need[i] - 1}).FailedRequests; n == 0 {
				t.Errorf("%q: no request fails with less than the smallest capacity %d", c.Text, need[i])
			}
		}
		card := need[0] - 1
		res := q.Simulate(def, Options{Capacity: card})
		f := res.Failed[0]
		if f.FreeCache <= f.Request || f.LargestFree >= f.Rounded || res.PeakReserved > card {
			t.Errorf("the default fails with %+v", f)
		}
		if b := q.replay.Blocks[f.Block]; b.Requested != f.Request || b.BirthEvent != f.Event {
			t.Errorf("failed request %+v is not block %+v", f, b)
		}
		if n := q.Simulate(exp, Options{Capacity: card}).FailedRequests; n > 0 {
			t.Errorf("%d requests fail with expandable segments", n)
		}
		t.Logf("default needs %d, expandable %d bytes; on %d the default fails for %d bytes with %d free", need[0], need[1], card, f.Request, f.FreeCache)
	}
}

// checkModel tells when a law is broken: blocks tile their segments, free neighbours are merged, lists hold what is free
// and nothing else, sums are right, and no more is allocated than reserved.
func checkModel(t testing.TB, m *model) {
	t.Helper()
	var allocated, reserved int64
	free, gaps := 0, 0
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.pool == nil {
			continue
		}
		if n.size <= 0 {
			t.Fatalf("block %#x of %d bytes", n.addr, n.size)
		}
		switch n.state {
		case torchmem.Active:
			allocated += n.size
		case torchmem.Inactive:
			free++
		case torchmem.NotMapped:
			gaps++
		}
		if n.state != torchmem.NotMapped {
			reserved += n.size
		}
		if n.next < 0 {
			continue
		}
		x := &m.nodes[n.next]
		if x.pool != n.pool || x.prev != int32(i) || n.addr+uint64(n.size) != x.addr {
			t.Fatalf("block %#x of %d bytes is followed by %#x", n.addr, n.size, x.addr)
		}
		if n.state == x.state && (n.state == torchmem.Inactive || n.state == torchmem.NotMapped) {
			t.Fatalf("blocks %#x and %#x are both %d and not one", n.addr, x.addr, n.state)
		}
	}
	if allocated != m.allocated || reserved != m.reserved || allocated > reserved {
		t.Fatalf("%d allocated and %d reserved, the blocks have %d and %d", m.allocated, m.reserved, allocated, reserved)
	}
	if m.capacity > 0 && reserved > m.capacity {
		t.Fatalf("%d reserved, %d at most allowed", reserved, m.capacity)
	}
	for _, g := range m.groups {
		for _, p := range g.pools {
			all := p.free.all()
			if len(all) != p.free.n {
				t.Fatalf("a list says %d and has %d", p.free.n, len(all))
			}
			free -= len(all)
			gaps -= len(p.unmapped)
			for k, b := range all {
				if n := &m.nodes[b.node]; n.state != torchmem.Inactive || n.pool != p || n.size != b.size || n.addr != b.addr {
					t.Fatalf("list has %+v, which is %+v", b, n)
				}
				if k > 0 && !all[k-1].before(b) {
					t.Fatalf("list out of order at %d", k)
				}
			}
		}
	}
	if free != 0 || gaps != 0 {
		t.Fatalf("%d free blocks and %d gaps are in no list", free, gaps)
	}
}

var fuzzConfigs = []string{"", "max_split_size_mb:20", "expandable_segments:True", "roundup_power2_divisions:4",
	"garbage_collection_threshold:0.5,per_process_memory_fraction:0.9", "expandable_segments:True,max_split_size_mb:20",
	"max_split_size_mb:40,max_non_split_rounding_mb:20,garbage_collection_threshold:0.3,per_process_memory_fraction:0.5",
	"roundup_power2_divisions:[1:8,4:2,>:0]", "large_segment_size_mb:40", "expandable_segments:True,large_segment_size_mb:12"}

// requestsOf makes requests of bytes: three bytes each, what, which block, how large.
func requestsOf(b []byte) *Requests {
	q := &Requests{known: learn(nil, nil), pools: []poolID{{0, 0}, {7, 0}, {0, 1}}, replay: &torchmem.Replay{}}
	var live []int32
	for i := 0; i+3 <= len(b); i += 3 {
		switch what := b[i] % 8; {
		case what < 4 || len(live) == 0:
			// Sizes of all kinds: around 512 bytes, 1 MiB, 10 MiB, 20 MiB and more.
			size := int64(b[i+2])<<(b[i+1]%20) + int64(b[i+1])
			live = append(live, int32(len(q.size)))
			q.ops = append(q.ops, op{int32(i), int32(len(q.size)), opAlloc})
			q.size = append(q.size, size)
			q.pool = append(q.pool, uint32(b[i])/8%3)
		case what == 7 && b[i+2] < 8:
			q.ops = append(q.ops, op{int32(i), -1, opEmpty})
		default:
			k := int(b[i+1]) % len(live)
			q.ops = append(q.ops, op{int32(i), live[k], opGiveBack})
			if what != 6 {
				q.ops = append(q.ops, op{int32(i), live[k], opFinish})
			}
			live = append(live[:k], live[k+1:]...)
		}
	}
	return q
}

func FuzzSimulate(f *testing.F) {
	var long []byte
	for i := range 600 {
		long = append(long, byte(i*7), byte(i*13), byte(i*29))
	}
	for i := range fuzzConfigs {
		f.Add(long, uint8(i), uint8(i*25))
	}
	f.Fuzz(func(t *testing.T, b []byte, which, limit uint8) {
		if len(b) > 3000 {
			b = b[:3000]
		}
		q := requestsOf(b)
		cfg := mustParse(t, fuzzConfigs[int(which)%len(fuzzConfigs)])
		opt := Options{Capacity: int64(limit) * 4 * sizes.MiB, order: order(which) % numOrders, check: func(m *model) { checkModel(t, m) }}
		res := q.Simulate(cfg, opt)
		if res.PeakAllocated > res.PeakReserved || res.EndReserved > res.PeakReserved {
			t.Errorf("%+v", res)
		}
		var sum int64
		end := uint64(0)
		for _, g := range res.Final {
			if g.Addr < end {
				t.Errorf("segment %#x lies in the one before", g.Addr)
			}
			end = g.Addr + uint64(g.Size)
			sum += g.Size
		}
		if sum != res.EndReserved {
			t.Errorf("segments have %d bytes, %d are reserved", sum, res.EndReserved)
		}
		if opt.Capacity == 0 && res.FailedRequests > 0 {
			t.Errorf("%d requests fail without a limit", res.FailedRequests)
		}
	})
}

// TestReuse frees a block and asks for the same size: nothing new may be reserved, and it must be the same block.
func TestReuse(t *testing.T) {
	t.Parallel()
	for _, text := range fuzzConfigs {
		cfg := mustParse(t, text)
		for _, size := range []int64{1, 512, 1 << 20, 1<<20 + 1, 9 << 20, 10 << 20, 33 << 20, 1 << 30} {
			q := &Requests{known: learn(nil, nil), pools: []poolID{{0, 0}}, size: []int64{size, size}, pool: []uint32{0, 0},
				replay: &torchmem.Replay{}}
			q.ops = []op{{0, 0, opAlloc}, {1, 0, opGiveBack}, {1, 0, opFinish}, {2, 1, opAlloc}}
			var addr [2]uint64
			step := 0
			res := q.Simulate(cfg, Options{check: func(m *model) {
				if step == 0 || step == 3 {
					addr[step/3] = m.nodes[m.block[step/3]].addr
				}
				step++
			}})
			if cfg.MaxSplitSize == sizes.LargeSegment && size > sizes.SmallMax && size < sizes.LargeOwn {
				// A segment of 20 MiB is then oversize itself, and no request under 20 MiB gets it back: PyTorch's own rule.
				continue
			}
			if addr[0] != addr[1] || res.CUDAMallocs != 1 && !cfg.Expandable {
				t.Errorf("%q: %d bytes at %#x, then at %#x, in %d calls", text, size, addr[0], addr[1], res.CUDAMallocs)
			}
		}
	}
}

// TestPendingBlock keeps a block from being used before its last stream has finished, unless memory runs out.
func TestPendingBlock(t *testing.T) {
	t.Parallel()
	q := &Requests{known: learn(nil, nil), pools: []poolID{{0, 0}}, size: []int64{32 << 20, 32 << 20}, pool: []uint32{0, 0}, replay: &torchmem.Replay{}}
	q.ops = []op{{0, 0, opAlloc}, {1, 0, opGiveBack}, {2, 1, opAlloc}, {3, 0, opFinish}}
	cfg := mustParse(t, "")
	if res := q.Simulate(cfg, Options{}); res.PeakReserved != 64<<20 || res.PeakAllocated != 32<<20 || res.CacheAtPeak != 0 {
		t.Errorf("%+v", res)
	}
	if res := q.Simulate(cfg, Options{Capacity: 32 << 20}); res.FailedRequests != 0 || res.Retries != 1 {
		t.Errorf("with a limit: %+v", res)
	}
}

// TestGarbageCollection needs a limit of the process, as in PyTorch.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	var q = &Requests{known: learn(nil, nil), pools: []poolID{{0, 0}}, replay: &torchmem.Replay{}}
	add := func(size int64, keep bool) {
		b := int32(len(q.size))
		q.size = append(q.size, size)
		q.pool = append(q.pool, 0)
		q.ops = append(q.ops, op{b, b, opAlloc})
		if !keep {
			q.ops = append(q.ops, op{b, b, opGiveBack}, op{b, b, opFinish})
		}
	}
	for i := range 10 {
		add(int64(20+2*i)<<20, false) // each larger than all that is cached
	}
	plain := q.Simulate(mustParse(t, ""), Options{Capacity: 1 << 30})
	idle := q.Simulate(mustParse(t, "garbage_collection_threshold:0.1"), Options{Capacity: 1 << 30})
	active := q.Simulate(mustParse(t, "garbage_collection_threshold:0.1,per_process_memory_fraction:1"), Options{Capacity: 1 << 30})
	if plain.PeakReserved != 290<<20 || idle.PeakReserved != plain.PeakReserved || active.PeakReserved >= plain.PeakReserved {
		t.Errorf("reserved %d, %d without a limit of the process, %d with one", plain.PeakReserved, idle.PeakReserved, active.PeakReserved)
	}
}

// longRequests are a program of n allocations in all sizes.
func longRequests(n int) *Requests {
	q := &Requests{known: learn(nil, nil), pools: []poolID{{0, 0}}, replay: &torchmem.Replay{}}
	x := uint64(1)
	var live []int32
	for i := range n {
		x = x*6364136223846793005 + 1442695040888963407
		size := int64(x>>40) % (1 << (9 + x>>33%14))
		b := int32(i)
		q.size = append(q.size, size)
		q.pool = append(q.pool, 0)
		q.ops = append(q.ops, op{b, b, opAlloc})
		live = append(live, b)
		for len(live) > 2000 {
			k := int(x>>20) % len(live)
			q.ops = append(q.ops, op{b, live[k], opGiveBack}, op{b, live[k], opFinish})
			live[k] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	q.joinFrees()
	return q
}

// TestSimulateSpeed wants a million allocations in under a second for a setting; fewer where tests are to be quick.
func TestSimulateSpeed(t *testing.T) {
	n := 200_000
	if fixture.Slow {
		n = 1_000_000
	}
	limit := time.Duration(n) * 30 * time.Microsecond // a busy machine may be slow; the log tells the rest
	q := longRequests(n)
	for _, text := range fuzzConfigs[:3] {
		start := time.Now()
		res := q.Simulate(mustParse(t, text), Options{})
		took := time.Since(start)
		t.Logf("%-40.40s %v, %d MiB in %d segments", text, took, res.PeakReserved>>20, res.Segments)
		if took > limit {
			t.Errorf("%q took %v", text, took)
		}
	}
}

func BenchmarkSimulate(b *testing.B) {
	q := longRequests(1_000_000)
	for _, text := range []string{"", "expandable_segments:True", "max_split_size_mb:64"} {
		cfg := mustParse(b, text)
		b.Run(text, func(b *testing.B) {
			for range b.N {
				q.Simulate(cfg, Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/alloc")
		})
	}
}

// TestSweep wants the same results in the order of the settings, however many run at once.
func TestSweep(t *testing.T) {
	t.Parallel()
	q := longRequests(3000)
	var cfgs []*Config
	for i := range 24 {
		cfgs = append(cfgs, mustParse(t, fmt.Sprintf("max_split_size_mb:%d", 20+i)))
	}
	calls := 0
	all := q.Sweep(cfgs, Options{}, func(n int) {
		calls++
		if n != calls {
			t.Errorf("call %d says %d", calls, n)
		}
	})
	for i, r := range all {
		one := q.simulateOrders(cfgs[i], Options{})
		if r.Conf != cfgs[i].Text || r.PeakReserved != one.PeakReserved || r.ReservedRange != one.ReservedRange {
			t.Errorf("setting %d: %+v, alone %+v", i, r, one)
		}
	}
	if calls != len(cfgs) {
		t.Errorf("%d calls for %d settings", calls, len(cfgs))
	}
	t.Log(runtime.GOMAXPROCS(0), "at once")
}

// TestAddressesRunOut simulates requests for more than the address space that the model gives out: parts of it are then
// two things at once, which may cost sense, not sanity.
func TestAddressesRunOut(t *testing.T) {
	t.Parallel()
	var cfgs []*Config
	for _, text := range SweepGrid() {
		cfgs = append(cfgs, mustParse(t, text))
	}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := snaptest.Runs(t, "../..", "cnn_default")[0].Read(t)
		s.Traces[0].Each(func(_ int, e *torchmem.TraceEvent) bool {
			e.Size = []int64{0, 1, 1 << 40, 1 << 48}[random.IntN(4)]
			return true
		})
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range RequestsOf(r).Sweep(cfgs, Options{Smallest: true}, nil) {
			if got.PeakReserved < got.PeakAllocated || got.EndReserved < got.EndAllocated || got.EndAllocated < 0 || got.Smallest.Least < got.PeakAllocated {
				t.Errorf("%q: peaks %d and %d, at the end %d and %d, smallest card %d", got.Conf, got.PeakReserved, got.PeakAllocated,
					got.EndReserved, got.EndAllocated, got.Smallest.Least)
			}
		}
	}
}
