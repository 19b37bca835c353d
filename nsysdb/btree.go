package nsysdb

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"
)

// This file finds the records of a plain table in the pages of its b-tree, by the published file format of SQLite
// (sqlite.org/fileformat2.html); record.go takes them apart. SQLite itself interprets a program for each row and each
// value, which costs four times what decoding does.

// maxDepth is more levels than a b-tree of the largest possible file has.
const maxDepth = 20

// A treeFile is the export as pages.
type treeFile struct {
	*exportFile
	pageSize int
	usable   int   // bytes of a page without those reserved at its end
	pages    int64 // pages that the file has room for
	utf8     bool
}

// newTreeFile reads the header; nil where the format is one that only SQLite may read.
func newTreeFile(f *exportFile) *treeFile {
	var head [headerSize]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil
	}
	t := &treeFile{exportFile: f, pageSize: pageSizeOf(head[:]), utf8: binary.BigEndian.Uint32(head[56:]) == 1}
	t.usable = t.pageSize - int(head[20])
	if head[19] > 2 || t.usable < 480 {
		return nil
	}
	t.pages = f.size / int64(t.pageSize)
	return t
}

// damaged is an error that names the file: what was read of its pages cannot be.
func (t *treeFile) damaged(format string, args ...any) error {
	return damaged("read", t.path, fmt.Sprintf(format, args...))
}

// read reads n pages from the given one on.
func (t *treeFile) read(buf []byte, page int64, n int) error {
	if page < 1 || page+int64(n)-1 > t.pages {
		return t.damaged("there is no page %d", page)
	}
	if _, err := t.ReadAt(buf[:n*t.pageSize], (page-1)*int64(t.pageSize)); err != nil {
		return readError(t.path, errRead, fmt.Sprint(cause(err))+copyToLocal)
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
		// Subtrees differ in size, so a part must have many of them for parts to be nearly equal.
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
	run     []byte             // pages read at once
	lists   [maxDepth][]uint32 // the children of the interior page at each depth, whose memory is used again
}

// runPages is how many pages are read at once where leaves follow each other in the file. A read of one page each would
// cost more than decoding it; far more at once would only drive rows out of the processor's cache.
func (t *treeFile) runPages() int { return max(1, 256<<10/t.pageSize) }

// leaves calls w.leaf for each leaf at or below the nodes, which are siblings, in order.
func (w *walk) leaves(nodes []uint32, depth int) error {
	if depth >= maxDepth {
		return w.damaged("a table is nested too deeply")
	}
	if w.run == nil {
		w.run = make([]byte, w.runPages()*w.pageSize+8) // 8 more for reading any integer as 8 bytes
	}
	for len(nodes) > 0 {
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		n := w.together(nodes)
		first := int64(nodes[0])
		if err := w.read(w.run, first, int(int64(nodes[n-1])-first)+1); err != nil {
			return err
		}
		for i, no := range nodes[:n] {
			at := int(int64(no)-first) * w.pageSize
			below, err := w.page(w.run[at:at+w.pageSize+8], no, depth)
			if err != nil {
				return err
			}
			if below {
				n = i + 1 // the level below uses w.run too, so what is left of this run is read again
				break
			}
		}
		nodes = nodes[n:]
	}
	return nil
}

// together is how many of the next nodes are read at once, as they are near each other in the file. A few pages in
// between are read for nothing.
func (w *walk) together(nodes []uint32) int {
	first, last := int64(nodes[0]), int64(nodes[0])
	for n, no := range nodes[1:] {
		next := int64(no)
		if next <= last || next > last+4 || next-first >= int64(w.runPages()) {
			return n + 1
		}
		last = next
	}
	return len(nodes)
}

// page calls w.leaf for a page, or for the leaves below it, and says whether there was a level below.
func (w *walk) page(page []byte, no uint32, depth int) (below bool, err error) {
	if page[0] != leafPage && page[0] != interiorPage {
		return false, w.damaged("page %d is no part of a table", no)
	}
	if w.visited.Add(1) > w.pages {
		return false, w.damaged("pages refer to each other in circles")
	}
	if page[0] == leafPage {
		return false, w.leaf(page)
	}
	if w.lists[depth], err = w.children(w.lists[depth][:0], page[:w.pageSize], no); err != nil {
		return true, err
	}
	return true, w.leaves(w.lists[depth], depth+1)
}

// cells calls row for the records of a leaf: with the rowid, the part of the record that is in the page, with capacity
// for at least 8 more bytes, and whether that is all of it. A cell is the record's size, the rowid, and the record.
func (t *treeFile) cells(page []byte, row func(rowid int64, local []byte, whole bool) error) error {
	n := int(binary.BigEndian.Uint16(page[3:]))
	if 8+2*n > t.usable {
		return t.damaged("a page has too many cells")
	}
	// The page begins with where its cells are, in order of rowid; the cells themselves may be in any order.
	for i := range n {
		at := int(binary.BigEndian.Uint16(page[8+2*i:]))
		if at < 8+2*n || at >= t.usable {
			return t.damaged("a page has a cell outside of it")
		}
		// Nearly all records are under 128 bytes, and so nearly all sizes are one byte.
		size, k := uint64(page[at]), 1
		if size >= 0x80 {
			size, k = uvarint(page[at:t.usable])
		}
		if at += k; k == 0 || at >= t.usable {
			return t.damaged("a page has a cell that is cut off")
		}
		rowid, k := shortUvarint(page[at : at+8])
		if k == 0 || at+k > t.usable {
			rowid, k = uvarint(page[at:t.usable])
		}
		local, whole := t.local(size)
		if at += k; k == 0 || local < 1 || at+local > t.usable {
			return t.damaged("a page has a cell that is cut off")
		}
		if err := row(int64(rowid), page[at:at+local:at+local+8], whole); err != nil {
			return err
		}
	}
	return nil
}

// local is how many bytes of a record of that size are in its page, and whether that is all. What is left of a longer
// one goes on in pages of its own, all of them full.
func (t *treeFile) local(size uint64) (n int, whole bool) {
	most := t.usable - 35
	if size <= uint64(most) {
		return int(size), true
	}
	least := (t.usable-12)*32/255 - 23
	if n = least + int((size-uint64(least))%uint64(t.usable-4)); n > most {
		n = least
	}
	return n, false
}

// shortUvarint is uvarint for a number of up to four of the eight bytes given, as nearly all rowids have, and 0 for a
// longer one. It is taken apart at once, seven bits of each byte.
func shortUvarint(b []byte) (v uint64, n int) {
	x := binary.BigEndian.Uint64(b)
	k := bits.LeadingZeros64(^x&0x8080808080808080) >> 3
	if k >= 4 {
		return 0, 0
	}
	x >>= 56 - 8*k
	return x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000 | x>>3&0xfe00000, k + 1
}
