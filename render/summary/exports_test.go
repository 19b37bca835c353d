package summary

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"nsysmem/render/internal/sample"
)

// TestExports checks the summaries of real exports: JSON that agrees with the report, and text that fits.
func TestExports(t *testing.T) {
	for name, rep := range sample.Exports(t) {
		t.Run(name, func(t *testing.T) {
			_, v := jsonOf(t, rep)
			for i, tr := range rep.Tracks {
				its := at(t, v, "tracks", i, "iterations").([]any)
				if len(its) != len(tr.Iterations) {
					t.Fatalf("%d iterations, want %d", len(its), len(tr.Iterations))
				}
				for j := range tr.Iterations {
					it := &tr.Iterations[j]
					if rep.Collected.Memory {
						if got := at(t, its[j], "memory", "peak_bytes"); got != json.Number(strconv.FormatInt(it.Memory.Peak, 10)) {
							t.Errorf("peak of %s is %v, want %d", it.Name, got, it.Memory.Peak)
						}
					}
					if got := len(at(t, its[j], "phases").([]any)); got != len(it.Phases) {
						t.Errorf("%s has %d phases, want %d", it.Name, got, len(it.Phases))
					}
				}
			}
			for _, width := range []int{60, 80, 200} {
				checkLines(t, textOf(t, rep, width, false), width)
			}
			var b bytes.Buffer
			if err := WriteMarkdown(&b, rep); err != nil {
				t.Error(err)
			}
			if err := WriteCSV(&b, rep); err != nil {
				t.Error(err)
			}
		})
	}
}
