package nsysdb

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrNsysRep is the cause of an *Error for a report that nsys has not exported yet, for errors.Is.
var ErrNsysRep = errors.New("not exported yet")

// The other causes of an *Error, which tell this package's own functions apart what went wrong.
var (
	errNotFound   = errors.New("no such file")
	errDirectory  = errors.New("is a directory")
	errPermission = errors.New("no permission to read")
	errNotRegular = errors.New("not a regular file")
	errEmpty      = errors.New("the file is empty")
	errNotSQLite  = errors.New("not a SQLite file")
	errNotExport  = errors.New("not an export of Nsight Systems")
	errDamaged    = errors.New("the file is damaged")
	errLocked     = errors.New("the file is locked")
	errChanged    = errors.New("the file changed while it was read")
	errNoTable    = errors.New("no such table")
	errRead       = errors.New("cannot read")
)

// What to do, where several errors say the same.
const (
	copyAgain    = ": copy it again, or export the report again"
	copyToLocal  = ": copy the report to a local disk and read that file"
	orLocal      = ", or export to a local disk and read that file"
	exportSQLite = ": export with `nsys export --type sqlite`"
)

// An Error tells on one line which file, what is wrong and what to do. errors.Is finds ErrNsysRep in it.
type Error struct {
	Op   string // "open" or "read"
	Path string // as given to Open
	Text string // what is wrong and what to do
	kind error  // one of the causes above
}

func (e *Error) Error() string {
	return fmt.Sprintf("nsysdb: %s %q: %s", e.Op, e.Path, e.Text)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.kind }

// openError is an error of opening for a cause.
func openError(path string, kind error, format string, args ...any) *Error {
	return &Error{"open", path, fmt.Sprintf(format, args...), kind}
}

// readError is an error of reading for a cause.
func readError(path string, kind error, text string) *Error {
	return &Error{"read", path, text, kind}
}

// damaged is the error for a file whose content does not make sense. The detail may be SQLite's own words.
func damaged(op, path, detail string) *Error {
	const limit = 160 // SQLite may repeat the whole text of a table's definition
	if r := []rune(detail); len(r) > limit {
		detail = string(r[:limit]) + "…"
	}
	detail = strings.Join(strings.Fields(detail), " ")
	return &Error{op, path, "the file is damaged (" + detail + ")" + copyAgain, errDamaged}
}

// isDamage says whether an error, if any, is of a file that does not make sense.
func isDamage(err error) bool { return errors.Is(err, errDamaged) }

// cause is the reason of an error of package os without the path, which the message names already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// A Warning is a doubt about a report: it can be read, but perhaps it does not say all.
type Warning struct {
	Code string // stable, such as "newer-schema"
	Text string // one line
}
