package whatif

import (
	"errors"
	"fmt"

	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/torchmem/allocator"
)

// A Trouble is the request that ended the recorded run, or what was being done in it.
type Trouble struct {
	Moment
	allocator.RecordedFailure
	Allocated   int64 // bytes, just then
	FreeCache   int64 // bytes free in the cache, after all that could be given back was
	LargestFree int64 // bytes; the largest piece of them
	Room        int64 // bytes that PyTorch could have just then, as far as is known
	Below       int64 // bytes; it could not have so many
	More        int   // further requests of the run that failed and that it did not get over
}

// findTrouble finds the first request that the recorded run did not get over.
//
// What PyTorch could have is what it held and what was free on the device. Where enough was free, a limit of the process was
// in force: then it could have at least the most that it ever held.
func (w *Comparison) findTrouble(q *allocator.Requests) {
	for _, f := range q.Failures() {
		if !f.After.Fatal() {
			w.GotOver++
			continue
		}
		if w.Trouble != nil {
			w.Trouble.More++
			continue
		}
		t := &Trouble{Moment: w.moment(f.Event), RecordedFailure: f, Room: f.Reserved + f.DeviceFree, Below: f.Reserved + f.Segment}
		if t.Limited {
			t.Room = q.Room().Least
		}
		for i := range w.Replay.Failures {
			if c := &w.Replay.Failures[i]; c.Event == f.Event {
				t.Allocated, t.FreeCache, t.LargestFree = c.Allocated, c.Free, c.LargestFree
				if frame := tensor.Frame(w.Replay.Stack(c.Stack)); frame != "" {
					t.Frame = frame
				}
			}
		}
		w.Trouble = t
	}
}

// ErrNotWhole says that a trace is not that of the run.
var ErrNotWhole = errors.New("the trace is not that of the run")

// wholeShare is which part of what was held before a trace its requests must at least come to. It is set low: a trace that
// begins after the model was built is of use, one of a few entries beside gigabytes is not.
const wholeShare = 20

// checkWhole refuses a trace that says nothing of how the program uses memory.
func (w *Comparison) checkWhole() error {
	var asked int64
	requests := len(w.Replay.Failures)
	for i := range w.Replay.Blocks {
		if b := &w.Replay.Blocks[i]; b.BirthEvent >= 0 {
			asked += b.Counted
			requests++
		}
	}
	if requests > 0 && asked >= w.Replay.StartReserved/wholeShare {
		return nil
	}
	return fmt.Errorf("align: snapshot %q: %w: %s of device %d, and %s for %s, beside %s that were held before: "+
		"no setting can be told from another by them: record with torch.cuda.memory._record_memory_history(enabled=\"all\", "+
		"max_entries=1000000) before the model is built", w.Snapshot, ErrNotWhole, entries(w.Replay.Events), w.Device,
		wording.Plural(requests, "request"), wording.Bytes(asked), wording.Bytes(w.Replay.StartReserved))
}

// entries is a number of entries of a trace in words.
func entries(n int) string {
	if n == 1 {
		return "one entry"
	}
	return wording.Count(n) + " entries"
}
