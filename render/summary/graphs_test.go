package summary

import (
	"bytes"
	"strings"
	"testing"

	"nsysmem/align/findings"
	"nsysmem/render/internal/sample"
)

// TestGraphTime checks that people see the time of graphs that were traced whole, whose kernels are not known, and nothing
// of graphs where there are none.
func TestGraphTime(t *testing.T) {
	t.Parallel()
	markdownOf := func(rep *findings.Report) string {
		var b bytes.Buffer
		if err := WriteMarkdown(&b, rep); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := sample.Report(3)
	for _, text := range []string{textOf(t, plain, 200, false), markdownOf(plain)} {
		if strings.Contains(strings.ToLower(text), "graph") {
			t.Errorf("graphs where there are none:\n%s", text)
		}
	}

	rep := sample.Report(3)
	rep.Tracks = rep.Tracks[:1]
	tr := rep.Tracks[0]
	tr.Total.GPU.Graphs, tr.Total.GPU.GraphNS = 3, 3*1_234_000
	for i := range tr.Iterations {
		g := &tr.Iterations[i].GPU
		g.Kernels, g.KernelNS, g.Graphs, g.GraphNS = 0, 0, 7, 1_234_000
	}
	for i := range tr.Phases {
		tr.Phases[i].Median.GPU.GraphNS = 765_000
	}
	for text, heads := range map[string][]string{
		textOf(t, rep, 200, false): {"graphs  graph time"},
		markdownOf(rep):            {"| Graphs | Graph time | Note |", "| Graphs (median) | Graph time (median) |"}} {
		for _, want := range append(heads, "1.234 ms", "765.0 µs") {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}
