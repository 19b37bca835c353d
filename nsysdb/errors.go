package nsysdb

import (
	"errors"
	"fmt"
	"strings"
)

// The causes of an *Error, for errors.Is.
var (
	ErrNotFound   = errors.New("no such file")
	ErrDirectory  = errors.New("is a directory")
	ErrPermission = errors.New("no permission to read")
	ErrNotRegular = errors.New("not a regular file")
	ErrEmpty      = errors.New("the file is empty")
	ErrNotSQLite  = errors.New("not a SQLite file")
	ErrNsysRep    = errors.New("not exported yet")
	ErrNotExport  = errors.New("not an export of Nsight Systems")
	ErrDamaged    = errors.New("the file is damaged")
	ErrLocked     = errors.New("the file is locked")
	ErrChanged    = errors.New("the file changed while it was read")
	ErrNoTable    = errors.New("no such table")
	ErrRead       = errors.New("cannot read")
)

// An Error tells on one line which file, what is wrong and what to do. errors.Is finds its Kind.
type Error struct {
	Op   string // "open" or "read"
	Path string // as given to Open
	Kind error  // one of the Err… values
	Text string // what is wrong and what to do
}

func (e *Error) Error() string {
	return fmt.Sprintf("nsysdb: %s %q: %s", e.Op, e.Path, e.Text)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Kind }

func openError(path string, kind error, format string, args ...any) *Error {
	return &Error{Op: "open", Path: path, Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// A Warning is a doubt about a report: it can be read, but perhaps it does not say all.
type Warning struct {
	Code string // stable, such as "newer-schema"
	Text string // one line
}

// damagedText tells of a file whose pages do not make sense, with SQLite's own words.
func damagedText(detail string) string {
	const limit = 160 // SQLite may repeat the whole text of a table's definition
	if r := []rune(detail); len(r) > limit {
		detail = string(r[:limit]) + "…"
	}
	detail = strings.Join(strings.Fields(detail), " ")
	return fmt.Sprintf("the file is damaged (%s): copy it again, or export the report again", detail)
}

func isDamage(err error) bool { return errors.Is(err, ErrDamaged) }
