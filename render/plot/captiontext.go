package plot

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// captionText is what a picture says in words.
type captionText struct {
	*scene
	clock
}

// whenText says when something happened, and where that is, with a separator between both.
func (t *captionText) whenText(at int64) string {
	if w := t.where(at); w != "" {
		return t.timeText(at) + ", " + w
	}
	return t.timeText(at)
}

// peakWhen is whenText for the peak of a level.
func (t *captionText) peakWhen(lv *align.Level) string {
	w, at := t.peakPlace(lv.Kind, lv.Peak, lv.PeakAt)
	if w == "" {
		return t.timeText(at)
	}
	return t.timeText(at) + ", " + w
}

// ofCard says what share of the card's memory a level is; empty where that is not known.
func (t *captionText) ofCard(bytes int64) string {
	total := t.track.DeviceTotal
	if total <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s of the card's %s)", percent(bytes, total), wording.Bytes(total))
}

// peakHead begins a sentence on the run's peak.
func (t *captionText) peakHead(at int64) string {
	switch v := t.view; {
	case !v.partial():
		return "Peak: "
	case v.inside(at):
		return "Peak of the whole run, in view: "
	}
	return "Peak of the whole run, not in view: "
}

// inViewText says how high a level comes in view, where the picture shows a part of the run.
func (t *captionText) inViewText(kind align.LevelKind, name string) string {
	if !t.view.partial() {
		return ""
	}
	h := t.inView(kind)
	if lv := t.track.Level(kind); !h.known || lv != nil && lv.PeakAt == h.at { // said already
		return ""
	}
	return fmt.Sprintf(" In view: %sat most %s, %s.", name, wording.Bytes(h.bytes), t.whenText(h.at))
}
