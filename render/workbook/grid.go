package workbook

import (
	"slices"

	"nsysmem/render/tables"
)

// formats of the units. Cells of MiB and ms hold the exact bytes and nanoseconds under the decimals shown.
var unitFormats = map[tables.Unit]format{
	tables.Words: asText, tables.Long: asLong, tables.ID: asID, tables.Small: asID, tables.Count: asCount, tables.Bytes: asMiB, tables.Change: asChange,
	tables.Whole: asCount, tables.Time: asTime, tables.Short: asTime, tables.WholeNS: asCount, tables.Percent: asMiB, tables.Ratio: asMiB, tables.Rate: asMiB,
	tables.Flag: asText, tables.Origin: asText, tables.Address: asAddress,
}

func shaded(h tables.Head) bool { return h.Shade }

// origins are the words for a cell of tables.Origin, by its number.
var origins = [2]string{"NVTX", "inferred"}

// of lays a grid out as the table of a sheet.
func (t table) of(g tables.Grid) *table {
	t.n = g.Rows
	for _, h := range g.Heads {
		t.cols = append(t.cols, column{head: h.Text, as: unitFormats[h.Unit], bar: h.Bar})
	}
	if first := slices.IndexFunc(g.Heads, shaded); first >= 0 {
		last := len(g.Heads) - 1
		for !g.Heads[last].Shade {
			last--
		}
		t.scales = append(t.scales, scale{first: first, last: last})
	}
	var cells []tables.Cell
	t.fill = func(i int, r *row) {
		cells = g.Row(i, cells[:0])
		for k := range cells {
			r.cell(&cells[k])
		}
	}
	return &t
}

// cell takes a cell; one that is unknown stays empty.
func (r *row) cell(c *tables.Cell) {
	if !c.Known {
		r.none()
		return
	}
	switch c.Unit {
	case tables.Words, tables.Long:
		r.text(c.Text)
	case tables.Flag:
		r.text(c.Read())
	case tables.Origin:
		r.text(origins[c.Int])
	case tables.Bytes, tables.Change:
		r.mib(true, c.Int)
	case tables.Time:
		r.ms(true, c.Int)
	case tables.Short:
		if c.Mean {
			r.cells = append(r.cells, c.Real/1e3)
			return
		}
		r.us(true, c.Int)
	case tables.Percent, tables.Ratio, tables.Rate:
		r.cells = append(r.cells, c.Real)
	case tables.Address:
		r.address(uint64(c.Int))
	default:
		r.int(c.Int)
	}
}
