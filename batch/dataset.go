package batch

import (
	"bufio"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"nsysmem/align"
	"nsysmem/render/tables"
)

// The data set. Each table is a folder of partitions run=NAME, so that the run is a column for those who read it. Sizes
// are bytes and times ns on the report's clock; what is unknown or was not collected is null.

// writeTables writes a run's partitions of the data set.
func writeTables(rep *align.Report, rec *record, o *Options, s *stage) error {
	runs := make([]*tables.Run, len(rec.Tracks))
	for i := range rec.Tracks {
		runs[i] = rec.Tracks[i].run(&rec.recordHead, rec.label(i))
	}
	d := dataset{stage: s, in: &rec.Input, o: o}
	err := write(d, "runs", "runRow", tables.Runs.Columns(tables.Parquet), func(put func(*tables.Run) error) error {
		for _, r := range runs {
			if err := put(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	iterations := tables.OwnedBy(tables.Parquet, tables.Iterations.Columns(tables.Parquet))
	if err := write(d, "iterations", "iterationRow", iterations, steps(rep, rec, runs, false)); err != nil {
		return err
	}
	phases := tables.OwnedBy(tables.Parquet, tables.PhaseRows.Columns(tables.Parquet))
	if err := write(d, "phases", "phaseRow", phases, steps(rep, rec, runs, true)); err != nil || !o.Allocations {
		return err
	}
	type row = tables.Owned[*tables.Row[align.Block]]
	blocks := tables.OwnedBy(tables.Parquet, tables.Allocations.Columns(tables.Parquet))
	return write(d, "allocations", "allocationRow", blocks, func(put func(row) error) error {
		for i, t := range rep.Tracks {
			r := row{Run: runs[i], Row: &tables.Row[align.Block]{Report: rep, Track: t}}
			for j := range t.Blocks {
				r.Row.Item = &t.Blocks[j]
				if err := put(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// steps gives the iterations of all tracks, or their phases.
func steps(rep *align.Report, rec *record, runs []*tables.Run, phases bool) func(put func(tables.Owned[*tables.Step]) error) error {
	return func(put func(tables.Owned[*tables.Step]) error) error {
		row := tables.Owned[*tables.Step]{Row: tables.StepOf(rep, nil, nil, nil)}
		for i, t := range rep.Tracks {
			row.Run, row.Row.Track = runs[i], t
			for j := range t.Iterations {
				it := &t.Iterations[j]
				row.Row.Iteration, row.Row.Peak, row.Row.Phase = it, &rec.Iterations[i][j].PeakBy, nil
				if !phases {
					if err := put(row); err != nil {
						return err
					}
					continue
				}
				for k := range it.Phases {
					row.Row.Phase = &it.Phases[k]
					if err := put(row); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
}

// A dataset is where a run's partitions go.
type dataset struct {
	stage *stage
	in    *Input
	o     *Options
}

// schema has a column for each of a table, in its order. The library makes it from a struct with tags.
func schema[R any](name string, cols []tables.Column[R]) *parquet.Schema {
	fields := make([]reflect.StructField, len(cols))
	for i := range cols {
		kind, options := parquetType(&cols[i])
		fields[i] = reflect.StructField{Name: "C" + cols[i].Head, Type: kind, Tag: reflect.StructTag(`parquet:"` + cols[i].Head + options + `"`)}
	}
	return parquet.NewSchema(name, parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

// parquetType is the type of a column's field, and what its tag says beside the name.
func parquetType[R any](c *tables.Column[R]) (kind reflect.Type, options string) {
	switch {
	case c.Texts != nil:
		kind, options = reflect.TypeFor[[]string](), ",list"
	case c.Text != nil && c.Distinct:
		kind = reflect.TypeFor[string]()
	case c.Text != nil:
		kind, options = reflect.TypeFor[string](), ",dict"
	case c.Real != nil:
		kind = reflect.TypeFor[float64]()
	case c.Unit == tables.Flag:
		kind = reflect.TypeFor[bool]()
	case c.Unit == tables.Address:
		kind = reflect.TypeFor[uint64]()
	case c.Unit == tables.Small:
		kind = reflect.TypeFor[int32]()
	default:
		kind = reflect.TypeFor[int64]()
	}
	if nullable(c) {
		kind, options = reflect.PointerTo(kind), options+",optional"
	}
	return kind, options
}

// nullable says that cells of a column may be null. An unknown text is empty.
func nullable[R any](c *tables.Column[R]) bool {
	return c.Known != nil && c.Text == nil && c.Texts == nil
}

// appendCell appends the cell of a row; a list gives a value for each of its elements.
func appendCell[R any](out parquet.Row, place int, c *tables.Column[R], r R) parquet.Row {
	known := c.Known == nil || c.Known(r)
	var v parquet.Value
	switch {
	case c.Texts != nil:
		list := c.Texts(r)
		if len(list) == 0 {
			return append(out, parquet.NullValue().Level(0, 0, place))
		}
		for i, s := range list {
			out = append(out, parquet.ByteArrayValue([]byte(s)).Level(min(i, 1), 1, place))
		}
		return out
	case c.Text != nil && !known:
		v = parquet.ByteArrayValue(nil)
	case !known:
		return append(out, parquet.NullValue().Level(0, 0, place))
	case c.Text != nil:
		v = parquet.ByteArrayValue([]byte(c.Text(r)))
	case c.Real != nil:
		v = parquet.DoubleValue(finite(c.Real(r)))
	case c.Unit == tables.Flag:
		v = parquet.BooleanValue(c.Int(r) != 0)
	case c.Unit == tables.Small:
		v = parquet.Int32Value(int32(c.Int(r)))
	default:
		v = parquet.Int64Value(c.Int(r))
	}
	defined := 0
	if nullable(c) {
		defined = 1
	}
	return append(out, v.Level(0, defined, place))
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// putRows is the number of rows that are handed to the encoder at once.
const putRows = 256

// write writes one table of a run, row by row. A run without rows has a partition too: a reader that lists runs finds it.
// The schema is called name.
func write[R any](d dataset, table, name string, cols []tables.Column[R], rows func(put func(R) error) error) error {
	return d.stage.file(d.in.partition(d.o.Out, table), func(out io.Writer) error {
		b := bufio.NewWriter(out)
		w := parquet.NewGenericWriter[any](b, schema(name, cols), parquet.Compression(&parquet.Snappy), parquet.CreatedBy("nsysmem", "0", "0"),
			parquet.MaxRowsPerRowGroup(1<<17), parquet.PageBufferSize(64<<10), parquet.ColumnPageBuffers(parquet.NewBufferPool()))
		buf := make([]parquet.Row, 0, putRows)
		flush := func() error {
			_, err := w.WriteRows(buf)
			buf = buf[:0]
			return err
		}
		err := rows(func(r R) error {
			buf = buf[:len(buf)+1]
			row := &buf[len(buf)-1]
			*row = (*row)[:0]
			for i := range cols {
				*row = appendCell(*row, i, &cols[i], r)
			}
			if len(buf) == cap(buf) {
				return flush()
			}
			return nil
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		return b.Flush()
	})
}
