package pickle

import (
	"encoding/binary"
	"math"
)

// big is an integer that 56 bits do not hold, in 64 bits of two's complement.
type big struct {
	bits     uint64
	unsigned bool // bits are a positive number, 2^63 or more
	over     bool // it is beyond 64 bits: the value is lost
}

// integer is the value of b, an integer in little-endian two's complement.
func (m *Machine) integer(b []byte) Value {
	fill := byte(0)
	if n := len(b); n > 0 && b[n-1]&0x80 != 0 {
		fill = 0xff
	}
	low := [8]byte{fill, fill, fill, fill, fill, fill, fill, fill}
	copy(low[:], b)
	x := big{bits: binary.LittleEndian.Uint64(low[:])}
	for _, more := range b[min(len(b), len(low)):] {
		x.over = x.over || more != fill
	}
	negative := int64(x.bits) < 0
	x.unsigned = negative && fill == 0
	x.over = x.over || !negative && fill != 0 // below -2^63
	if v := int64(x.bits); !x.over && !x.unsigned && v >= -1<<(payloadBits-1) && v < 1<<(payloadBits-1) {
		return mk(tagInt, int(v))
	}
	m.bigs = append(m.bigs, x)
	return mk(tagBig, len(m.bigs)-1)
}

// Uint is v as an address or a handle; ok is false for what is no integer of 64 bits. A handle may be written as a
// negative number: its bits count.
func (m *Machine) Uint(v Value) (u uint64, ok bool) {
	switch v.tag() {
	case tagInt:
		return uint64(v.small()), true
	case tagBig:
		b := &m.bigs[v.n()]
		return b.bits, !b.over
	}
	return 0, false
}

// small is the integer of a tagInt.
func (v Value) small() int64 { return int64(v<<(64-payloadBits)) >> (64 - payloadBits) }

// Int is v as an integer, of a float its whole part; ok is false for what is no number of 64 bits.
func (m *Machine) Int(v Value) (i int64, ok bool) {
	switch v.tag() {
	case tagInt:
		return v.small(), true
	case tagBig:
		b := &m.bigs[v.n()]
		return int64(b.bits), !b.over && !b.unsigned
	case tagFloat:
		const far = 1 << 62 // floats beyond this have no meaning as sizes or times
		if f := m.floats[v.n()]; math.Abs(f) <= far {
			return int64(f), true
		}
	}
	return 0, false
}

// Float is v as a float; ok is false for anything else, integers too.
func (m *Machine) Float(v Value) (f float64, ok bool) {
	if v.tag() != tagFloat {
		return 0, false
	}
	return m.floats[v.n()], true
}
