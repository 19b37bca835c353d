package tables

// A Grid is a table with its rows, without the type of these: what a writer of cells needs.
type Grid struct {
	Heads []Head
	Rows  int
	row   func(i int) []Cell
}

// A Head is what a Grid says of a column.
type Head struct {
	Key   string // unique in the grid, but for a column that stands twice, rounded and whole
	Text  string // as the output has it
	Unit  Unit
	Bar   bool
	Shade string
}

// Row gives the cells of row i, from 0, one for each head. They are the caller's until the next call.
func (g *Grid) Row(i int) []Cell { return g.row(i) }

// Place is the place of the first column with a key, from 0; -1 where there is none. Charts find their columns by it.
func (g *Grid) Place(key string) int {
	for i := range g.Heads {
		if g.Heads[i].Key == key {
			return i
		}
	}
	return -1
}

// Over lays columns over n rows. at gives row i; it is called with rising i, and its row is not kept.
func Over[R any](cols []Column[R], n int, at func(i int) R) Grid {
	g := Grid{Rows: n, Heads: make([]Head, len(cols))}
	for i, c := range cols {
		g.Heads[i] = Head{Key: c.Key, Text: c.Head, Unit: c.Unit, Bar: c.Bar, Shade: c.Shade}
	}
	cells := make([]Cell, len(cols)) // for all rows: a workbook has millions
	g.row = func(i int) []Cell {
		r := at(i)
		for k := range cols {
			cols[k].read(r, &cells[k])
		}
		return cells
	}
	return g
}

// Rows lays columns over rows that are at hand.
func Rows[R any](cols []Column[R], rows []R) Grid {
	return Over(cols, len(rows), func(i int) R { return rows[i] })
}
