package nsysdb

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// This file finds the wanted columns of a record. A record is a header, which has a number for the kind and size of
// each value, and then the values one after the other; so where a value stands depends on all those before it.

// A slot says where a column's value is in the rows of one shape.
type slot struct {
	off   int32 // from the start of the record; 0 for a constant
	shift uint8 // an integer: how far eight bytes read at off must be shifted right
	mask  int64 // all ones for an integer, 0 else
	n     int64 // the value of a constant, or the length of a text; 0 for an integer
}

// value is the value of an integer or a constant, without a branch between the two.
func (sl *slot) value(rec []byte) int64 {
	return int64(binary.BigEndian.Uint64(rec[sl.off:sl.off+8]))>>(sl.shift&63)&sl.mask | sl.n
}

// text is the value of a text, nil for the constant NULL.
func (sl *slot) text(rec []byte) []byte {
	if sl.n == Null {
		return nil
	}
	return rec[sl.off : int64(sl.off)+sl.n]
}

// A valueKind is what a column may be wanted as.
type valueKind uint8

const (
	isOther valueKind = iota // a floating-point number or a blob
	isNull
	isInteger
	isText
)

// serialType is what a number of a header says of a value: where it is, apart from its offset, and how many bytes it
// takes.
func serialType(serial uint64) (sl slot, kind valueKind, size int64) {
	switch {
	case serial == 0:
		return slot{n: Null}, isNull, 0
	case serial <= 6:
		size = []int64{0, 1, 2, 3, 4, 6, 8}[serial]
		return slot{shift: uint8(64 - 8*size), mask: -1}, isInteger, size
	case serial == 7:
		return slot{}, isOther, 8
	case serial <= 9: // 0 and 1, which stand in the header alone
		return slot{n: int64(serial) - 8}, isInteger, 0
	case serial <= 11: // of no meaning in a file
		return slot{}, isOther, 0
	}
	size = int64((serial - 12) / 2)
	if serial%2 == 0 {
		return slot{}, isOther, size
	}
	return slot{n: size}, isText, size
}

// A shape is how a record lays out its columns, as its header says. Rows of one table have few shapes, so each is
// worked out once.
type shape struct {
	key    headerKey // of shapes that the header's beginning tells
	header []byte    // of others, all of it
	slots  []slot
	odd    bool  // some column is not there, or is not what it is wanted as
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
	text   bool  // the last of them is wanted as text, all others as integers
	utf8   bool  // texts are in UTF-8
	prefix int   // bytes of the header up to the last of them, where each has one; 0 until the first record
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

// longShape finds the layout by the whole header: of more columns than a key has room for, or with texts of more than 57
// bytes among the wanted columns, whose numbers take several bytes.
func (d *decoder) longShape(local []byte) *shape {
	v, n := uvarint(local)
	if n == 0 || v > uint64(len(local)) || int(v) < n {
		return nil
	}
	header := local[:v]
	for _, s := range d.long {
		if bytes.Equal(s.header, header) {
			return s
		}
	}
	s := d.layout(header, n, len(header))
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
	sum := k[0]*0x9e3779b97f4a7c15 + k[1]*0xbf58476d1ce4e5b9 + k[2]*0x94d049bb133111eb + k[3]*0xd6e8feb86659fd93
	return uint8(sum >> 56)
}

// layout works out the shape of a header of hlen bytes, of which all or the first are given; columns begin at at.
func (d *decoder) layout(header []byte, at, hlen int) *shape {
	s := &shape{slots: make([]slot, len(d.cols))}
	off, found := int64(hlen), 0
	for col := 0; at < len(header); col++ {
		serial, k := uvarint(header[at:])
		if k == 0 {
			return nil
		}
		at += k
		sl, kind, size := serialType(serial)
		if size > 1<<31-1-off {
			return nil // longer than the longest row that SQLite can store; offsets are kept as 32 bits
		}
		inHeader := size == 0 && (kind == isNull || kind == isInteger)
		if !inHeader {
			sl.off = int32(off)
		}
		off += size
		i := slices.Index(d.cols, col)
		if i < 0 {
			continue
		}
		found++
		s.slots[i] = sl
		s.odd = s.odd || !d.wants(i, kind)
		if !inHeader {
			s.end = max(s.end, int32(off))
		}
	}
	s.size = off
	s.odd = s.odd || found < len(d.cols)
	return s
}

// wants says whether a value of that kind can be read as what column i of the wanted ones is wanted as.
func (d *decoder) wants(i int, kind valueKind) bool {
	if d.text && i == len(d.cols)-1 {
		return kind == isText && d.utf8 || kind == isNull
	}
	return kind == isInteger || kind == isNull
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
