package plot

import (
	"io"

	"nsysmem/render/plot/internal/canvas"
)

// WriteRuns draws many runs in a format, "png", "svg" or "pdf": a bar for the peak of each, and below them the level by
// iteration, as a line in a band from the lowest to the highest. Nothing is written to w unless the picture is complete.
// The picture depends on nothing but the arguments and, for characters that the built-in font lacks, the machine's fonts.
func WriteRuns(w io.Writer, format string, runs *Runs, o Options) (err error) {
	const lower = 0.48 // share of the lines' panel
	defer recovered(format, &err)
	_, err = write(w, format, o, func(c *canvas.Canvas) {
		page := canvas.NewPage(c)
		page.Title(runs.Title, runs.Subtitle)
		page.Skip(8)
		above, below := page.Left, page.Left
		below.Y1 = below.Y0 + below.H()*lower
		above.Y0 = below.Y1 + c.Pt(8)
		drawPanels(c, []panel{newRunBars(c, runs.Bars, above)}, []canvas.Rect{above})
		drawPanels(c, []panel{newRunLines(runs)}, []canvas.Rect{below})
	})
	return err
}
