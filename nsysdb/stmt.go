package nsysdb

import (
	"strings"
	"unsafe"

	sqlite3 "modernc.org/sqlite/lib"
)

// A stmt is a prepared statement of a conn.
type stmt struct {
	c *conn
	p uintptr // *sqlite3_stmt
}

// prepare makes a statement, which must be closed before its connection is used by others.
func (c *conn) prepare(sql string) (*stmt, error) {
	s := &stmt{c: c}
	err := c.handle("read", sql, &s.p, func(text, handle uintptr) int32 {
		return sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, handle, 0)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// next goes to the next row and says whether there is one. The caller is within guard.
func (s *stmt) next() (bool, error) {
	switch rc := sqlite3.Xsqlite3_step(s.c.tls, s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.fail("read", rc)
	}
}

// close frees the statement, unless its connection failed: what SQLite holds is in no known state then.
func (s *stmt) close() {
	if s.c.tls != nil && s.p != 0 {
		_ = s.c.guard(func() error {
			sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
			return nil
		})
	}
	s.p = 0
}

// int is column i of the row as an integer, Null where it is NULL or holds no number.
func (s *stmt) int(i int) int64 {
	v := sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(i))
	if v == 0 && s.isNull(i) {
		return Null
	}
	return v
}

// isNull looks at the type of a column whose value as an integer is 0: it is NULL, a text or blob without a number,
// or indeed 0.
func (s *stmt) isNull(i int) bool {
	switch sqlite3.Xsqlite3_column_type(s.c.tls, s.p, int32(i)) {
	case sqlite3.SQLITE_NULL, sqlite3.SQLITE_BLOB:
		return true
	case sqlite3.SQLITE_TEXT:
		return !strings.HasPrefix(strings.TrimLeft(string(s.text(i)), " +-"), "0")
	}
	return false
}

// text is column i of the row as text, valid until the next step; nil where it is NULL.
func (s *stmt) text(i int) []byte {
	p := sqlite3.Xsqlite3_column_text(s.c.tls, s.p, int32(i))
	n := sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i))
	if p == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(p)), n)
}

func (s *stmt) string(i int) string { return string(s.text(i)) }

// bind begins the statement anew with another value of parameter i, from 1.
func (s *stmt) bind(i int, v int64) {
	sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v)
}

// pointer is an address of memory that SQLite allocated: the garbage collector neither knows nor moves it.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// query calls row for each row of a statement; row runs within guard and may only read columns.
func (c *conn) query(sql string, row func(*stmt)) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer s.close()
	return c.guard(func() error {
		for {
			more, err := s.next()
			if err != nil || !more {
				return err
			}
			row(s)
		}
	})
}

// ident is a name as SQL writes it.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
