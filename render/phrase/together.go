package phrase

import (
	"fmt"
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
			out = append(out, fmt.Sprintf("Processes %s and %s use the same device (%s, %s): "+
				"together at most %s at their peaks, which need not coincide",
				strings.Join(g.pids[:last], ", "), g.pids[last], g.name, uuid, wording.Bytes(g.peaks)))
		}
	}
	return out
}
