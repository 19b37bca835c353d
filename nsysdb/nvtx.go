package nsysdb

import (
	"context"
	"fmt"
	"strings"
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
	c, err := db.pool.get()
	if err != nil {
		return nil, err
	}
	defer db.pool.put(c)
	r := &nvtxReader{out: out, kinds: db.nvtxKind, byText: map[string]int32{}, byID: map[int64]int32{}, domainIDs: map[DomainID]int64{}}
	list := make([]string, len(nvtxColumns))
	for i, name := range nvtxColumns {
		list[i] = "NULL"
		if at := t.col(name); at >= 0 {
			list[i] = ident(t.columns[at].name)
		}
	}
	s, err := c.prepare("SELECT " + strings.Join(list, ",") + " FROM " + ident(t.name))
	if err != nil {
		return nil, db.reading(err)
	}
	defer s.close()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := c.guard(func() (err error) {
			for range batchRows {
				if more, err = s.next(); !more {
					return err
				}
				r.row(s)
			}
			return nil
		})
		if err != nil {
			return nil, db.reading(err)
		}
	}
	return out, db.reading(r.resolve(db))
}

var nvtxColumns = []string{"start", "end", "eventType", "globalTid", "endGlobalTid", "domainId", "textId", "text"}

type nvtxReader struct {
	out       *NVTX
	kinds     map[int64]nvtxKind
	byText    map[string]int32
	byID      map[int64]int32    // StringIds id → index in Names, whose string is filled in at the end
	domainIDs map[DomainID]int64 // domains whose name is an id of StringIds
}

func (r *nvtxReader) row(s *stmt) {
	kind := r.kinds[s.int(2)]
	if kind == nvtxOther {
		return
	}
	start, end := s.int(0), s.int(1)
	tid, endTID, domain, textID := s.int(3), s.int(4), s.int(5), s.int(6)
	text := s.text(7)
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
	if start == Null {
		return // nothing can be said of when it was
	}
	name := r.name(text, textID)
	if kind == nvtxMark {
		r.out.Marks = append(r.out.Marks, Mark{Time: start, TID: tid, Domain: domain, Name: name})
		return
	}
	g := Range{Start: start, End: end, TID: tid, EndTID: endTID, Domain: domain, Name: name, PushPop: kind == nvtxPushPop}
	// Older exports write 0 for "none". With times shifted below zero, 0 is a time like any other.
	if end != Null && (end < start || end == 0 && start >= 0) {
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
