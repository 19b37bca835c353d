package allocator

import (
	"fmt"
	"nsysmem/torchmem"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTmp(t *testing.T) {
	for _, f := range filepath.SplitList(os.Getenv("TMPF")) {
		h, _ := os.Open(f)
		s, err := torchmem.Read(h, torchmem.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		q := RequestsOf(r)
		fmt.Println(f, len(q.ops), "room", q.room, q.Failures())
		var cfgs []*Config
		for _, c := range SweepGrid() {
			cfgs = append(cfgs, mustParse(t, c))
		}
		t0 := time.Now()
		for _, c := range cfgs {
			t1 := time.Now()
			free := q.Simulate(c, Options{})
			d0 := time.Since(t1)
			t1 = time.Now()
			sm := q.smallest(c, free)
			fmt.Printf("%-50s free %v peak %d alloc %d  thr %d least %d checked %d certain %d exact %v in %v atleast %v\n", c.Text, d0, free.PeakReserved>>20, free.PeakAllocated>>20, sm.Threshold>>20, sm.Least>>20, sm.Checked>>20, sm.Certain>>20, sm.Exact(), time.Since(t1), free.AtLeast)
		}
		fmt.Println(time.Since(t0))
	}
}
