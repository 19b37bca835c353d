package nsysdb

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// unnamed is the name of a range whose export gives neither text nor an id.
const unnamed = "<unnamed>"

// nvtxKind is what a row of NVTX_EVENTS is.
type nvtxKind uint8

const (
	nvtxOther nvtxKind = iota // a mark, a category, a resource name, the end of a domain
	nvtxRange
	nvtxDomain
)

// nvtxNames are the names that ENUM_NSYS_EVENT_TYPE gives the kinds, and the numbers that they have in exports of
// 2022.4 to 2025.3, for exports without the enum.
var nvtxNames = []struct {
	name string
	id   int64
	kind nvtxKind
}{
	{"NvtxPushPopRange", 59, nvtxRange}, {"NvtxStartEndRange", 60, nvtxRange}, {"NvtxMark", 34, nvtxOther},
	{"NvtxDomainCreate", 75, nvtxDomain}, {"NvtxCategory", 33, nvtxOther},
	{"NvtxtPushPopRange", 70, nvtxRange}, {"NvtxtStartEndRange", 71, nvtxRange}, {"NvtxtMark", 65, nvtxOther},
}

// readNVTXKinds is what each number of an event type means, by the export's own enum where it names any of them.
func (s *schema) readNVTXKinds() (map[int64]nvtxKind, error) {
	rows, err := s.enumRows("ENUM_NSYS_EVENT_TYPE")
	if err != nil {
		return nil, err
	}
	kinds, found := map[int64]nvtxKind{}, map[int64]nvtxKind{}
	for _, n := range nvtxNames {
		kinds[n.id] = n.kind
		for _, r := range rows {
			if strings.EqualFold(r.name, n.name) {
				found[r.id] = n.kind
			}
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return kinds, nil
}

// NVTX reads all ranges. Without a table of them it gives none; HasNVTX tells. A table without times or types is
// an *Error.
func (db *DB) NVTX(ctx context.Context) (*NVTX, error) {
	out := &NVTX{Domains: map[DomainID]string{}}
	t := db.nvtx
	if t == nil {
		return out, nil
	}
	if t.col("start") < 0 || t.col("eventType") < 0 {
		return nil, readError(db.path, errNoTable, "table "+t.name+
			" has no column start or eventType: export with a version of Nsight Systems from 2022.4 on")
	}
	out.Ranges = make([]Range, 0, min(t.rows, 1<<20))
	x := &nvtxReader{
		out: out, kinds: db.nvtxKind,
		byText: map[string]int32{}, byID: map[int64]int32{}, domainIDs: map[DomainID]int64{},
	}
	err := x.read(ctx, db)
	if err == nil {
		err = x.resolve(db)
	}
	if err != nil {
		return nil, db.reading(err)
	}
	return out, db.changed()
}

// The columns of NVTX_EVENTS that are read as integers.
const (
	nvtxStart = iota
	nvtxEnd
	nvtxType
	nvtxTID
	nvtxDomainID
	nvtxTextID
	numNVTX
)

var nvtxColumns = [numNVTX]string{
	nvtxStart: "start", nvtxEnd: "end", nvtxType: "eventType", nvtxTID: "globalTid",
	nvtxDomainID: "domainId", nvtxTextID: "textId",
}

// nvtxRow is one row's integers; those that the table lacks are Null.
type nvtxRow [numNVTX]int64

// An nvtxReader makes ranges of rows. Strings of ids are looked up after all rows are read, many at once.
type nvtxReader struct {
	out       *NVTX
	kinds     map[int64]nvtxKind
	byText    map[string]int32
	byID      map[int64]int32    // StringIds id → index in Names, whose string is filled in at the end
	domainIDs map[DomainID]int64 // domains whose name is an id of StringIds
}

// read reads all rows of the table.
func (x *nvtxReader) read(ctx context.Context, db *DB) error {
	q := &request{t: db.nvtx, order: -1}
	var of []int // which of nvtxColumns each column of integers is
	for i, name := range nvtxColumns {
		if c := q.t.col(name); c >= 0 {
			q.cols = append(q.cols, c)
			of = append(of, i)
		}
	}
	if c := q.t.col("text"); c >= 0 {
		q.cols, q.text = append(q.cols, c), true
	}
	r := db.reader(ctx, q)
	if _, err := r.split(1); err != nil {
		return err
	}
	return r.read(ctx, 0, func(b *block) error {
		row := nvtxRow{Null, Null, Null, Null, Null, Null}
		for n := range b.rows {
			for i, vs := range b.ints {
				row[of[i]] = vs[n]
			}
			x.row(&row, b.rowText(n))
		}
		return nil
	})
}

// row takes one row in: a domain or a range.
func (x *nvtxReader) row(v *nvtxRow, text []byte) {
	kind := x.kinds[v[nvtxType]]
	if kind == nvtxOther {
		return
	}
	tid, domain := orZero(v[nvtxTID]), orZero(v[nvtxDomainID])
	if kind == nvtxDomain {
		id := DomainID{Process(tid), domain}
		if len(text) > 0 {
			x.out.Domains[id] = string(text)
		} else if v[nvtxTextID] != Null {
			x.domainIDs[id] = v[nvtxTextID]
		}
		return
	}
	start, end := within(v[nvtxStart], maxTime), v[nvtxEnd]
	if start == Null {
		return // nothing can be said of when it was
	}
	g := Range{Start: start, End: end, TID: tid, Domain: domain, Name: x.name(text, v[nvtxTextID])}
	// Older exports write 0 for "none". With times shifted below zero, 0 is a time like any other.
	if end != Null && (end < start || end == 0 && start >= 0 || end > maxTime) {
		g.End, g.Damaged = Null, true
	}
	x.out.Ranges = append(x.out.Ranges, g)
}

// orZero is v, or 0 where the export does not say.
func orZero(v int64) int64 {
	if v == Null {
		return 0
	}
	return v
}

// name is the index of a name in Names: text where there is one, else the id's string.
func (x *nvtxReader) name(text []byte, textID int64) int32 {
	if len(text) == 0 && textID != Null {
		n, ok := x.byID[textID]
		if !ok {
			n = x.add("")
			x.byID[textID] = n
		}
		return n
	}
	if len(text) == 0 {
		text = []byte(unnamed)
	}
	n, ok := x.byText[string(text)]
	if !ok {
		n = x.add(string(text))
		x.byText[string(text)] = n
	}
	return n
}

// add gives a name an index of its own.
func (x *nvtxReader) add(name string) int32 {
	x.out.Names = append(x.out.Names, name)
	return int32(len(x.out.Names) - 1)
}

// resolve fills in the strings of ids. An id may stand for a string that other ranges have as text: both become one
// name.
func (x *nvtxReader) resolve(db *DB) error {
	ids := slices.AppendSeq(slices.Collect(maps.Keys(x.byID)), maps.Values(x.domainIDs))
	if len(ids) == 0 {
		return nil
	}
	// All at once, which is faster than one by one, and tells of damage; from here on they are there.
	if _, err := db.strs.lookup(ids); err != nil {
		return err
	}
	for id, n := range x.byID {
		x.out.Names[n] = db.String(id)
	}
	for d, id := range x.domainIDs {
		x.out.Domains[d] = db.String(id)
	}
	x.unite()
	return nil
}

// unite makes names that are alike one, in the order of their first use.
func (x *nvtxReader) unite() {
	old := x.out.Names
	x.out.Names, x.byText = make([]string, 0, len(old)), make(map[string]int32, len(old))
	to := make([]int32, len(old))
	for i, s := range old {
		to[i] = x.name([]byte(s), Null)
	}
	for i := range x.out.Ranges {
		x.out.Ranges[i].Name = to[x.out.Ranges[i].Name]
	}
}
