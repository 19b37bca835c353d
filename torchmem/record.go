package torchmem

import (
	"strings"

	"nsysmem/torchmem/internal/sizes"
	"nsysmem/torchmem/pickle"
)

var actionByName = func() map[string]Action {
	m := make(map[string]Action)
	for a := Alloc; a < numActions; a++ {
		m[actionNames[a]] = a
	}
	return m
}()

// event builds an entry of a trace.
func (d *decoder) event(fields *pickle.Fields) (pickle.Value, error) {
	f := form{Fields: fields, d: d}
	e := TraceEvent{Action: actionByName[f.text(keyAction)]}
	addr := keyAddr
	if e.Action == OOM && f.Has(keyDeviceFree) {
		addr = keyDeviceFree
	}
	if e.Action != UserDefined && e.Action != Other { // what has no meaning there may be anything
		e.Size = f.size(keySize)
	}
	e.Addr = f.addr(addr)
	e.Stream = f.addr(keyStream)
	e.Time = f.time(keyTime)
	e.Note = f.textNo(keyMetadata)
	if f.err != nil {
		if d.sizes > sizes.MaxSum {
			return 0, f.err
		}
		// One entry that cannot be spoils itself, not the file: it keeps its place and says nothing.
		d.snap.OddEvents++
		e = TraceEvent{Time: e.Time}
	}
	e.Stack = d.stackOf(f.Get(keyFrames))
	return pickle.Object(kindEvent, d.events.add(e)), nil
}

// stateByName has the names of all versions: active_pending_free became active_awaiting_free in PyTorch 2.1.
var stateByName = map[string]BlockState{
	"active_allocated":     Active,
	"active_awaiting_free": PendingFree,
	"active_pending_free":  PendingFree,
	"inactive":             Inactive,
	"inactive_split":       Inactive,
}

// block builds a block of a segment.
func (d *decoder) block(fields *pickle.Fields) (pickle.Value, error) {
	f := form{Fields: fields, d: d}
	b := SnapshotBlock{
		Size:      f.size(keySize),
		Addr:      f.addr(keyAddress),
		Requested: f.size(keyRequested),
		State:     stateByName[f.text(keyState)],
	}
	if f.err != nil {
		return 0, f.err
	}
	frames := f.Get(keyFrames)
	// Before PyTorch 2.1 a block had a list of its allocations in place of frames, the latest first.
	if history, _ := d.List(f.Get(keyHistory)); history.Len() > 0 {
		last := history.At(0)
		if n, ok := d.Int(d.Lookup(last, "real_size")); b.Requested == 0 && ok && n >= 0 && n <= sizes.Max {
			b.Requested = n
		}
		if frames == 0 {
			frames = d.Lookup(last, "frames")
		}
	}
	b.Stack = d.stackOf(frames)
	d.blocks = append(d.blocks, b)
	return pickle.Object(kindBlock, len(d.blocks)-1), nil
}

// segment builds a segment.
func (d *decoder) segment(fields *pickle.Fields) (pickle.Value, error) {
	f := form{Fields: fields, d: d}
	s := Segment{
		Size:       f.size(keyTotalSize),
		Allocated:  f.size(keyAllocated),
		Addr:       f.addr(keyAddress),
		Stream:     f.addr(keyStream),
		Small:      f.text(keySegmentType) == "small",
		Expandable: f.int(keyExpandable) != 0,
	}
	if s.Addr+uint64(s.Size) < s.Addr {
		f.fail("a segment lies beyond the end of the address space: damaged")
	}
	dev := f.int(keyDevice)
	if dev < 0 || dev > maxDevices {
		f.fail("device %d of a segment cannot be: damaged", dev)
	}
	s.Device = int(dev)
	if id, _ := d.List(f.Get(keyPoolID)); id.Len() == 2 {
		s.PoolID[0], _ = d.Int(id.At(0))
		s.PoolID[1], _ = d.Int(id.At(1))
	}
	f.blocks(&s)
	if f.err != nil {
		return 0, f.err
	}
	s.Stack = d.stackOf(f.Get(keyFrames))
	d.snap.Segments = append(d.snap.Segments, s)
	return pickle.Object(kindSegment, len(d.snap.Segments)-1), nil
}

// blocks fills the blocks of a segment, which lie in it by address, one after another.
func (f *form) blocks(s *Segment) {
	d := f.d
	list, ok := d.List(f.Get(keyBlocks))
	if !ok {
		f.fail("the blocks of a segment are no list: damaged")
	}
	// A list may be named many times in few bytes, but a block lies in one segment.
	if d.placed += list.Len(); d.placed > len(d.blocks) {
		f.fail("a block stands in two segments: damaged")
	}
	if f.err != nil {
		return
	}
	s.Blocks = make([]SnapshotBlock, 0, list.Len())
	next := s.Addr
	for i := range list.Len() {
		n, ok := list.At(i).Object(kindBlock)
		if !ok {
			f.fail("a block of a segment is none: damaged")
			return
		}
		b := d.blocks[n]
		if b.Addr == 0 { // before PyTorch 2.1 blocks had no address
			b.Addr = next
		}
		at := b.Addr - s.Addr
		if b.Addr < next || at > uint64(s.Size) || uint64(b.Size) > uint64(s.Size)-at {
			f.fail("block %#x does not fit into its segment: damaged", b.Addr)
			return
		}
		next = b.Addr + uint64(b.Size)
		s.Blocks = append(s.Blocks, b)
	}
}

// annotation builds an annotation.
func (d *decoder) annotation(fields *pickle.Fields) (pickle.Value, error) {
	f := form{Fields: fields, d: d}
	d.snap.Annotations = append(d.snap.Annotations, Annotation{
		Time: f.time(keyTime), Name: f.text(keyName), Stage: f.text(keyStage), Device: f.int(keyDevice),
	})
	return pickle.Object(kindNote, len(d.snap.Annotations)-1), nil
}

// settings takes the dict of allocator_settings, which snapshots have since PyTorch 2.1.
func (d *decoder) settings(v pickle.Value) {
	s := &d.snap.Settings
	pairs := d.Pairs(v)
	s.Known = len(pairs) > 0
	for i := 0; i < len(pairs); i += 2 {
		key, v := d.Text(pairs[i]), pairs[i+1]
		n, isInt := d.Int(v)
		switch {
		case strings.HasSuffix(key, "ALLOC_CONF"):
			if text := d.Text(v); text != "" {
				s.Conf = text
			}
		case key == "max_split_size" && isInt && n > 0 && n <= sizes.Max: // -1 for no limit
			s.MaxSplitSize = n
		case key == "garbage_collection_threshold":
			s.GCThreshold, _ = d.Float(v)
		case key == "expandable_segments":
			s.Expandable = n != 0
		case key == "graph_capture_record_stream_reuse":
			s.GraphReuse = true
		case key == "roundup_power2_divisions":
			d.roundup(v)
		}
	}
}

// roundup takes the divisions by size in MiB.
func (d *decoder) roundup(v pickle.Value) {
	pairs := d.Pairs(v)
	for i := 0; i < len(pairs); i += 2 {
		n, ok := d.Int(pairs[i+1])
		if k := sizes.IntervalOf(d.Text(pairs[i])); k >= 0 && ok && n >= 0 && n <= sizes.Max {
			d.snap.Settings.RoundupPower2[k] = n
		}
	}
}
