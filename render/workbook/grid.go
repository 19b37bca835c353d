package workbook

import "nsysmem/render/tables"

// formats of the units. Cells of MiB and ms hold the exact bytes and nanoseconds under the decimals shown.
var unitFormats = map[tables.Unit]format{
	tables.Words: asText, tables.Long: asLong, tables.ID: asID, tables.Small: asID, tables.Count: asCount, tables.Bytes: asMiB, tables.Change: asChange,
	tables.Whole: asCount, tables.WholeChange: asCount, tables.Time: asTime, tables.Short: asTime, tables.WholeNS: asCount, tables.Percent: asMiB, tables.Ratio: asMiB, tables.Rate: asMiB,
	tables.Flag: asText, tables.Origin: asText, tables.Address: asAddress,
	tables.Handle: asID, tables.Term: asText,
}

// scales colour the columns that are to be compared with those beside them.
func scales(heads []tables.Head) []scale {
	var out []scale
	for i, h := range heads {
		switch {
		case h.Shade == "":
		case i > 0 && heads[i-1].Shade == h.Shade:
			out[len(out)-1].last = i
		default:
			out = append(out, scale{first: i, last: i, change: h.Unit == tables.Change})
		}
	}
	return out
}

// origins are the words for a cell of tables.Origin, by its number.
var origins = [2]string{"NVTX", "inferred"}

// of lays a grid out as the table of a sheet.
func (t table) of(g tables.Grid) *table {
	t.n = g.Rows
	for _, h := range g.Heads {
		t.cols = append(t.cols, column{head: h.Text, as: unitFormats[h.Unit], bar: h.Bar})
	}
	t.scales = scales(g.Heads)
	t.fill = func(i int, r *row) {
		cells := g.Row(i)
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
	case tables.Words, tables.Long, tables.Term:
		r.text(c.Text)
	case tables.Flag:
		r.text(c.Read())
	case tables.Origin:
		r.text(origins[c.Int])
	case tables.Bytes, tables.Change:
		// MiB. The library keeps 15 significant digits, as Excel does, which is more than a number of bytes has: times
		// 1,048,576 and rounded, the cell is the exact number.
		put(r, float64(c.Int)/(1<<20))
	case tables.Time:
		put(r, float64(c.Int)/1e6) // ms
	case tables.Short:
		ns := float64(c.Int)
		if c.Mean {
			ns = c.Real
		}
		put(r, ns/1e3) // µs
	case tables.Percent, tables.Ratio, tables.Rate:
		put(r, c.Real)
	case tables.Handle:
		if c.IsNumber() {
			put(r, c.Int)
			return
		}
		r.address(uint64(c.Int))
	case tables.Address:
		r.address(uint64(c.Int))
	default:
		put(r, c.Int)
	}
}
