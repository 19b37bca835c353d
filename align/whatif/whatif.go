// Package whatif compares settings of PyTorch's caching allocator: it lets a model of the allocator serve the
// requests of a recorded run under each of them.
package whatif

import (
	"context"
	"fmt"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/await"
	"nsysmem/internal/wording"
	"nsysmem/torchmem"
	"nsysmem/torchmem/allocator"
)

// A Comparison is what a recorded program would have reserved under other settings of PyTorch's caching allocator.
type Comparison struct {
	Snapshot     string           // the snapshot's file
	Device       int              // of the snapshot
	OtherDevices []int            // devices of the snapshot that are not in it
	Track        *align.Track     // where the snapshot was joined with a report; else nil
	Replay       *torchmem.Replay // the recorded run

	Allocations int    // requests of the trace
	From        int64  // ns; start of the trace, on the report's clock, else 0
	To          int64  // ns; its end, on the report's clock, else since its start
	Timed       bool   // the trace has times
	Recorded    string // setting of the recorded run; empty for the defaults
	Known       bool   // the snapshot tells its setting
	Measured    int64  // bytes; highest reserved of the recorded run, from its own trace
	Modelled    int64  // bytes; what the model comes to under the recorded setting, giving back what the run gave back; 0 where that is not modelled
	Torch       string // version of PyTorch whose rules are followed, such as "2.9": that one or, of those with its rules, another
	TorchSure   bool   // it was given, or the snapshot tells it

	Capacity   int64          // bytes of the card, as asked for; 0 for no limit
	Outside    int64          // bytes of device memory outside PyTorch at its highest, as measured; 0 without a report
	HasOutside bool           // it was measured
	Room       allocator.Room // what the recorded run tells of the memory that PyTorch could have
	Trouble    *Trouble       // the first request that the recorded run did not get over; nil where it got over all
	GotOver    int            // requests that failed in the recorded run, and that it got over
	Ranked     bool           // Settings are sorted from best to worst
	Settings   []Setting
	Notes      []string // doubts about all figures
	CannotKnow []string // what no figure here can tell
	version    allocator.Version
	diedAt     []int32 // as deaths gives them; nil before they are asked for
}

// A Setting is one setting and what it comes to.
type Setting struct {
	allocator.Result                // without a limit
	IsRecorded       bool           // the program ran with it
	IsDefault        bool           // PyTorch's defaults
	Peak             Moment         // where reserved is highest first
	Gap              Moment         // where reserved less allocated is highest first
	SmallestCard     int64          // bytes; with this capacity and every larger one each request is served, with what is outside PyTorch
	Limited          *Limits        // at the capacity asked for; nil without one
	First            *Apart         // where it first differs from the base; nil for the base, and where it does not
	Most             *Apart         // where it differs most
	Iterations       []int64        // bytes; highest reserved within each of Track.Iterations
	Growth           []tensor.Share // bytes taken from the driver, by iteration phase; most first
}

// Failed is the number of requests that fail at the capacity asked for; 0 without one.
func (s *Setting) Failed() int {
	if s.Limited == nil {
		return 0
	}
	return s.Limited.Failed
}

// A Moment is a place in the recorded run.
type Moment struct {
	Event     int32  // place in the trace; -1 for before it
	Time      int64  // ns, as Comparison.From
	Iteration int    // place in Track.Iterations; -1 for none
	Phase     string // as in Block.Phase
	Frame     string // line of the program, or "after" one where it has none itself; empty where unknown
}

// Limits are what a setting comes to on a card of a given size.
type Limits struct {
	Capacity     int64 // bytes left for PyTorch
	PeakReserved int64 // bytes
	CUDAMallocs  int
	Retries      int // times that the cache was given back because there was no room
	Failed       int // requests that could not be served
	GotOver      int // requests that failed as in the recorded run, which got over them
	Failures     []Failure
}

// A Failure is a request that could not be served. A program stops at the first.
type Failure struct {
	Moment
	allocator.FailedRequest
}

// An Apart is a moment at which two settings hold different amounts.
type Apart struct {
	Moment
	Reserved int64 // bytes
	Base     int64 // bytes; of the setting that it is compared with
}

// Options say which settings to try.
type Options struct {
	Snapshot *torchmem.Snapshot
	Name     string                // its file
	Track    *align.Track          // one that Snapshot was joined with; nil without a report
	Device   int                   // without Track: which device of the snapshot; negative for the one that reserved most
	Confs    []string              // settings as in PYTORCH_CUDA_ALLOC_CONF, beside the recorded one and the defaults
	Sweep    bool                  // try allocator.SweepGrid too, and rank
	Capacity int64                 // bytes of the card; 0 for no limit
	Torch    allocator.Version     // whose rules to follow; zero for what the snapshot tells
	Progress func(done, total int) // called after each simulation from one goroutine at a time; may be nil
}

// LeastCard is the least capacity that was seen to serve each request, bytes, with what is outside PyTorch: SmallestCard,
// or less where some capacity between the two fails.
func (w *Comparison) LeastCard(s *Setting) int64 { return s.Smallest.Least + w.Outside }

// CertainCard is the capacity, bytes with what is outside PyTorch, from which on each request is served for sure;
// SmallestCard where all capacities were looked at.
func (w *Comparison) CertainCard(s *Setting) int64 {
	if s.Smallest.Exact() {
		return s.SmallestCard
	}
	return s.Smallest.Certain + w.Outside
}

// followVersion decides whose rules hold.
func (w *Comparison) followVersion(asked allocator.Version) {
	w.version, w.TorchSure = asked, true
	if asked == (allocator.Version{}) {
		w.version, w.TorchSure = allocator.VersionOf(&w.Replay.Settings)
	}
	w.Torch = w.version.String()
}

// Compare works out what each setting would have reserved. Settings stand in the order recorded, default, as
// asked for; with Sweep they are ranked: those that run at the capacity first, by what they reserve (one that reserves
// more than the card has gives its cache back again and again), then those that do not, by the card that they need; the
// fewest calls of the driver decide. Errors: ErrNotWhole, a setting that cannot be, a device that the snapshot does not have, a
// capacity that leaves nothing for PyTorch, or that of ctx.
//
//  1. The recorded run is chosen, and its requests are read off the trace; what failed in it is found.
//  2. What the report has outside PyTorch is taken off the capacity.
//  3. The settings are listed, each once, and simulated on all cores.
//  4. Each is compared with the base; doubts are noted; with Sweep all are ranked.
func Compare(ctx context.Context, o Options) (*Comparison, error) {
	w := &Comparison{Snapshot: o.Name, Track: o.Track, Capacity: o.Capacity}
	var q *allocator.Requests
	err := await.Call(ctx, func() error {
		if err := w.pick(&o); err != nil {
			return err
		}
		q = allocator.RequestsOf(w.Replay)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := w.checkWhole(); err != nil {
		return nil, err
	}
	r := w.Replay
	w.followVersion(o.Torch)
	w.Known, w.Recorded, w.Measured = r.Settings.Known, r.Settings.Conf, r.Whole().ReservedPeak
	for i := range r.Blocks {
		if r.Blocks[i].BirthEvent >= 0 {
			w.Allocations++
		}
	}
	w.Timed = r.Timed()
	if w.Timed {
		w.From, w.To = w.time(r.From), w.time(r.To)
	}
	if t := o.Track; t != nil && t.Tensors.Outside != nil {
		w.Outside, w.HasOutside = t.Tensors.Outside.Peak+t.Tensors.Outside.Static, true
	}
	if o.Capacity > 0 && o.Capacity <= w.Outside {
		return nil, fmt.Errorf("align: capacity of %s: %s are taken outside PyTorch: give more", wording.Bytes(o.Capacity), wording.Bytes(w.Outside))
	}
	w.Room = q.Room()
	w.findTrouble(q)
	cfgs, err := w.choose(&o)
	if err != nil {
		return nil, err
	}
	if err := w.simulate(ctx, q, cfgs, &o); err != nil {
		return nil, err
	}
	w.compare()
	w.doubts(q)
	w.CannotKnow = w.cannotKnow()
	if o.Sweep {
		w.rank()
	}
	return w, nil
}
