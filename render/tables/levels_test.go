package tables

import (
	"testing"

	"nsysmem/align"
)

// TestFailedKnown checks where failed_allocs is known: of the driver's levels by the API trace, of the level allocated by
// the snapshot alone.
func TestFailedKnown(t *testing.T) {
	t.Parallel()
	for _, api := range []bool{false, true} {
		tr := &align.Track{Levels: []align.Level{{Kind: align.LevelDevice}, {Kind: align.LevelAllocated, FailedAllocs: 2}}}
		rep := &align.Report{Collected: align.Collected{Memory: true, API: api}, Tracks: []*align.Track{tr}}
		rows := LevelRows(rep, tr)
		c := columnByKey(t, levels, "failed_allocs")
		if got := c.Known(rows[0]); got != api {
			t.Errorf("device: known %t with API calls %t", got, api)
		}
		if !c.Known(rows[1]) || c.Int(rows[1]) != 2 {
			t.Errorf("allocated: known %t, %d", c.Known(rows[1]), c.Int(rows[1]))
		}
		it := &align.Iteration{Use: align.Use{Other: []align.LevelUse{{Level: align.LevelAllocated}, {Level: "managed"}}}}
		s := &Step{Collected: &rep.Collected, Track: tr, Iteration: it}
		for kind, want := range map[align.LevelKind]bool{align.LevelAllocated: true, "managed": api} {
			if got := columnByKey(t, LevelColumns(kind, ""), "failed_allocs").Known(s); got != want {
				t.Errorf("%s of an iteration: known %t with API calls %t", kind, got, api)
			}
		}
	}
}

func columnByKey[R any](t *testing.T, cols []Column[R], key string) Column[R] {
	t.Helper()
	for _, c := range cols {
		if c.Key == key {
			return c
		}
	}
	t.Fatalf("no column %q", key)
	return Column[R]{}
}
