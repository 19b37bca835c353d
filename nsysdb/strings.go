package nsysdb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// A stringTable is table StringIds. It may be far larger than what is asked for, so only strings that were asked for
// are kept.
type stringTable struct {
	db   *DB
	t    *table // nil where there is none
	id   string // the column of ids, as SQL writes it
	all  string // selects id and string of all rows
	keys bool   // the id is the rowid: one string is found without reading the others

	mu    sync.Mutex
	have  map[int64]string
	none  map[int64]bool // asked for, and not there
	whole bool           // have holds the whole table
	one   seeker         // finds one string
}

// newStringTable makes the table of strings from StringIds, one without any where the export has none.
func newStringTable(db *DB, t *table) *stringTable {
	s := &stringTable{db: db, have: map[int64]string{}, none: map[int64]bool{}}
	id, val := t.col("id"), t.col("value")
	if id < 0 || val < 0 {
		return s
	}
	s.t, s.id, s.keys = t, ident(t.columns[id].name), t.columns[id].primary == 1 && !t.view
	value, from := ident(t.columns[val].name), " FROM "+ident(t.name)
	s.all = "SELECT " + s.id + "," + value + from
	s.one = seeker{pool: db.pool, sql: "SELECT " + value + from + " WHERE " + s.id + "=?"}
	return s
}

// String is the string of an id in StringIds, or "<string 99>" where the id has no row. A string that cannot be read
// because the file is damaged counts as having none.
func (db *DB) String(id int64) string {
	if v, ok := db.Lookup(id); ok {
		return v
	}
	return unknownString(id)
}

// Lookup is the string of an id in StringIds, and whether it has one: String for those who must tell a string from none.
func (db *DB) Lookup(id int64) (string, bool) {
	s := db.strs
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.have[id]
	if !ok {
		_ = s.load([]int64{id})
		v, ok = s.have[id]
	}
	return v, ok
}

// unknownString stands for the string of an id without a row.
func unknownString(id int64) string { return "<string " + strconv.FormatInt(id, 10) + ">" }

// lookup gives the strings of those of the ids that have one. For many ids it is faster than String.
func (s *stringTable) lookup(ids []int64) (map[int64]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(ids); err != nil {
		return nil, err
	}
	out := make(map[int64]string, len(ids))
	for _, id := range ids {
		if v, ok := s.have[id]; ok {
			out[id] = v
		}
	}
	return out, nil
}

// load reads those of the strings that are not there yet; the caller holds mu. A few are sought one by one; for many
// it is faster to read the whole table once, keeping only those wanted.
func (s *stringTable) load(ids []int64) (err error) {
	want := map[int64]bool{}
	for _, id := range ids {
		if _, ok := s.have[id]; !ok && !s.none[id] && id != Null {
			want[id] = true
		}
	}
	if s.t == nil || s.whole || len(want) == 0 {
		return nil
	}
	sorted := slices.Sorted(maps.Keys(want))
	switch {
	case !s.keys:
		s.whole = true
		err = s.keep(s.all, func(int64) bool { return true })
	case int64(len(want)) > s.t.rows/8+64: // to seek a row takes longer than to read one in order
		between := fmt.Sprintf(" WHERE %s BETWEEN %d AND %d", s.id, sorted[0], sorted[len(sorted)-1])
		err = s.keep(s.all+between, func(id int64) bool { return want[id] })
		for _, id := range sorted {
			if _, ok := s.have[id]; !ok {
				s.none[id] = true
			}
		}
	default:
		for _, id := range sorted {
			found := false
			if found, err = s.one.find(id, func(r *stmt) { s.have[id] = r.string(0) }); err != nil {
				break
			}
			s.none[id] = !found
		}
	}
	return s.db.reading(err)
}

// keep reads the rows that a statement selects, and keeps those whose id is wanted.
func (s *stringTable) keep(sql string, wanted func(id int64) bool) error {
	c, err := s.db.pool.get()
	if err != nil {
		return err
	}
	defer s.db.pool.put(c)
	return c.query(sql, func(r *stmt) {
		if id := r.int(0); wanted(id) {
			s.have[id] = r.string(1)
		}
	})
}

func (s *stringTable) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.one.close()
}
