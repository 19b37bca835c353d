package tensor

import (
	"iter"
	"reflect"
	"strings"
	"testing"

	"nsysmem/align/caller"
	"nsysmem/torchmem"
)

// blockList is a driver of blocks that one call takes in one phase.
type blockList []DriverBlock

func (l blockList) Blocks() iter.Seq2[int, DriverBlock] {
	return func(yield func(int, DriverBlock) bool) {
		for i, b := range l {
			if !yield(i, b) {
				return
			}
		}
	}
}

func (l blockList) Born(int) (string, int, string) { return "cudaMalloc", 1, "forward" }

func (l blockList) Callers() func(int) caller.Caller { return nil }

// calledList is a driver whose blocks are asked for by libraries.
type calledList struct {
	blockList
	by []string
}

func (l calledList) Callers() func(int) caller.Caller {
	return func(i int) caller.Caller { return caller.Caller{Library: l.by[i]} }
}

func (l blockList) Died(int) (int, string) { return -1, "" }

// taken makes a replay with a segment of 2 MiB at each of some times, in ns since 1970, at addresses 0x1000, 0x2000, ….
func taken(times ...int64) *torchmem.Replay {
	r := &torchmem.Replay{}
	for i, at := range times {
		r.Segments = append(r.Segments, torchmem.SegmentLife{Birth: at, Death: Never, BirthEvent: int32(i), Addr: uint64(i+1) * 0x1000, Size: 2 * mib})
		r.From, r.To = times[0], at
	}
	return r
}

func TestCompare(t *testing.T) {
	const utc = int64(1e18)
	when := ReportTime{UTC: utc, First: 0, Last: 1e9}
	r := taken(utc+105, utc+203, utc+5e8, utc+9e8)
	driver := blockList{
		{Start: 0, End: 50, Address: 0x1000, Bytes: 2 * mib},      // at the same address, but long before
		{Start: 100, End: Never, Address: 0x1000, Bytes: 2 * mib}, // 5 ns earlier than its segment
		{Start: 200, End: Never, Address: 0x2000, Bytes: 2 * mib}, // 3 ns
		{Start: 4e8, End: Never, Address: 0x3000, Bytes: 2 * mib}, // too early to be the same
		{Start: 9e8, End: Never, Address: 0x4000, Bytes: mib},     // of another size
		{Start: 9e8, End: Never, Address: 0x4000, Bytes: 2 * mib, Static: true},
	}
	m := Compare(r, driver, when)
	if want := (Clock{Offset: 3, Spread: 2, Matched: 2, Segments: 4}); m.Clock != want || !m.Good() {
		t.Errorf("%+v, want %+v", m.Clock, want)
	}
	if m := Compare(r, driver[:2], when); m.Good() || m.Why() != "device 0: 1 of 4 segments are in the report" {
		t.Errorf("one of four: %+v: %s", m.Clock, m.Why())
	}
	// Wall clocks are not seconds apart.
	if m := Compare(taken(utc+3e9), blockList{{Start: 1, Address: 0x1000, Bytes: 2 * mib}}, ReportTime{UTC: utc, Last: 4e9}); m.Clock.Matched != 0 {
		t.Errorf("3 s late: %+v", m.Clock)
	}
	// Without the report's wall clock, stamps say nothing but how they differ.
	if m := Compare(r, driver[1:], ReportTime{Last: 1e9}); m.Clock.Offset != utc+3 || m.Clock.Matched != 2 {
		t.Errorf("without UTC: %+v", m.Clock)
	}
}

// TestCompareHeld: a trace without a segment in the report's time goes by what is held at its end, if it is of that time.
func TestCompareHeld(t *testing.T) {
	const utc = int64(1e18)
	driver := blockList{{Start: 1, Address: 0x1000, Bytes: 2 * mib}}
	r := taken(0)
	r.Segments[0].Birth, r.Segments[0].BirthEvent = Never, -1
	r.From, r.To = utc+10, utc+20
	if m := Compare(r, driver, ReportTime{UTC: utc, Last: 100}); !m.Good() || m.Clock != (Clock{Matched: 1, Segments: 1}) {
		t.Errorf("in time: %+v", m.Clock)
	}
	r.From, r.To = utc+4e9, utc+5e9
	if m := Compare(r, driver, ReportTime{UTC: utc, Last: 100}); m.Good() || !strings.HasPrefix(m.Why(), "device 0: recorded from 2001-09-09 01:46:44 UTC to ") {
		t.Errorf("of another time: %+v: %s", m.Clock, m.Why())
	}
}

func TestOutsideSums(t *testing.T) {
	r := taken(100)
	r.Segments[0].Death = 300
	r.Segments[0].Size = 0x800
	m := &Memory{Replay: r}
	got := m.outside(blockList{
		{Start: 100, End: 300, Address: 0x1000, Bytes: 1}, // the segment
		{Start: 150, End: 200, Address: 0x1400, Bytes: 2}, // within
		{Start: 400, End: Never, Address: 0x1000, Bytes: 4},
		{Start: 100, End: 500, Address: 0x1800, Bytes: 8}, // behind it
		{Start: 500, End: Never, Address: 0x100, Bytes: 16},
		{Start: Never, End: Never, Address: 0x9000, Bytes: 32, Static: true},
		{Start: Never, End: 100, Address: 0x9000, Bytes: 64, Static: true},
	})
	want := &Outside{Bytes: 20, Peak: 28, Static: 32, Blocks: 1, Takers: []Taker{{Call: "cudaMalloc", Iteration: 1, Phase: "forward", Blocks: 3, Bytes: 28, Live: 20}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestHold(t *testing.T) {
	blocks := []Block{
		{Start: Never, End: Never, Bytes: 1, Phase: "x", Frame: "a.py:1 f", Category: "parameter"},
		{Start: 5, End: 20, Bytes: 2, Phase: "forward", Frame: "a.py:1 f", Category: "activation", Module: "h.0"},
		{Start: 10, End: 11, Bytes: 4, Category: "activation"},
		{Start: 11, End: 20, Bytes: 8}, // later
		{Start: 1, End: 10, Bytes: 16}, // gone
	}
	got := hold(blocks, 10)
	want := Holding{Time: 10, Bytes: 7,
		ByFrame:    []Share{{NoFrame, 1, 4}, {"a.py:1 f", 2, 3}},
		ByPhase:    []Share{{"(none)", 1, 4}, {"forward", 1, 2}, {"(before recording)", 1, 1}},
		ByCategory: []Share{{"activation", 2, 6}, {"parameter", 1, 1}},
		ByModule:   []Share{{NoModule, 2, 5}, {"h.0", 1, 2}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestFrame(t *testing.T) {
	stack := []torchmem.Frame{{Name: "at::empty", File: "Alloc.cpp"}, {Name: "forward", File: "/usr/lib/site-packages/torch/nn/linear.py", Line: 9},
		{Name: "step", File: `C:\users\me\train.py`, Line: 7}, {Name: "main", File: "/home/me/train.py", Line: 3}}
	if got := Frame(stack); got != "train.py:7 step" {
		t.Errorf("got %q", got)
	}
	if got := Frame(stack[:2]); got != "linear.py:9 forward" {
		t.Errorf("of a library alone: %q", got)
	}
	if got := Frame(stack[:1]); got != "" {
		t.Errorf("without Python: %q", got)
	}
	if got := shortStack(stack); got != "linear.py:9 forward < train.py:7 step < train.py:3 main" {
		t.Errorf("short: %q", got)
	}
	if got := shortStack(stack[:1]); got != "at::empty" {
		t.Errorf("short, without Python: %q", got)
	}
}

func TestMisfit(t *testing.T) {
	for _, c := range []struct {
		Cache
		want bool
	}{
		{Cache{Request: 2 * mib, Free: 2 * mib, LargestFree: mib}, true},
		{Cache{Request: 2 * mib, Free: 2*mib - 1, LargestFree: mib}, false},
		{Cache{Request: 2 * mib, Free: 4 * mib, LargestFree: 2 * mib}, false},
		{Cache{Request: mib, Free: 4 * mib}, false}, // of the small pool
		{Cache{Request: 2 * mib, Free: 2 * mib, LargestFree: mib, Private: true}, false},
	} {
		if c.Misfit() != c.want {
			t.Errorf("%+v: %v", c.Cache, c.Misfit())
		}
	}
}

// TestOutsideByLibrary checks that what libraries hold adds up to the highest and the last sum of what lies outside PyTorch:
// static memory and what is in a segment count for none, and what is taken at a time comes before what is given back then.
func TestOutsideByLibrary(t *testing.T) {
	t.Parallel()
	list := blockList{
		{Start: Never, End: 30, Address: 0x1000, Bytes: 10},
		{Start: 10, End: 20, Address: 0x2000, Bytes: 100},
		{Start: 20, End: Never, Address: 0x3000, Bytes: 50},
		{Start: 40, End: Never, Address: 0x4000, Bytes: 7},
		{Start: 15, End: Never, Address: 0x5000, Bytes: 1000, Static: true},
		{Start: 50, End: Never, Address: 0x80_0000, Bytes: 2 * mib},
	}
	m := &Memory{Replay: &torchmem.Replay{Segments: []torchmem.SegmentLife{{Birth: 50, Death: Never, Addr: 0x80_0000, Size: 2 * mib}}}}
	o := m.outside(calledList{list, []string{"cuDNN", "cuBLAS", "cuDNN", "", "", "PyTorch"}})
	want := []Library{{Name: "cuBLAS", Blocks: 1, Bytes: 100, AtPeak: 100}, {Name: "cuDNN", Blocks: 2, Bytes: 60, AtPeak: 60, Live: 50},
		{Blocks: 1, Bytes: 7, Live: 7}}
	if !reflect.DeepEqual(o.Libraries, want) || o.Peak != 160 || o.Bytes != 57 || o.Static != 1000 {
		t.Errorf("%+v", o)
	}
	if o := m.outside(list); o.Libraries != nil || o.Peak != 160 || o.Bytes != 57 {
		t.Errorf("%+v without chains", o)
	}
	if o := (&Memory{Replay: &torchmem.Replay{}}).outside(calledList{}); o.Libraries == nil || len(o.Libraries) > 0 {
		t.Errorf("%+v where chains tell that there is nothing", o)
	}
}
