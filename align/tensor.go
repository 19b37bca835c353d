package align

import (
	"cmp"
	"slices"
	"sort"

	"nsysmem/nsysdb"
	"nsysmem/torchmem"
	"nsysmem/torchmem/category"
)

// Tensors is what a track's tensors hold, from PyTorch's own memory snapshot or, where a program runs without a caching
// allocator, from the driver's blocks.
type Tensors struct {
	From  string // "snapshot" or "driver"
	Clock *Clock // how the snapshot's time goes with the report's; nil without a snapshot
	Conf  string // PYTORCH_CUDA_ALLOC_CONF as the snapshot has it; empty for the defaults or where unknown

	Categories []CategoryUse // those that have blocks, in the order of CategoryNames
	Blocks     []TensorBlock // by birth
	Peak       Holding       // at the allocated level's peak
	Failures   []Holding     // at each request that could not be served
	Outside    *Outside      // memory outside PyTorch; nil without a snapshot
	AtReserved *Cache        // the cache at the reserved level's peak; nil without a snapshot
	Growth     []Cache       // at each segment that was added; nil without a snapshot
	Stayed     []Stayed      // of the allocated level, largest first; nil without a snapshot

	Replay *torchmem.Replay // for maps of segments; nil without a snapshot
	Shift  int64            // ns; snapshot time less Shift is report time
}

// ReportTime is a snapshot's time on the report's clock, in ns; torchmem.Never stays Never.
func (t *Tensors) ReportTime(at int64) int64 {
	if at == torchmem.Never {
		return Never
	}
	return at - t.Shift
}

// ShortStack is a call stack in few words, innermost call first: the Python frames, or the functions where there are
// none. Empty without a snapshot or a stack.
func (t *Tensors) ShortStack(id torchmem.StackID) string {
	if t.Replay == nil {
		return ""
	}
	return shortStack(t.Replay.Stack(id))
}

// Clock says how well a snapshot's clock goes with the report's.
type Clock struct {
	Offset   int64 // ns by which the snapshot's stamps are late, at the least
	Spread   int64 // ns between the least and the greatest lateness of the matched segments
	Matched  int   // segment allocations that are also in the report, with address and size
	Segments int   // segment allocations of the snapshot in the report's time
}

// CategoryUse is the memory of one category, in requested bytes.
type CategoryUse struct {
	Name   string
	Max    int64 // bytes; highest over the steady iterations
	AtPeak int64 // bytes; at the allocated level's peak
}

// A TensorBlock is one block that the allocator handed out.
type TensorBlock struct {
	Start        int64 // ns; Never where it was live before recording began
	End          int64 // ns; Never where it was not given back
	Address      uint64
	Bytes        int64 // as requested
	Counted      int64 // bytes as the allocator's meter counts them
	Stream       uint64
	Category     string
	Iteration    int    // place in Track.Iterations where it was born; -1 for none
	Phase        string // as in Block.Phase
	EndIteration int
	EndPhase     string
	Lifetime     int // iterations begun while it was live
	Stack        torchmem.StackID
	Frame        string // the innermost Python frame outside of libraries; empty where unknown
}

// A Holding is who holds memory at one time.
type Holding struct {
	Time       int64 // ns
	Iteration  int   // -1 for none
	Phase      string
	Bytes      int64 // requested bytes of all live blocks
	Request    int64 // bytes that could not be served; 0 at a peak
	Cache      *Cache
	ByFrame    []Share
	ByPhase    []Share // phase of birth
	ByCategory []Share
}

// A Share is a part of a Holding.
type Share struct {
	Name   string
	Blocks int
	Bytes  int64 // requested
}

// A Cache is the allocator's cache at one time.
type Cache struct {
	Time        int64 // ns
	Iteration   int   // -1 for none
	Phase       string
	Request     int64 // bytes asked for; 0 where unknown or none
	Allocated   int64 // bytes
	Reserved    int64 // bytes
	Free        int64 // bytes in the cache
	LargestFree int64 // bytes; largest free block that the request's stream and pool may use, else the largest of all
	Stuck       int64 // bytes of Free in segments that hold live blocks
	DeviceFree  int64 // bytes free on the card, of a failure; 0 where unknown
}

// splitAbove is the largest request of the small pool. Its free blocks serve no larger one, so that a small request
// beside free bytes of the large pool says nothing.
const splitAbove = 1 << 20

// Misfit says that the cache had as many bytes free as were asked for, and still no block that would do: they lay in
// pieces, or in the blocks of another stream.
func (c *Cache) Misfit() bool {
	return c.Request > splitAbove && c.Free >= c.Request && c.LargestFree < c.Request
}

// Outside is memory that the driver handed out to others than PyTorch's allocator.
type Outside struct {
	Bytes  int64   // device memory live at the end of the report
	Peak   int64   // highest sum of it
	Static int64   // bytes of device-static memory, such as modules' variables, live at the end; not in Bytes, Peak and Takers
	Blocks int     // of Static
	Takers []Taker // largest first
}

// A Taker is the blocks outside PyTorch that one call took in one phase.
type Taker struct {
	Call      string
	Iteration int // place in Track.Iterations; -1 for none
	Phase     string
	Blocks    int
	Bytes     int64 // allocated
	Live      int64 // bytes of those that are live at the end
}

// NoFrame is the name of the share of blocks that no line of the program asked for, as far as their stacks tell: a backward
// pass runs on a thread of its own, without Python.
const NoFrame = "(no Python frame)"

// CategoryNames are the names of the categories, in the order in which they are shown.
var CategoryNames = []string{"parameter", "optimizer state", "gradient", "activation", "input", "autograd detail", "temporary", "unknown"}

// A timeline finds iteration, phase and call of a moment of a process, by the ranges of its main thread.
type timeline struct {
	a    *alignment
	rows *rows
	p    *process
	in   cursor  // innermost ranges
	top  cursor  // top-level phases and ranges outside iterations
	iter []int64 // starts of iterations
}

func newTimeline(a *alignment, r *rows, p *process) *timeline {
	t := &timeline{a: a, rows: r, p: p}
	lead := a.lead(p)
	if lead.thread == nil {
		return t
	}
	rows := r.proc(p)
	t.in = newCursor(lead.segs)
	t.top = newCursor(cut(lead.thread.ranges, a.ranges.spans, func(id int32) bool {
		if r.of[id] < 0 {
			return false
		}
		w := &rows.list[r.of[id]]
		return w.kind == rowPhase && w.depth == 1 || w.kind == rowRange && w.contains == 0
	}))
	for i := range rows.iters {
		t.iter = append(t.iter, a.ranges.spans[rows.iters[i].span].start)
	}
	return t
}

// where is the iteration and phase of a moment, as rows.where gives them.
func (t *timeline) where(at int64) (iter int, path string) {
	return t.rows.where(t.p, placeOf(t.in.at(at), waySame))
}

// place is the moment for the search of categories.
func (t *timeline) place(at int64) category.Place {
	rows := t.rows.proc(t.p)
	out := category.Place{Iteration: sort.Search(len(t.iter), func(i int) bool { return t.iter[i] > at }) - 1}
	if out.Iteration >= 0 {
		out.Inside = at < t.a.ranges.spans[rows.iters[out.Iteration].span].end
	}
	if span := t.top.at(at); span >= 0 {
		out.Call = int(span) + 1
	}
	if span := t.in.at(at); span >= 0 {
		if r := t.rows.of[span]; r >= 0 && rows.list[r].kind != rowIteration {
			out.Role = category.RoleOf(rows.list[r].path)
		}
	}
	return out
}

// lifetime is the number of iterations begun in [from, to).
func (t *timeline) lifetime(from, to int64) int {
	n := func(at int64) int { return sort.Search(len(t.iter), func(i int) bool { return t.iter[i] >= at }) }
	end := len(t.iter)
	if to != Never {
		end = n(to)
	}
	if from == Never {
		return end
	}
	return max(0, end-n(from))
}

// categorize fills the categories of the blocks, their highest sums over the steady iterations, and who holds memory at
// the peak.
func (as *assembler) categorize(out *Track, ten *Tensors, tl *timeline, peakAt int64) {
	lives := make([]category.Life, len(ten.Blocks))
	for i := range ten.Blocks {
		b := &ten.Blocks[i]
		lives[i] = category.Life{From: b.Start, To: b.End, Bytes: b.Bytes}
		if as.time.any && b.Start < as.time.first && (b.End == Never || b.End >= as.time.first) {
			// The snapshot's trace began before the report did: what happened then has no phase.
			lives[i].From = torchmem.Never
		}
	}
	// Births and deaths are looked up in time order, each by a cursor that moves forward.
	order := make([]int32, len(lives))
	for i := range order {
		order[i] = int32(i)
	}
	for i := range lives {
		if lives[i].From != torchmem.Never {
			lives[i].Birth = tl.place(lives[i].From)
		}
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(lives[i].To, lives[j].To) })
	for _, i := range order {
		if lives[i].To != torchmem.Never {
			lives[i].Death = tl.place(lives[i].To)
		}
	}
	cats := category.Of(lives, len(out.Iterations))
	for i := range ten.Blocks {
		ten.Blocks[i].Category = cats[i].String()
	}
	var most [category.NumKinds]int64
	for i := range out.Iterations {
		it := &out.Iterations[i]
		if !it.Steady() {
			continue
		}
		m := category.Max(lives, cats, it.Start, it.End)
		for k := range m {
			most[k] = max(most[k], m[k])
		}
	}
	at := category.At(lives, cats, peakAt)
	for _, name := range CategoryNames {
		for k := category.Kind(0); k < category.NumKinds; k++ {
			if k.String() == name && (most[k] > 0 || at[k] > 0) {
				ten.Categories = append(ten.Categories, CategoryUse{Name: name, Max: most[k], AtPeak: at[k]})
			}
		}
	}
}

// hold sums the blocks that are live just after a time.
func hold(blocks []TensorBlock, at int64) Holding {
	h := Holding{Time: at}
	frame, phase, cat := newShares(), newShares(), newShares()
	for i := range blocks {
		b := &blocks[i]
		if b.Start != Never && b.Start > at || b.End != Never && b.End <= at {
			continue
		}
		h.Bytes += b.Bytes
		name := b.Frame
		if name == "" {
			name = NoFrame
		}
		frame.add(name, b.Bytes)
		name = b.Phase
		switch {
		case b.Start == Never:
			name = "(before recording)"
		case name == "":
			name = "(none)"
		}
		phase.add(name, b.Bytes)
		cat.add(b.Category, b.Bytes)
	}
	h.ByFrame, h.ByPhase, h.ByCategory = frame.list(), phase.list(), cat.list()
	return h
}

type shares struct {
	index map[string]int
	out   []Share
}

func newShares() *shares { return &shares{index: make(map[string]int)} }

func (s *shares) add(name string, bytes int64) {
	i, ok := s.index[name]
	if !ok {
		i = len(s.out)
		s.index[name] = i
		s.out = append(s.out, Share{Name: name})
	}
	s.out[i].Blocks++
	s.out[i].Bytes += bytes
}

func (s *shares) list() []Share {
	slices.SortStableFunc(s.out, func(x, y Share) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
	})
	return s.out
}

// uncached says that the driver's blocks are the tensors themselves: in most steady iterations the program allocates
// and frees several times.
func uncached(t *Track) bool {
	steady, busy := 0, 0
	for i := range t.Iterations {
		if it := &t.Iterations[i]; it.Steady() {
			steady++
			if it.Memory.Allocs >= 8 && it.Memory.Frees >= 8 {
				busy++
			}
		}
	}
	return steady >= 2 && 4*busy >= 3*steady
}

// driverTensors takes the driver's blocks for tensors where a program runs without a caching allocator. Static memory is
// no tensor; libraries' workspaces are among them.
func (as *assembler) driverTensors(out *Track, t *trackUse, tl *timeline) {
	if !uncached(out) || len(t.memory.blocks) == 0 {
		return
	}
	ten := &Tensors{From: "driver"}
	for i := range t.memory.blocks {
		r := &t.memory.blocks[i]
		if r.kind != nsysdb.KindDevice {
			continue
		}
		b := TensorBlock{Start: r.start, End: r.end, Address: uint64(r.address), Bytes: r.bytes, Counted: r.bytes, Lifetime: tl.lifetime(r.start, r.end)}
		if r.stream > 0 {
			b.Stream = uint64(r.stream)
		}
		b.Iteration, b.Phase = as.rows.where(t.proc, r.born)
		b.EndIteration, b.EndPhase = as.rows.where(t.proc, r.died)
		ten.Blocks = append(ten.Blocks, b)
	}
	peakAt := out.Total.Memory.PeakAt
	as.categorize(out, ten, tl, peakAt)
	ten.Peak = hold(ten.Blocks, peakAt)
	ten.Peak.Iteration, ten.Peak.Phase = tl.where(peakAt)
	out.Tensors = ten
}
