package torchmem

import (
	"fmt"
	"io"
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

// maxFields is how many keys and values of a dict are searched for one.
const maxFields = 2048

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
