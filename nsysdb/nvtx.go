package nsysdb

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

// unnamed is the name of a range whose export gives neither text nor an id.
const unnamed = "<unnamed>"

// nvtxKind is what a row of NVTX_EVENTS is.
type nvtxKind uint8

const (
	nvtxOther nvtxKind = iota // a category, a resource name, the end of a domain
	nvtxPushPop
	nvtxStartEnd
	nvtxMark
	nvtxDomain
)

// nvtxNames are the names that ENUM_NSYS_EVENT_TYPE gives the kinds, and the numbers that they have in exports of
// 2022.4 to 2025.3, for exports without the enum.
var nvtxNames = []struct {
	name string
	id   int64
	kind nvtxKind
}{
	{"NvtxPushPopRange", 59, nvtxPushPop}, {"NvtxStartEndRange", 60, nvtxStartEnd}, {"NvtxMark", 34, nvtxMark},
	{"NvtxDomainCreate", 75, nvtxDomain}, {"NvtxCategory", 33, nvtxOther},
	{"NvtxtPushPopRange", 70, nvtxPushPop}, {"NvtxtStartEndRange", 71, nvtxStartEnd}, {"NvtxtMark", 65, nvtxMark},
}

func (s *schema) readNVTXKinds() (map[int64]nvtxKind, error) {
	rows, err := s.enumRows("ENUM_NSYS_EVENT_TYPE")
	if err != nil {
		return nil, err
	}
	named := map[string]nvtxKind{}
	kinds := map[int64]nvtxKind{}
	for _, n := range nvtxNames {
		named[strings.ToLower(n.name)] = n.kind
		kinds[n.id] = n.kind
	}
	found := map[int64]nvtxKind{}
	for _, r := range rows {
		if k, ok := named[strings.ToLower(r.name)]; ok {
			found[r.id] = k
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return kinds, nil
}

// NVTX reads all ranges and marks. Without a table of them it gives none; HasNVTX tells.
func (db *DB) NVTX(ctx context.Context) (*NVTX, error) {
	out := &NVTX{Domains: map[DomainID]string{}}
	t := db.nvtx
	if t == nil {
		return out, nil
	}
	if t.col("start") < 0 || t.col("eventType") < 0 {
		return nil, &Error{Op: "read", Path: db.path, Kind: ErrNoTable, Text: "table " + t.name + " has no column start or eventType: export with a version of Nsight Systems from 2022.4 on"}
	}
	r := &nvtxReader{out: out, kinds: db.nvtxKind, byText: map[string]int32{}, byID: map[int64]int32{}, domainIDs: map[DomainID]int64{}}
	out.Ranges = make([]Range, 0, min(t.rows, 1<<20))
	read := r.readSQLite
	if db.plain(t) {
		read = r.readPages
	}
	if err := read(ctx, db, t); err != nil {
		return nil, db.reading(err)
	}
	if err := r.resolve(db); err != nil {
		return nil, db.reading(err)
	}
	return out, db.changed()
}

// nvtxColumns are the columns of NVTX_EVENTS that are read: integers, and the text last.
var nvtxColumns = [...]string{"start", "end", "eventType", "globalTid", "endGlobalTid", "domainId", "textId", "text"}

const nvtxText = len(nvtxColumns) - 1

// nvtxRow is the integers of nvtxColumns; those that the table lacks are Null.
type nvtxRow [nvtxText]int64

// selectNVTX is a statement for all of nvtxColumns.
func selectNVTX(t *table) string {
	list := make([]string, len(nvtxColumns))
	for i, name := range nvtxColumns {
		list[i] = "NULL"
		if at := t.col(name); at >= 0 {
			list[i] = ident(t.columns[at].name)
		}
	}
	return "SELECT " + strings.Join(list, ",") + " FROM " + ident(t.name)
}

func (r *nvtxReader) readSQLite(ctx context.Context, db *DB, t *table) error {
	c, err := db.pool.get()
	if err != nil {
		return err
	}
	defer db.pool.put(c)
	s, err := c.prepare(selectNVTX(t))
	if err != nil {
		return err
	}
	defer s.close()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.guard(func() (err error) {
			for range batchRows {
				if more, err = s.next(); !more {
					return err
				}
				r.fromSQLite(s)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *nvtxReader) fromSQLite(s *stmt) {
	var v nvtxRow
	for i := range v {
		v[i] = s.int(i)
	}
	r.row(&v, s.text(nvtxText))
}

func (r *nvtxReader) readPages(ctx context.Context, db *DB, t *table) error {
	var d decoder
	var at []int // which of nvtxColumns each of the decoder's columns is
	for i, name := range nvtxColumns {
		if c := t.col(name); c >= 0 {
			d.cols = append(d.cols, c)
			at = append(at, i)
		}
	}
	odd := oddRows{db: db, sql: selectNVTX(t) + " WHERE rowid=?"}
	defer odd.close()
	row := func(rowid int64, rec []byte, whole bool) error {
		s := d.shape(rec)
		if whole && !s.fits(rec) {
			return db.file.damaged("table %s has a row that makes no sense", t.name)
		}
		if s == nil || s.odd || s.texts && !db.file.utf8 || int(s.end) > len(rec) {
			return odd.read(rowid, r.fromSQLite)
		}
		v := nvtxRow{Null, Null, Null, Null, Null, Null, Null}
		var text []byte
		for i := range s.slots {
			sl := &s.slots[i]
			switch {
			case sl.kind == slotText && at[i] == nvtxText:
				text = rec[sl.off : int64(sl.off)+sl.n]
			case sl.kind == slotText || at[i] == nvtxText && sl.n != Null:
				return odd.read(rowid, r.fromSQLite) // a number as text, or text as a number
			case at[i] != nvtxText:
				v[at[i]] = sl.value(rec)
			}
		}
		r.row(&v, text)
		return nil
	}
	w := &walk{treeFile: db.file, ctx: ctx, visited: new(atomic.Int64), leaf: func(page []byte) error { return db.file.cells(page, row) }}
	return w.leaves([]uint32{t.root}, 0)
}

type nvtxReader struct {
	out       *NVTX
	kinds     map[int64]nvtxKind
	byText    map[string]int32
	byID      map[int64]int32    // StringIds id → index in Names, whose string is filled in at the end
	domainIDs map[DomainID]int64 // domains whose name is an id of StringIds
}

func (r *nvtxReader) row(v *nvtxRow, text []byte) {
	kind := r.kinds[v[2]]
	if kind == nvtxOther {
		return
	}
	start, end, tid, endTID, domain, textID := v[0], v[1], v[3], v[4], v[5], v[6]
	if tid == Null {
		tid = 0
	}
	if endTID == Null || endTID == 0 {
		endTID = tid
	}
	if domain == Null {
		domain = 0
	}
	if kind == nvtxDomain {
		id := DomainID{Process(tid), domain}
		if len(text) > 0 {
			r.out.Domains[id] = string(text)
		} else if textID != Null {
			r.domainIDs[id] = textID
		}
		return
	}
	if start = within(start, maxTime); start == Null {
		return // nothing can be said of when it was
	}
	name := r.name(text, textID)
	if kind == nvtxMark {
		r.out.Marks = append(r.out.Marks, Mark{Time: start, TID: tid, Domain: domain, Name: name})
		return
	}
	g := Range{Start: start, End: end, TID: tid, EndTID: endTID, Domain: domain, Name: name, PushPop: kind == nvtxPushPop}
	// Older exports write 0 for "none". With times shifted below zero, 0 is a time like any other.
	if end != Null && (end < start || end == 0 && start >= 0 || end > maxTime) {
		g.End, g.Damaged = Null, true
	}
	r.out.Ranges = append(r.out.Ranges, g)
}

// name is the index of a name in Names: text where there is one, else the id's string.
func (r *nvtxReader) name(text []byte, textID int64) int32 {
	if len(text) == 0 && textID != Null {
		n, ok := r.byID[textID]
		if !ok {
			n = int32(len(r.out.Names))
			r.out.Names = append(r.out.Names, "")
			r.byID[textID] = n
		}
		return n
	}
	if len(text) == 0 {
		text = []byte(unnamed)
	}
	n, ok := r.byText[string(text)]
	if !ok {
		n = int32(len(r.out.Names))
		r.out.Names = append(r.out.Names, string(text))
		r.byText[string(text)] = n
	}
	return n
}

// resolve fills in the strings of ids. An id may stand for a string that other ranges have as text: both become one
// name.
func (r *nvtxReader) resolve(db *DB) error {
	if len(r.byID) == 0 && len(r.domainIDs) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(r.byID)+len(r.domainIDs))
	for id := range r.byID {
		ids = append(ids, id)
	}
	for _, id := range r.domainIDs {
		ids = append(ids, id)
	}
	strs, err := db.strs.lookup(ids)
	if err != nil {
		return err
	}
	name := func(id int64) string {
		if s, ok := strs[id]; ok {
			return s
		}
		return fmt.Sprintf("<string %d>", id)
	}
	for id, n := range r.byID {
		r.out.Names[n] = name(id)
	}
	for d, id := range r.domainIDs {
		r.out.Domains[d] = name(id)
	}
	// Names in order of first use, each once.
	old := r.out.Names
	first := make(map[string]int32, len(old))
	to := make([]int32, len(old))
	names := make([]string, 0, len(old))
	for i, s := range old {
		if s == "" {
			s = unnamed
		}
		n, ok := first[s]
		if !ok {
			n = int32(len(names))
			first[s] = n
			names = append(names, s)
		}
		to[i] = n
	}
	r.out.Names = names
	for i := range r.out.Ranges {
		r.out.Ranges[i].Name = to[r.out.Ranges[i].Name]
	}
	for i := range r.out.Marks {
		r.out.Marks[i].Name = to[r.out.Marks[i].Name]
	}
	return nil
}
