// Package peertest opens what nsysmem batch writes with the programs that it is written for. It is a module of its own, as
// these need C and much code.
package peertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// build builds nsysmem.
func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nsysmem")
	cmd := exec.Command("go", "build", "-o", name, "./cmd/nsysmem")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return name
}

// summary is what is compared of reports/NAME.json.
type summary struct {
	Tracks []struct {
		PID    int64
		Levels map[string]struct {
			Peak   int64 `json:"peak_bytes"`
			Alloc  int64 `json:"alloc_bytes"`
			Free   int64 `json:"free_bytes"`
			Allocs int64
		}
		Iterations []struct {
			Memory struct {
				Net  *int64 `json:"net_bytes"`
				Peak *int64 `json:"peak_bytes"`
			}
			GPU *struct {
				Kernels int64
				NS      int64 `json:"kernel_ns"`
			}
			Phases []struct{}
		}
		Total struct {
			GPU *struct {
				Kernels int64
				NS      int64 `json:"kernel_ns"`
			}
		}
	}
}

func readSummary(t *testing.T, name string) *summary {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &summary{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}
