package align

import (
	"fmt"
	"slices"
	"testing"
)

// diagnose gives a script messages of the profiler: severity, text and process, 0 for none.
func diagnose(s *script, messages ...[3]any) {
	s.sql("CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER)")
	for _, m := range messages {
		s.sql("INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 0, 3, %d, '%s', %d)", m[0], m[1], int64(m[2].(int))<<24)
	}
}

const (
	noCUDA     = "No CUDA events collected. Does the process use CUDA?"
	notStarted = "CUDA profiling might have not been started correctly."
	noNVTX     = "No NVTX events collected. Does the process use NVTX?"
	notAll     = "Not all CUDA events might have been collected."
)

// TestDiagnosticsOnce checks that a message comes once with its count and processes, and not where the report says
// otherwise.
func TestDiagnosticsOnce(t *testing.T) {
	t.Parallel()
	const loader, ranged = 300, 400 // a child without CUDA, and one with a range of its own
	withWork := func(s *script) { endedLoop(s, procP, 2, false, always) }
	for name, c := range map[string]struct {
		program func(*script)
		said    [][3]any
		want    []Diagnostic
	}{
		"once each": {withWork, [][3]any{{2, notAll, procP}, {2, notAll, procP}, {2, notAll, procQ}, {3, notAll, procP}, {2, "buffer lost", 0}},
			[]Diagnostic{{"warning", notAll, 3, []int64{procP, procQ}}, {"error", notAll, 1, []int64{procP}}, {"warning", "buffer lost", 1, nil}}},
		"the process has them":        {withWork, [][3]any{{2, noCUDA, procP}, {2, notStarted, procP}, {2, noNVTX, procP}}, nil},
		"a child, and others have":    {withWork, [][3]any{{2, noCUDA, loader}, {2, notStarted, loader}, {2, noNVTX, loader}}, nil},
		"of no process, others have":  {withWork, [][3]any{{2, noCUDA, 0}}, nil},
		"one with ranges, not traced": {func(s *script) { withWork(s); s.nv(5, 9, "step 0", tid(ranged, 1)) }, [][3]any{{2, noCUDA, ranged}}, []Diagnostic{{"warning", noCUDA, 1, []int64{ranged}}}},
		"CUDA without ranges":         {func(s *script) { withWork(s); s.launch(7, tid(procQ, 1), 1, 8, 9) }, [][3]any{{2, noNVTX, procQ}}, []Diagnostic{{"warning", noNVTX, 1, []int64{procQ}}}},
		"nobody has any": {func(s *script) { s.nv(5, 9, "step 0", tid(procP, 1)) }, [][3]any{{2, noCUDA, procP}, {2, noCUDA, loader}},
			[]Diagnostic{{"warning", noCUDA, 2, []int64{procP, loader}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			c.program(s)
			diagnose(s, c.said...)
			got := s.report(Options{Infer: InferOff}).Recording.Diagnostics
			if !slices.EqualFunc(got, c.want, func(x, y Diagnostic) bool { return fmt.Sprint(x) == fmt.Sprint(y) }) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestDiagnosticsOfInferred checks that inferred ranges do not speak for the process: it has none of its own.
func TestDiagnosticsOfInferred(t *testing.T) {
	t.Parallel()
	rep := analyze(t, findExport(t, "cnn_none"), Options{})
	tr := onlyTrack(t, rep)
	want := []Diagnostic{{"warning", noNVTX, 1, []int64{tr.PID}}}
	if !tr.IterationsFrom.Inferred() || fmt.Sprint(rep.Recording.Diagnostics) != fmt.Sprint(want) {
		t.Errorf("iterations from %q, %v, want %v", tr.IterationsFrom.How, rep.Recording.Diagnostics, want)
	}
}
