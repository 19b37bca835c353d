package workbook

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align/whatif"
	"nsysmem/render/internal/sample"
	"nsysmem/torchmem"
)

func TestWhatIf(t *testing.T) {
	t.Parallel()
	rep := sample.Report(3)
	w := &whatif.Comparison{Track: rep.Tracks[0], Replay: &torchmem.Replay{}, Timed: true, Known: true, Capacity: 6 << 30, CannotKnow: []string{"time is not modelled"}}
	for i, conf := range []string{"", "expandable_segments:True", "roundup_power2_divisions:[64:8,>:1]"} {
		s := whatif.Setting{IsDefault: i == 0, IsRecorded: i == 0, SmallestCard: 5<<30 + int64(i), Limited: &whatif.Limits{}}
		s.Conf, s.PeakReserved, s.ReservedRange, s.CUDAMallocs = conf, 7<<30-int64(i)*512, [2]int64{6 << 30, 7 << 30}, 50+i
		s.Peak = whatif.Moment{Iteration: 1, Phase: "backward"}
		s.Iterations = []int64{1 << 30, 2<<30 + int64(i)<<20, 3 << 30}
		if i == 0 {
			s.Limited.Failed, s.Limited.Failures = 1, []whatif.Failure{{Moment: whatif.Moment{Iteration: 2, Phase: "=1+1"}}}
		} else {
			s.Notes = []string{"a range"}
			s.First = &whatif.Apart{Moment: whatif.Moment{Iteration: 0, Phase: "forward"}, Reserved: 1 << 20, Base: 3 << 20}
			s.Most = s.First
		}
		w.Settings = append(w.Settings, s)
	}
	var b bytes.Buffer
	if err := Write(&b, rep, Options{TempDir: t.TempDir(), WhatIf: []*whatif.Comparison{w}}); err != nil {
		t.Fatal(err)
	}
	f := open(t, b.Bytes())
	list := f.GetSheetList()
	if want := append(slices.Clone(sheetNames), "What if", "What if by iteration"); !slices.Equal(list, want) {
		t.Errorf("sheets %q, want %q", list, want)
	}
	table := rows(t, f, "What if")
	if len(table) != 4 {
		t.Fatalf("%d rows", len(table))
	}
	for i := range w.Settings {
		s := &w.Settings[i]
		want := map[string]string{"Setting": s.Conf, "Peak reserved (bytes)": strconv.FormatInt(s.PeakReserved, 10), "Smallest card (bytes)": strconv.FormatInt(s.SmallestCard, 10),
			"Failed requests there": strconv.Itoa(s.Failed()), "cudaMalloc calls": strconv.Itoa(s.CUDAMallocs), "Peak in": "iteration 1, backward", "Is": "", "Notes": "a range", "Fails in": ""}
		if i == 0 {
			want["Setting"], want["Is"], want["Notes"], want["Fails in"] = "(default)", "recorded, default", "time is not modelled", "iteration 2, =1+1"
		} else {
			want["Differs first in"], want["by (MiB)"] = "iteration 0, forward", "-2"
		}
		for head, v := range want {
			if got := columnOf(t, table, head)[i]; got != v {
				t.Errorf("row %d: %s is %q, want %q", i, head, got, v)
			}
		}
		if mib, err := strconv.ParseFloat(columnOf(t, table, "Peak reserved (MiB)")[i], 64); err != nil || int64(mib*(1<<20)+0.5) != s.PeakReserved {
			t.Errorf("row %d: %v MiB of %d", i, mib, s.PeakReserved)
		}
	}
	by := rows(t, f, "What if by iteration")
	if len(by) != 4 || !strings.HasPrefix(by[0][4], "(default)") || by[2][5] != "2049" || by[2][4] != "2048" {
		t.Errorf("%q", by)
	}
}
