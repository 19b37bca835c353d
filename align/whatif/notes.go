package whatif

import (
	"fmt"

	"nsysmem/internal/wording"
	"nsysmem/torchmem/allocator"
)

// noLimit is a capacity in bytes that nothing meets.
const noLimit = 1 << 60

// doubts says what is uncertain about the figures.
func (w *Comparison) doubts(q *allocator.Requests) {
	say := func(format string, args ...any) { w.Notes = append(w.Notes, fmt.Sprintf(format, args...)) }
	if !w.Known {
		say("the snapshot does not tell its setting: the defaults are compared with")
	}
	if s := &w.Settings[w.Base()]; s.IsRecorded {
		if s.PeakReserved != w.Measured {
			say("under the recorded setting the model comes to %s reserved where the run itself had %s: take the others with as much doubt",
				wording.Bytes(s.PeakReserved), wording.Bytes(w.Measured))
		}
		// The model follows the run in giving back what the trace says it gave back, unless there is a capacity.
		if cfg, err := allocator.ParseConfig(s.Conf); err == nil {
			if n := q.Simulate(cfg, allocator.Options{Capacity: noLimit}).PeakReserved; n != s.PeakReserved {
				say("the recorded run gave back cached memory when there was no room, and its own figures are with that: with room enough it would have reserved %s", wording.Bytes(n))
			}
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
}

// cannotKnow says what no figure here can tell.
func (w *Comparison) cannotKnow() []string {
	outside := "memory outside PyTorch (libraries' workspaces, the CUDA context of a few hundred MiB, other processes) is not in the figures; with the report of the same run (--report) what it traced is added"
	if w.HasOutside {
		outside = fmt.Sprintf("memory outside PyTorch is added as the report has it (%s at its highest); the CUDA context, a few hundred MiB, and other processes are in no report and come on top", wording.Bytes(w.Outside))
	}
	return []string{
		"the requests are those of the recorded run: a program that finds less memory free may choose other workspaces, and one whose request fails stops there, while here it goes on without that block",
		"time is not modelled: each cudaMalloc, and each time the cache is given back, costs some that is in no figure here",
		outside,
	}
}
