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

	"nsysmem/align"
	"nsysmem/align/findings"
)

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
	warnings, err = write(w, format, o, s.drawPicture)
	return append(view.doubts[:len(view.doubts):len(view.doubts)], warnings...), err
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
