// Package phrase is what several outputs say of a report in the same words: what is missing from it, what a track is, how its
// iterations were found, where something happened, and what theory expects. Texts, workbooks and batches share these
// phrases, so that a user who compares two outputs reads the same sentence in both.
//
// Sentences hold names as the report has them; whoever writes them cleans them for its output (package wording). Places,
// which stand in cells, hold them clean for a terminal.
package phrase

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// Track says which process and device a track is, such as "python3 (process 734), device 0: NVIDIA H200, 139.80 GiB".
func Track(t *align.Track) string {
	name := "process " + strconv.FormatInt(t.PID, 10)
	if t.Process != "" {
		name = t.Process + " (process " + strconv.FormatInt(t.PID, 10) + ")"
	}
	name += ", device " + strconv.FormatInt(t.Device, 10)
	if t.DeviceName != "" {
		name += ": " + t.DeviceName
	}
	if t.DeviceTotal > 0 {
		name += ", " + wording.Bytes(t.DeviceTotal)
	}
	return name
}

// Date is a time since 1970 in nanoseconds as a date and time of day in UTC, such as
// "2025-10-09 08:53:20.000 UTC"; empty for 0, which stands for unknown.
func Date(utc int64) string {
	if utc == 0 {
		return ""
	}
	return time.Unix(0, utc).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// Attribution says which way the kernels of a track went, in one sentence.
func Attribution(c *align.Collected, t *align.Track) string {
	a := &t.Attribution
	if !c.Kernels {
		return "n/a, no kernels were collected"
	}
	if a.Kernels == 0 {
		return "no kernels traced one by one"
	}
	own := "a range on the thread that launched them"
	if t.IterationsFrom.Inferred() {
		own = "an inferred phase, or a range on the thread that launched them"
	}
	part := func(n int64) string { return wording.Count(n) + " (" + wording.Share(n, a.Kernels) + ")" }
	return fmt.Sprintf("of %s kernels, %s belong to %s, %s to one open on the thread of the iterations, %s to "+
		"none, and %s have "+
		"no launch in the report.",
		wording.Count(a.Kernels), part(a.SameThread), own, part(a.OtherThread), part(a.None), part(a.NoLaunch))
}

// returns are the return values that allocations have. The numbers are those of cudaError_t, which are the same as
// CUresult's here.
var returns = map[int64]string{
	0: "success", 1: "invalid value", 2: "out of memory", 3: "not initialized", 801: "not supported",
}

// Return names a return value of the CUDA API where it is one that allocations have, such as "2 out of memory".
func Return(v int64) string {
	return strings.TrimSpace(strconv.FormatInt(v, 10) + " " + returns[v])
}
