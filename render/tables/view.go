package tables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nsysmem/internal/wording"
)

// An Output is a format that tables are written in.
type Output uint8

// The outputs.
const (
	Terminal Output = iota
	Markdown
	CSV
	JSON
	Workbook
	BatchWorkbook // the workbook that compares many reports
	Parquet
	outputs
)

// A Table is a choice of columns for each output, in the order in which they stand there; none where the output does not
// have the table.
type Table[R any] struct {
	views func() [][outputs][]Column[R] // of the tables that were defined together
	place int                           // among those
}

// Columns are the columns that an output shows, from left to right, each with the head that it has there.
func (t Table[R]) Columns(o Output) []Column[R] { return t.views()[t.place][o] }

// Views say for some outputs which columns of a catalogue they show: their keys in order, parted by commas. A key may be
// followed by
//
//	!          whole bytes or nanoseconds, where Bytes and Time are rounded
//	~          several lines, where Words take one
//	:3 or :3/10  the rank 3 and the least width of 10 of Column
//	=head      another head in this output; with == in workbooks too without the unit behind it
//
// such as "name:12/10, peak_bytes, need_bytes:4, flags=note".
type Views map[Output]string

// define makes tables of the columns of a catalogue. Their views are laid out when one is first asked for, since most
// calls of the program need few of them; Columns then panics where a view is not well made, which is a fault of this
// package and not of a report.
//
// A column that none of the views names is shown by all of them, behind those that they name, unless it is Named.
func define[R any](catalogue []Column[R], tables ...Views) []Table[R] {
	views := sync.OnceValue(func() [][outputs][]Column[R] { return layOut(catalogue, tables) })
	out := make([]Table[R], len(tables))
	for i := range out {
		out[i] = Table[R]{views, i}
	}
	return out
}

// layOut gives for each table the columns of each output.
func layOut[R any](catalogue []Column[R], tables []Views) [][outputs][]Column[R] {
	place := places(catalogue)
	named := make([]bool, len(catalogue))
	out := make([][outputs][]Column[R], len(tables))
	for i, views := range tables {
		for o, text := range views {
			out[i][o] = view(catalogue, place, o, text, named)
		}
	}
	for k, c := range catalogue {
		if named[k] || c.Named {
			continue
		}
		for i, views := range tables {
			for o := range views {
				out[i][o] = append(out[i][o], show(c, o, pick{rank: newRank}))
			}
		}
	}
	return out
}

// places are the places of the columns of a catalogue by their keys.
func places[R any](catalogue []Column[R]) map[string]int {
	place := make(map[string]int, len(catalogue))
	for i, c := range catalogue {
		if _, twice := place[c.Key]; twice || c.Key == "" {
			panic(fmt.Sprintf("tables: key %q is missing or stands twice", c.Key))
		}
		place[c.Key] = i
	}
	return place
}

// view is the columns that a text names, and marks them in named.
func view[R any](catalogue []Column[R], place map[string]int, o Output, text string, named []bool) []Column[R] {
	var out []Column[R]
	for item := range strings.SplitSeq(text, ",") {
		key, pick := parse(strings.TrimSpace(item))
		k, ok := place[key]
		if !ok {
			panic(fmt.Sprintf("tables: view %q: no column %q", text, key))
		}
		named[k] = true
		out = append(out, show(catalogue[k], o, pick))
	}
	return out
}

// lead is the columns that a text names and no others, for rows that go on with columns of their own.
func lead[R any](catalogue []Column[R], o Output, text string) []Column[R] {
	return view(catalogue, places(catalogue), o, text, make([]bool, len(catalogue)))
}

// newRank is the rank of a column that a view does not name: where the width is short it is left out before all others.
const newRank = 99

// A pick is what a view says of a column.
type pick struct {
	whole     bool
	long      bool
	rank, min int
	head      *string // nil for the column's own
}

func parse(item string) (key string, p pick) {
	key, head, has := strings.Cut(item, "=")
	if has {
		p.head = &head
	}
	key, layout, _ := strings.Cut(key, ":")
	if layout != "" {
		rank, least, _ := strings.Cut(layout, "/")
		p.rank, p.min = number(rank), number(least)
	}
	key, p.whole = strings.CutSuffix(key, "!")
	key, p.long = strings.CutSuffix(key, "~")
	return key, p
}

func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("tables: view: %v", err))
	}
	return n
}

// wholes are the units of the same figures to the last digit.
var wholes = map[Unit]Unit{Bytes: Whole, Change: WholeChange, Time: WholeNS, Short: WholeNS}

// show is a column as an output has it.
func show[R any](c Column[R], o Output, p pick) Column[R] {
	c.Rank, c.Min = p.rank, p.min
	if p.long {
		c.Unit = Long
	}
	if p.whole {
		c.Bar = false // the rounded column beside it has them
		if whole, ok := wholes[c.Unit]; ok {
			c.Unit = whole
		}
	}
	c.Head = headIn(c, o, p.head)
	return c
}

// headIn is the head of a column in an output; own is the one that the view gives it, nil for none.
func headIn[R any](c Column[R], o Output, own *string) string {
	head, exact := c.Head, false
	switch {
	case own != nil:
		head, exact = strings.CutPrefix(*own, "=")
	case o == CSV && c.Group != "" && !strings.HasPrefix(c.Key, c.Group+"_"):
		return c.Group + "_" + c.Key
	case o == CSV, o == JSON, o == Parquet:
		return c.Key
	case o != Terminal:
		head = wording.Capital(head)
	}
	// A cell of a workbook is a bare number.
	if (o == Workbook || o == BatchWorkbook) && !exact {
		head += remark(unitNames[c.Unit], c.Of)
	}
	return head
}

// unitNames are the units that the heads of workbooks name: a cell there is a bare number.
var unitNames = map[Unit]string{Bytes: "MiB", Change: "MiB", Whole: "bytes", WholeChange: "bytes",
	Time: "ms", Short: "µs", WholeNS: "ns", Percent: "%", Rate: "GiB/s"}

// remark is what stands behind a head, such as " (MiB, max)".
func remark(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
