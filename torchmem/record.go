package torchmem

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nsysmem/torchmem/internal/sizes"
)

type frameKey struct {
	name, file uint32
	line       int64
}

// field is the value of a key of the dict in hand, 0 where it has none.
func (d *decoder) field(mask uint64, key int) ref {
	if mask&(1<<key) == 0 {
		return 0
	}
	return d.fields[key]
}

func (d *decoder) sizeField(mask uint64, key int) (int64, error) {
	r := d.field(mask, key)
	if r == 0 || r.tag() == tagNone {
		return 0, nil
	}
	v, ok := d.signed(r)
	if !ok || v < 0 || v > sizes.Max {
		return 0, d.fail("%q is no size in bytes: damaged", keyNames[key])
	}
	if d.sizes += v; d.sizes > sizes.MaxSum {
		return 0, d.fail("the sizes add up to more than any device hands out: damaged")
	}
	return v, nil
}

func (d *decoder) addrField(mask uint64, key int) (uint64, error) {
	r := d.field(mask, key)
	if r == 0 || r.tag() == tagNone {
		return 0, nil
	}
	v, ok := d.unsigned(r)
	if !ok {
		return 0, d.fail("%q is no number of 64 bits: damaged", keyNames[key])
	}
	return v, nil
}

// timeField is a time in nanoseconds; one that no clock can have shown is 0, unknown.
func (d *decoder) timeField(mask uint64) int64 {
	us, ok := d.signed(d.field(mask, keyTime))
	if !ok || us < 0 || us > 1<<53 {
		return 0
	}
	return us * 1000
}

func (d *decoder) stringOf(r ref) string {
	if r.tag() == tagText {
		return d.snap.texts[r.n()]
	}
	return ""
}

var actionByName = func() map[string]Action {
	m := map[string]Action{}
	for a := Alloc; a < numActions; a++ {
		m[actionNames[a]] = a
	}
	return m
}()

func (d *decoder) event(mask uint64) (ref, error) {
	var e TraceEvent
	var err error
	e.Action = actionByName[d.stringOf(d.field(mask, keyAction))]
	addr := keyAddr
	if e.Action == OOM && mask&(1<<keyDeviceFree) != 0 {
		addr = keyDeviceFree
	}
	if e.Action != UserDefined && e.Action != Other {
		if e.Size, err = d.sizeField(mask, keySize); err != nil {
			return 0, err
		}
	}
	if e.Addr, err = d.addrField(mask, addr); err != nil {
		return 0, err
	}
	if e.Stream, err = d.addrField(mask, keyStream); err != nil {
		return 0, err
	}
	e.Time = d.timeField(mask)
	if note := d.field(mask, keyMetadata); note.tag() == tagText {
		e.Note = uint32(note.n())
	}
	if e.Stack, err = d.stackOf(d.field(mask, keyFrames)); err != nil {
		return 0, err
	}
	return mk(tagEvent, d.events.add(e)), nil
}

func (d *decoder) frame(mask uint64) (ref, error) {
	var k frameKey
	if r := d.field(mask, keyName); r.tag() == tagText {
		k.name = uint32(r.n())
	}
	if r := d.field(mask, keyFilename); r.tag() == tagText {
		k.file = uint32(r.n())
	}
	k.line, _ = d.signed(d.field(mask, keyLine))
	return mk(tagFrame, int(d.frameNo(k))), nil
}

func (d *decoder) frameNo(k frameKey) uint32 {
	id, ok := d.frameID[k]
	if !ok {
		id = uint32(len(d.snap.frames))
		d.frameID[k] = id
		d.snap.frames = append(d.snap.frames, Frame{d.snap.texts[k.name], d.snap.texts[k.file], k.line})
	}
	return id
}

// stackOf is the number of the call stack that a list of frames is; 0 for anything else.
func (d *decoder) stackOf(r ref) (StackID, error) {
	if r.tag() != tagList {
		return 0, nil
	}
	at := d.lists[r.n()]
	switch at.tag() {
	case tagStack:
		return StackID(at.n()), nil
	case tagOpen:
	default:
		return 0, nil
	}
	slot := &d.listSlots[at.n()]
	d.frameBuf = d.frameBuf[:0]
	for _, f := range slot.refs {
		var id uint32
		switch f.tag() {
		case tagFrame:
			id = uint32(f.n())
		case tagText: // a line of a C++ trace
			id = d.frameNo(frameKey{name: uint32(f.n())})
		default:
			continue
		}
		d.frameBuf = binary.LittleEndian.AppendUint32(d.frameBuf, id)
	}
	id := d.internStack()
	// A list of frames is used for its number alone from here on.
	slot.refs, slot.n = slot.refs[:0], 0
	d.listFree = append(d.listFree, at.n())
	d.lists[r.n()] = mk(tagStack, int(id))
	return id, nil
}

// internStack is the number of the stack whose frame numbers stand in frameBuf.
func (d *decoder) internStack() StackID {
	s := d.snap
	if id, ok := d.stackID[string(d.frameBuf)]; ok || len(d.frameBuf) == 0 {
		return id
	}
	id := StackID(len(s.stackAt) - 1)
	for b := d.frameBuf; len(b) > 0; b = b[4:] {
		s.stacks = append(s.stacks, binary.LittleEndian.Uint32(b))
	}
	s.stackAt = append(s.stackAt, uint32(len(s.stacks)))
	d.stackID[string(d.frameBuf)] = id
	d.textSize += int64(len(d.frameBuf)) + 64
	return id
}

var stateByName = map[string]BlockState{"active_allocated": Active, "active_awaiting_free": PendingFree,
	"active_pending_free": PendingFree, "inactive": Inactive, "inactive_split": Inactive}

func (d *decoder) block(mask uint64) (ref, error) {
	var b SnapshotBlock
	var err error
	if b.Size, err = d.sizeField(mask, keySize); err != nil {
		return 0, err
	}
	if b.Addr, err = d.addrField(mask, keyAddress); err != nil {
		return 0, err
	}
	if b.Requested, err = d.sizeField(mask, keyRequested); err != nil {
		return 0, err
	}
	b.State = stateByName[d.stringOf(d.field(mask, keyState))]
	frames := d.field(mask, keyFrames)
	// Before PyTorch 2.1 a block had a list of its allocations in place of frames, the latest first.
	if n, item, ok := d.list(d.field(mask, keyHistory)); ok && n > 0 {
		if b.Requested == 0 {
			if v, ok := d.signed(d.value(item(0), "real_size")); ok && v >= 0 && v <= sizes.Max {
				b.Requested = v
			}
		}
		if frames == 0 {
			frames = d.value(item(0), "frames")
		}
	}
	if b.Stack, err = d.stackOf(frames); err != nil {
		return 0, err
	}
	d.blocks = append(d.blocks, b)
	return mk(tagBlock, len(d.blocks)-1), nil
}

func (d *decoder) segment(mask uint64) (ref, error) {
	var s Segment
	var err error
	if s.Size, err = d.sizeField(mask, keyTotalSize); err != nil {
		return 0, err
	}
	if s.Allocated, err = d.sizeField(mask, keyAllocated); err != nil {
		return 0, err
	}
	if s.Addr, err = d.addrField(mask, keyAddress); err != nil {
		return 0, err
	}
	if s.Stream, err = d.addrField(mask, keyStream); err != nil {
		return 0, err
	}
	if s.Addr+uint64(s.Size) < s.Addr {
		return 0, d.fail("a segment lies beyond the end of the address space: damaged")
	}
	dev, _ := d.signed(d.field(mask, keyDevice))
	if dev < 0 || dev > 1<<12 {
		return 0, d.fail("device %d of a segment cannot be: damaged", dev)
	}
	s.Device = int(dev)
	s.Small = d.stringOf(d.field(mask, keySegmentType)) == "small"
	exp, _ := d.signed(d.field(mask, keyExpandable))
	s.Expandable = exp != 0
	if n, item, ok := d.list(d.field(mask, keyPoolID)); ok && n == 2 {
		s.PoolID[0], _ = d.signed(item(0))
		s.PoolID[1], _ = d.signed(item(1))
	}
	if s.Stack, err = d.stackOf(d.field(mask, keyFrames)); err != nil {
		return 0, err
	}
	n, item, ok := d.list(d.field(mask, keyBlocks))
	if !ok {
		return 0, d.fail("the blocks of a segment are no list: damaged")
	}
	// A list may be named many times in few bytes, but a block lies in one segment.
	if d.placed += n; d.placed > len(d.blocks) {
		return 0, d.fail("a block stands in two segments: damaged")
	}
	s.Blocks = make([]SnapshotBlock, 0, n)
	d.slotRefs += int64(n) * 5 // what the copies take
	next := s.Addr
	for i := range n {
		r := item(i)
		if r.tag() != tagBlock {
			return 0, d.fail("a block of a segment is none: damaged")
		}
		b := d.blocks[r.n()]
		if b.Addr == 0 { // before PyTorch 2.1 blocks had no address
			b.Addr = next
		}
		if b.Addr < next || b.Addr-s.Addr > uint64(s.Size) || uint64(b.Size) > uint64(s.Size)-(b.Addr-s.Addr) {
			return 0, d.fail("block %#x does not fit into its segment: damaged", b.Addr)
		}
		next = b.Addr + uint64(b.Size)
		s.Blocks = append(s.Blocks, b)
	}
	if d.slotRefs*8 > d.limit {
		return 0, d.fail("the segments need more than %d bytes of memory: not a memory snapshot", d.limit)
	}
	d.snap.Segments = append(d.snap.Segments, s)
	return mk(tagSegment, len(d.snap.Segments)-1), nil
}

func (d *decoder) annotation(mask uint64) (ref, error) {
	dev, _ := d.signed(d.field(mask, keyDevice))
	d.snap.Annotations = append(d.snap.Annotations, Annotation{
		Time: d.timeField(mask), Name: d.stringOf(d.field(mask, keyName)),
		Stage: d.stringOf(d.field(mask, keyStage)), Device: dev,
	})
	return mk(tagNote, len(d.snap.Annotations)-1), nil
}

// finish makes the snapshot out of the value that the pickle left.
func (d *decoder) finish(v ref) error {
	segments, isList := v, v.tag() == tagList
	if !isList {
		if segments = d.value(v, "segments"); segments == 0 {
			return fmt.Errorf("torchmem: a pickle, but no memory snapshot: it has no \"segments\"")
		}
	}
	n, item, ok := d.list(segments)
	if !ok {
		return fmt.Errorf("torchmem: \"segments\" is no list: damaged, or no memory snapshot")
	}
	// Only what the list holds counts, in its order.
	all := d.snap.Segments
	d.snap.Segments = make([]Segment, 0, min(n, len(all)))
	seen := make([]bool, len(all))
	for i := range n {
		r := item(i)
		if r.tag() != tagSegment {
			return fmt.Errorf("torchmem: item %d of the segments is none: no memory snapshot", i)
		}
		if seen[r.n()] {
			return fmt.Errorf("torchmem: item %d of the segments stands there twice: damaged", i)
		}
		seen[r.n()] = true
		d.snap.Segments = append(d.snap.Segments, all[r.n()])
	}
	if isList {
		return nil
	}
	d.settings(d.value(v, "allocator_settings"))
	n, item, ok = d.list(d.value(v, "device_traces"))
	if !ok {
		return nil // before PyTorch 2.0 there were none
	}
	if n > 1<<12 {
		return fmt.Errorf("torchmem: traces of %d devices: damaged", n)
	}
	entries := 0
	for i := range n {
		t, err := d.trace(item(i))
		if err != nil {
			return fmt.Errorf("torchmem: trace of device %d: %w", i, err)
		}
		// A list may be named for many devices in few bytes, but an entry is of one device.
		if entries += t.n; entries > d.events.n {
			return fmt.Errorf("torchmem: trace of device %d: an entry stands there twice, or in the trace of another device: damaged", i)
		}
		d.snap.Traces = append(d.snap.Traces, t)
	}
	return nil
}

func (d *decoder) trace(r ref) (Trace, error) {
	var t Trace
	n, item, ok := d.list(r)
	if !ok {
		return t, fmt.Errorf("no list: damaged")
	}
	if n > d.events.n {
		return t, fmt.Errorf("an entry stands there twice: damaged")
	}
	if n > 0 && d.listSlots[d.lists[r.n()].n()].n > 0 {
		first := item(0)
		if first.tag() != tagEvent {
			return t, fmt.Errorf("entry 0 is none: damaged")
		}
		return Trace{store: d.events, from: first.n(), n: n}, nil
	}
	t.store = &eventStore{}
	for i := range n {
		e := item(i)
		if e.tag() != tagEvent {
			return t, fmt.Errorf("entry %d is none: damaged", i)
		}
		t.store.add(*d.events.at(e.n()))
		t.n++
	}
	return t, nil
}

func (d *decoder) settings(r ref) {
	p := d.pairs(r)
	s := &d.snap.Settings
	s.Known = len(p) > 0
	for i := 0; i < len(p); i += 2 {
		k, v := d.stringOf(p[i]), p[i+1]
		switch {
		case strings.HasSuffix(k, "ALLOC_CONF"):
			if t := d.stringOf(v); t != "" {
				s.Conf = t
			}
		case k == "max_split_size":
			if n, ok := d.signed(v); ok && n > 0 && n <= sizes.Max {
				s.MaxSplitSize = n
			}
		case k == "garbage_collection_threshold":
			if v.tag() == tagFloat {
				s.GCThreshold = d.floats[v.n()]
			}
		case k == "expandable_segments":
			n, _ := d.signed(v)
			s.Expandable = n != 0
		case k == "roundup_power2_divisions":
			div := d.pairs(v)
			for j := 0; j < len(div); j += 2 {
				n, ok := d.signed(div[j+1])
				if idx := sizes.IntervalOf(d.stringOf(div[j])); idx >= 0 && ok && n >= 0 && n <= sizes.Max {
					s.RoundupPower2[idx] = n
				}
			}
		}
	}
}
