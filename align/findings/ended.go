package findings

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// endedText says which events of a process ended while the program went on, and what to do. CUPTI hands its events over in
// buffers, and what is in those when the process is killed or the collection breaks off is gone; how often they are saved
// is told by the option --cuda-flush-interval of nsys profile (Nsight Systems User Guide, CLI Profile Command Switch
// Options).
func endedText(w *align.Warning, start int64) string {
	kinds := make([]string, len(w.Events))
	for i, k := range w.Events {
		kinds[i] = string(k)
	}
	when := "before the first iteration"
	if w.Name != "" {
		when = fmt.Sprintf("at %s, in %s", wording.Duration(w.Time-start), w.Name)
	}
	return fmt.Sprintf("process %d: %s end %s, although the program goes on: the trace ended, and what they tell of the %s after that is unknown, not 0; "+
		"record again, fewer iterations or with --cuda-flush-interval=1000, and let the program exit by itself",
		w.PID, wording.And(kinds), when, wording.Plural(int(w.Count), "iteration"))
}
