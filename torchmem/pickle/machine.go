// Package pickle reads pickles that are plain data, such as PyTorch's memory snapshots, of any size in bounded memory.
// Nothing in a file is ever run: an opcode that imports, calls or fetches something is an error.
//
//  1. A pickle is a program for a stack machine (Python's documentation of pickletools lists its opcodes). It is run here
//     with values of eight bytes.
//  2. A dict is kept as its pairs until something takes it: a list that it is appended to, a dict that gets it as a value.
//     By then it is complete. One that has the keys of a Shape is built into an object of the caller's at once, and its
//     pairs are reused for the next, so that millions of entries never exist as maps.
//  3. A list of objects is a range as long as their numbers come one after another, which they mostly do.
//  4. Nothing is allocated for a length that the file merely claims: text is read piece by piece, the memo grows as it is
//     filled, and one estimate of everything held is compared with Options.MaxMemory on the way.
//
// There is no recursion, so nesting costs entries of the stack alone.
package pickle

import "io"

// Limits of what one opcode may claim, and of what is looked at.
const (
	maxText   = 64 << 20 // bytes of one string
	maxLong   = 1 << 12  // bytes of one integer
	checkGap  = 1 << 13  // opcodes between two looks at the memory held
	maxSearch = 1 << 10  // keys of a dict that Lookup searches
)

// Options are what a Machine needs to know.
type Options struct {
	MaxMemory int64        // bytes that may be held, roughly
	Keys      []string     // keys of dicts that shapes know, by number; at most 64, each once
	Shapes    []Shape      // the first that fits a dict builds it
	Held      func() int64 // bytes that the builders hold, roughly; nil for none
}

// A Shape is a sort of dict that becomes an object.
type Shape struct {
	Keys  uint64                       // keys that such a dict has, made by Keys
	Build func(*Fields) (Value, error) // the object, made by Object; Fields is valid until it returns
}

// Keys is the set of the numbered keys, for a Shape.
func Keys(keys ...int) uint64 {
	var set uint64
	for _, k := range keys {
		set |= 1 << k
	}
	return set
}

// A Machine runs one pickle and knows its values.
type Machine struct {
	input
	opt    Options
	stack  []Value
	marks  []int // places of the marks in stack
	low    int   // the lowest value above the last mark; those below are out of reach
	memo   memo
	lists  shelf[List]
	dicts  shelf[dict]
	refs   int64 // values in all lists and dicts
	bigs   []big
	floats []float64
	fields Fields

	texts    []string
	textNo   map[string]uint32
	textSize int64 // bytes of texts, with what the map takes
}

// New makes a machine for the pickle that r holds.
func New(r io.Reader, opt Options) *Machine {
	if opt.Held == nil {
		opt.Held = func() int64 { return 0 }
	}
	m := &Machine{input: input{r: r, buf: make([]byte, inputSize+8)}, opt: opt, textNo: make(map[string]uint32)}
	for _, k := range opt.Keys {
		m.intern([]byte(k))
	}
	return m
}

// Run runs the pickle up to its STOP and returns the value left. An error names the byte where it stopped.
func (m *Machine) Run() (Value, error) {
	for count := 1; ; count++ {
		if count%checkGap == 0 && m.held() > m.opt.MaxMemory {
			return 0, m.Errorf("the snapshot needs more than %d bytes of memory: "+
				"not a memory snapshot, or record fewer entries (max_entries)", m.opt.MaxMemory)
		}
		if m.pos == m.end {
			if err := m.need(1); err != nil {
				return 0, err
			}
		}
		code := m.buf[m.pos]
		m.pos++
		if code == opStop {
			return m.result()
		}
		run := opcodes[code]
		if run == nil {
			m.pos--
			return 0, m.refuse(code)
		}
		if err := run(m); err != nil {
			return 0, err
		}
	}
}

// result is the one value on the stack.
func (m *Machine) result() (Value, error) {
	v, err := m.top()
	if err == nil && len(m.stack) > 1 {
		err = m.Errorf("values are left on the stack: damaged")
	}
	return v, err
}

// held is an estimate of the bytes in use. The factors are the sizes of what the tables hold.
func (m *Machine) held() int64 {
	values := int64(cap(m.stack)+cap(m.marks)+cap(m.lists.state)+cap(m.dicts.state)) + m.refs
	return values*8 + m.memo.bytes() + int64(cap(m.lists.slots))*40 + int64(cap(m.dicts.slots))*32 +
		int64(cap(m.bigs))*16 + int64(cap(m.floats))*8 + m.textSize + m.opt.Held()
}

func (m *Machine) push(v Value) { m.stack = append(m.stack, v) }

// popN returns the n values on top, which stay valid until the next push. Values below a mark are out of reach.
func (m *Machine) popN(n int) ([]Value, error) {
	at := len(m.stack) - n
	if at < m.low {
		return nil, m.empty()
	}
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, nil
}

// top is the value that the items above it are meant for.
func (m *Machine) top() (Value, error) {
	if len(m.stack) <= m.low {
		return 0, m.empty()
	}
	return m.stack[len(m.stack)-1], nil
}

func (m *Machine) empty() error { return m.Errorf("the stack is empty: damaged") }

// popMark returns the values above the last mark, which stay valid until the next push.
func (m *Machine) popMark() ([]Value, error) {
	k := len(m.marks)
	if k == 0 {
		return nil, m.Errorf("no mark on the stack: damaged")
	}
	at := m.marks[k-1]
	m.marks = m.marks[:k-1]
	m.low = 0
	if k > 1 {
		m.low = m.marks[k-2] + 1
	}
	items := m.stack[at+1:]
	m.stack = m.stack[:at]
	return items, nil
}

// intern is the text of b, equal texts being one.
func (m *Machine) intern(b []byte) Value {
	n, ok := m.textNo[string(b)]
	if !ok {
		const entry = 64 // bytes of a text's places in the map and the list
		s := string(b)
		n = uint32(len(m.texts))
		m.textNo[s] = n
		m.texts = append(m.texts, s)
		m.textSize += int64(len(s)) + entry
	}
	return mk(tagText, int(n))
}

// Texts are all texts met so far, by number; the keys of Options come first.
func (m *Machine) Texts() []string { return m.texts }

// Text is v as a text; empty for anything else.
func (m *Machine) Text(v Value) string {
	if v.tag() == tagText {
		return m.texts[v.n()]
	}
	return ""
}

// TextNo is the number of a text; ok is false for anything else.
func (m *Machine) TextNo(v Value) (n uint32, ok bool) { return uint32(v.n()), v.tag() == tagText }
