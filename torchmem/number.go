package torchmem

import (
	"encoding/binary"
	"math"
)

// big is an integer that 56 bits do not hold.
type big struct {
	abs  uint64
	neg  bool
	over bool // beyond 64 bits: the value is lost
}

func (d *decoder) int(v int64) ref {
	if v >= -(1<<(payloadBits-1)) && v < 1<<(payloadBits-1) {
		return ref(uint64(tagInt)<<payloadBits | uint64(v)&payloadMask)
	}
	if v < 0 {
		return d.big(big{abs: -uint64(v), neg: true})
	}
	return d.big(big{abs: uint64(v)})
}

func (d *decoder) big(b big) ref {
	d.bigs = append(d.bigs, b)
	return mk(tagBig, len(d.bigs)-1)
}

// integer is the value of b, an integer in little-endian two's complement.
func (d *decoder) integer(b []byte) ref {
	n := len(b)
	if n == 0 {
		return d.int(0)
	}
	neg := b[n-1]&0x80 != 0
	fill := byte(0)
	if neg {
		fill = 0xff
	}
	var low [8]byte
	for i := range low {
		low[i] = fill
	}
	copy(low[:], b)
	u := binary.LittleEndian.Uint64(low[:])
	for _, x := range b[min(n, 8):] {
		if x != fill {
			return d.big(big{neg: neg, over: true})
		}
	}
	switch {
	case !neg && u <= math.MaxInt64:
		return d.int(int64(u))
	case !neg:
		return d.big(big{abs: u})
	case int64(u) < 0:
		return d.int(int64(u))
	default: // below -2^63
		return d.big(big{neg: true, over: true})
	}
}

// unsigned is r as an address or a stream handle. A handle may be written as a negative number: its bits count.
func (d *decoder) unsigned(r ref) (uint64, bool) {
	switch r.tag() {
	case tagInt:
		return uint64(int64(r<<8) >> 8), true
	case tagBig:
		b := d.bigs[r.n()]
		if b.neg {
			return -b.abs, !b.over
		}
		return b.abs, !b.over
	}
	return 0, false
}

// signed is r as an integer of 64 bits.
func (d *decoder) signed(r ref) (int64, bool) {
	switch r.tag() {
	case tagInt:
		return int64(r<<8) >> 8, true
	case tagBig:
		b := d.bigs[r.n()]
		if b.over || (!b.neg && b.abs > math.MaxInt64) {
			return 0, false
		}
		if b.neg {
			return int64(-b.abs), true
		}
		return int64(b.abs), true
	case tagFloat:
		f := d.floats[r.n()]
		if f >= -(1<<62) && f <= 1<<62 {
			return int64(f), true
		}
	}
	return 0, false
}
