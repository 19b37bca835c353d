package phrase

import (
	"strings"
	"testing"

	"nsysmem/render/internal/sample"
)

// TestBesideTheory checks the names of differences.
func TestBesideTheory(t *testing.T) {
	rep := sample.Report(4)
	sample.Tensors(rep)
	tr := rep.Tracks[0]
	list := BesideTheory(tr)
	if len(list) != 3 || list[0].Formula != "4N" || list[2].Formula != "8N" {
		t.Fatalf("%+v", list)
	}
	if d := list[0].Difference(); d != 2600 || !strings.Contains(list[0].Note, "buffers") {
		t.Errorf("parameter: %+d bytes: %q", d, list[0].Note)
	}
	if list[1].Note != "" || list[1].Difference() != 0 || list[1].Sentence() != "gradient: 4N = 860,576 bytes by theory, measured exactly" {
		t.Errorf("gradient: %q", list[1].Sentence())
	}
	for _, c := range []struct {
		name string
		max  int64
		note string
	}{{"optimizer state", 860_576, "another --optimizer"}, {"optimizer state", 1_721_152 + 4*44, "step counters"}, {"gradient", 407_968, "never live all at once"},
		{"gradient", 2 * 860_576, "two sets"}, {"parameter", 430_288, "another --dtype"}, {"parameter", 0, "none was found"}} {
		for i := range tr.Tensors.Categories {
			if k := &tr.Tensors.Categories[i]; k.Name == c.name {
				k.Max = c.max
			}
		}
		for _, b := range BesideTheory(tr) {
			if b.Category == c.name && !strings.Contains(b.Note, c.note) {
				t.Errorf("%s of %d bytes: %q, want %q", c.name, c.max, b.Note, c.note)
			}
		}
	}
	tr.Tensors = nil
	if b := BesideTheory(tr)[0]; b.Known || b.Note != "" {
		t.Errorf("without a snapshot: %+v", b)
	}
}
