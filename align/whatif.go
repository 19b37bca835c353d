package align

import (
	"context"
	"fmt"
	"sort"

	"nsysmem/internal/wording"
	"nsysmem/torchmem"
	"nsysmem/torchmem/allocator"
)

// A WhatIf is what a recorded program would have reserved under other settings of PyTorch's caching allocator.
type WhatIf struct {
	Snapshot     string           // the snapshot's file
	Device       int              // of the snapshot
	OtherDevices []int            // devices of the snapshot that are not in it
	Track        *Track           // where the snapshot was joined with a report; else nil
	Replay       *torchmem.Replay // the recorded run

	Allocations int    // requests of the trace
	From        int64  // ns; start of the trace, on the report's clock, else 0
	To          int64  // ns; its end, on the report's clock, else since its start
	Timed       bool   // the trace has times
	Recorded    string // setting of the recorded run; empty for the defaults
	Known       bool   // the snapshot tells its setting
	Measured    int64  // bytes; highest reserved of the recorded run, from its own trace

	Capacity   int64 // bytes of the card, as asked for; 0 for no limit
	Outside    int64 // bytes of device memory outside PyTorch at its highest, as measured; 0 without a report
	HasOutside bool  // it was measured
	Ranked     bool  // Settings are sorted from best to worst
	Settings   []Setting
	Notes      []string // doubts about all figures
	CannotKnow []string // what no figure here can tell
	diedAt     []int32  // places in Replay.Blocks by DeathEvent
}

// A Setting is one setting and what it comes to.
type Setting struct {
	allocator.Result         // without a limit
	IsRecorded       bool    // the program ran with it
	IsDefault        bool    // PyTorch's defaults
	Peak             Moment  // where reserved is highest first
	Gap              Moment  // where reserved less allocated is highest first
	SmallestCard     int64   // bytes; the least capacity with which every request is served, with what is outside PyTorch
	Limited          *Limits // at the capacity asked for; nil without one
	First            *Apart  // where it first differs from the base; nil for the base, and where it does not
	Most             *Apart  // where it differs most
	Iterations       []int64 // bytes; highest reserved within each of Track.Iterations
	Growth           []Share // bytes taken from the driver, by iteration phase; most first
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
	Time      int64  // ns, as WhatIf.From
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

// WhatIfOptions say which settings to try.
type WhatIfOptions struct {
	Snapshot *torchmem.Snapshot
	Name     string                // its file
	Track    *Track                // one that Snapshot was joined with; nil without a report
	Device   int                   // without Track: which device of the snapshot; negative for the one that reserved most
	Confs    []string              // settings as in PYTORCH_CUDA_ALLOC_CONF, beside the recorded one and the defaults
	Sweep    bool                  // try allocator.SweepGrid too, and rank
	Capacity int64                 // bytes of the card; 0 for no limit
	Progress func(done, total int) // called after each simulation from one goroutine at a time; may be nil
}

// SimulateSettings works out what each setting would have reserved. Settings stand in the order recorded, default, as
// asked for; with Sweep they are ranked: those that run at the capacity first, by what they reserve (one that reserves
// more than the card has gives its cache back again and again), then those that do not, by the card that they need; the
// fewest calls of the driver decide. Errors: a setting that cannot be, a device that the snapshot does not have, a capacity that
// leaves nothing for PyTorch, or that of ctx.
func SimulateSettings(ctx context.Context, o WhatIfOptions) (*WhatIf, error) {
	w := &WhatIf{Snapshot: o.Name, Track: o.Track, Capacity: o.Capacity}
	var q *allocator.Requests
	err := await(ctx, func() error {
		if err := w.pickReplay(&o); err != nil {
			return err
		}
		q = allocator.RequestsOf(w.Replay)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := w.Replay
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
	cfgs, err := w.configs(&o)
	if err != nil {
		return nil, err
	}
	if err := w.simulate(ctx, q, cfgs, &o); err != nil {
		return nil, err
	}
	w.compare()
	w.doubts(q)
	if o.Sweep {
		w.rank()
	}
	return w, nil
}

// pickReplay chooses the device.
func (w *WhatIf) pickReplay(o *WhatIfOptions) error {
	devices := o.Snapshot.Devices()
	if o.Track != nil {
		if o.Track.Tensors == nil || o.Track.Tensors.Replay == nil {
			return fmt.Errorf("align: snapshot %q: process %d device %d has nothing of it", o.Name, o.Track.PID, o.Track.Device)
		}
		w.Replay = o.Track.Tensors.Replay
	} else {
		if len(devices) == 0 {
			return fmt.Errorf("align: snapshot %q: it has no device: record with torch.cuda.memory._record_memory_history()", o.Name)
		}
		for _, d := range devices {
			if o.Device >= 0 && d != o.Device {
				continue
			}
			r, err := o.Snapshot.Replay(d)
			if err != nil {
				return fmt.Errorf("align: snapshot %q: %w", o.Name, err)
			}
			if w.Replay == nil || r.Whole().ReservedPeak > w.Replay.Whole().ReservedPeak {
				w.Replay = r
			}
		}
		if w.Replay == nil {
			return fmt.Errorf("align: snapshot %q: no device %d: it has %v", o.Name, o.Device, devices)
		}
	}
	w.Device = w.Replay.Device
	for _, d := range devices {
		if d != w.Device {
			w.OtherDevices = append(w.OtherDevices, d)
		}
	}
	if w.Replay.Events == 0 {
		return fmt.Errorf("align: snapshot %q: device %d has no trace, only what was held at the end: record with torch.cuda.memory._record_memory_history() before the program allocates", o.Name, w.Device)
	}
	return nil
}

// meaning is what a setting comes to, however it is written.
func meaning(c *allocator.Config) string {
	m := *c
	m.Text, m.WithoutEffect = "", nil
	return fmt.Sprintf("%+v", m)
}

// configs are the settings to try, each once, and makes a row for each. A setting that was asked for stays as it was
// written, though another may mean the same.
func (w *WhatIf) configs(o *WhatIfOptions) ([]*allocator.Config, error) {
	var out []*allocator.Config
	texts, meanings := map[string]int{}, map[string]int{}
	add := func(text string, byMeaning bool) (int, error) {
		c, err := allocator.ParseConfig(text)
		if err != nil {
			return 0, err
		}
		if i, ok := texts[c.Text]; ok {
			return i, nil
		}
		m := meaning(c)
		if i, ok := meanings[m]; ok && byMeaning {
			return i, nil
		}
		texts[c.Text] = len(out)
		if _, ok := meanings[m]; !ok {
			meanings[m] = len(out)
		}
		out = append(out, c)
		w.Settings = append(w.Settings, Setting{})
		return len(out) - 1, nil
	}
	if w.Known {
		i, err := add(w.Recorded, false)
		if err != nil {
			w.Notes = append(w.Notes, fmt.Sprintf("the setting that the snapshot was recorded with, %q, cannot be modelled: %v", w.Recorded, err))
		} else {
			w.Settings[i].IsRecorded = true
		}
	}
	i, err := add("", true)
	if err != nil {
		return nil, err
	}
	w.Settings[i].IsDefault = true
	for _, text := range o.Confs {
		if _, err := add(text, false); err != nil {
			return nil, err
		}
	}
	if o.Sweep {
		for _, text := range allocator.SweepGrid() {
			if _, err := add(text, true); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// simulate runs each setting without a limit and, where a capacity is given, with it, on all cores.
func (w *WhatIf) simulate(ctx context.Context, q *allocator.Requests, cfgs []*allocator.Config, o *WhatIfOptions) error {
	total, before := len(cfgs), 0
	if o.Capacity > 0 {
		total *= 2
	}
	done := func(n int) {
		if o.Progress != nil && ctx.Err() == nil {
			o.Progress(before+n, total)
		}
	}
	var free, limited []*allocator.Result
	err := await(ctx, func() error {
		free = q.Sweep(cfgs, allocator.Options{Smallest: true}, done)
		if before = len(cfgs); o.Capacity > 0 && ctx.Err() == nil {
			limited = w.sweepLimited(q, cfgs, done)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range free {
		s := &w.Settings[i]
		s.Result = *r
		s.SmallestCard = r.SmallestCapacity + w.Outside
		s.Peak, s.Gap = w.moment(r.PeakReservedEvent), w.moment(r.LargestGapEvent)
		w.overTime(s)
		if limited == nil {
			continue
		}
		l := limited[i]
		s.Limited = &Limits{Capacity: w.Capacity - w.Outside, PeakReserved: l.PeakReserved, CUDAMallocs: l.CUDAMallocs, Retries: l.Retries, Failed: l.FailedRequests}
		for _, f := range l.Failed {
			s.Limited.Failures = append(s.Limited.Failures, Failure{w.moment(f.Event), f})
		}
	}
	return nil
}

// sweepLimited simulates what is left of the capacity for PyTorch. A share of memory that the process may use is one of
// the whole card, which the model multiplies by itself.
func (w *WhatIf) sweepLimited(q *allocator.Requests, cfgs []*allocator.Config, done func(int)) []*allocator.Result {
	left := w.Capacity - w.Outside
	out := q.Sweep(cfgs, allocator.Options{Capacity: left}, done)
	for i, c := range cfgs {
		if f := c.MemoryFraction; f > 0 {
			out[i] = q.Simulate(c, allocator.Options{Capacity: min(w.Capacity, int64(float64(left)/f))})
		}
	}
	return out
}

// Base is the place of the setting that the others are compared with: the recorded one, else the default.
func (w *WhatIf) Base() int {
	base := 0
	for i := range w.Settings {
		if w.Settings[i].IsRecorded {
			return i
		}
		if w.Settings[i].IsDefault {
			base = i
		}
	}
	return base
}

// noLimit is a capacity that nothing meets.
const noLimit = 1 << 60

// doubts says what is uncertain about the figures, and what they cannot tell.
func (w *WhatIf) doubts(q *allocator.Requests) {
	say := func(format string, args ...any) { w.Notes = append(w.Notes, fmt.Sprintf(format, args...)) }
	if !w.Known {
		say("the snapshot does not tell its setting: the defaults are compared with")
	}
	for i := range w.Settings {
		s := &w.Settings[i]
		if !s.IsRecorded {
			continue
		}
		if s.PeakReserved != w.Measured {
			say("under the recorded setting the model comes to %s reserved where the run itself had %s: take the others with as much doubt", wording.Bytes(s.PeakReserved), wording.Bytes(w.Measured))
		}
		cfg, err := allocator.ParseConfig(s.Conf)
		if err != nil {
			continue
		}
		if n := q.Simulate(cfg, allocator.Options{Capacity: noLimit}).PeakReserved; n != s.PeakReserved {
			say("the recorded run gave back cached memory when there was no room, and its own figures are with that: with room enough it would have reserved %s", wording.Bytes(n))
		}
	}
	if w.Replay.Doubts.Cut {
		say("the trace begins after the program did: what was held then is laid out anew under other settings")
	}
	if len(w.OtherDevices) > 0 {
		say("the snapshot has more devices: %v", w.OtherDevices)
	}
	if !w.Timed {
		say("the trace has no times (PyTorch before 2.1): places in the trace stand in their place")
	}
	w.CannotKnow = []string{
		"the requests are those of the recorded run: a program that finds less memory free may choose other workspaces, and one whose request fails stops there, while here it goes on without that block",
		"time is not modelled: each cudaMalloc, and each time the cache is given back, costs some that is in no figure here",
	}
	if w.HasOutside {
		w.CannotKnow = append(w.CannotKnow, fmt.Sprintf("memory outside PyTorch is added as the report has it (%s at its highest); the CUDA context, a few hundred MiB, and other processes are in no report and come on top", wording.Bytes(w.Outside)))
	} else {
		w.CannotKnow = append(w.CannotKnow, "memory outside PyTorch (libraries' workspaces, the CUDA context of a few hundred MiB, other processes) is not in the figures; with the report of the same run (--report) what it traced is added")
	}
}

// rank sorts the settings from best to worst, as SimulateSettings says.
func (w *WhatIf) rank() {
	w.Ranked = true
	sort.SliceStable(w.Settings, func(i, j int) bool {
		a, b := &w.Settings[i], &w.Settings[j]
		switch {
		case (a.Failed() > 0) != (b.Failed() > 0):
			return b.Failed() > 0
		case a.Failed() > 0 && a.SmallestCard != b.SmallestCard:
			return a.SmallestCard < b.SmallestCard
		case a.PeakReserved != b.PeakReserved:
			return a.PeakReserved < b.PeakReserved
		case a.SmallestCard != b.SmallestCard:
			return a.SmallestCard < b.SmallestCard
		case a.CUDAMallocs != b.CUDAMallocs:
			return a.CUDAMallocs < b.CUDAMallocs
		}
		return len(a.Conf) < len(b.Conf)
	})
}

// Chosen are the places of at most n settings that stand for all: the base, the default, what was asked for as far as it
// fits, from the first on, and the worst.
func (w *WhatIf) Chosen(n int) []int {
	worst, base := 0, w.Base()
	for i := range w.Settings {
		if w.Settings[i].PeakReserved > w.Settings[worst].PeakReserved {
			worst = i
		}
	}
	keep := map[int]bool{base: true, worst: true}
	for i := range w.Settings {
		if w.Settings[i].IsDefault {
			keep[i] = true
		}
	}
	seen := map[int64]bool{} // one of several that come to the same will do
	for i := range keep {
		seen[w.Settings[i].PeakReserved] = true
	}
	for _, again := range [2]bool{false, true} {
		for i := range w.Settings {
			if len(keep) >= n {
				break
			}
			if p := w.Settings[i].PeakReserved; again || !seen[p] {
				keep[i], seen[p] = true, true
			}
		}
	}
	out := []int{base}
	for i := range w.Settings {
		if keep[i] && i != base {
			out = append(out, i)
		}
	}
	return out
}
