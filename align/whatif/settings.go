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
	version  allocator.Version
	configs  []*allocator.Config
	texts    map[string]int // place by how it is written
	meanings map[string]int // place by what it comes to
}

// add gives the place of a setting, which is added unless one is there that is written the same or, where that will do,
// means the same.
func (l *list) add(text string, byMeaning bool) (int, error) {
	c, err := allocator.ParseConfigFor(text, l.version)
	if err != nil {
		return 0, err
	}
	return l.addConfig(c, byMeaning), nil
}

func (l *list) addConfig(c *allocator.Config, byMeaning bool) int {
	if i, ok := l.texts[c.Text]; ok {
		return i
	}
	m := c.Meaning()
	i, ok := l.meanings[m]
	if ok && byMeaning {
		return i
	}
	l.texts[c.Text] = len(l.configs)
	if !ok {
		l.meanings[m] = len(l.configs)
	}
	l.configs = append(l.configs, c)
	return len(l.configs) - 1
}

// choose lists the settings to try and makes a row for each. A setting that was asked for stays as it was written,
// though another may mean the same. Of those to sweep, one that the version does not know is left out.
func (w *Comparison) choose(o *Options) ([]*allocator.Config, error) {
	l := &list{version: w.version, texts: make(map[string]int), meanings: make(map[string]int)}
	recorded := -1
	if w.Known {
		c, doubt, err := allocator.RecordedConfig(&w.Replay.Settings, w.version)
		if err != nil {
			w.Notes = append(w.Notes, fmt.Sprintf("the setting that the snapshot was recorded with, %q, cannot be modelled: %v", w.Recorded, err))
		} else {
			recorded = l.addConfig(c, false)
		}
		if doubt != "" {
			w.Notes = append(w.Notes, doubt)
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
			_, _ = l.add(text, true) // an error is that of a version that does not know it
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
			limited = w.sweepLimited(q, cfgs, free, done)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range free {
		s := &w.Settings[i]
		s.Result = *r
		s.SmallestCard = r.Smallest.Threshold + w.Outside
		s.Peak, s.Gap = w.moment(r.PeakReservedEvent), w.moment(r.LargestGapEvent)
		s.Growth, s.Iterations = w.growth(s), w.iterations(s)
		if limited == nil {
			continue
		}
		l := limited[i]
		s.Limited = &Limits{Capacity: w.Capacity - w.Outside, PeakReserved: l.PeakReserved, CUDAMallocs: l.CUDAMallocs,
			Retries: l.Retries, Failed: l.FailedRequests, GotOver: l.GotOver}
		for _, f := range l.Failed {
			s.Limited.Failures = append(s.Limited.Failures, Failure{w.moment(f.Event), f})
		}
	}
	return nil
}

// sweepLimited simulates what is left of the capacity for PyTorch. A share of memory that the process may use is one of
// the whole card, which the model multiplies by itself.
func (w *Comparison) sweepLimited(q *allocator.Requests, cfgs []*allocator.Config, free []*allocator.Result, done func(int)) []*allocator.Result {
	left := make([]int64, len(cfgs))
	for i, c := range cfgs {
		left[i] = w.Capacity - w.Outside
		if f := c.MemoryFraction; f > 0 {
			left[i] = min(w.Capacity, int64(float64(left[i])/f))
		}
	}
	return q.SweepLimited(cfgs, left, free, done)
}
