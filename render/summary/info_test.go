package summary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"nsysmem/align"
	"nsysmem/render/internal/sample"
	"nsysmem/render/inventory"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

func sampleInfo() *inventory.Report {
	rep := sample.Report(4)
	return &inventory.Report{
		Source: rep.Source, Size: 802_816,
		Contents: []tables.Content{{Name: "device memory", Collected: true, Rows: 418_000}, {Name: "NVTX ranges", Collected: true},
			{Name: "GPU kernels", How: phrase.Missing(align.Collected{})[2].How}},
		Tables: []tables.ExportTable{{Name: "CUDA_GPU_MEMORY_USAGE_EVENTS", Rows: 418_000, Columns: 16},
			{Name: "ENUM_CUDA_MEM_KIND", Rows: 8, Columns: 3}, {Name: "x\x1b[2J", Rows: 1, Columns: 2}},
		Settings:   []inventory.Setting{{Name: "CUDA graph tracing", Value: "Node"}},
		Processes:  []tables.Process{{PID: 734, Name: "python3", Rank: -1, Devices: []int64{0, 1}, Kernels: -1, MemoryEvents: 418_000, Calls: 1_792_400}},
		Devices:    []tables.Device{{Name: "NVIDIA H200", UUID: "GPU-1", Bus: "0000:1a:00.0", TotalMemory: 150_109_880_320}},
		Iterations: []inventory.Iterations{{PID: 734, IterationsFrom: rep.Tracks[0].IterationsFrom}, {PID: 900, IterationsFrom: align.IterationsFrom{How: "none", Why: "no range repeats"}}},
		Families:   rep.Families, Notes: []string{"inferred and annotated phases agree on 99.2 % of the kernels"},
		Findings: rep.Findings, Warnings: rep.Warnings,
	}
}

func TestInfoText(t *testing.T) {
	for _, width := range []int{60, 120} {
		var b bytes.Buffer
		if err := WriteInfo(&b, sampleInfo(), width, false); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("info%d.txt", width), b.Bytes())
		checkLines(t, b.String(), width)
	}
	if err := WriteInfo(&failing{}, &inventory.Report{}, 80, false); err == nil {
		t.Error("no error from a full disk")
	}
}

func TestInfoJSON(t *testing.T) {
	for _, info := range []*inventory.Report{sampleInfo(), {}} {
		var b bytes.Buffer
		if err := WriteInfoJSON(&b, info); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if len(info.Contents) > 0 {
			if got := at(t, v, "contents", 2, "rows"); got != nil {
				t.Errorf("rows of what was not collected = %v", got)
			}
			if got := at(t, v, "processes", 0, "kernels"); got != nil {
				t.Errorf("kernels = %v, want null", got)
			}
			if got := at(t, v, "iterations_from", 1, "from", "how"); got != "none" {
				t.Errorf("how = %v", got)
			}
		}
	}
}
