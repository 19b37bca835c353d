package summary

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"nsysmem/render/internal/sample"
)

// TestInferredBeside: what was compared stands in text, Markdown and JSON, each inferred phase beside the annotated one.
func TestInferredBeside(t *testing.T) {
	t.Parallel()
	rep := sample.Compared(t)
	for _, width := range []int{60, 80, 200} {
		text := textOf(t, rep, width, false)
		checkLines(t, text, width)
		if !strings.Contains(text, "annotated") || !strings.Contains(strings.Join(strings.Fields(text), " "), "Inferred phases beside the annotated ones") {
			t.Errorf("the comparison is not in the text of %d columns", width)
		}
	}
	var md bytes.Buffer
	if err := WriteMarkdown(&md, rep); err != nil || !strings.Contains(md.String(), besideHead) {
		t.Errorf("the comparison is not in Markdown (%v)", err)
	}
	_, v := jsonOf(t, rep)
	forward := at(t, v, "tracks", 0, "inferred", "iterations", 3, "phases", 1)
	if at(t, forward, "path") != "forward" {
		t.Fatalf("the second phase is %v", at(t, forward, "path"))
	}
	for _, key := range []string{"net_bytes", "peak_bytes", "need_bytes"} {
		found, annotated := at(t, forward, "memory", key), at(t, forward, "annotated", "memory", key)
		if found != annotated || found == json.Number("") {
			t.Errorf("%s: %v inferred, %v annotated", key, found, annotated)
		}
	}
	if m := at(t, v, "tracks", 0, "inferred", "phases", 1); at(t, m, "same") != json.Number("7") || at(t, m, "iterations") != json.Number("7") {
		t.Errorf("forward: %v", m)
	}
}

// TestInferredNotBeside: without a comparison there is none.
func TestInferredNotBeside(t *testing.T) {
	t.Parallel()
	if text := textOf(t, sample.Report(3), 200, false); strings.Contains(text, "beside the annotated") {
		t.Error("a comparison that was not made")
	}
}
