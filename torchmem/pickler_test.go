package torchmem_test

import (
	"encoding/binary"
	"math"
	"strings"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// The opcodes that a pickler writes, by the names that Python's pickletools gives them.
const (
	opMark         = '('
	opStop         = '.'
	opBinFloat     = 'G'
	opBinInt       = 'J'
	opBinInt1      = 'K'
	opBinInt2      = 'M'
	opNone         = 'N'
	opBinUnicode   = 'X'
	opAppend       = 'a'
	opAppends      = 'e'
	opEmptyDict    = '}'
	opEmptyList    = ']'
	opSetItem      = 's'
	opSetItems     = 'u'
	opBinGet       = 'h'
	opLongBinGet   = 'j'
	opBinPut       = 'q'
	opLongBinPut   = 'r'
	opProto        = 0x80
	opNewTrue      = 0x88
	opNewFalse     = 0x89
	opLong1        = 0x8a
	opShortUnicode = 0x8c
	opMemoize      = 0x94
	opFrame        = 0x95
)

// A pickler writes the pickles of the tests, as Python's own pickler would.
type pickler struct {
	buf   []byte
	proto int
	n     uint32
	memo  map[string]uint32
}

func newPickler(proto int) *pickler {
	p := &pickler{proto: proto, memo: map[string]uint32{}}
	p.buf = append(p.buf, opProto, byte(proto))
	if proto >= 4 {
		p.buf = append(p.buf, opFrame, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	return p
}

func (p *pickler) op(b ...byte) { p.buf = append(p.buf, b...) }

// remember stores the value on top of the stack and returns its number.
func (p *pickler) remember() uint32 {
	n := p.n
	p.n++
	switch {
	case p.proto >= 4:
		p.op(opMemoize)
	case n < 256:
		p.op(opBinPut, byte(n))
	default:
		p.op(opLongBinPut)
		p.buf = binary.LittleEndian.AppendUint32(p.buf, n)
	}
	return n
}

func (p *pickler) recall(n uint32) {
	if n < 256 {
		p.op(opBinGet, byte(n))
		return
	}
	p.op(opLongBinGet)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, n)
}

func (p *pickler) str(s string) {
	if n, ok := p.memo[s]; ok {
		p.recall(n)
		return
	}
	if p.proto >= 4 && len(s) < 256 {
		p.op(opShortUnicode, byte(len(s)))
	} else {
		p.op(opBinUnicode)
		p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(len(s)))
	}
	p.buf = append(p.buf, s...)
	p.memo[s] = p.remember()
}

func (p *pickler) uint(v uint64) {
	switch {
	case v < 256:
		p.op(opBinInt1, byte(v))
	case v < 1<<16:
		p.op(opBinInt2, byte(v), byte(v>>8))
	case v < 1<<31:
		p.op(opBinInt)
		p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(v))
	default:
		b := binary.LittleEndian.AppendUint64(nil, v)
		b = append(b, 0)
		for len(b) > 1 && b[len(b)-1] == 0 && b[len(b)-2] < 0x80 {
			b = b[:len(b)-1]
		}
		p.op(opLong1, byte(len(b)))
		p.buf = append(p.buf, b...)
	}
}

// kv is one item of a dict, in its order.
type kv struct {
	k string
	v any
}

// value writes an int, uint64, string, bool, float64, nil, []any, []kv or func.
func (p *pickler) value(v any) {
	switch v := v.(type) {
	case nil:
		p.op(opNone)
	case bool:
		if v {
			p.op(opNewTrue)
		} else {
			p.op(opNewFalse)
		}
	case int:
		if v < 0 {
			p.op(opBinInt)
			p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(int32(v)))
			return
		}
		p.uint(uint64(v))
	case uint64:
		p.uint(v)
	case float64:
		p.op(opBinFloat)
		p.buf = binary.BigEndian.AppendUint64(p.buf, math.Float64bits(v))
	case string:
		p.str(v)
	case []any:
		p.op(opEmptyList)
		p.remember()
		for len(v) > 0 {
			n := min(len(v), 1000) // as Python does it
			if n == 1 {
				p.value(v[0])
				p.op(opAppend)
			} else {
				p.op(opMark)
				for _, x := range v[:n] {
					p.value(x)
				}
				p.op(opAppends)
			}
			v = v[n:]
		}
	case []kv:
		p.op(opEmptyDict)
		p.remember()
		if len(v) == 1 {
			p.str(v[0].k)
			p.value(v[0].v)
			p.op(opSetItem)
		} else if len(v) > 0 {
			p.op(opMark)
			for _, x := range v {
				p.str(x.k)
				p.value(x.v)
			}
			p.op(opSetItems)
		}
	case func(*pickler):
		v(p)
	default:
		panic("pickler: value")
	}
}

func pickleOf(proto int, v any) string {
	p := newPickler(proto)
	p.value(v)
	p.op(opStop)
	return string(p.buf)
}

func readString(s string) (*torchmem.Snapshot, error) {
	return torchmem.Read(strings.NewReader(s), torchmem.Options{})
}

func entry(action string, addr uint64, size int, time int) []kv {
	return []kv{{"action", action}, {"addr", addr}, {"size", size}, {"stream", 0}, {"time_us", time},
		{"frames", []any{[]kv{{"name", "f"}, {"filename", "t.py"}, {"line", 7}}}}}
}

// segmentOf is a segment as snapshots have it; blocks are (requested, size, state) one after another.
func segmentOf(addr uint64, size int, blocks ...any) []kv {
	var list []any
	at := addr
	for i := 0; i < len(blocks); i += 3 {
		list = append(list, []kv{{"address", at}, {"size", blocks[i+1]}, {"requested_size", blocks[i]}, {"state", blocks[i+2]}, {"frames", []any{}}})
		at += uint64(blocks[i+1].(int))
	}
	kind := "large"
	if size == sizes.SmallSegment {
		kind = "small"
	}
	return []kv{{"device", 0}, {"address", addr}, {"total_size", size}, {"stream", 0}, {"segment_type", kind},
		{"is_expandable", false}, {"blocks", list}}
}

func snapshotOf(segments []any, traces ...any) []kv {
	return []kv{{"segments", segments}, {"device_traces", traces}}
}
