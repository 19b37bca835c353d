package plot

import (
	"fmt"

	"nsysmem/render/plot/internal/canvas"
)

// Options say what a picture shows and how. The zero value is the whole picture at its usual size.
type Options struct {
	View       string  // "timeline", "iterations", "steady" or "all"; empty for all; or "segments", a map of the allocator's memory
	From       int64   // ns on the report's clock; start of the timeline, and 0 with To 0 for where the track's data start
	To         int64   // ns; end of the timeline
	Iterations *[2]int // first and last number (align.Iteration.Index) shown, both included; nil for all
	Linear     bool    // keep one time scale where the iterations would be too narrow on it
	Stack      string  // "category", "phase", "kind" or "none"; empty for category where tensors are known
	At         string  // of the segments view: "peak" (of what tensors hold), "reserved" (peak), "oom" or "time"; empty for peak
	AtTime     int64   // ns on the report's clock, for At "time"
	SinceFirst bool    // count the timeline's axis from the first event in view, not from the report's time 0

	Size  Size   // of the whole picture; the zero value is 1600 by 1000 pixels
	DPI   int    // pixels per inch, which sets how large text is beside the picture; 0 for 100
	Font  string // font file for characters that the built-in font lacks; empty to look among the installed ones
	Title string // in place of the report's name; empty for that

	noScan bool // tests: as on a machine without fonts
}

// A Size is the width and height of a picture.
type Size = canvas.Size

// ParseSize reads a size such as "1600x1000", "1600x1000px", "40x25cm" or "16x10in".
func ParseSize(s string) (Size, error) {
	size, err := canvas.ParseSize(s)
	if err != nil {
		return Size{}, fmt.Errorf("plot: %w", err)
	}
	return size, nil
}

// CheckSize says why a picture of the size and resolution of o cannot be; nil where it can.
func CheckSize(o Options) error {
	_, err := o.sheet()
	return err
}

// sheet is what the picture is drawn on.
func (o *Options) sheet() (canvas.Sheet, error) {
	sheet, err := canvas.NewSheet(o.Size, o.DPI)
	if err != nil {
		return sheet, fmt.Errorf("plot: %w", err)
	}
	return sheet, nil
}
