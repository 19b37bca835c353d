package findings

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// NearCapacity is the figures behind a card that is nearly full.
type NearCapacity struct {
	Peak   int64 `json:"peak_bytes"`         // bytes; the track's device level, or its memory pools where they were larger
	Others int64 `json:"others_bytes"`       // bytes of other processes of the report on the card at that time
	Total  int64 `json:"device_total_bytes"` // bytes; the card's
	Left   int64 `json:"left_bytes"`         // bytes; what Peak and Others leave of Total
}

// What is left of a card counts as nearly nothing up to the larger of a share and of what a process holds untraced; on
// small cards that must itself be a small part.
const (
	// leftShare is the share of the card, 1 in 20: about what one larger batch or another algorithm of cuDNN adds.
	leftShare = 20

	// untraced is what a process holds on the card beside the traced memory, in bytes: its CUDA context with the kernels of
	// cuBLAS, cuDNN and PyTorch loaded takes 300 to 600 MiB (nvidia-smi less traced).
	untraced = 512 << 20

	// leftMost is the share of a card that is never nearly nothing, 1 in 5: cards of less than 2.5 GiB.
	leftMost = 5
)

// nearCapacity tells of a run that nearly filled its card.
//
//  1. The track's peak counts, and what other tracks held on the same card at that time. Cards are told by their UUID.
//  2. More than the card has is a sign that the card is another one, and nothing is said.
//  3. Of several tracks on one card the one with the largest sum tells it, the first of equal ones.
func nearCapacity(s *subject) []Finding {
	e := fillOf(s.Track, s.rep.Tracks)
	if !e.near() {
		return nil
	}
	before := true
	for _, t := range s.rep.Tracks {
		if t == s.Track {
			before = false
		} else if sameCard(t, s.Track) {
			o := fillOf(t, s.rep.Tracks)
			if o.Left < e.Left && o.near() || before && o.Left == e.Left {
				return nil
			}
		}
	}
	with := ""
	if e.Others > 0 {
		with = fmt.Sprintf(", and other processes of the report held about %s then", wording.Bytes(e.Others))
	}
	at := ""
	if l := s.Level(align.LevelDevice); l != nil {
		if it, by := s.PeakPlace(l); it != nil {
			at = " in " + it.Name
			if by.Phase != "" {
				at += ", " + by.String()
			}
		}
	}
	return []Finding{{Severity: Warn, Evidence: e,
		Text: fmt.Sprintf("the card is nearly full: the peak%s is %s of its %s%s, which leaves %s", at,
			wording.Bytes(e.Peak), wording.Bytes(e.Total), with, wording.Bytes(e.Left)),
		Advice: "the CUDA context, about 500 MiB for each process, and programs outside the report are not in that: a larger batch or input will hardly fit; look at what is live at the peak"}}
}

// fillOf is how full a track makes its card; nothing is left where it is not known.
func fillOf(t *align.Track, all []*align.Track) NearCapacity {
	e := NearCapacity{Peak: t.Total.Memory.Peak, Total: t.DeviceTotal}
	if t.Pool != nil { // its used part is in the level
		e.Peak = max(e.Peak, t.Pool.PeakSize)
	}
	for _, o := range all {
		if o != t && sameCard(o, t) {
			e.Others += heldAt(o, t.Total.Memory.PeakAt)
		}
	}
	if e.Peak+e.Others > e.Total {
		e.Others = 0
	}
	e.Left = e.Total - e.Peak - e.Others
	return e
}

// near says that nearly nothing is left. A peak above the total is none of this card.
func (e *NearCapacity) near() bool {
	little := min(max(e.Total/leftShare, untraced), e.Total/leftMost)
	return e.Total > 0 && e.Left >= 0 && e.Left <= little
}

// sameCard says that two tracks are known to use the same card.
func sameCard(x, y *align.Track) bool { return x.DeviceUUID != "" && x.DeviceUUID == y.DeviceUUID }

// heldAt is about what a track held at a time: the lower one of the levels around it. It is 0 outside of its iterations,
// where it may not have begun or have ended.
func heldAt(t *align.Track, at int64) int64 {
	for i := range t.Iterations {
		it := &t.Iterations[i]
		switch {
		case at < it.Start && i == 0:
			return 0
		case at < it.Start:
			return min(t.Iterations[i-1].Memory.End, it.Memory.Start)
		case at < it.End:
			return min(it.Memory.Start, it.Memory.End)
		}
	}
	return 0
}
