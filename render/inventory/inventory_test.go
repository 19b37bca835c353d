package inventory

import (
	"slices"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/nsysdb"
	"nsysmem/render/internal/sample"
)

// TestProcesses checks that a process of several devices is one row, that rows go by number, and that what was not
// collected is not 0.
func TestProcesses(t *testing.T) {
	t.Parallel()
	rep := &findings.Report{Report: &align.Report{
		Collected: align.Collected{Kernels: true},
		Tracks: []*align.Track{
			{PID: 9, Device: 0, Attribution: align.Attribution{Kernels: 3}},
			{PID: 9, Device: 1, Attribution: align.Attribution{Kernels: 4}},
			{PID: 2, Process: "python3"},
		},
	}}
	got := processes(&nsysdb.Meta{}, rep)
	if len(got) != 2 || got[0].PID != 2 || got[0].Name != "python3" || got[1].PID != 9 {
		t.Fatalf("%+v", got)
	}
	p := got[1]
	if !slices.Equal(p.Devices, []int64{0, 1}) || p.Kernels != 7 || p.MemoryEvents != -1 || p.Calls != -1 || p.Rank != -1 {
		t.Errorf("%+v", p)
	}
}

// TestSettings checks that what the export does not tell is left out.
func TestSettings(t *testing.T) {
	t.Parallel()
	got := settings(&nsysdb.Meta{CollectCUDA: nsysdb.On, CollectNVTX: nsysdb.Off, TimeShift: 5}, events{})
	want := []Setting{{"CUDA trace", "on"}, {"NVTX trace", "off"}, {"times shifted by", "5 ns"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Events count for more than a setting that says off, and for nothing where the export tells no setting.
	got = settings(&nsysdb.Meta{CollectCUDA: nsysdb.Off, CollectMemory: nsysdb.Off}, events{cuda: true, nvtx: true})
	want = []Setting{{"CUDA trace", "on"}, {"memory usage", "off"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// gathered is what is gathered of an export, and the report that it is gathered from.
func gathered(t *testing.T, path string) (*Report, *align.Report) {
	t.Helper()
	db, err := nsysdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	aligned, err := align.Analyze(t.Context(), db, align.Options{})
	if err != nil {
		t.Fatal(err)
	}
	held, err := Of(db, findings.Of(aligned))
	if err != nil {
		t.Fatal(err)
	}
	return held, aligned
}

// TestOf gathers from real exports: every track has its iterations, and what is not collected says how to record it.
func TestOf(t *testing.T) {
	t.Parallel()
	held, aligned := gathered(t, "../../testdata/cnn_2022.sqlite")
	if len(held.Tables) == 0 || len(held.Iterations) != len(aligned.Tracks) {
		t.Fatalf("%+v", held)
	}
	for _, c := range held.Contents {
		if c.Collected == (c.How != "") {
			t.Errorf("%s: collected %t, how to record it: %q", c.Name, c.Collected, c.How)
		}
	}
}

// TestAgreement checks that a track whose iterations were not compared has no note.
func TestAgreement(t *testing.T) {
	t.Parallel()
	tr := sample.Report(3).Tracks[0]
	tr.Inferred = nil
	if note := agreement(tr); note != "" {
		t.Errorf("%q", note)
	}
}

// TestAgreementOfMemory checks that the note counts the phases whose memory is the same, and says nothing of memory where
// none was compared.
func TestAgreementOfMemory(t *testing.T) {
	t.Parallel()
	tr := sample.Compared(t).Tracks[0]
	if note := agreement(tr); !strings.Contains(note, "those of the annotated one, to the byte, in 56 of 56 cases") {
		t.Errorf("%q", note)
	}
	tr.Inferred.Phases = nil
	if note := agreement(tr); note == "" || strings.Contains(note, "to the byte") {
		t.Errorf("%q", note)
	}
}
