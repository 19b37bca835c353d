package plot

import (
	"nsysmem/render/plot/internal/canvas"
)

// Runs is what a picture of many runs shows.
type Runs struct {
	Title    string
	Subtitle string
	Bars     []RunBar  // in the order in which they stand
	Lines    []RunLine // level per iteration
	Over     string    // what the ranges of Lines are over, such as "ranks"
}

// A RunBar is the peak of one run.
type RunBar struct {
	Label  string
	Peak   int64 // bytes
	End    int64 // bytes; level at the end
	Known  bool  // memory was collected
	Failed bool  // the run's report could not be read
}

// A RunLine is a level by iteration with its range.
type RunLine struct {
	Label  string
	Points []RunPoint // rising in Iteration
}

// A RunPoint is a level at one iteration.
type RunPoint struct {
	Iteration      int64
	Low, Mid, High int64 // bytes; Mid is the median, of an even number the lower middle one
	Runs           int   // levels that these are of; 0 where unknown
}

// runPens are those of the lines.
var runPens = []canvas.Pen{
	{Color: canvas.Blue}, {Color: canvas.Vermillion}, {Color: canvas.Green}, {Color: canvas.Purple},
	{Color: canvas.Orange, Dashes: []float64{6, 2}}, {Color: canvas.Sky, Dashes: []float64{6, 2}},
	{Color: canvas.Ink, Dashes: []float64{2, 2}}, {Color: canvas.Faint, Dashes: []float64{6, 2, 2, 2}},
}

// MaxRunLines is how many lines can be told apart.
var MaxRunLines = len(runPens)
