package nsysdb

import (
	"fmt"
	"slices"
	"sync"
)

// A stringTable is table StringIds. It may be far larger than what is asked for, so only strings that were asked for
// are kept.
type stringTable struct {
	db   *DB
	t    *table // nil where there is none
	seek bool   // the id is the rowid: one string is found without reading the others
	id   string
	val  string

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

// String is the string of an id in StringIds, or "<string 99>" where the id has no row.
func (db *DB) String(id int64) string {
	if s, ok := db.StringName(id); ok {
		return s
	}
	return fmt.Sprintf("<string %d>", id)
}

// StringName is the string of an id in StringIds, and whether the id has a row. A string that cannot be read for
// damage of the file counts as having none.
func (db *DB) StringName(id int64) (string, bool) {
	s := db.strs
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.load([]int64{id})
	v, ok := s.have[id]
	return v, ok
}

// load reads those of the strings that are not there yet; the caller holds mu. A few are sought one by one; for many
// it is faster to read the whole table once, keeping only those wanted.
func (s *stringTable) load(ids []int64) error {
	if s.t == nil || s.all {
		return nil
	}
	var want []int64
	for _, id := range ids {
		if _, ok := s.have[id]; !ok && !s.none[id] && id != Null {
			want = append(want, id)
		}
	}
	if len(want) == 0 {
		return nil
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if s.conn == nil {
		c, err := s.db.pool.get()
		if err != nil {
			return err
		}
		s.conn = c
	}
	var err error
	switch {
	case !s.seek:
		s.all = true
		err = s.conn.query("SELECT "+s.id+","+s.val+" FROM "+ident(s.t.name), func(r *stmt) error {
			s.have[r.int(0)] = r.string(1)
			return nil
		})
	case int64(len(want)) > s.t.rows/8+64:
		missing := make(map[int64]bool, len(want))
		for _, id := range want {
			missing[id] = true
		}
		sql := fmt.Sprintf("SELECT %s,%s FROM %s WHERE %s BETWEEN %d AND %d", s.id, s.val, ident(s.t.name), s.id, want[0], want[len(want)-1])
		err = s.conn.query(sql, func(r *stmt) error {
			if id := r.int(0); missing[id] {
				s.have[id] = r.string(1)
				delete(missing, id)
			}
			return nil
		})
		for id := range missing {
			s.none[id] = true
		}
	default:
		err = s.seekEach(want)
	}
	return s.db.reading(err)
}

func (s *stringTable) seekEach(want []int64) error {
	if s.stmt == nil {
		st, err := s.conn.prepare("SELECT " + s.val + " FROM " + ident(s.t.name) + " WHERE " + s.id + "=?")
		if err != nil {
			return err
		}
		s.stmt = st
	}
	return s.conn.guard(func() error {
		for _, id := range want {
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

// Strings gives the strings of those of the ids that have a row in StringIds. For many ids it is faster than String.
func (db *DB) Strings(ids []int64) (map[int64]string, error) { return db.strs.lookup(ids) }

// lookup gives the strings of those of the ids that have one.
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
