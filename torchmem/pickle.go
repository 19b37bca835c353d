package torchmem

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// How a snapshot is read
//
//  1. The pickle is a program for a stack machine. It is run here with a value type of eight bytes, a ref: a tag and a
//     number, the number being a small integer or a place in one of the decoder's tables.
//  2. A dict is kept as its pairs until something takes it (a list it is appended to, a dict that gets it as a value).
//     By then it is complete, and one that is a trace entry, frame, block, segment or annotation is turned into that
//     at once, and its pairs are reused for the next. Five million entries never exist as maps.
//  3. A list of such values is a range as long as they come one after another, which they do.
//  4. Lists of frames become numbers of call stacks; equal ones share a number.
//  5. Nothing is allocated for a length that the file merely claims: text is read piece by piece, the memo grows as
//     it is filled, and one estimate of everything held is compared with Options.MaxMemory on the way.
//
// There is no recursion, so nesting costs stack entries alone.

// A ref is a value of the machine: the tag in the upper 8 bits, the payload in the lower 56.
type ref uint64

const (
	tagNil     = iota // no value
	tagNone           // None
	tagInt            // payload: the integer, in 56 bits of two's complement
	tagBig            // payload: place in decoder.bigs
	tagFloat          // payload: place in decoder.floats
	tagText           // payload: place in decoder.texts
	tagBytes          // bytes, sets: nothing that a snapshot needs, contents dropped
	tagList           // payload: place in decoder.lists
	tagDict           // payload: place in decoder.dicts
	tagMark           // a mark on the stack
	tagEvent          // payload: place in decoder.events
	tagFrame          // payload: place in decoder.snap.frames
	tagBlock          // payload: place in decoder.blocks
	tagSegment        // payload: place in decoder.snap.Segments
	tagNote           // payload: place in decoder.snap.Annotations
	tagStack          // payload: a StackID
	tagOpen           // in lists and dicts alone: payload: place in slots
)

const (
	payloadBits = 56
	payloadMask = 1<<payloadBits - 1
)

func mk(tag int, payload int) ref { return ref(uint64(tag)<<payloadBits | uint64(payload)&payloadMask) }
func (r ref) tag() int            { return int(r >> payloadBits) }
func (r ref) n() int              { return int(r & payloadMask) }

// Limits of what one opcode may claim.
const (
	maxText  = 64 << 20 // bytes of one string
	maxLong  = 1 << 12  // bytes of one integer
	memoFar  = 1 << 16  // how far beyond the filled part a memo number may lie before it is kept in a map
	checkGap = 1 << 13  // opcodes between two looks at the memory held
)

type decoder struct {
	r     io.Reader
	buf   []byte
	pos   int   // next byte in buf
	end   int   // bytes in buf
	base  int64 // offset of buf[0] in the file
	eof   bool
	limit int64 // bytes

	stack []ref
	marks []int
	memo  memo

	lists     []ref // tagNil while empty, tagOpen, or tagStack once it is known as one
	listSlots []listSlot
	listFree  []int
	dicts     []ref // tagNil while empty, tagOpen, or what it turned out to be
	dictSlots []dictSlot
	dictFree  []int
	slotRefs  int64 // refs in all slots

	bigs     []big
	floats   []float64
	textID   map[string]uint32
	textSize int64
	scratch  []byte

	events   *eventStore // not a part of the decoder, which goes when the snapshot is read
	blocks   []SnapshotBlock
	placed   int   // blocks that segments have
	sizes    int64 // sum of all sizes, bytes
	frameID  map[frameKey]uint32
	stackID  map[string]StackID // by the frame numbers as bytes
	frameBuf []byte
	fields   [numKeys]ref
	snap     *Snapshot
}

// listSlot is the content of a list: a range of values of one tag while that lasts, else the refs.
type listSlot struct {
	refs  []ref
	first ref
	n     int // of the range; 0 when refs hold the content
}

// dictSlot is the content of a dict.
type dictSlot struct {
	pairs []ref
	mask  uint64 // which of the known keys it has, so that a dict of anything else is not searched each time it is taken
}

// fail makes an error that says where in the file it is.
func (d *decoder) fail(format string, args ...any) error {
	return fmt.Errorf("torchmem: byte %d: %s", d.base+int64(d.pos), fmt.Sprintf(format, args...))
}

// need makes n bytes available at pos; n is at most half of the buffer.
func (d *decoder) need(n int) error {
	for d.end-d.pos < n {
		if d.eof {
			return d.fail("the snapshot ends in the middle: copy it again, or wait until it is written")
		}
		if d.pos > 0 {
			copy(d.buf, d.buf[d.pos:d.end])
			d.base += int64(d.pos)
			d.end -= d.pos
			d.pos = 0
		}
		// A reader may return nothing without an error, but not forever.
		for try := 0; ; try++ {
			k, err := d.r.Read(d.buf[d.end:])
			d.end += max(k, 0)
			if err == io.EOF {
				d.eof = true
			} else if err != nil {
				return fmt.Errorf("torchmem: read snapshot: %w", err)
			}
			if k > 0 || d.eof {
				break
			}
			if try == 100 {
				return fmt.Errorf("torchmem: read snapshot: %w", io.ErrNoProgress)
			}
		}
	}
	return nil
}

// take returns the next n bytes, valid until the next call.
func (d *decoder) take(n int) ([]byte, error) {
	if d.end-d.pos < n {
		if err := d.need(n); err != nil {
			return nil, err
		}
	}
	b := d.buf[d.pos : d.pos+n]
	d.pos += n
	return b, nil
}

// long reads n bytes, however many, into the scratch buffer, which grows only as they come.
func (d *decoder) long(n uint64) ([]byte, error) {
	if n <= uint64(len(d.buf)/2) {
		return d.take(int(n))
	}
	if n > maxText {
		return nil, d.fail("a text of %d bytes is claimed: not a memory snapshot, or damaged", n)
	}
	d.scratch = d.scratch[:0]
	for left := int(n); left > 0; {
		b, err := d.take(min(left, len(d.buf)/2))
		if err != nil {
			return nil, err
		}
		d.scratch = append(d.scratch, b...)
		left -= len(b)
	}
	return d.scratch, nil
}

// skip drops n bytes.
func (d *decoder) skip(n uint64) error {
	for n > 0 {
		k := min(n, uint64(len(d.buf)/2))
		if _, err := d.take(int(k)); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

func (d *decoder) push(r ref) { d.stack = append(d.stack, r) }

func (d *decoder) pop() (ref, error) {
	low := 0
	if k := len(d.marks); k > 0 {
		low = d.marks[k-1] + 1
	}
	if len(d.stack) <= low {
		return 0, d.fail("the stack is empty: damaged")
	}
	r := d.stack[len(d.stack)-1]
	d.stack = d.stack[:len(d.stack)-1]
	return r, nil
}

// top is the value that the items above it are meant for.
func (d *decoder) top() (ref, error) {
	r, err := d.pop()
	if err == nil {
		d.push(r)
	}
	return r, err
}

// popMark returns the values above the last mark, which stay valid until the next push.
func (d *decoder) popMark() ([]ref, error) {
	k := len(d.marks)
	if k == 0 {
		return nil, d.fail("no mark on the stack: damaged")
	}
	at := d.marks[k-1]
	d.marks = d.marks[:k-1]
	items := d.stack[at+1:]
	d.stack = d.stack[:at]
	return items, nil
}

func (d *decoder) text(b []byte) ref {
	id, ok := d.textID[string(b)]
	if !ok {
		id = uint32(len(d.snap.texts))
		s := string(b)
		d.textID[s] = id
		d.snap.texts = append(d.snap.texts, s)
		d.textSize += int64(len(s)) + 64
	}
	return mk(tagText, int(id))
}

// held is an estimate of the bytes in use.
func (d *decoder) held() int64 {
	return int64(cap(d.stack))*8 + int64(cap(d.marks))*8 + d.memo.bytes() + int64(cap(d.lists)+cap(d.dicts))*8 +
		int64(cap(d.listSlots))*48 + int64(cap(d.dictSlots))*32 + d.slotRefs*8 + int64(cap(d.bigs))*16 +
		int64(cap(d.floats))*8 + d.textSize + int64(d.events.n)*48 + int64(cap(d.blocks))*40 +
		int64(len(d.snap.frames))*100 + int64(cap(d.snap.stacks))*4 + int64(cap(d.snap.stackAt))*4 +
		int64(cap(d.snap.Segments))*160 + int64(cap(d.snap.Annotations))*64
}

// run executes the pickle up to its STOP and returns the value left.
func (d *decoder) run() (ref, error) {
	for count := 1; ; count++ {
		if count%checkGap == 0 && d.held() > d.limit {
			return 0, d.fail("the snapshot needs more than %d bytes of memory: not a memory snapshot, or record fewer entries (max_entries)", d.limit)
		}
		if d.pos == d.end {
			if err := d.need(1); err != nil {
				return 0, err
			}
		}
		op := d.buf[d.pos]
		d.pos++
		var err error
		switch op {
		case opMemoize:
			var r ref
			if r, err = d.top(); err == nil {
				d.memo.set(uint32(d.memo.n), r)
			}
		case opBinGet:
			var b []byte
			if b, err = d.take(1); err == nil {
				err = d.get(uint32(b[0]))
			}
		case opLongBinGet:
			var b []byte
			if b, err = d.take(4); err == nil {
				err = d.get(binary.LittleEndian.Uint32(b))
			}
		case opBinPut:
			var b []byte
			if b, err = d.take(1); err == nil {
				err = d.put(uint32(b[0]))
			}
		case opLongBinPut:
			var b []byte
			if b, err = d.take(4); err == nil {
				err = d.put(binary.LittleEndian.Uint32(b))
			}
		case opMark:
			d.marks = append(d.marks, len(d.stack))
			d.push(mk(tagMark, 0))
		case opEmptyDict:
			d.dicts = append(d.dicts, 0)
			d.push(mk(tagDict, len(d.dicts)-1))
		case opEmptyList, opEmptyTuple:
			d.lists = append(d.lists, 0)
			d.push(mk(tagList, len(d.lists)-1))
		case opSetItems:
			err = d.setItems()
		case opSetItem:
			err = d.setItem()
		case opAppends:
			err = d.appends()
		case opAppend:
			var r ref
			if r, err = d.pop(); err == nil {
				err = d.extend([]ref{r})
			}
		case opList, opTuple:
			err = d.listOfMarked()
		case opDict:
			err = d.dictOfMarked()
		case opTuple1, opTuple2, opTuple3:
			err = d.smallTuple(int(op - opTuple1 + 1))
		case opBinInt1:
			var b []byte
			if b, err = d.take(1); err == nil {
				d.push(d.int(int64(b[0])))
			}
		case opBinInt2:
			var b []byte
			if b, err = d.take(2); err == nil {
				d.push(d.int(int64(binary.LittleEndian.Uint16(b))))
			}
		case opBinInt:
			var b []byte
			if b, err = d.take(4); err == nil {
				d.push(d.int(int64(int32(binary.LittleEndian.Uint32(b)))))
			}
		case opLong1:
			err = d.longInt(1)
		case opLong4:
			err = d.longInt(4)
		case opShortUnicode, opShortString:
			err = d.pushText(1)
		case opBinUnicode, opBinString:
			err = d.pushText(4)
		case opBinUnicode8:
			err = d.pushText(8)
		case opShortBytes:
			err = d.skipBytes(1)
		case opBinBytes:
			err = d.skipBytes(4)
		case opBinBytes8, opByteArray8:
			err = d.skipBytes(8)
		case opBinFloat:
			var b []byte
			if b, err = d.take(8); err == nil {
				d.floats = append(d.floats, math.Float64frombits(binary.BigEndian.Uint64(b)))
				d.push(mk(tagFloat, len(d.floats)-1))
			}
		case opNone:
			d.push(mk(tagNone, 0))
		case opNewTrue:
			d.push(d.int(1))
		case opNewFalse:
			d.push(d.int(0))
		case opEmptySet:
			d.push(mk(tagBytes, 0))
		case opAddItems:
			_, err = d.popMark()
		case opFrozenSet:
			if _, err = d.popMark(); err == nil {
				d.push(mk(tagBytes, 0))
			}
		case opPop:
			// On a bare mark, POP takes the mark away.
			if k := len(d.marks); k > 0 && d.marks[k-1] == len(d.stack)-1 {
				_, err = d.popMark()
			} else {
				_, err = d.pop()
			}
		case opPopMark:
			_, err = d.popMark()
		case opDup:
			var r ref
			if r, err = d.top(); err == nil {
				d.push(r)
			}
		case opProto:
			var b []byte
			if b, err = d.take(1); err == nil && (b[0] < 2 || b[0] > 5) {
				err = d.fail("pickle protocol %d: only 2 to 5 are read", b[0])
			}
		case opFrame:
			_, err = d.take(8) // frames only help to read ahead; their length need not be trusted
		case opStop:
			r, err := d.pop()
			if err == nil && (len(d.stack) > 0) {
				err = d.fail("values are left on the stack: damaged")
			}
			return r, err
		default:
			d.pos--
			if name := refused[op]; name != "" {
				err = d.fail("opcode %s would import or run something: refused, memory snapshots are plain data", name)
			} else if name := textual[op]; name != "" {
				err = d.fail("opcode %s of pickle protocol 0: only protocols 2 to 5 are read", name)
			} else {
				err = d.fail("unknown opcode 0x%02x: not a memory snapshot, or damaged", op)
			}
		}
		if err != nil {
			return 0, err
		}
	}
}

func (d *decoder) get(i uint32) error {
	r := d.memo.get(i)
	if r == 0 {
		return d.fail("memo %d was never set: damaged", i)
	}
	d.push(r)
	return nil
}

func (d *decoder) put(i uint32) error {
	r, err := d.top()
	if err == nil {
		d.memo.set(i, r)
	}
	return err
}

// size reads a length of width bytes.
func (d *decoder) size(width int) (uint64, error) {
	b, err := d.take(width)
	if err != nil {
		return 0, err
	}
	switch width {
	case 1:
		return uint64(b[0]), nil
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), nil
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (d *decoder) longInt(width int) error {
	n, err := d.size(width)
	if err != nil {
		return err
	}
	if n > maxLong {
		return d.fail("an integer of %d bytes is claimed: damaged", n)
	}
	b, err := d.take(int(n))
	if err == nil {
		d.push(d.integer(b))
	}
	return err
}

func (d *decoder) pushText(width int) error {
	n, err := d.size(width)
	if err != nil {
		return err
	}
	b, err := d.long(n)
	if err != nil {
		return err
	}
	d.push(d.text(b))
	if d.textSize > d.limit {
		return d.fail("the texts need more than %d bytes of memory: not a memory snapshot", d.limit)
	}
	return nil
}

func (d *decoder) skipBytes(width int) error {
	n, err := d.size(width)
	if err == nil {
		err = d.skip(n)
	}
	if err == nil {
		d.push(mk(tagBytes, 0))
	}
	return err
}
