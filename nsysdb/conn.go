package nsysdb

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A conn is one read-only connection to SQLite, for one goroutine at a time. It calls SQLite's own interface and not
// database/sql, which costs more for a row than SQLite does.
type conn struct {
	path string
	tls  *libc.TLS
	db   uintptr // *sqlite3
}

// dial opens the file for reading only. With immutable=1 SQLite takes no lock and makes no -wal, -shm or -journal.
func dial(path string) (c *conn, err error) {
	uri, err := fileURI(path)
	if err != nil {
		return nil, openError(path, errRead, "%v", err)
	}
	c = &conn{path: path, tls: libc.NewTLS()}
	err = c.guard(func() error {
		name, err := libc.CString(uri + "?mode=ro&immutable=1")
		if err != nil {
			return openError(path, errRead, "%v", err)
		}
		defer libc.Xfree(c.tls, name)
		// SQLite writes the handle here, so it must be memory that the garbage collector does not move.
		pp := c.tls.Alloc(int(unsafe.Sizeof(uintptr(0))))
		defer c.tls.Free(int(unsafe.Sizeof(uintptr(0))))
		flags := int32(sqlite3.SQLITE_OPEN_READONLY | sqlite3.SQLITE_OPEN_URI | sqlite3.SQLITE_OPEN_NOMUTEX)
		rc := sqlite3.Xsqlite3_open_v2(c.tls, name, pp, flags, 0)
		c.db = *(*uintptr)(pointer(pp))
		if rc != sqlite3.SQLITE_OK {
			return c.fail("open", rc)
		}
		sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
		return nil
	})
	if err != nil {
		c.close()
		return nil, err
	}
	// A schema made by others may not call functions; pages that do not make sense are refused; a small cache is
	// enough for tables that are read once, from one end to the other.
	for _, pragma := range []string{"trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "cache_size=-2000", "temp_store=FILE"} {
		if err := c.exec("PRAGMA " + pragma); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// fileURI is the path as SQLite's URI, with every byte escaped that means something there.
func fileURI(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return pathURI(filepath.ToSlash(abs)), nil
}

func pathURI(slashed string) string {
	var b strings.Builder
	b.WriteString("file://")
	if !strings.HasPrefix(slashed, "/") {
		b.WriteByte('/') // C:/x becomes file:///C:/x
	}
	for i := 0; i < len(slashed); i++ {
		switch ch := slashed[i]; {
		case ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch >= '0' && ch <= '9', strings.IndexByte("/._-:", ch) >= 0:
			b.WriteByte(ch)
		default:
			fmt.Fprintf(&b, "%%%02X", ch)
		}
	}
	return b.String()
}

// guard runs f and turns a fault of the translated C code into an error: a damaged file must not end the program.
func (c *conn) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			// What SQLite holds is in no known state: leave it, rather than free it.
			c.db, c.tls = 0, nil
			detail := fmt.Sprint(r)
			if e, ok := r.(runtime.Error); ok {
				detail = e.Error()
			}
			err = damaged("read", c.path, detail)
		}
	}()
	if c.tls == nil {
		return damaged("read", c.path, "reading it failed before")
	}
	return f()
}

func (c *conn) close() {
	if c.tls == nil {
		return
	}
	_ = c.guard(func() error {
		if c.db != 0 {
			sqlite3.Xsqlite3_close_v2(c.tls, c.db)
		}
		c.tls.Close()
		return nil
	})
	c.db, c.tls = 0, nil
}

// interrupt makes a running statement of another goroutine end soon.
func (c *conn) interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.db)
}

// fail is the error for a result code of SQLite's.
func (c *conn) fail(op string, rc int32) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc&0xff))
	if c.db != 0 {
		text = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
	}
	e := &Error{op, c.path, text + ": export the report again with nsys export --type sqlite", errRead}
	switch rc & 0xff {
	case sqlite3.SQLITE_CORRUPT:
		return damaged(op, c.path, text)
	case sqlite3.SQLITE_NOTADB:
		e.kind, e.Text = errNotSQLite, "is not a SQLite file, or an encrypted one"+exportSQLite
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		e.kind, e.Text = errLocked, text+": let the other process finish"+orLocal
	case sqlite3.SQLITE_IOERR:
		if rc == sqlite3.SQLITE_IOERR_SHORT_READ {
			return damaged(op, c.path, "it is cut short")
		}
		e.Text = text + copyToLocal
	case sqlite3.SQLITE_FULL:
		e.Text = fmt.Sprintf("no room for temporary files in %q: set TMPDIR to a larger disk", os.TempDir())
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		e.kind = errPermission
	}
	return e
}

func (c *conn) exec(sql string) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		if more, err := s.step(); err != nil || !more {
			return err
		}
	}
}

// A stmt is a prepared statement of a conn.
type stmt struct {
	c *conn
	p uintptr // *sqlite3_stmt
}

func (c *conn) prepare(sql string) (*stmt, error) {
	s := &stmt{c: c}
	err := c.guard(func() error {
		text, err := libc.CString(sql)
		if err != nil {
			return err
		}
		defer libc.Xfree(c.tls, text)
		pp := c.tls.Alloc(int(unsafe.Sizeof(uintptr(0))))
		defer c.tls.Free(int(unsafe.Sizeof(uintptr(0))))
		*(*uintptr)(pointer(pp)) = 0
		rc := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, pp, 0)
		s.p = *(*uintptr)(pointer(pp))
		if rc != sqlite3.SQLITE_OK {
			return c.fail("read", rc)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// step goes to the next row and says whether there is one.
func (s *stmt) step() (more bool, err error) {
	err = s.c.guard(func() error {
		more, err = s.next()
		return err
	})
	return more, err
}

// next is step for callers that are within guard already.
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

func (s *stmt) bind(i int, v int64) {
	sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v)
}

// pointer is an address of memory that SQLite allocated: the garbage collector neither knows nor moves it.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// A pool keeps a few connections: to open one is to read the whole schema.
type pool struct {
	path string
	mu   sync.Mutex
	idle []*conn
	shut bool
}

func (p *pool) get() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, nil
	}
	if p.shut {
		return nil, readError(p.path, errRead, "the report is closed")
	}
	return dial(p.path)
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.tls == nil || p.shut || len(p.idle) >= 8 {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}

// query calls row for each row of a statement; row runs within guard and may only read columns.
func (c *conn) query(sql string, row func(*stmt) error) error {
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
			if err := row(s); err != nil {
				return err
			}
		}
	})
}

// ident is a name as SQL writes it.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
