package pickle

import (
	"encoding/binary"
	"math"
)

// Magic is the first byte of every pickle of protocols 2 to 5, opStop the last.
const (
	Magic  = 0x80
	opStop = '.'
)

// opcodes are those of protocols 2 to 5 that plain data needs, by the names that Python's pickletools gives them. Those
// that differ in the width of a number alone share a maker.
var opcodes = [256]func(*Machine) error{
	Magic: (*Machine).protocol,
	0x95:  (*Machine).frame, // FRAME

	'(':  (*Machine).mark,    // MARK
	'0':  (*Machine).drop,    // POP
	'1':  (*Machine).dropAll, // POP_MARK
	'2':  (*Machine).dup,     // DUP
	0x94: (*Machine).memoize, // MEMOIZE
	'h':  get(1),             // BINGET
	'j':  get(4),             // LONG_BINGET
	'q':  put(1),             // BINPUT
	'r':  put(4),             // LONG_BINPUT

	'N':  constant(mk(tagNone, 0)), // NONE
	0x88: constant(mk(tagInt, 1)),  // NEWTRUE
	0x89: constant(mk(tagInt, 0)),  // NEWFALSE
	'K':  unsigned(1),              // BININT1
	'M':  unsigned(2),              // BININT2
	'J':  (*Machine).binInt,        // BININT
	0x8a: long(1),                  // LONG1
	0x8b: long(4),                  // LONG4
	'G':  (*Machine).binFloat,      // BINFLOAT
	0x8c: text(1),                  // SHORT_BINUNICODE
	'X':  text(4),                  // BINUNICODE
	0x8d: text(8),                  // BINUNICODE8
	'U':  text(1),                  // SHORT_BINSTRING
	'T':  text(4),                  // BINSTRING
	'C':  opaque(1),                // SHORT_BINBYTES
	'B':  opaque(4),                // BINBYTES
	0x8e: opaque(8),                // BINBYTES8
	0x96: opaque(8),                // BYTEARRAY8

	']':  (*Machine).emptyList,       // EMPTY_LIST
	')':  (*Machine).emptyList,       // EMPTY_TUPLE
	'l':  (*Machine).listOfMarked,    // LIST
	't':  (*Machine).listOfMarked,    // TUPLE
	0x85: tuple(1),                   // TUPLE1
	0x86: tuple(2),                   // TUPLE2
	0x87: tuple(3),                   // TUPLE3
	'a':  (*Machine).appendOne,       // APPEND
	'e':  (*Machine).appendMarked,    // APPENDS
	'}':  (*Machine).emptyDict,       // EMPTY_DICT
	'd':  (*Machine).dictOfMarked,    // DICT
	's':  (*Machine).setOne,          // SETITEM
	'u':  (*Machine).setMarked,       // SETITEMS
	0x8f: constant(mk(tagOpaque, 0)), // EMPTY_SET
	0x90: (*Machine).dropAll,         // ADDITEMS
	0x91: (*Machine).frozenSet,       // FROZENSET
}

// running are the opcodes that import, call or fetch something. Plain data needs none of them, and a file that has one
// could run anything in a reader that obeys it.
var running = map[byte]string{
	'c': "GLOBAL", 0x93: "STACK_GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 0x81: "NEWOBJ",
	0x92: "NEWOBJ_EX", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 'P': "PERSID", 'Q': "BINPERSID",
	0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// textual are the opcodes of protocols 0 and 1, in which no snapshot is written.
var textual = map[byte]string{
	'I': "INT", 'L': "LONG", 'F': "FLOAT", 'S': "STRING", 'V': "UNICODE", 'g': "GET", 'p': "PUT",
}

// refuse is the error for an opcode that is not in opcodes.
func (m *Machine) refuse(code byte) error {
	if name := running[code]; name != "" {
		return m.Errorf("opcode %s would import or run something: refused, memory snapshots are plain data", name)
	}
	if name := textual[code]; name != "" {
		return m.Errorf("opcode %s of pickle protocol 0: only protocols 2 to 5 are read", name)
	}
	return m.Errorf("unknown opcode 0x%02x: not a memory snapshot, or damaged", code)
}

func (m *Machine) protocol() error {
	n, err := m.number(1)
	if err == nil && (n < 2 || n > 5) {
		err = m.Errorf("pickle protocol %d: only 2 to 5 are read", n)
	}
	return err
}

// frame drops the length of a frame: frames only help to read ahead, and need not be trusted.
func (m *Machine) frame() error { return m.skip(8) }

func (m *Machine) mark() error {
	m.pushMark()
	return nil
}

// drop takes a value away; on a bare mark, the mark.
func (m *Machine) drop() error {
	if k := len(m.marks); k > 0 && m.marks[k-1] == len(m.stack)-1 {
		return m.dropAll()
	}
	_, err := m.popN(1)
	return err
}

func (m *Machine) dropAll() error {
	_, err := m.popMark()
	return err
}

func (m *Machine) dup() error {
	v, err := m.top()
	if err == nil {
		m.push(v)
	}
	return err
}

func (m *Machine) memoize() error { return m.store(uint32(m.memo.n)) }

func (m *Machine) store(n uint32) error {
	v, err := m.top()
	if err == nil {
		m.memo.set(n, v)
	}
	return err
}

func put(width int) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		return m.store(uint32(n))
	}
}

func get(width int) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		v := m.memo.get(uint32(n))
		if v == 0 {
			return m.Errorf("memo %d was never set: damaged", n)
		}
		m.push(v)
		return nil
	}
}

func constant(v Value) func(*Machine) error {
	return func(m *Machine) error {
		m.push(v)
		return nil
	}
}

func unsigned(width int) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err == nil {
			m.push(mk(tagInt, int(n)))
		}
		return err
	}
}

func (m *Machine) binInt() error {
	n, err := m.number(4)
	if err == nil {
		m.push(mk(tagInt, int(int32(n))))
	}
	return err
}

func long(width int) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		if n > maxLong {
			return m.Errorf("an integer of %d bytes is claimed: damaged", n)
		}
		b, err := m.take(int(n))
		if err == nil {
			m.push(m.integer(b))
		}
		return err
	}
}

func (m *Machine) binFloat() error {
	b, err := m.take(8)
	if err == nil {
		m.floats = append(m.floats, math.Float64frombits(binary.BigEndian.Uint64(b)))
		m.push(mk(tagFloat, len(m.floats)-1))
	}
	return err
}

func text(width int) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		b, err := m.text(n)
		if err != nil {
			return err
		}
		m.push(m.intern(b))
		if m.textSize > m.opt.MaxMemory {
			return m.Errorf("the texts need more than %d bytes of memory: not a memory snapshot", m.opt.MaxMemory)
		}
		return nil
	}
}

func opaque(width int) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err == nil {
			err = m.skip(n)
		}
		if err == nil {
			m.push(mk(tagOpaque, 0))
		}
		return err
	}
}

func (m *Machine) frozenSet() error {
	_, err := m.popMark()
	if err == nil {
		m.push(mk(tagOpaque, 0))
	}
	return err
}
