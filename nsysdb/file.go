package nsysdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lockWait bounds how long Open waits for another process to finish writing the report.
const lockWait = 3 * time.Second

const (
	sqliteMagic = "SQLite format 3\x00"
	headerSize  = 100 // bytes
)

// An exportFile is an export before SQLite sees it.
type exportFile struct {
	*os.File
	path     string
	size     int64 // bytes
	modTime  time.Time
	warnings []Warning
}

// openFile looks at the file itself, so that SQLite is only ever given a file that can be an export, and each other
// kind of file has a message of its own. It waits for other processes no longer than the given time.
//
//  1. The path must name a regular file that can be opened.
//  2. No other process may hold SQLite's lock for writing.
//  3. The header must be SQLite's, and the file as long as the header says.
//  4. A journal or write-ahead log beside it holds changes that are not read: that is only a warning.
func openFile(path string, wait time.Duration) (*exportFile, error) {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, openError(path, errNotFound, "file not found")
	case err != nil:
		return nil, refused(path, err)
	case fi.IsDir():
		return nil, openError(path, errDirectory, "is a directory: name the .sqlite file in it")
	case !fi.Mode().IsRegular():
		return nil, openError(path, errNotRegular, "is not a regular file: SQLite needs a file on disk")
	}
	f, err := openUnlocked(path, wait)
	if err != nil {
		return nil, err
	}
	out := &exportFile{File: f, path: path}
	if err := out.look(); err != nil {
		f.Close()
		return nil, err
	}
	out.warnings = besides(path)
	return out, nil
}

// openUnlocked opens a file that no other process writes to any more.
func openUnlocked(path string, wait time.Duration) (*os.File, error) {
	const pause = 50 * time.Millisecond
	for deadline := time.Now().Add(wait); ; time.Sleep(pause) {
		f, err := os.Open(path)
		switch {
		case err == nil && !beingWritten(f):
			return f, nil
		case err == nil:
			f.Close()
		case !lockedByOS(err):
			return nil, refused(path, err)
		}
		if time.Now().After(deadline) {
			return nil, openError(path, errLocked, "another process is writing it (waited %v): let it finish"+orLocal, wait)
		}
	}
}

// refused is the error where the system does not let a file be read.
func refused(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return openError(path, errPermission, "no permission to read it")
	}
	return openError(path, errRead, "%v", cause(err))
}

// look judges the file by its header and its size.
func (f *exportFile) look() error {
	fi, err := f.Stat()
	if err != nil {
		return refused(f.path, err)
	}
	f.size, f.modTime = fi.Size(), fi.ModTime()
	head := make([]byte, headerSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return refused(f.path, err)
	}
	if head = head[:n]; !bytes.HasPrefix(head, []byte(sqliteMagic)) {
		return notSQLite(f.path, head)
	}
	if n < headerSize {
		return damaged("open", f.path, "it ends within its header")
	}
	pageSize := int64(pageSizeOf(head))
	if pageSize == 0 {
		return damaged("open", f.path, "its header names no possible page size")
	}
	// The page count counts only where the change counter says that the same program wrote both.
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if pages > 0 && bytes.Equal(head[24:28], head[92:96]) && pages*pageSize > f.size {
		return openError(f.path, errDamaged, "the file is cut short: it has %d of %d bytes"+copyAgain, f.size, pages*pageSize)
	}
	return nil
}

// pageSizeOf is the size of a page in bytes by a header of SQLite's, 0 where it gives none that is possible.
func pageSizeOf(head []byte) int {
	n := int(binary.BigEndian.Uint16(head[16:]))
	switch {
	case n == 1:
		return 65536
	case n < 512 || n&(n-1) != 0:
		return 0
	}
	return n
}

// notSQLite says what a file that begins otherwise than SQLite's is, and how to come from it to an export.
func notSQLite(path string, head []byte) error {
	ext := strings.ToLower(filepath.Ext(path))
	switch {
	case ext == ".nsys-rep", ext == ".qdrep":
		out := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".sqlite"
		return openError(path, ErrNsysRep, "is a report that is not exported yet: "+
			"run `nsys export --type sqlite -o %s %s`", quoted(out), quoted(path))
	case ext == ".qdstrm":
		return openError(path, ErrNsysRep, "is a recording that was never finished: "+
			"make a report of it with QdstrmImporter, then run `nsys export --type sqlite`")
	case len(head) == 0:
		return openError(path, errEmpty, "the file is empty"+copyAgain)
	case len(bytes.Trim(head, "\x00")) == 0:
		return damaged("open", path, "it begins with zeros")
	case strings.HasPrefix(sqliteMagic, string(head)):
		return damaged("open", path, "it ends within its header")
	}
	return openError(path, errNotSQLite, "is not a SQLite file%s"+exportSQLite, looksLike(head))
}

// looksLike names well-known kinds of file by their first bytes.
func looksLike(head []byte) string {
	const packed = "compressed with %s (unpack it first, if it is an export)"
	for _, k := range []struct{ magic, says, name string }{
		{"\x1f\x8b", packed, "gzip"}, {"\x28\xb5\x2f\xfd", packed, "zstd"}, {"\xfd7zXZ", packed, "xz"},
		{"PK\x03\x04", packed, "zip"}, {"BZh", packed, "bzip2"}, {"\x89HDF", "%s", "HDF5"},
		{"PAR1", "%s", "Parquet or Arrow"}, {"ARROW1", "%s", "Parquet or Arrow"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return " but " + fmt.Sprintf(k.says, k.name)
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return " but perhaps JSON"
	}
	return ""
}

// besides warns of a journal or log that belongs to the file. They are left alone: to merge them is to write.
func besides(path string) []Warning {
	var ws []Warning
	if fi, err := os.Stat(path + "-wal"); err == nil && fi.Size() > 32 {
		ws = append(ws, Warning{"unmerged-wal", "changes in " + filepath.Base(path) + "-wal beside the report " +
			"are not read: close the program that writes it, or export the report again"})
	}
	if f, err := os.Open(path + "-journal"); err == nil {
		// A journal that was finished with is either gone or has its head overwritten with zeros.
		head := make([]byte, 8)
		if _, err := io.ReadFull(f, head); err == nil && len(bytes.Trim(head, "\x00")) > 0 {
			ws = append(ws, Warning{"hot-journal", "a journal (" + filepath.Base(path) + "-journal) is beside the report: " +
				"its export was not finished, or still runs; export the report again"})
		}
		f.Close()
	}
	return ws
}

// quoted is s as a shell would need it.
func quoted(s string) string {
	if strings.ContainsAny(s, " \t'\"$&;()<>|*?`\\!#~") {
		return `"` + s + `"`
	}
	return s
}
