// Package plot draws a track of a findings.Report: its device level over time, a column per iteration, and one steady
// iteration enlarged, as PNG, SVG or PDF. It also draws the allocator's memory at one moment, what other settings of the
// allocator would have reserved, and many runs beside each other.
//
// A caller asks Windows which curves a picture needs, gets them from align.Curves, and hands them to Write.
//
// What a picture shows is worked out first (view, scene), then laid out as panels, then drawn on a canvas.
package plot

import (
	"fmt"
	"io"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
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

func (o *Options) sheet() (canvas.Sheet, error) {
	sheet, err := canvas.NewSheet(o.Size, o.DPI)
	if err != nil {
		return sheet, fmt.Errorf("plot: %w", err)
	}
	return sheet, nil
}

// Write draws a picture of track, one of rep.Tracks, in a format, "png", "svg" or "pdf". curves are those of the windows
// that Windows names for the same options, in its order; a missing one is drawn as an empty panel. Nothing is written to w
// unless the picture is complete. The warnings are about the picture alone, such as characters that no font has.
//
// The picture depends on nothing but the arguments and, for characters that the built-in font lacks, the fonts of the
// machine.
func Write(w io.Writer, format string, rep *findings.Report, track *align.Track, curves [][]align.Curve, o Options) (
	warnings []findings.Warning, err error) {
	defer recovered(format, &err)
	if !rep.Collected.Memory {
		return nil, fmt.Errorf("plot: read %q: no memory events: profile with --cuda-memory-usage=true", rep.Source.Path)
	}
	view, err := newView(rep, track, o)
	if err != nil {
		return nil, err
	}
	s, err := newScene(rep, track, view, curves)
	if err != nil {
		return nil, err
	}
	warnings, err = write(w, format, o, s.draw)
	return append(view.doubts[:len(view.doubts):len(view.doubts)], warnings...), err
}

// recovered makes an error of a panic: the libraries below say by panic what they cannot draw, and a broken picture must
// not take the program with it.
func recovered(format string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("plot: draw %s: %v", format, r)
	}
}

// write draws on a canvas of a format, and writes that to w when it is complete. It warns of characters that no font has.
func write(w io.Writer, format string, o Options, draw func(*canvas.Canvas)) (warnings []findings.Warning, err error) {
	sheet, err := o.sheet()
	if err != nil {
		return nil, err
	}
	fonts, err := canvas.NewFonts(o.Font, !o.noScan)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	c, err := canvas.New(format, sheet, fonts)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	draw(c)
	data, err := c.Bytes()
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	if missing := fonts.Missing(); len(missing) > 0 {
		warnings = append(warnings, missingWarning(missing))
	}
	if _, err := w.Write(data); err != nil {
		return warnings, fmt.Errorf("plot: write %s: %w", format, err)
	}
	return warnings, nil
}

// missingWarning names characters that were drawn as boxes.
func missingWarning(missing []rune) findings.Warning {
	const most = 8
	var names []string
	for _, r := range missing[:min(len(missing), most)] {
		names = append(names, fmt.Sprintf("%c (U+%04X)", r, r))
	}
	list := strings.Join(names, ", ")
	if left := len(missing) - most; left > 0 {
		list += fmt.Sprintf(" and %d more", left)
	}
	return findings.Warning{
		Code: "no_font",
		Text: "no font has " + list + ": boxes are drawn in their place; install a font that has them or name its file with --font",
	}
}

// Windows are the stretches of track for which a picture with these options wants curves, in the order in which Write
// takes them: the timeline's, then the enlarged iteration's, as far as the view has them.
func Windows(rep *findings.Report, track *align.Track, o Options) ([]align.Window, error) {
	v, err := newView(rep, track, o)
	if err != nil {
		return nil, err
	}
	var windows []align.Window
	for _, s := range v.stretches() {
		windows = append(windows, align.Window{PID: track.PID, Device: track.Device, From: s.from, To: s.to, Points: s.points})
	}
	return windows, nil
}
