package nsysdb

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
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

// pragmas are the settings of each connection. A schema made by others may not call functions; pages that do not make
// sense are refused; a small cache is enough for tables that are read once, from one end to the other; and a sort of many
// rows must not take the memory that the rows themselves need.
var pragmas = []string{"trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "cache_size=-2000", "temp_store=FILE"}

// dial opens the file for reading only. With immutable=1 SQLite takes no lock and makes no -wal, -shm or -journal.
func dial(path string) (c *conn, err error) {
	uri, err := fileURI(path)
	if err != nil {
		return nil, openError(path, errRead, "%v", err)
	}
	c = &conn{path: path, tls: libc.NewTLS()}
	err = c.handle("open", uri+"?mode=ro&immutable=1", &c.db, func(name, handle uintptr) int32 {
		flags := int32(sqlite3.SQLITE_OPEN_READONLY | sqlite3.SQLITE_OPEN_URI | sqlite3.SQLITE_OPEN_NOMUTEX |
			sqlite3.SQLITE_OPEN_EXRESCODE)
		return sqlite3.Xsqlite3_open_v2(c.tls, name, handle, flags, 0)
	})
	for _, pragma := range pragmas {
		if err == nil {
			err = c.query("PRAGMA "+pragma, func(*stmt) {})
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// handle runs a function of SQLite's that takes a text and makes a handle, even where it fails.
func (c *conn) handle(op, text string, into *uintptr, f func(text, handle uintptr) (rc int32)) error {
	return c.guard(func() error {
		s, err := libc.CString(text)
		if err != nil {
			return &Error{op, c.path, err.Error(), errRead}
		}
		defer libc.Xfree(c.tls, s)
		// SQLite writes the handle here, so it must be memory that the garbage collector does not move.
		const size = int(unsafe.Sizeof(uintptr(0)))
		at := c.tls.Alloc(size)
		defer c.tls.Free(size)
		*(*uintptr)(pointer(at)) = 0
		rc := f(s, at)
		*into = *(*uintptr)(pointer(at))
		if rc != sqlite3.SQLITE_OK {
			return c.fail(op, rc)
		}
		return nil
	})
}

// fileURI is the path as SQLite's URI, with every byte escaped that means something there.
func fileURI(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return pathURI(filepath.ToSlash(abs)), nil
}

// pathURI is fileURI for an absolute path with slashes.
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

// close closes the connection, once. After a fault it does nothing.
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

// interrupt makes a running statement of another goroutine end soon. It brings a stack of its own for the translated C
// code, as the connection's is in use.
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
