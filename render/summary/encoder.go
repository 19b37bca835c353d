package summary

import (
	"encoding/json"
	"math"
	"strconv"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/tables"
)

// An encoder appends JSON to a buffer. Nothing in it allocates per row: a report may have a million of them.
type encoder struct {
	output
	c align.Collected // of what is being written

	// The row at hand lies behind the end of the memory events: only levels of a snapshot are known.
	lost bool

	rep *align.Report // nil where something other than a report is written

	// Texts are escaped as encoding/json does it, <, > and & too. The parts that come from a snapshot have always been written
	// so; whoever compares outputs byte by byte counts on it.
	html bool
}

func (e *encoder) raw(s string) { e.b = append(e.b, s...) }

func (e *encoder) int(v int64) { e.b = strconv.AppendInt(e.b, v, 10) }

func (e *encoder) text(s string) {
	if e.html {
		b, _ := json.Marshal(s) // there is no string that it cannot write
		e.b = wording.AppendShownJSON(e.b, b)
		return
	}
	e.b = wording.AppendJSON(e.b, s)
}

func (e *encoder) bool(v bool) { e.b = strconv.AppendBool(e.b, v) }

// next parts the elements of an array, and is where the buffer is handed on.
func (e *encoder) next(i int, lead string) {
	if i > 0 {
		e.raw(",")
	}
	e.raw(lead)
	e.spill()
}

// array writes n elements, each behind a lead.
func (e *encoder) array(lead string, n int, element func(i int)) {
	e.raw("[")
	for i := range n {
		e.next(i, lead)
		element(i)
	}
	e.raw("]")
}

// textOrNull writes an empty string, which stands for unknown, as null.
func (e *encoder) textOrNull(s string) {
	if s == "" {
		e.raw("null")
		return
	}
	e.text(s)
}

// intOrNull writes 0, where that stands for unknown, as null.
func (e *encoder) intOrNull(v int64) {
	if v == 0 {
		e.raw("null")
		return
	}
	e.int(v)
}

// float writes what JSON has no form for as null.
func (e *encoder) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.raw("null")
		return
	}
	e.b = strconv.AppendFloat(e.b, v, 'f', -1, 64)
}

// key begins a member of an object, and parts it from the one before.
func (e *encoder) key(k string) {
	if n := len(e.b); n > 0 && e.b[n-1] != '{' {
		e.raw(",")
	}
	e.raw(`"`)
	e.raw(k)
	e.raw(`":`)
}

func (e *encoder) intField(k string, v int64) {
	e.key(k)
	e.int(v)
}

func (e *encoder) intFieldOrNull(k string, v int64) {
	e.key(k)
	e.intOrNull(v)
}

func (e *encoder) textField(k, s string) {
	e.key(k)
	e.text(s)
}

func (e *encoder) textFieldOrNull(k, s string) {
	e.key(k)
	e.textOrNull(s)
}

func (e *encoder) floatField(k string, v float64) {
	e.key(k)
	e.float(v)
}

func (e *encoder) boolField(k string, v bool) {
	e.key(k)
	e.bool(v)
}

// each writes an array of items of a track.
func each[T any](e *encoder, t *align.Track, items []T, write func(*tables.Row[T])) {
	r := &tables.Row[T]{Report: e.rep, Track: t}
	e.array("\n  ", len(items), func(i int) {
		r.Item = &items[i]
		write(r)
	})
}

// members writes the columns of a row that are in no group; the groups are parts of align.Use.
func members[R any](e *encoder, cols []tables.Column[R], r R) {
	for i := range cols {
		c := &cols[i]
		if c.Group != "" {
			continue
		}
		e.key(c.Head)
		switch {
		case !c.Knows(r):
			e.raw("null")
		case c.Unit == tables.Origin:
			e.text(tables.Origins[c.Int(r)])
		case c.Unit == tables.Flag:
			e.bool(c.Int(r) != 0)
		case c.Int != nil:
			e.int(c.Int(r))
		case c.Real != nil:
			e.float(c.Real(r))
		case c.List != nil:
			list := c.List(r)
			e.array("", len(list), func(i int) { e.int(list[i]) })
		default:
			e.text(c.Text(r))
		}
	}
}

// object writes a row as an object.
func object[R any](e *encoder, cols []tables.Column[R], r R) {
	e.raw("{")
	members(e, cols, r)
	e.raw("}")
}

// objects writes rows as an array of objects, each behind a lead.
func objects[R any](e *encoder, lead string, cols []tables.Column[R], rows []R) {
	e.array(lead, len(rows), func(i int) { object(e, cols, rows[i]) })
}

// figures writes what is counted for a part of a row as an object; null where nothing of it was collected. Where timed is
// false the row stands for many, and a point in time is null.
func figures[T any](e *encoder, collected bool, u *T, list []tables.Figure[T], timed bool) {
	if !collected {
		e.raw("null")
		return
	}
	e.raw("{")
	for i := range list {
		f := &list[i]
		e.key(f.Key)
		if f.Needs != nil && !f.Needs(&e.c) || !timed && f.Stamp {
			e.raw("null")
			continue
		}
		e.int(f.Get(u))
	}
	e.raw("}")
}
