package align

import (
	"context"
	"slices"
	"testing"

	"nsysmem/align/period"
	"nsysmem/nsysdb"
)

// timesOf reads when the processes with given ids take and give back memory.
func timesOf(t *testing.T, path string, opts Options, pids ...int64) map[int64]period.Memory {
	t.Helper()
	db, err := nsysdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	src, err := newSource(db, opts)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRanges(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[*process]bool)
	for _, pid := range pids {
		want[src.processes.of(pid<<24)] = true
	}
	got, err := readMemoryTimes(context.Background(), src, want, r.time)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[int64]period.Memory)
	for p, m := range got {
		out[p.pid] = m
	}
	return out
}

// TestMemoryTimes: device memory of the processes that are asked for counts, in the order of time; static, managed and
// pinned memory and other processes' do not.
func TestMemoryTimes(t *testing.T) {
	t.Parallel()
	for _, reversed := range []bool{false, true} {
		s := newScript(t)
		s.reversed = reversed
		s.alloc(100, tid(procP, 1), 1, 0xA, 512)
		s.mem(110, procP, 0, 0xB, 512, nsysdb.KindDeviceStatic, nsysdb.OpAlloc, 0)
		s.mem(120, procP, 0, 0xC, 512, nsysdb.KindPinned, nsysdb.OpAlloc, 0)
		s.mem(130, procP, 0, 0xD, 512, nsysdb.KindManaged, nsysdb.OpAlloc, 0)
		s.alloc(140, tid(procQ, 1), 2, 0xA, 512)
		s.mem(145, procP, 1, 0xE, 512, nsysdb.KindDevice, nsysdb.OpAlloc, 0) // another device of the same process
		s.free(150, tid(procP, 1), 3, 0xA, 512)
		s.free(160, tid(procP, 1), 4, 0xF, 512) // it was there before
		got := timesOf(t, s.export(), Options{}, procP)
		m, ok := got[procP]
		if !ok || len(got) != 1 {
			t.Fatalf("times of %d processes", len(got))
		}
		if want := []int64{100, 145}; !slices.Equal(m.Taken, want) || m.Driver != nil {
			t.Errorf("taken at %v, want %v", m.Taken, want)
		}
		if want := []period.Given{{At: 150, Born: 100}, {At: 160, Born: Never}}; !slices.Equal(m.Given, want) {
			t.Errorf("given back at %v, want %v", m.Given, want)
		}
	}
}

// TestTensorTimes: a snapshot's tensors stand in the place of the driver's blocks, on the report's clock.
func TestTensorTimes(t *testing.T) {
	t.Parallel()
	path := findExport(t, "cnn_default")
	driver := timesOf(t, path, Options{}, 440)[440]
	m := timesOf(t, path, withSnapshot(t, path, Options{}), 440)[440]
	if !slices.Equal(m.Driver, driver.Taken) || len(driver.Driver) != 0 {
		t.Errorf("%d blocks of the driver's, want %d", len(m.Driver), len(driver.Taken))
	}
	if len(m.Taken) < 10*len(driver.Taken) || !slices.IsSorted(m.Taken) {
		t.Errorf("%d tensors, %d blocks", len(m.Taken), len(driver.Taken))
	}
	// Some tensor comes within 100 µs of each block that the allocator took for one.
	near := 0
	for _, d := range m.Driver {
		if i, _ := slices.BinarySearch(m.Taken, d); i < len(m.Taken) && m.Taken[i]-d < 100_000 {
			near++
		}
	}
	if 2*near < len(m.Driver) {
		t.Errorf("a tensor follows %d of %d blocks", near, len(m.Driver))
	}
}

// TestNoMemoryTimes: without memory events nothing is known, and it is no error.
func TestNoMemoryTimes(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.launch(100, tid(procP, 1), 1, 110, 120)
	if got := timesOf(t, s.export(), Options{}, procP); len(got[procP].Taken)+len(got[procP].Given) != 0 {
		t.Errorf("%v", got)
	}
}
