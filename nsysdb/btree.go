package nsysdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
)

// This file reads the rows of a plain table straight from the pages of its b-tree, by the published file format of
// SQLite (sqlite.org/fileformat2.html). SQLite itself interprets a program for each row and each value, which costs
// four times what decoding does. All that is unusual (a value that is no number, a row that goes on in another page,
// a column added later) is left to SQLite, one row or the whole table at a time.

// maxDepth is more levels than a b-tree of the largest possible file has.
const maxDepth = 20

// A treeFile is the export as pages.
type treeFile struct {
	f        *os.File
	path     string
	pageSize int
	usable   int   // bytes of a page without those reserved at its end
	pages    int64 // pages that the file has room for
	utf8     bool
}

// newTreeFile reads the header; nil where the format is one that only SQLite may read.
func newTreeFile(f *os.File, path string, size int64) *treeFile {
	var head [100]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil
	}
	t := &treeFile{f: f, path: path, pageSize: int(binary.BigEndian.Uint16(head[16:]))}
	if t.pageSize == 1 {
		t.pageSize = 65536
	}
	t.usable = t.pageSize - int(head[20])
	if head[19] > 2 || t.pageSize < 512 || t.pageSize&(t.pageSize-1) != 0 || t.usable < 480 {
		return nil
	}
	t.pages = size / int64(t.pageSize)
	t.utf8 = binary.BigEndian.Uint32(head[56:]) == 1
	return t
}

func (t *treeFile) damaged(format string, args ...any) error {
	return &Error{Op: "read", Path: t.path, Kind: ErrDamaged, Text: damagedText(fmt.Sprintf(format, args...))}
}

// read reads n pages from the given one on.
func (t *treeFile) read(buf []byte, page int64, n int) error {
	if page < 1 || page+int64(n)-1 > t.pages {
		return t.damaged("there is no page %d", page)
	}
	if _, err := t.f.ReadAt(buf[:n*t.pageSize], (page-1)*int64(t.pageSize)); err != nil {
		return &Error{Op: "read", Path: t.path, Kind: ErrRead, Text: fmt.Sprintf("%v: copy the report to a local disk and read that file", cause(err))}
	}
	return nil
}

const (
	interiorPage = 5
	leafPage     = 13
)

// children appends the pages below an interior page, in order.
func (t *treeFile) children(list []uint32, page []byte, no uint32) ([]uint32, error) {
	n := int(binary.BigEndian.Uint16(page[3:]))
	if 12+2*n > t.usable {
		return nil, t.damaged("page %d has too many cells", no)
	}
	for i := range n {
		at := int(binary.BigEndian.Uint16(page[12+2*i:]))
		if at < 12+2*n || at+4 > t.usable {
			return nil, t.damaged("page %d has a cell outside of it", no)
		}
		list = append(list, binary.BigEndian.Uint32(page[at:]))
	}
	return append(list, binary.BigEndian.Uint32(page[8:])), nil
}

// split finds subtrees, in order of rowids, among which parts can be shared out: more than there are parts, or all
// leaves. They are all on one level, depth levels below the root.
func (t *treeFile) split(root uint32, parts int) (nodes []uint32, depth int, err error) {
	nodes = []uint32{root}
	page := make([]byte, t.pageSize)
	for ; depth < maxDepth; depth++ {
		if parts <= 1 || len(nodes) >= 32*parts {
			return nodes, depth, nil
		}
		var below []uint32
		for _, no := range nodes {
			if err := t.read(page, int64(no), 1); err != nil {
				return nil, 0, err
			}
			switch page[0] {
			case leafPage:
				return nodes, depth, nil
			case interiorPage:
				if below, err = t.children(below, page, no); err != nil {
					return nil, 0, err
				}
			default:
				return nil, 0, t.damaged("page %d is no part of a table", no)
			}
			if int64(len(below)) > t.pages {
				return nil, 0, t.damaged("pages refer to each other in circles")
			}
		}
		nodes = below
	}
	return nil, 0, t.damaged("a table is nested too deeply")
}

// A walk goes through the leaves of some subtrees.
type walk struct {
	*treeFile
	ctx     context.Context
	visited *atomic.Int64 // leaves seen by all parts of a scan: never more than the file has pages
	leaf    func(page []byte) error
	run     []byte // pages read at once
	lists   [maxDepth][]uint32
}

// runPages is how many pages are read at once where leaves follow each other in the file.
func (t *treeFile) runPages() int { return max(1, 256<<10/t.pageSize) }

// leaves calls w.leaf for each leaf at or below the nodes, which are siblings, in order. Leaves that are near each
// other in the file are read together.
func (w *walk) leaves(nodes []uint32, depth int) error {
	if depth >= maxDepth {
		return w.damaged("a table is nested too deeply")
	}
	if w.run == nil {
		w.run = make([]byte, w.runPages()*w.pageSize+8) // 8 more for reading any integer as 8 bytes
	}
	for len(nodes) > 0 {
		// How far ahead the next nodes go on through the file. A few pages in between are read for nothing.
		first, last, n := int64(nodes[0]), int64(nodes[0]), 1
		for n < len(nodes) {
			next := int64(nodes[n])
			if next <= last || next > last+4 || next-first >= int64(w.runPages()) {
				break
			}
			last = next
			n++
		}
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		if err := w.read(w.run, first, int(last-first)+1); err != nil {
			return err
		}
		for i, no := range nodes[:n] {
			at := int(int64(no)-first) * w.pageSize
			page := w.run[at : at+w.pageSize+8]
			switch page[0] {
			case leafPage:
				if w.visited.Add(1) > w.pages {
					return w.damaged("pages refer to each other in circles")
				}
				if err := w.leaf(page); err != nil {
					return err
				}
			case interiorPage:
				// The level below uses w.run too, so what is left of this run is read again afterwards.
				var err error
				if w.lists[depth], err = w.children(w.lists[depth][:0], page[:w.pageSize], no); err != nil {
					return err
				}
				if w.visited.Add(1) > w.pages {
					return w.damaged("pages refer to each other in circles")
				}
				if err := w.leaves(w.lists[depth], depth+1); err != nil {
					return err
				}
				n = i + 1
			default:
				return w.damaged("page %d is no part of a table", no)
			}
			if n == i+1 {
				break
			}
		}
		nodes = nodes[n:]
	}
	return nil
}

// A slot says where a column's value is in the rows of one shape.
type slot struct {
	off   int32 // from the start of the record; 0 for a constant
	shift uint8 // an integer: how far eight bytes read at off must be shifted right
	kind  slotKind
	mask  int64 // all ones for an integer, 0 else
	n     int64 // the value of a constant, or the length of a text; 0 for an integer
}

type slotKind uint8

const (
	slotInt   slotKind = iota
	slotConst          // NULL, 0 or 1, which stand in the header alone
	slotText
	slotOdd // a floating-point number or a blob, or not in the record
)

// value is the value of an integer or a constant, without a branch between the two.
func (sl *slot) value(rec []byte) int64 {
	return int64(binary.BigEndian.Uint64(rec[sl.off:sl.off+8]))>>(sl.shift&63)&sl.mask | sl.n
}

// A shape is how a record lays out its columns, as its header says. Rows of one table have few shapes, so each is
// worked out once.
type shape struct {
	key    headerKey // of shapes that the header's beginning tells
	header []byte    // of others
	slots  []slot
	odd    bool  // some slot is slotOdd
	texts  bool  // some slot is slotText
	end    int32 // one past the last byte of the slots
	size   int64 // bytes of the whole record; -1 where the beginning does not tell
}

// fits says that a record that is whole in its page can be one of the shape.
func (s *shape) fits(rec []byte) bool {
	return s != nil && (s.size == int64(len(rec)) || s.size < 0 && int(s.end) <= len(rec))
}

// A decoder finds wanted columns of records.
type decoder struct {
	cols   []int // positions of the wanted columns in the table
	prefix int   // bytes of the header up to the last of them, where each has one
	last   *shape
	seats  [256]*shape // shapes by the hash of their key; the last of those with one hash
	long   []*shape    // shapes without a key
}

// shape finds the layout of a record, nil where the record does not make sense. local is the part of it that is in
// its page, with room for 8 bytes more.
//
// The columns that are wanted are mostly among the first, and each mostly has one byte in the header. Then these bytes,
// with the header's length, tell all, and what later columns hold makes no shape of its own.
func (d *decoder) shape(local []byte) *shape {
	if len(local) == 0 {
		return nil
	}
	if d.prefix == 0 {
		d.prefix = 2
		for _, c := range d.cols {
			d.prefix = max(d.prefix, c+2)
		}
	}
	hlen := int(local[0])
	if hlen >= 0x80 || hlen == 0 || hlen > len(local) {
		return d.longShape(local)
	}
	p := min(hlen, d.prefix)
	key, ok := keyOf(local, p)
	if !ok {
		return d.longShape(local)
	}
	if s := d.last; s != nil && s.key == key {
		return s
	}
	seat := &d.seats[key.hash()]
	if s := *seat; s != nil && s.key == key {
		d.last = s
		return s
	}
	s := d.layout(local[:p], 1, hlen)
	if s == nil {
		return nil
	}
	if s.key = key; p < hlen {
		s.size = -1
	}
	d.last, *seat = s, s
	return s
}

// longShape finds the layout by the whole header.
func (d *decoder) longShape(local []byte) *shape {
	hlen, n := int(local[0]), 1
	if hlen >= 0x80 {
		v, k := uvarint(local)
		if k == 0 || v > uint64(len(local)) {
			return nil
		}
		hlen, n = int(v), k
	}
	if hlen < n || hlen > len(local) {
		return nil
	}
	header := local[:hlen]
	for _, s := range d.long {
		if bytes.Equal(s.header, header) {
			return s
		}
	}
	s := d.layout(header, n, hlen)
	if s != nil {
		if len(d.long) >= 64 {
			d.long = d.long[:0] // such as texts of many lengths: forget, rather than search ever longer
		}
		s.header = bytes.Clone(header)
		d.long = append(d.long, s)
	}
	return s
}

// A headerKey is the beginning of a header, the rest zero, as numbers that are compared at once.
type headerKey [4]uint64

// keyOf makes the key of the first n bytes; not where they are too many, or where one of them does not stand for a
// column by itself.
func keyOf(local []byte, n int) (k headerKey, ok bool) {
	if n > 8*len(k) {
		return k, false
	}
	last := uint64(1)<<(8*(n-1)&63+8) - 1 // of the last number, the bytes that count; all of them where that is 0 less 1
	switch (n - 1) >> 3 {
	case 0:
		k[0] = binary.LittleEndian.Uint64(local[:8]) & last
	case 1:
		k[0] = binary.LittleEndian.Uint64(local[:8])
		k[1] = binary.LittleEndian.Uint64(local[8:16]) & last
	case 2:
		k[0] = binary.LittleEndian.Uint64(local[:8])
		k[1] = binary.LittleEndian.Uint64(local[8:16])
		k[2] = binary.LittleEndian.Uint64(local[16:24]) & last
	default:
		k[0] = binary.LittleEndian.Uint64(local[:8])
		k[1] = binary.LittleEndian.Uint64(local[8:16])
		k[2] = binary.LittleEndian.Uint64(local[16:24])
		k[3] = binary.LittleEndian.Uint64(local[24:32]) & last
	}
	return k, (k[0]|k[1]|k[2]|k[3])&0x8080808080808080 == 0
}

// hash is a number under 256. A product's highest bits depend on all bits of its factors.
func (k *headerKey) hash() uint8 {
	return uint8((k[0]*0x9e3779b97f4a7c15 + k[1]*0xbf58476d1ce4e5b9 + k[2]*0x94d049bb133111eb + k[3]*0xd6e8feb86659fd93) >> 56)
}

// layout works out the shape of a header of hlen bytes, of which all or the first are given; columns begin at at.
func (d *decoder) layout(header []byte, at, hlen int) *shape {
	s := &shape{slots: make([]slot, len(d.cols))}
	for i := range s.slots {
		s.slots[i].kind = slotOdd
	}
	off := int64(hlen)
	for col := 0; at < len(header); col++ {
		serial, k := uvarint(header[at:])
		if k == 0 {
			return nil
		}
		at += k
		var size int64
		sl := slot{kind: slotOdd}
		switch {
		case serial == 0:
			sl = slot{kind: slotConst, n: Null}
		case serial <= 6:
			size = []int64{0, 1, 2, 3, 4, 6, 8}[serial]
			sl = slot{kind: slotInt, shift: uint8(64 - 8*size), mask: -1}
		case serial == 7:
			size = 8
		case serial == 8, serial == 9:
			sl = slot{kind: slotConst, n: int64(serial) - 8}
		case serial >= 12:
			size = int64((serial - 12) / 2)
			if serial%2 == 1 {
				sl = slot{kind: slotText, n: size}
			}
		}
		if size < 0 || off+size > 1<<31-1 {
			return nil
		}
		if sl.kind != slotConst {
			sl.off = int32(off)
		}
		off += size
		for i, c := range d.cols {
			if c != col {
				continue
			}
			s.slots[i] = sl
			if sl.kind != slotConst {
				s.end = max(s.end, int32(off))
			}
		}
	}
	s.size = off
	for _, sl := range s.slots {
		s.odd = s.odd || sl.kind == slotOdd
		s.texts = s.texts || sl.kind == slotText
	}
	return s
}

// uvarint reads SQLite's variable-length integer and says how many bytes it has, 0 where it is cut off.
func uvarint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 8 {
		c := b[n]
		n++
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, n
		}
	}
	if n < len(b) && n == 8 {
		return v<<8 | uint64(b[8]), 9
	}
	return 0, 0
}

// cells calls row for the records of a leaf: with the rowid, the part of the record that is in the page, with capacity
// for at least 8 more bytes, and whether that is all of it.
func (t *treeFile) cells(page []byte, row func(rowid int64, local []byte, whole bool) error) error {
	n := int(binary.BigEndian.Uint16(page[3:]))
	if 8+2*n > t.usable {
		return t.damaged("a page has too many cells")
	}
	most := t.usable - 35 // longer records go on elsewhere
	for i := range n {
		at := int(binary.BigEndian.Uint16(page[8+2*i:]))
		if at < 8+2*n || at >= t.usable {
			return t.damaged("a page has a cell outside of it")
		}
		var size uint64
		var rowid uint64
		// Nearly all records are under 128 bytes, and so nearly all sizes are one byte.
		if c := page[at]; c < 0x80 {
			size = uint64(c)
			at++
		} else {
			v, k := uvarint(page[at:t.usable])
			if k == 0 {
				return t.damaged("a page has a cell that is cut off")
			}
			size = v
			at += k
		}
		// So are nearly all rowids four bytes or less: taken apart at once, seven bits of each.
		x := binary.BigEndian.Uint64(page[at : at+8])
		switch k := bits.LeadingZeros64(^x&0x8080808080808080) >> 3; {
		case k < 4 && at+k < t.usable:
			x >>= 56 - 8*k
			rowid = x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000 | x>>3&0xfe00000
			at += k + 1
		default:
			v, k := uvarint(page[at:t.usable])
			if k == 0 {
				return t.damaged("a page has a cell that is cut off")
			}
			rowid = v
			at += k
		}
		local, whole := int(min(size, 1<<31-1)), true
		if local > most {
			whole = false
			least := (t.usable-12)*32/255 - 23
			if local = least + int((size-uint64(least))%uint64(t.usable-4)); local > most {
				local = least
			}
		}
		if local < 1 || at+local > t.usable {
			return t.damaged("a page has a cell that is cut off")
		}
		if err := row(int64(rowid), page[at:at+local:at+local+8], whole); err != nil {
			return err
		}
	}
	return nil
}
