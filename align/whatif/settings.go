package whatif

import (
	"context"
	"fmt"
	"slices"

	"nsysmem/internal/await"
	"nsysmem/torchmem"
	"nsysmem/torchmem/allocator"
)

// pick chooses the recorded run: of the track's device, else of the device asked for, else of the one that reserved
// most.
func (w *Comparison) pick(o *Options) error {
	devices := o.Snapshot.Devices()
	var err error
	switch {
	case o.Track == nil:
		w.Replay, err = replayOf(o, devices)
	case o.Track.Tensors == nil || o.Track.Tensors.Replay == nil:
		err = fmt.Errorf("align: snapshot %q: process %d device %d has nothing of it", o.Name, o.Track.PID, o.Track.Device)
	default:
		w.Replay = o.Track.Tensors.Replay
	}
	if err != nil {
		return err
	}
	w.Device = w.Replay.Device
	w.OtherDevices = slices.DeleteFunc(devices, func(d int) bool { return d == w.Device })
	if w.Replay.Events == 0 {
		return fmt.Errorf("align: snapshot %q: device %d has no trace, only what was held at the end: "+
			"record with torch.cuda.memory._record_memory_history() before the program allocates", o.Name, w.Device)
	}
	return nil
}

// replayOf is the recorded run of a snapshot without a report.
func replayOf(o *Options, devices []int) (most *torchmem.Replay, err error) {
	if len(devices) == 0 {
		return nil, fmt.Errorf("align: snapshot %q: it has no device: record with torch.cuda.memory._record_memory_history()", o.Name)
	}
	for _, d := range devices {
		if o.Device >= 0 && d != o.Device {
			continue
		}
		r, err := o.Snapshot.Replay(d)
		if err != nil {
			return nil, fmt.Errorf("align: snapshot %q: %w", o.Name, err)
		}
		if most == nil || r.Whole().ReservedPeak > most.Whole().ReservedPeak {
			most = r
		}
	}
	if most == nil {
		return nil, fmt.Errorf("align: snapshot %q: no device %d: it has %v", o.Name, o.Device, devices)
	}
	return most, nil
}

// A list is settings to try, each once.
type list struct {
	configs  []*allocator.Config
	texts    map[string]int // place by how it is written
	meanings map[string]int // place by what it comes to
}

// meaning is what a setting comes to, however it is written.
func meaning(c *allocator.Config) string {
	m := *c
	m.Text, m.WithoutEffect = "", nil
	return fmt.Sprintf("%+v", m)
}

// add gives the place of a setting, which is added unless one is there that is written the same or, where that will do,
// means the same.
func (l *list) add(text string, byMeaning bool) (int, error) {
	c, err := allocator.ParseConfig(text)
	if err != nil {
		return 0, err
	}
	if i, ok := l.texts[c.Text]; ok {
		return i, nil
	}
	m := meaning(c)
	i, ok := l.meanings[m]
	if ok && byMeaning {
		return i, nil
	}
	l.texts[c.Text] = len(l.configs)
	if !ok {
		l.meanings[m] = len(l.configs)
	}
	l.configs = append(l.configs, c)
	return len(l.configs) - 1, nil
}

// choose lists the settings to try and makes a row for each. A setting that was asked for stays as it was written,
// though another may mean the same.
func (w *Comparison) choose(o *Options) ([]*allocator.Config, error) {
	l := &list{texts: make(map[string]int), meanings: make(map[string]int)}
	recorded := -1
	if w.Known {
		i, err := l.add(w.Recorded, false)
		if err != nil {
			w.Notes = append(w.Notes, fmt.Sprintf("the setting that the snapshot was recorded with, %q, cannot be modelled: %v", w.Recorded, err))
		} else {
			recorded = i
		}
	}
	defaults, err := l.add("", true)
	if err != nil {
		return nil, err
	}
	for _, text := range o.Confs {
		if _, err := l.add(text, false); err != nil {
			return nil, err
		}
	}
	if o.Sweep {
		for _, text := range allocator.SweepGrid() {
			if _, err := l.add(text, true); err != nil {
				return nil, err
			}
		}
	}
	w.Settings = make([]Setting, len(l.configs))
	w.Settings[defaults].IsDefault = true
	if recorded >= 0 {
		w.Settings[recorded].IsRecorded = true
	}
	return l.configs, nil
}

// simulate runs each setting without a limit and, where a capacity is given, with it, on all cores.
func (w *Comparison) simulate(ctx context.Context, q *allocator.Requests, cfgs []*allocator.Config, o *Options) error {
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
	err := await.Call(ctx, func() error {
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
		s.Growth, s.Iterations = w.growth(s), w.iterations(s)
		if limited == nil {
			continue
		}
		l := limited[i]
		s.Limited = &Limits{Capacity: w.Capacity - w.Outside, PeakReserved: l.PeakReserved, CUDAMallocs: l.CUDAMallocs,
			Retries: l.Retries, Failed: l.FailedRequests}
		for _, f := range l.Failed {
			s.Limited.Failures = append(s.Limited.Failures, Failure{w.moment(f.Event), f})
		}
	}
	return nil
}

// sweepLimited simulates what is left of the capacity for PyTorch. A share of memory that the process may use is one of
// the whole card, which the model multiplies by itself.
func (w *Comparison) sweepLimited(q *allocator.Requests, cfgs []*allocator.Config, done func(int)) []*allocator.Result {
	left := w.Capacity - w.Outside
	out := q.Sweep(cfgs, allocator.Options{Capacity: left}, done)
	for i, c := range cfgs {
		if f := c.MemoryFraction; f > 0 {
			out[i] = q.Simulate(c, allocator.Options{Capacity: min(w.Capacity, int64(float64(left)/f))})
		}
	}
	return out
}
