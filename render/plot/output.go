package plot

import (
	"fmt"
	"io"
	"strings"

	"nsysmem/align/findings"
	"nsysmem/render/plot/internal/canvas"
)

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

// End is called when the program ends, whether or not a picture is still being drawn: it waits until no temporary file of
// one is left.
func End() { canvas.End() }
