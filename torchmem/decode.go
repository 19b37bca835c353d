package torchmem

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Options limit what Read may use.
type Options struct {
	MaxMemory int64 // bytes that a snapshot may take up while it is read, roughly; 0 for 4 GiB
}

// Read reads a snapshot: the pickle of torch.cuda.memory._dump_snapshot, in protocols 2 to 5, of any PyTorch version
// since the first that wrote one, or the bare list of segments of torch.cuda.memory_snapshot. Nothing in the file is
// run: opcodes that import or call are an error. Errors name the byte where reading stopped, not the file.
func Read(r io.Reader, opt Options) (*Snapshot, error) {
	d := newDecoder(r, opt)
	if err := d.need(2); err != nil {
		if !d.eof {
			return nil, err
		}
		return nil, fmt.Errorf("torchmem: not a memory snapshot: the file has less than 2 bytes")
	}
	switch {
	case string(d.buf[:2]) == "PK":
		return nil, fmt.Errorf("torchmem: a zip archive, not a memory snapshot: write it with torch.cuda.memory._dump_snapshot, not torch.save")
	case d.buf[0] == 0x1f && d.buf[1] == 0x8b:
		return nil, fmt.Errorf("torchmem: gzip-compressed: unpack the snapshot first")
	case d.buf[0] != opProto:
		return nil, fmt.Errorf("torchmem: not a pickle of protocol 2 to 5, so not a memory snapshot")
	}
	v, err := d.run()
	if err != nil {
		return nil, err
	}
	if err := d.finish(v); err != nil {
		return nil, err
	}
	return d.snap, nil
}

func newDecoder(r io.Reader, opt Options) *decoder {
	if opt.MaxMemory <= 0 {
		opt.MaxMemory = 4 << 30
	}
	d := &decoder{
		r: r, buf: make([]byte, 1<<18), limit: opt.MaxMemory,
		events: &eventStore{}, textID: map[string]uint32{}, frameID: map[frameKey]uint32{}, stackID: map[string]StackID{},
		snap: &Snapshot{stackAt: []uint32{0, 0}},
	}
	for _, k := range keyNames {
		d.text([]byte(k))
	}
	return d
}

// The keys of the dicts that are known, which have these numbers as texts too.
const (
	keyEmpty = iota
	keyAction
	keyAddr
	keySize
	keyStream
	keyTime
	keyMetadata
	keyFrames
	keyDeviceFree
	keyName
	keyFilename
	keyLine
	keyAddress
	keyTotalSize
	keyAllocated
	keySegmentType
	keyPoolID
	keyExpandable
	keyBlocks
	keyDevice
	keyRequested
	keyState
	keyHistory
	keyRealSize
	keyStage
	keySegments
	keyTraces
	keySettings
	keyAnnotations
	numKeys
)

var keyNames = [numKeys]string{"", "action", "addr", "size", "stream", "time_us", "user_metadata", "frames",
	"device_free", "name", "filename", "line", "address", "total_size", "allocated_size", "segment_type",
	"segment_pool_id", "is_expandable", "blocks", "device", "requested_size", "state", "history", "real_size", "stage",
	"segments", "device_traces", "allocator_settings", "external_annotations"}

type frameKey struct {
	name, file uint32
	line       int64
}

// maxFields is how many keys and values of a dict are searched for one.
const maxFields = 2048

// maxSize is the largest size that is believed; sums of such sizes stay far from overflow.
const maxSize = 1 << 48

func (d *decoder) setItems() error {
	items, err := d.popMark()
	if err != nil {
		return err
	}
	r, err := d.top()
	if err != nil {
		return err
	}
	return d.addPairs(r, items)
}

func (d *decoder) setItem() error {
	v, err := d.pop()
	if err != nil {
		return err
	}
	k, err := d.pop()
	if err != nil {
		return err
	}
	r, err := d.top()
	if err != nil {
		return err
	}
	return d.addPairs(r, []ref{k, v})
}

func (d *decoder) dictOfMarked() error {
	items, err := d.popMark()
	if err != nil {
		return err
	}
	d.dicts = append(d.dicts, 0)
	r := mk(tagDict, len(d.dicts)-1)
	if err := d.addPairs(r, items); err != nil {
		return err
	}
	d.push(r)
	return nil
}

func (d *decoder) addPairs(r ref, items []ref) error {
	if len(items)%2 != 0 {
		return d.fail("a dict has a key without a value: damaged")
	}
	if r.tag() != tagDict {
		return d.fail("items for a dict, but there is none: damaged")
	}
	if len(items) == 0 {
		return nil
	}
	at := &d.dicts[r.n()]
	switch at.tag() {
	case tagNil:
		k := len(d.dictFree)
		if k > 0 {
			*at = mk(tagOpen, d.dictFree[k-1])
			d.dictFree = d.dictFree[:k-1]
		} else {
			d.dictSlots = append(d.dictSlots, dictSlot{})
			*at = mk(tagOpen, len(d.dictSlots)-1)
		}
	case tagOpen:
	default:
		return d.fail("a dict changes after it was used: damaged")
	}
	slot := &d.dictSlots[at.n()]
	before := cap(slot.pairs)
	for i := 0; i < len(items); i += 2 {
		v, err := d.settle(items[i+1])
		if err != nil {
			return err
		}
		if k := items[i]; k.tag() == tagText && k.n() < numKeys {
			slot.mask |= 1 << k.n()
		}
		slot.pairs = append(slot.pairs, items[i], v)
	}
	d.slotRefs += int64(cap(slot.pairs) - before)
	return nil
}

func (d *decoder) appends() error {
	items, err := d.popMark()
	if err != nil {
		return err
	}
	return d.extend(items)
}

func (d *decoder) listOfMarked() error {
	items, err := d.popMark()
	if err != nil {
		return err
	}
	// The items lie above the top of the stack; the new list may overwrite the first of them.
	items = append(make([]ref, 0, len(items)), items...)
	d.lists = append(d.lists, 0)
	d.push(mk(tagList, len(d.lists)-1))
	return d.extend(items)
}

func (d *decoder) smallTuple(n int) error {
	var items [3]ref
	for i := n - 1; i >= 0; i-- {
		r, err := d.pop()
		if err != nil {
			return err
		}
		items[i] = r
	}
	d.lists = append(d.lists, 0)
	d.push(mk(tagList, len(d.lists)-1))
	return d.extend(items[:n])
}

// extend adds items to the list on top of the stack.
func (d *decoder) extend(items []ref) error {
	r, err := d.top()
	if err != nil {
		return err
	}
	if r.tag() == tagBytes { // a set
		return nil
	}
	if r.tag() != tagList {
		return d.fail("items for a list, but there is none: damaged")
	}
	if len(items) == 0 {
		return nil
	}
	at := &d.lists[r.n()]
	switch at.tag() {
	case tagNil:
		if k := len(d.listFree); k > 0 {
			*at = mk(tagOpen, d.listFree[k-1])
			d.listFree = d.listFree[:k-1]
		} else {
			d.listSlots = append(d.listSlots, listSlot{})
			*at = mk(tagOpen, len(d.listSlots)-1)
		}
	case tagOpen:
	default:
		return d.fail("a list changes after it was used: damaged")
	}
	slot := at.n()
	for _, v := range items {
		v, err := d.settle(v)
		if err != nil {
			return err
		}
		d.listAdd(slot, v)
	}
	return nil
}

func (d *decoder) listAdd(slot int, v ref) {
	s := &d.listSlots[slot]
	if s.n > 0 && v == s.first+ref(s.n) {
		s.n++
		return
	}
	if s.n == 0 && len(s.refs) == 0 && (v.tag() == tagEvent || v.tag() == tagBlock || v.tag() == tagSegment) {
		s.first, s.n = v, 1
		return
	}
	before := cap(s.refs)
	for i := range s.n {
		s.refs = append(s.refs, s.first+ref(i))
	}
	s.n = 0
	s.refs = append(s.refs, v)
	d.slotRefs += int64(cap(s.refs) - before)
}

// list is the number of items of a list and a function for item i; ok is false for anything but a list.
func (d *decoder) list(r ref) (n int, item func(int) ref, ok bool) {
	none := func(int) ref { return 0 }
	if r.tag() != tagList {
		return 0, none, false
	}
	at := d.lists[r.n()]
	if at.tag() != tagOpen {
		return 0, none, at.tag() == tagNil
	}
	s := d.listSlots[at.n()]
	if s.n > 0 {
		return s.n, func(i int) ref { return s.first + ref(i) }, true
	}
	return len(s.refs), func(i int) ref { return s.refs[i] }, true
}

// pairs are the keys and values of a dict that is nothing known.
func (d *decoder) pairs(r ref) []ref {
	if r.tag() != tagDict || d.dicts[r.n()].tag() != tagOpen {
		return nil
	}
	return d.dictSlots[d.dicts[r.n()].n()].pairs
}

// value is what a dict that is nothing known has under a key; 0 for nothing. Of one with more keys than any that
// PyTorch writes, only the first count: it may be named many times.
func (d *decoder) value(r ref, key string) ref {
	p := d.pairs(r)
	p = p[:min(len(p), maxFields)]
	for i := 0; i < len(p); i += 2 {
		if p[i].tag() == tagText && d.snap.texts[p[i].n()] == key {
			return p[i+1]
		}
	}
	return 0
}

// settle turns a dict that something takes into what it is. Other values stay as they are.
func (d *decoder) settle(r ref) (ref, error) {
	if r.tag() != tagDict {
		return r, nil
	}
	at := d.dicts[r.n()]
	if at.tag() == tagNil {
		return r, nil
	}
	if at.tag() != tagOpen {
		return at, nil
	}
	slot := at.n()
	mask := d.dictSlots[slot].mask
	has := func(keys ...int) bool {
		for _, k := range keys {
			if mask&(1<<k) == 0 {
				return false
			}
		}
		return true
	}
	var become func(uint64) (ref, error)
	switch {
	case has(keyAction):
		become = d.event
	case has(keyTotalSize, keyBlocks):
		become = d.segment
	case has(keyState, keySize):
		become = d.block
	case has(keyFilename), has(keyName, keyLine):
		become = d.frame
	case has(keyStage, keyName):
		become = d.annotation
	default:
		return r, nil
	}
	pairs := d.dictSlots[slot].pairs
	for i := 0; i < len(pairs); i += 2 {
		if k := pairs[i]; k.tag() == tagText && k.n() < numKeys {
			d.fields[k.n()] = pairs[i+1]
		}
	}
	out, err := become(mask)
	if err != nil {
		return 0, err
	}
	d.dicts[r.n()] = out
	d.dictSlots[slot] = dictSlot{pairs: pairs[:0]}
	d.dictFree = append(d.dictFree, slot)
	return out, nil
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
	if !ok || v < 0 || v > maxSize {
		return 0, d.fail("%q is no size in bytes: damaged", keyNames[key])
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
			if v, ok := d.signed(d.value(item(0), "real_size")); ok && v >= 0 && v <= maxSize {
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
	t := Trace{store: d.events}
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
		t.ranges, t.n = []eventRange{{first.n(), n, 0}}, n
		return t, nil
	}
	for i := range n {
		e := item(i)
		if e.tag() != tagEvent {
			return t, fmt.Errorf("entry %d is none: damaged", i)
		}
		if k := len(t.ranges); k > 0 && t.ranges[k-1].from+t.ranges[k-1].n == e.n() {
			t.ranges[k-1].n++
		} else {
			t.ranges = append(t.ranges, eventRange{e.n(), 1, t.n})
		}
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
			if n, ok := d.signed(v); ok && n > 0 && n <= maxSize {
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
				if idx := roundupIndexOf(d.stringOf(div[j])); idx >= 0 && ok && n >= 0 && n <= maxSize {
					s.RoundupPower2[idx] = n
				}
			}
		}
	}
}
