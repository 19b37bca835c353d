package workbook

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"sort"
)

// An archive is the zip file of a workbook. excelize hands over the streamed sheets, and lists the types of pictures, in
// the random order of maps; the archive keeps each entry compressed and writes all of them in one order, so that the same
// report gives the same bytes. Entries have no time stamp.
type archive struct {
	entries []*entry
	to      *flate.Writer // compresses the last entry; nil before the first
}

type entry struct {
	name string
	data bytes.Buffer // compressed
	size uint64
	crc  hash.Hash32
	to   *flate.Writer
}

// Create begins an entry, which ends where the next one begins.
func (a *archive) Create(name string) (io.Writer, error) {
	if err := a.Close(); err != nil {
		return nil, err
	}
	e := &entry{name: name, crc: crc32.NewIEEE()}
	if a.to == nil {
		// The sheets are long and repeat themselves: the fastest level takes a third of the default's time, and the file is
		// a fifth larger.
		var err error
		if a.to, err = flate.NewWriter(nil, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	// A writer of its own would take more than a megabyte for each of many short entries.
	a.to.Reset(&e.data)
	e.to = a.to
	a.entries = append(a.entries, e)
	return e, nil
}

// AddFS is part of excelize's interface; nothing calls it for a workbook that is made anew.
func (a *archive) AddFS(fs.FS) error { return errors.ErrUnsupported }

// Close ends the last entry.
func (a *archive) Close() error {
	if a.to == nil {
		return nil
	}
	return a.to.Close()
}

// Write takes a part of an entry. The list of content types comes as one.
func (e *entry) Write(p []byte) (int, error) {
	if e.name == contentTypes {
		n := len(p)
		_, err := e.add(sortDefaults(p))
		return n, err
	}
	return e.add(p)
}

func (e *entry) add(p []byte) (int, error) {
	e.size += uint64(len(p))
	e.crc.Write(p)
	return e.to.Write(p)
}

var defaults = regexp.MustCompile(`<Default [^>]*></Default>`)

// sortDefaults puts the file types of the list of content types in order.
func sortDefaults(list []byte) []byte {
	types := defaults.FindAll(list, -1)
	slices.SortFunc(types, bytes.Compare)
	i := 0
	return defaults.ReplaceAllFunc(list, func([]byte) []byte {
		i++
		return types[i-1]
	})
}

// contentTypes stands first in the file, as programs that guess a file's type expect.
const contentTypes = "[Content_Types].xml"

// writeTo writes the zip file.
func (a *archive) writeTo(w io.Writer) error {
	sort.Slice(a.entries, func(i, j int) bool {
		x, y := a.entries[i].name, a.entries[j].name
		if (x == contentTypes) != (y == contentTypes) {
			return x == contentTypes
		}
		return x < y
	})
	z := zip.NewWriter(w)
	for _, e := range a.entries {
		out, err := z.CreateRaw(&zip.FileHeader{Name: e.name, Method: zip.Deflate, CRC32: e.crc.Sum32(),
			CompressedSize64: uint64(e.data.Len()), UncompressedSize64: e.size, CreatorVersion: 20, ReaderVersion: 20})
		if err != nil {
			return err
		}
		if _, err := e.data.WriteTo(out); err != nil {
			return err
		}
	}
	return z.Close()
}
