// Package tables describes every table of the product once: which columns it has, what each is called, in which unit its
// cells are, how they are read from a row, and when they are known. Text, Markdown, CSV, JSON, workbooks and Parquet are
// written from these descriptions, so that a head cannot stand above another column's cells.
//
// A Column belongs to rows of one Go type. Columns of one type form a catalogue, and a table is a choice of them: for
// each Output a view, which names them in the order in which they stand. A column that no view of a catalogue names is
// shown by all of them, so that a new figure is one line in its catalogue.
package tables

import "nsysmem/align"

// A Unit says what the cells of a column are, and with that how each output writes them.
type Unit uint8

// The units. Bytes and nanoseconds are whole numbers up to the writer.
const (
	Words       Unit = iota // a text of one line
	Long                    // a text that may take several lines
	Small                   // an ID of 32 bits
	ID                      // a number that names something: no thousands apart
	Count                   // a number of things: 1,234
	Bytes                   // bytes: 75.77 GiB, in workbooks MiB
	Change                  // bytes with a sign before rises
	Whole                   // bytes, always to the byte: 1,234
	WholeChange             // likewise, with a sign before rises: +1,234
	Time                    // nanoseconds: 12.40 ms, in workbooks ms
	Short                   // nanoseconds, in workbooks µs
	WholeNS                 // nanoseconds, always to the nanosecond: 1,234
	Percent                 // hundredths of a whole
	Ratio                   // 0 to 1
	Rate                    // GiB a second
	Flag                    // 1 for yes, 0 for no
	Origin                  // 1 for inferred from the GPU work, 0 for annotated with NVTX ranges
	Address                 // an address in memory, 0x7f…
	Handle                  // a small number that names something, or its address
	Term                    // a text that stands where a number would, such as 8N
)

// A Column is one column of a table with rows of type R. Just one of Int, Real, Text,
// Texts and List is set.
type Column[R any] struct {
	Key      string // its name for machines, such as "peak_bytes"; unique in a catalogue
	Head     string // its name for people, such as "peak"
	Unit     Unit
	Of       string           // which of many values it is, "median" or "max"; empty where a row has one
	Int      func(R) int64    // the cell, in units of Unit
	Real     func(R) float64  // likewise
	Text     func(R) string   // likewise; an empty text leaves the cell empty
	Texts    func(R) []string // likewise; where an output has no lists, their number counts
	List     func(R) []int64  // several numbers in one cell: a text that parts them by commas, an array in JSON
	Known    func(R) bool     // whether the cell is known and was collected; nil for always
	Has      func(R) bool     // whether there is such a figure for the row at all; nil for always
	Least    func(R) bool     // whether the true figure may be higher; nil for never
	Group    string           // object of JSON and beginning of the CSV name: "memory", "gpu", "api"; empty for none
	Bar      bool             // its cells are to be compared: workbooks draw bars in them
	Shade    string           // likewise, with the columns of the same name, which stand side by side: workbooks shade them; empty for not
	Distinct bool             // its texts rarely recur
	Named    bool             // it is shown by the views that name it alone

	// How a view lays the column out in text.
	Rank int    // the column with the highest rank is left out first where the width is short; 0 stays
	Min  int    // its cells may be cut to so many characters; 0 for never
	Over string // what columns side by side have in common, on a line above their heads; empty for none
}

// A Cell is one value of a table. Which of Int, Real and Text counts is told by the Unit.
type Cell struct {
	Unit  Unit
	Known bool // false for what is unknown or was not collected: empty, null or n/a, never 0
	Void  bool // there is no such figure for the row: empty in every output; Known is false then
	Least bool // a lower bound
	Int   int64
	Real  float64
	Text  string
	Mean  bool // Real counts, although the Unit is one of whole numbers
}

// Cell reads the cell of a row.
func (c *Column[R]) Cell(r R) (cell Cell) {
	c.read(r, &cell)
	return cell
}

// read fills a cell. A sheet has millions of them, which are not copied.
func (c *Column[R]) read(r R, cell *Cell) {
	*cell = Cell{Unit: c.Unit}
	if c.Has != nil && !c.Has(r) {
		cell.Void = true
		return
	}
	if cell.Known = c.Known == nil || c.Known(r); !cell.Known {
		return
	}
	cell.Least = c.Least != nil && c.Least(r)
	switch {
	case c.Int != nil:
		cell.Int = c.Int(r)
	case c.Real != nil:
		cell.Real, cell.Mean = c.Real(r), c.Unit == Time || c.Unit == Short
	case c.List != nil:
		cell.Text = listed(c.List(r))
	case c.Texts != nil:
		cell.Int = int64(len(c.Texts(r)))
	default:
		cell.Text = c.Text(r)
	}
}

// Knows says that the cell of a row is known.
func (c *Column[R]) Knows(r R) bool {
	return (c.Has == nil || c.Has(r)) && (c.Known == nil || c.Known(r))
}

// Lift makes columns of rows R into columns of rows S, each of which holds one of R.
func Lift[R, S any](cols []Column[R], of func(S) R) []Column[S] {
	out := make([]Column[S], len(cols))
	for i, c := range cols {
		out[i] = Column[S]{Key: c.Key, Head: c.Head, Unit: c.Unit, Of: c.Of, Group: c.Group, Bar: c.Bar, Shade: c.Shade, Distinct: c.Distinct, Named: c.Named,
			Int: lift(c.Int, of), Real: lift(c.Real, of), Text: lift(c.Text, of), Texts: lift(c.Texts, of), List: lift(c.List, of),
			Known: lift(c.Known, of), Has: lift(c.Has, of), Least: lift(c.Least, of),
			Rank: c.Rank, Min: c.Min, Over: c.Over}
	}
	return out
}

func lift[R, S, V any](get func(R) V, of func(S) R) func(S) V {
	if get == nil {
		return nil
	}
	return func(s S) V { return get(of(s)) }
}

// named makes columns Named.
func named[R any](cols []Column[R]) []Column[R] {
	for i := range cols {
		cols[i].Named = true
	}
	return cols
}

// known says of a report what was collected; short names for the columns below.
func knowsMemory(c *align.Collected) bool  { return c.Memory }
func knowsAPI(c *align.Collected) bool     { return c.API }
func knowsKernels(c *align.Collected) bool { return c.Kernels }
func knowsCopies(c *align.Collected) bool  { return c.Copies }
func knowsGPU(c *align.Collected) bool     { return c.Kernels || c.Copies }
