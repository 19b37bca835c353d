package nsysdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lockWait bounds how long Open waits for another process to finish writing the report.
var lockWait = 3 * time.Second

const sqliteMagic = "SQLite format 3\x00"

// fileInfo is what the first look at a file tells, before SQLite sees it.
type fileInfo struct {
	size     int64 // bytes
	modTime  time.Time
	pageSize int64
	warnings []Warning
}

// inspect looks at the file itself, so that SQLite is only ever given a file that can be an export, and each other
// kind of file has a message of its own.
//
//  1. The path must name a regular file that can be opened.
//  2. No other process may hold SQLite's lock for writing.
//  3. The header must be SQLite's, and the file as long as the header says.
//  4. A journal or write-ahead log beside it holds changes that are not read: that is only a warning.
func inspect(path string) (*fileInfo, error) {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, openError(path, ErrNotFound, "file not found")
	case errors.Is(err, fs.ErrPermission):
		return nil, openError(path, ErrPermission, "no permission to read it")
	case err != nil:
		return nil, openError(path, ErrRead, "%v", cause(err))
	case fi.IsDir():
		return nil, openError(path, ErrDirectory, "is a directory: name the .sqlite file in it")
	case !fi.Mode().IsRegular():
		return nil, openError(path, ErrNotRegular, "is not a regular file: SQLite needs a file on disk")
	}
	f, err := os.Open(path)
	for deadline := time.Now().Add(lockWait); err != nil && lockedByOS(err) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		f, err = os.Open(path)
	}
	switch {
	case err != nil && lockedByOS(err):
		return nil, lockedError(path)
	case errors.Is(err, fs.ErrPermission):
		return nil, openError(path, ErrPermission, "no permission to read it")
	case err != nil:
		return nil, openError(path, ErrRead, "%v", cause(err))
	}
	defer f.Close()

	for deadline := time.Now().Add(lockWait); beingWritten(f); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return nil, lockedError(path)
		}
	}
	if fi, err = f.Stat(); err != nil {
		return nil, openError(path, ErrRead, "%v", cause(err))
	}
	info := &fileInfo{size: fi.Size(), modTime: fi.ModTime()}
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, openError(path, ErrRead, "%v", cause(err))
	}
	if err := checkHeader(path, head[:n], info); err != nil {
		return nil, err
	}
	info.warnings = besides(path)
	return info, nil
}

func lockedError(path string) error {
	return openError(path, ErrLocked, "another process is writing it (waited %v): let it finish, or export to a local disk and read that file", lockWait)
}

// checkHeader judges the first bytes of a file, at most 100.
func checkHeader(path string, head []byte, info *fileInfo) error {
	ext := strings.ToLower(filepath.Ext(path))
	isSQLite := bytes.HasPrefix(head, []byte(sqliteMagic))
	switch {
	case isSQLite:
	case ext == ".nsys-rep" || ext == ".qdrep":
		out := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".sqlite"
		return openError(path, ErrNsysRep, "is a report that is not exported yet: run `nsys export --type sqlite -o %s %s`", quoted(out), quoted(path))
	case ext == ".qdstrm":
		return openError(path, ErrNsysRep, "is a recording that was never finished: make a report of it with QdstrmImporter, then run `nsys export --type sqlite`")
	case len(head) == 0:
		return openError(path, ErrEmpty, "the file is empty: copy it again, or export the report again")
	case len(bytes.Trim(head, "\x00")) == 0:
		return openError(path, ErrDamaged, "%s", damagedText("it begins with zeros"))
	case strings.HasPrefix(sqliteMagic, string(head)):
		return openError(path, ErrDamaged, "%s", damagedText("it ends within its header"))
	default:
		return openError(path, ErrNotSQLite, "is not a SQLite file%s: export with `nsys export --type sqlite`", looksLike(head))
	}
	if len(head) < 100 {
		return openError(path, ErrDamaged, "%s", damagedText("it ends within its header"))
	}
	info.pageSize = int64(binary.BigEndian.Uint16(head[16:]))
	if info.pageSize == 1 {
		info.pageSize = 65536
	}
	if info.pageSize < 512 || info.pageSize&(info.pageSize-1) != 0 {
		return openError(path, ErrDamaged, "%s", damagedText("its header names no possible page size"))
	}
	// The page count counts only where the change counter says that the same program wrote both.
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if pages > 0 && bytes.Equal(head[24:28], head[92:96]) && pages*info.pageSize > info.size {
		return openError(path, ErrDamaged, "the file is cut short: it has %d of %d bytes: copy it again, or export the report again",
			info.size, pages*info.pageSize)
	}
	return nil
}

// looksLike names well-known kinds of file by their first bytes.
func looksLike(head []byte) string {
	for _, k := range []struct{ magic, name string }{
		{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\xfd7zXZ", "xz"}, {"PK\x03\x04", "zip"}, {"BZh", "bzip2"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return " but compressed with " + k.name + " (unpack it first, if it is an export)"
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x89HDF")):
		return " but HDF5"
	case bytes.HasPrefix(head, []byte("PAR1")), bytes.HasPrefix(head, []byte("ARROW1")):
		return " but Parquet or Arrow"
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		return " but perhaps JSON"
	}
	return ""
}

// besides warns of a journal or log that belongs to the file. They are left alone: to merge them is to write.
func besides(path string) []Warning {
	var ws []Warning
	if fi, err := os.Stat(path + "-wal"); err == nil && fi.Size() > 32 {
		ws = append(ws, Warning{"unmerged-wal", "changes in " + filepath.Base(path) + "-wal beside the report are not read: close the program that writes it, or export the report again"})
	}
	if f, err := os.Open(path + "-journal"); err == nil {
		// A journal that was finished with is either gone or has its head overwritten with zeros.
		head := make([]byte, 8)
		if _, err := io.ReadFull(f, head); err == nil && len(bytes.Trim(head, "\x00")) > 0 {
			ws = append(ws, Warning{"hot-journal", "a journal (" + filepath.Base(path) + "-journal) is beside the report: its export was not finished, or still runs; export the report again"})
		}
		f.Close()
	}
	return ws
}

// cause is the reason of an error of package os without the path, which the message names already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// quoted is s as a shell would need it.
func quoted(s string) string {
	if strings.ContainsAny(s, " \t'\"$&;()<>|*?`\\!#~") {
		return `"` + s + `"`
	}
	return s
}
