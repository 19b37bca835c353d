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
	db      *DB
	t       *table // nil where there is none
	seek    bool   // the id is the rowid: one string is found without reading the others
	id, val string // the columns, as SQL writes them

	mu   sync.Mutex
	have map[int64]string
	none map[int64]bool // asked for, and not there
	all  bool           // have holds the whole table
	conn *conn          // nil until the first string is read
	stmt *stmt          // finds one string; nil until then
}

func newStringTable(db *DB, t *table) *stringTable {
	s := &stringTable{db: db, have: map[int64]string{}, none: map[int64]bool{}}
	id, val := t.col("id"), t.col("value")
	if id < 0 || val < 0 {
		return s
	}
	s.t, s.id, s.val = t, ident(t.columns[id].name), ident(t.columns[val].name)
	s.seek = t.columns[id].primary && !t.view
	return s
}

// String is the string of an id in StringIds, or "<string 99>" where the id has no row. A string that cannot be read for
// damage of the file counts as having none.
func (db *DB) String(id int64) string {
	s := db.strs
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.have[id]
	if !ok {
		_ = s.load([]int64{id})
		if v, ok = s.have[id]; !ok {
			return unknownString(id)
		}
	}
	return v
}

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
	if s.t == nil || s.all || len(want) == 0 {
		return nil
	}
	if s.conn == nil {
		if s.conn, err = s.db.pool.get(); err != nil {
			return err
		}
	}
	switch {
	case !s.seek:
		s.all = true
		err = s.keep("", func(int64) bool { return true })
	case int64(len(want)) > s.t.rows/8+64:
		sorted := slices.Sorted(maps.Keys(want))
		between := fmt.Sprintf(" WHERE %s BETWEEN %d AND %d", s.id, sorted[0], sorted[len(sorted)-1])
		err = s.keep(between, func(id int64) bool { return want[id] })
		for id := range want {
			if _, ok := s.have[id]; !ok {
				s.none[id] = true
			}
		}
	default:
		err = s.seekEach(want)
	}
	return s.db.reading(err)
}

// keep reads the rows that meet a condition, and keeps those whose id is wanted.
func (s *stringTable) keep(where string, wanted func(id int64) bool) error {
	return s.conn.query("SELECT "+s.id+","+s.val+" FROM "+ident(s.t.name)+where, func(r *stmt) error {
		if id := r.int(0); wanted(id) {
			s.have[id] = r.string(1)
		}
		return nil
	})
}

func (s *stringTable) seekEach(want map[int64]bool) (err error) {
	if s.stmt == nil {
		if s.stmt, err = s.conn.prepare("SELECT " + s.val + " FROM " + ident(s.t.name) + " WHERE " + s.id + "=?"); err != nil {
			return err
		}
	}
	return s.conn.guard(func() error {
		for _, id := range slices.Sorted(maps.Keys(want)) {
			s.stmt.bind(1, id)
			more, err := s.stmt.next()
			if err != nil {
				return err
			}
			if more {
				s.have[id] = s.stmt.string(0)
			} else {
				s.none[id] = true
			}
		}
		return nil
	})
}

func (s *stringTable) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stmt != nil {
		s.stmt.close()
		s.stmt = nil
	}
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
}
