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
	"nsysmem/align/findings"
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

// Together says for each GPU that several tracks use how much they have traced at most together: the sum of their peaks,
// which need not come at the same time. GPUs are told apart by their UUID; tracks without one are left out.
func Together(rep *findings.Report) []string {
	if !rep.Collected.Memory {
		return nil
	}
	type gpu struct {
		name  string
		pids  []string
		peaks int64
	}
	var order []string
	all := make(map[string]*gpu)
	for _, t := range rep.Tracks {
		if t.DeviceUUID == "" {
			continue
		}
		g := all[t.DeviceUUID]
		if g == nil {
			g = &gpu{name: t.DeviceName}
			all[t.DeviceUUID] = g
			order = append(order, t.DeviceUUID)
		}
		g.pids = append(g.pids, fmt.Sprint(t.PID))
		g.peaks += t.Total.Memory.Peak
	}
	var out []string
	for _, uuid := range order {
		if g := all[uuid]; len(g.pids) > 1 {
			last := len(g.pids) - 1
			out = append(out, fmt.Sprintf("Processes %s and %s use the same device (%s, %s): together at most %s at their peaks, which need not coincide",
				strings.Join(g.pids[:last], ", "), g.pids[last], g.name, uuid, wording.Bytes(g.peaks)))
		}
	}
	return out
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
	own, other := "a range on the thread that launched them", "one open on the thread of the iterations"
	if inferredIterations(t) {
		own = "an inferred phase, or a range on the thread that launched them"
	}
	return fmt.Sprintf("of %s kernels, %s (%s) belong to "+own+", %s (%s) to "+other+", %s (%s) to none, and %s (%s) have no launch in the report.",
		wording.Count(a.Kernels), wording.Count(a.SameThread), wording.Share(a.SameThread, a.Kernels), wording.Count(a.OtherThread), wording.Share(a.OtherThread, a.Kernels),
		wording.Count(a.None), wording.Share(a.None, a.Kernels), wording.Count(a.NoLaunch), wording.Share(a.NoLaunch, a.Kernels))
}

// Return names a return value of the CUDA API where it is one that allocations have. The numbers are those of
// cudaError_t, which are the same as CUresult's here.
func Return(v int64) string {
	name := ""
	switch v {
	case 0:
		name = "success"
	case 1:
		name = "invalid value"
	case 2:
		name = "out of memory"
	case 3:
		name = "not initialized"
	case 801:
		name = "not supported"
	default:
		return strconv.FormatInt(v, 10)
	}
	return strconv.FormatInt(v, 10) + " " + name
}
