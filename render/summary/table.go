package summary

import (
	"slices"
	"strings"

	"nsysmem/internal/wording"
	"nsysmem/render/tables"
)

// A column of a text table.
type column struct {
	key   string // as tables.Column.Key; empty for none
	head  string
	over  string // what columns side by side have in common, on a line above their heads; empty for none
	left  bool   // flush left
	rank  int    // the column with the highest rank goes first where the width is short; 0 stays
	min   int    // cells may be cut to so many; 0 for never
	wide  int    // its width where none of its cells needs more
	cells []string
}

// textTable lays out columns in a given number of terminal cells.
type textTable struct {
	cols  []*column
	heads int // lines above the first row, once it is laid out
}

func (t *textTable) add(c column) *column {
	t.cols = append(t.cols, &c)
	return t.cols[len(t.cols)-1]
}

// column is the column with a key. There must be one.
func (t *textTable) column(key string) *column {
	return t.cols[slices.IndexFunc(t.cols, func(c *column) bool { return c.key == key })]
}

// holds says that none of some columns is among those that were left out.
func (t *textTable) holds(dropped []string, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		return slices.ContainsFunc(dropped, func(s string) bool { return strings.HasSuffix(s, t.column(key).head) })
	})
}

// laidOut lays a table out as text: a line for each row.
func laidOut[R any](cols []tables.Column[R], rows []R) *textTable {
	tab := &textTable{}
	for i := range cols {
		c := &cols[i]
		col := tab.add(column{key: c.Key, head: c.Head, over: c.Over, left: c.Unit.Left(), rank: c.Rank, min: c.Min})
		for _, r := range rows {
			col.cells = append(col.cells, wording.Terminal(c.Cell(r).Read()))
		}
	}
	return tab
}

// gap is what parts two columns.
const gap = 2

// lines lays the table out: the header line first, two where columns have something over them, then
// one line a row, and the heads of the columns for which there was no room.
//
//  1. Columns that are empty throughout are left out.
//  2. While the rest is too wide, names are cut, down to each column's least width.
//  3. While that is not enough, the least important column goes, and names get their width back.
func (t *textTable) lines(room int) (lines []string, dropped []string) {
	cols := slices.DeleteFunc(slices.Clone(t.cols), func(c *column) bool {
		return c.rank > 0 && !slices.ContainsFunc(c.cells, func(s string) bool { return s != "" })
	})
	var widths []int
	for {
		widths = fullWidths(cols)
		if cutTo(cols, widths, room) {
			break
		}
		worst := lowest(cols)
		if worst < 0 {
			break // what is left is wider than the terminal, which breaks the lines
		}
		dropped = append(dropped, strings.TrimSpace(cols[worst].over+" "+cols[worst].head))
		cols = slices.Delete(cols, worst, worst+1)
	}
	slices.Reverse(dropped)
	t.heads = 1
	if over := overLine(cols, widths); over != "" {
		lines, t.heads = append(lines, over), 2
	}
	rows := 0
	for _, c := range cols {
		rows = max(rows, len(c.cells))
	}
	for r := -1; r < rows; r++ {
		lines = append(lines, rowLine(cols, widths, r))
	}
	return lines, dropped
}

// fullWidths are the widths at which no cell is cut.
func fullWidths(cols []*column) []int {
	widths := make([]int, len(cols))
	for i, c := range cols {
		w := max(wording.Width(c.head), c.wide)
		if (i == 0 || cols[i-1].over != c.over) && (i+1 == len(cols) || cols[i+1].over != c.over) {
			w = max(w, wording.Width(c.over)) // it has it for itself
		}
		for _, s := range c.cells {
			w = max(w, wording.Width(s))
		}
		widths[i] = w
	}
	return widths
}

// cutTo takes width from the widest columns that may be cut, one character after the other, so that they end up alike. It
// says whether all columns have room then.
func cutTo(cols []*column, widths []int, room int) bool {
	total := gap * (len(cols) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := -1
		for i, c := range cols {
			if c.min > 0 && widths[i] > max(c.min, wording.Width(c.head)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

// lowest is the place of the column that goes first; -1 where all of them stay.
func lowest(cols []*column) int {
	worst := -1
	for i, c := range cols {
		if c.rank > 0 && (worst < 0 || c.rank > cols[worst].rank) {
			worst = i
		}
	}
	return worst
}

// rowLine is the line of a row; of the heads for -1.
func rowLine(cols []*column, widths []int, row int) string {
	var b strings.Builder
	for i, c := range cols {
		s := c.head
		if row >= 0 {
			s = ""
			if row < len(c.cells) {
				s = c.cells[row]
			}
		}
		s = wording.Cut(s, widths[i])
		pad := strings.Repeat(" ", widths[i]-wording.Width(s))
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if c.left {
			b.WriteString(s + pad)
		} else {
			b.WriteString(pad + s)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// overLine is the line above the heads; empty where no column has anything over it.
func overLine(cols []*column, widths []int) string {
	var b strings.Builder
	some := false
	for i := 0; i < len(cols); {
		over, n := cols[i].over, widths[i]
		k := i + 1
		for ; k < len(cols) && over != "" && cols[k].over == over; k++ {
			n += gap + widths[k]
		}
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if over == "" {
			b.WriteString(strings.Repeat(" ", n))
		} else {
			some = true
			s := wording.Cut(over, n)
			if rest := n - wording.Width(s); rest >= 4 {
				s = strings.Repeat("─", rest/2-1) + " " + s + " " + strings.Repeat("─", rest-rest/2-1)
			} else {
				s = strings.Repeat(" ", rest) + s
			}
			b.WriteString(s)
		}
		i = k
	}
	if !some {
		return ""
	}
	return strings.TrimRight(b.String(), " ")
}
