package phrase

import (
	"fmt"
	"slices"
	"strings"

	"nsysmem/align/findings"
	"nsysmem/internal/wording"
)

// Together says for each GPU that several tracks use how much they have traced at most together: the sum of their peaks,
// which need not come at the same time. GPUs are told apart by their UUID; tracks without one are left out.
func Together(rep *findings.Report) []string {
	if !rep.Collected.Memory {
		return nil
	}
	type gpu struct {
		uuid, name string
		pids       []string
		peaks      int64
	}
	var gpus []gpu // in the order of their first tracks
	for _, t := range rep.Tracks {
		if t.DeviceUUID == "" {
			continue
		}
		i := slices.IndexFunc(gpus, func(g gpu) bool { return g.uuid == t.DeviceUUID })
		if i < 0 {
			i = len(gpus)
			gpus = append(gpus, gpu{uuid: t.DeviceUUID, name: t.DeviceName})
		}
		gpus[i].pids = append(gpus[i].pids, fmt.Sprint(t.PID))
		gpus[i].peaks += t.Total.Memory.Peak
	}
	var out []string
	for _, g := range gpus {
		if last := len(g.pids) - 1; last > 0 {
			out = append(out, fmt.Sprintf("Processes %s and %s use the same device (%s, %s): "+
				"together at most %s at their peaks, which need not coincide",
				strings.Join(g.pids[:last], ", "), g.pids[last], g.name, g.uuid, wording.Bytes(g.peaks)))
		}
	}
	return out
}
