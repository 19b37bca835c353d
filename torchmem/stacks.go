package torchmem

import (
	"encoding/binary"

	"nsysmem/torchmem/pickle"
)

// stacks number frames and call stacks, equal ones alike. A snapshot of millions of entries has some thousand of them.
type stacks struct {
	frameNo map[frameKey]uint32
	stackNo map[string]StackID // by the numbers of the frames, four bytes each
	frames  []byte             // those of the stack in hand
	bytes   int64              // that stackNo takes up, roughly
}

type frameKey struct {
	name, file uint32 // numbers of texts
	line       int64
}

func newStacks() stacks {
	return stacks{frameNo: make(map[frameKey]uint32), stackNo: make(map[string]StackID)}
}

// frame builds a frame.
func (d *decoder) frame(fields *pickle.Fields) (pickle.Value, error) {
	f := form{Fields: fields, d: d}
	k := frameKey{name: f.textNo(keyName), file: f.textNo(keyFilename), line: f.int(keyLine)}
	return pickle.Object(kindFrame, int(d.numberFrame(k))), nil
}

func (d *decoder) numberFrame(k frameKey) uint32 {
	n, ok := d.stacks.frameNo[k]
	if !ok {
		n = uint32(len(d.snap.frames))
		d.stacks.frameNo[k] = n
		texts := d.Texts()
		d.snap.frames = append(d.snap.frames, Frame{texts[k.name], texts[k.file], k.line})
	}
	return n
}

// stackOf is the number of the call stack that a list of frames is; 0 for anything else.
func (d *decoder) stackOf(v pickle.Value) StackID {
	if n, ok := d.Replaced(v).Object(kindStack); ok {
		return StackID(n)
	}
	list, _ := d.List(v)
	if list.Len() == 0 {
		return 0
	}
	frames := d.stacks.frames[:0]
	for i := range list.Len() {
		item := list.At(i)
		no, isFrame := item.Object(kindFrame)
		if !isFrame {
			text, isText := d.TextNo(item)
			if !isText {
				continue
			}
			no = int(d.numberFrame(frameKey{name: text})) // a line of a C++ trace
		}
		frames = binary.LittleEndian.AppendUint32(frames, uint32(no))
	}
	d.stacks.frames = frames
	id := d.numberStack(frames)
	// The list is used for its number alone from here on.
	d.Replace(v, pickle.Object(kindStack, int(id)))
	return id
}

// numberStack is the number of the stack of these frames.
func (d *decoder) numberStack(frames []byte) StackID {
	if id, ok := d.stacks.stackNo[string(frames)]; ok || len(frames) == 0 {
		return id
	}
	const entry = 64 // bytes that a stack's entry in the map takes beside its key
	s := d.snap
	id := StackID(len(s.stackAt) - 1)
	d.stacks.stackNo[string(frames)] = id
	d.stacks.bytes += int64(len(frames)) + entry
	for ; len(frames) > 0; frames = frames[4:] {
		s.stacks = append(s.stacks, binary.LittleEndian.Uint32(frames))
	}
	s.stackAt = append(s.stackAt, uint32(len(s.stacks)))
	return id
}
