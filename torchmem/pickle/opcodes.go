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

// opcodes are those of protocols 2 to 5 that plain data needs, by the names that Python's pickletools gives them.
var opcodes = [256]func(*Machine) error{
	Magic: counted(1, (*Machine).protocol),
	0x95:  (*Machine).frame, // FRAME

	'(':  (*Machine).mark,            // MARK
	'0':  (*Machine).pop,             // POP
	'1':  marked((*Machine).drop),    // POP_MARK
	'2':  (*Machine).dup,             // DUP
	0x94: (*Machine).memoize,         // MEMOIZE
	'h':  counted(1, (*Machine).get), // BINGET
	'j':  counted(4, (*Machine).get), // LONG_BINGET
	'q':  counted(1, (*Machine).put), // BINPUT
	'r':  counted(4, (*Machine).put), // LONG_BINPUT

	'N':  constant(mk(tagNone, 0)),      // NONE
	0x88: constant(mk(tagInt, 1)),       // NEWTRUE
	0x89: constant(mk(tagInt, 0)),       // NEWFALSE
	'K':  counted(1, (*Machine).uint),   // BININT1
	'M':  counted(2, (*Machine).uint),   // BININT2
	'J':  counted(4, (*Machine).int32),  // BININT
	0x8a: counted(1, (*Machine).long),   // LONG1
	0x8b: counted(4, (*Machine).long),   // LONG4
	'G':  (*Machine).float,              // BINFLOAT
	0x8c: counted(1, (*Machine).string), // SHORT_BINUNICODE
	'X':  counted(4, (*Machine).string), // BINUNICODE
	0x8d: counted(8, (*Machine).string), // BINUNICODE8
	'U':  counted(1, (*Machine).string), // SHORT_BINSTRING
	'T':  counted(4, (*Machine).string), // BINSTRING
	'C':  counted(1, (*Machine).bytes),  // SHORT_BINBYTES
	'B':  counted(4, (*Machine).bytes),  // BINBYTES
	0x8e: counted(8, (*Machine).bytes),  // BINBYTES8
	0x96: counted(8, (*Machine).bytes),  // BYTEARRAY8

	']':  (*Machine).emptyList,           // EMPTY_LIST
	')':  (*Machine).emptyList,           // EMPTY_TUPLE
	'l':  marked((*Machine).pushList),    // LIST
	't':  marked((*Machine).pushList),    // TUPLE
	0x85: popped(1, (*Machine).pushList), // TUPLE1
	0x86: popped(2, (*Machine).pushList), // TUPLE2
	0x87: popped(3, (*Machine).pushList), // TUPLE3
	'a':  popped(1, (*Machine).extend),   // APPEND
	'e':  marked((*Machine).extend),      // APPENDS
	'}':  (*Machine).emptyDict,           // EMPTY_DICT
	'd':  marked((*Machine).pushDict),    // DICT
	's':  popped(2, (*Machine).set),      // SETITEM
	'u':  marked((*Machine).set),         // SETITEMS
	0x8f: constant(mk(tagOpaque, 0)),     // EMPTY_SET
	0x90: marked((*Machine).drop),        // ADDITEMS
	0x91: marked((*Machine).pushOpaque),  // FROZENSET
}

// counted is an opcode that a number of so many bytes follows.
func counted(width int, run func(*Machine, uint64) error) func(*Machine) error {
	return func(m *Machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		return run(m, n)
	}
}

// popped is an opcode that takes so many values off the stack. They are valid until the next push.
func popped(n int, run func(*Machine, []Value) error) func(*Machine) error {
	return func(m *Machine) error {
		items, err := m.popN(n)
		if err != nil {
			return err
		}
		return run(m, items)
	}
}

// marked is one that takes all values down to the last mark.
func marked(run func(*Machine, []Value) error) func(*Machine) error {
	return func(m *Machine) error {
		items, err := m.popMark()
		if err != nil {
			return err
		}
		return run(m, items)
	}
}

func constant(v Value) func(*Machine) error {
	return func(m *Machine) error {
		m.push(v)
		return nil
	}
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

func (m *Machine) protocol(n uint64) error {
	if n < 2 || n > 5 {
		return m.Errorf("pickle protocol %d: only 2 to 5 are read", n)
	}
	return nil
}

// frame drops the length of a frame: frames only help to read ahead, and need not be trusted.
func (m *Machine) frame() error { return m.skip(8) }

func (m *Machine) mark() error {
	m.marks = append(m.marks, len(m.stack))
	m.push(mk(tagMark, 0))
	m.low = len(m.stack)
	return nil
}

// pop takes a value away; on a bare mark, the mark.
func (m *Machine) pop() error {
	if len(m.marks) > 0 && len(m.stack) == m.low {
		_, err := m.popMark()
		return err
	}
	_, err := m.popN(1)
	return err
}

func (m *Machine) drop([]Value) error { return nil }

func (m *Machine) dup() error {
	v, err := m.top()
	if err == nil {
		m.push(v)
	}
	return err
}

func (m *Machine) memoize() error { return m.put(uint64(m.memo.n)) }

func (m *Machine) put(n uint64) error {
	v, err := m.top()
	if err == nil {
		m.memo.set(uint32(n), v)
	}
	return err
}

func (m *Machine) get(n uint64) error {
	v := m.memo.get(uint32(n))
	if v == 0 {
		return m.Errorf("memo %d was never set: damaged", n)
	}
	m.push(v)
	return nil
}

func (m *Machine) uint(n uint64) error {
	m.push(mk(tagInt, int(n)))
	return nil
}

func (m *Machine) int32(n uint64) error {
	m.push(mk(tagInt, int(int32(n))))
	return nil
}

// long is an integer of n bytes.
func (m *Machine) long(n uint64) error {
	if n > maxLong {
		return m.Errorf("an integer of %d bytes is claimed: damaged", n)
	}
	b, err := m.take(int(n))
	if err == nil {
		m.push(m.integer(b))
	}
	return err
}

func (m *Machine) float() error {
	b, err := m.take(8)
	if err == nil {
		m.floats = append(m.floats, math.Float64frombits(binary.BigEndian.Uint64(b)))
		m.push(mk(tagFloat, len(m.floats)-1))
	}
	return err
}

// string is a text of n bytes.
func (m *Machine) string(n uint64) error {
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

func (m *Machine) bytes(n uint64) error {
	err := m.skip(n)
	if err == nil {
		m.push(mk(tagOpaque, 0))
	}
	return err
}

func (m *Machine) pushOpaque([]Value) error {
	m.push(mk(tagOpaque, 0))
	return nil
}
