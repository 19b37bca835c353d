package whatif

import (
	"fmt"

	"nsysmem/internal/wording"
	"nsysmem/torchmem/allocator"
)

// doubts says what is uncertain about the figures.
func (w *Comparison) doubts(q *allocator.Requests) {
	say := func(format string, args ...any) { w.Notes = append(w.Notes, fmt.Sprintf(format, args...)) }
	if !w.Known {
		say("the snapshot does not tell its setting: the defaults are compared with")
	}
	w.doubtModel(q, say)
	w.doubtVersion(say)
	w.tellLimit(say)
	if p := &w.Settings[w.Base()]; p.PrivateReserved > 0 {
		say("private pools (CUDA graphs, MemPool) hold %s at the end, %s of it free: no request outside them can have it, under any setting",
			wording.Bytes(p.PrivateReserved), wording.Bytes(p.PrivateFree))
	}
	if n := w.Replay.Snapshot().OddEvents; n > 0 {
		say("left out of the snapshot, for their sizes or addresses are beyond any device: %s", entries(n))
	}
	if w.Trouble != nil {
		say("the trace has a failed request only as the recorded setting rounded it; other settings round that again")
	}
	if w.GotOver > 0 {
		say("the run got over %s that failed, by asking again, for less, or going without: on a card where they fail again it does so again, and the smallest card has no room for them", wording.Plural(w.GotOver, "request"))
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
}

// doubtModel holds the model against the recorded run itself.
func (w *Comparison) doubtModel(q *allocator.Requests, say func(string, ...any)) {
	base := &w.Settings[w.Base()]
	if !base.IsRecorded {
		return
	}
	cfg, _, err := allocator.RecordedConfig(&w.Replay.Settings, w.version)
	if err != nil {
		return
	}
	w.Modelled = q.Simulate(cfg, allocator.Options{Recorded: true}).PeakReserved
	if w.Modelled != w.Measured {
		say("under the recorded setting the model comes to %s reserved where the run itself had %s: take the others with as much doubt",
			wording.Bytes(w.Modelled), wording.Bytes(w.Measured))
	}
	if base.PeakReserved != w.Modelled {
		say("the run itself reserved %s at most: it gave cached memory back when there was no room, or a request failed; with room enough it would have reserved %s",
			wording.Bytes(w.Measured), wording.Bytes(base.PeakReserved))
	}
	if t := w.Trouble; t != nil && t.Below > 0 && base.Smallest.Threshold < t.Below && base.Smallest.Threshold <= t.Room {
		say("the model serves the request that failed with the %s that PyTorch could have then: take its answers near that with doubt", wording.Bytes(t.Room))
	}
}

// doubtVersion says where a setting means different things in different versions, and none is told.
func (w *Comparison) doubtVersion(say func(string, ...any)) {
	if w.TorchSure {
		return
	}
	for i := range w.Settings {
		s := &w.Settings[i]
		if s.IsRecorded || !allocator.DependsOnVersion(s.Conf) {
			continue
		}
		rules := "those of the newest"
		if w.Torch != "" {
			rules = "those of PyTorch " + w.Torch
		}
		say("the snapshot does not tell its version of PyTorch for sure; what depends on it (\">\" in roundup_power2_divisions, and which settings there are) follows %s: --torch VERSION tells it", rules)
		return
	}
}

// tellLimit says that the card was not what ended the memory.
func (w *Comparison) tellLimit(say func(string, ...any)) {
	r := w.Room
	switch {
	case r.Limited && r.Below > 0:
		say("a limit of the process was in force (set_per_process_memory_fraction): a request failed while enough was free on the card; the limit lies between %s and %s",
			wording.Bytes(r.Least), wording.Bytes(r.Below))
	case r.Limited:
		say("a limit of the process was in force (set_per_process_memory_fraction): a request failed while enough was free on the card")
	case r.Below > 0 && w.Track != nil && w.Track.DeviceTotal-w.Outside > r.Below*limitShare:
		say("the run gave cached memory back because it could not have %s, on a card of %s: a limit of the process was in force (set_per_process_memory_fraction), or other processes had the rest; it had %s at least",
			wording.Bytes(r.Below), wording.Bytes(w.Track.DeviceTotal), wording.Bytes(r.Least))
	}
}

// limitShare is how many times a run's room must go into its card for that to be said: with less, the CUDA context and other
// memory outside PyTorch may be all of the rest.
const limitShare = 2

// cannotKnow says what no figure here can tell.
func (w *Comparison) cannotKnow() []string {
	outside := "memory outside PyTorch (libraries' workspaces, the CUDA context of a few hundred MiB, other processes) is not in the figures; with the report of the same run (--report) what it traced is added"
	if w.HasOutside {
		outside = fmt.Sprintf("memory outside PyTorch is added as the report has it (%s at its highest); the CUDA context, a few hundred MiB, and other processes are in no report and come on top", wording.Bytes(w.Outside))
	}
	return []string{
		"the requests are those of the recorded run: a program that finds less memory free may choose other workspaces, and one whose request fails stops there, while here it goes on without that block; what a program that died would have asked for later is unknown",
		"time is not modelled: each cudaMalloc, and each time the cache is given back, costs some that is in no figure here",
		outside,
	}
}
