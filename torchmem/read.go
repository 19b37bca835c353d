package torchmem

import (
	"fmt"
	"io"

	"nsysmem/torchmem/pickle"
)

// Options limit what Read may use.
type Options struct {
	MaxMemory int64 // bytes that a snapshot may take up while it is read, roughly; 0 for 4 GiB
}

const defaultMemory = 4 << 30 // bytes; what five million entries with their call stacks take is a third of that

// Read reads a snapshot: the pickle of torch.cuda.memory._dump_snapshot, in protocols 2 to 5, of any PyTorch version
// since the first that wrote one, or the bare list of segments of torch.cuda.memory_snapshot. It may be compressed with gzip,
// or lie alone in a zip archive; of the latter r must be an io.ReaderAt and an io.Seeker that stands at its beginning.
// Nothing in the file is run: opcodes that import or call are an error. Errors name the byte where reading stopped, not the file.
func Read(r io.Reader, opt Options) (*Snapshot, error) {
	s, err := read(r, opt)
	if err != nil {
		return nil, fmt.Errorf("torchmem: %w", err)
	}
	return s, nil
}

func read(r io.Reader, opt Options) (*Snapshot, error) {
	r, err := unpacked(r)
	if err != nil {
		return nil, err
	}
	d := newDecoder(r, opt)
	if err := d.checkHead(); err != nil {
		return nil, err
	}
	v, err := d.Run()
	if err != nil {
		return nil, err
	}
	if err := d.finish(v); err != nil {
		return nil, err
	}
	d.snap.texts = d.Texts()
	return d.snap, nil
}

// A decoder builds a snapshot while its pickle is read.
type decoder struct {
	*pickle.Machine
	snap   *Snapshot
	events *eventStore // not a part of the decoder, which goes when the snapshot is read
	blocks []SnapshotBlock
	placed int   // blocks that segments have
	sizes  int64 // sum of all sizes, bytes
	stacks stacks
}

// What the dicts of a snapshot become.
const (
	kindEvent   pickle.Kind = iota // number in decoder.events
	kindFrame                      // number in Snapshot.frames
	kindBlock                      // number in decoder.blocks
	kindSegment                    // number in Snapshot.Segments
	kindNote                       // number in Snapshot.Annotations
	kindStack                      // a StackID; lists of frames become one
)

func newDecoder(r io.Reader, opt Options) *decoder {
	if opt.MaxMemory <= 0 {
		opt.MaxMemory = defaultMemory
	}
	d := &decoder{events: &eventStore{}, snap: &Snapshot{stackAt: []uint32{0, 0}}, stacks: newStacks()}
	d.Machine = pickle.New(r, pickle.Options{
		MaxMemory: opt.MaxMemory,
		Keys:      keyNames[:],
		Held:      d.held,
		Shapes: []pickle.Shape{
			{Keys: pickle.Keys(keyAction), Build: d.event},
			{Keys: pickle.Keys(keyTotalSize, keyBlocks), Build: d.segment},
			{Keys: pickle.Keys(keyState, keySize), Build: d.block},
			{Keys: pickle.Keys(keyFilename), Build: d.frame},
			{Keys: pickle.Keys(keyName, keyLine), Build: d.frame},
			{Keys: pickle.Keys(keyStage, keyName), Build: d.annotation},
		},
	})
	return d
}

// held is an estimate of the bytes that the snapshot takes up so far. The factors are the sizes of what is held; a frame
// has two places, one of them in a map.
func (d *decoder) held() int64 {
	s := d.snap
	return int64(d.events.n)*48 + int64(cap(d.blocks)+d.placed)*40 + int64(len(s.frames))*100 + d.stacks.bytes +
		int64(cap(s.stacks)+cap(s.stackAt))*4 + int64(cap(s.Segments))*160 + int64(cap(s.Annotations))*64
}

// checkHead tells files that users take for snapshots from pickles.
func (d *decoder) checkHead() error {
	head, err := d.Peek(2)
	switch {
	case err != nil:
		return err
	case len(head) < 2:
		return fmt.Errorf("not a memory snapshot: the file has less than 2 bytes")
	case string(head) == "PK":
		return errNotSaved
	case head[0] == 0x1f && head[1] == 0x8b:
		return fmt.Errorf("gzip-compressed: unpack the snapshot first")
	case head[0] != pickle.Magic:
		return fmt.Errorf("not a pickle of protocol 2 to 5, so not a memory snapshot")
	}
	return nil
}

// finish makes the snapshot out of the value that the pickle left.
func (d *decoder) finish(v pickle.Value) error {
	if v.IsList() {
		return d.takeSegments(v)
	}
	segments := d.Lookup(v, "segments")
	if segments == 0 {
		return fmt.Errorf("a pickle, but no memory snapshot: it has no \"segments\"")
	}
	if err := d.takeSegments(segments); err != nil {
		return err
	}
	d.settings(d.Lookup(v, "allocator_settings"))
	return d.takeTraces(d.Lookup(v, "device_traces"))
}

// takeSegments leaves in the snapshot what the list of segments holds, in its order.
func (d *decoder) takeSegments(v pickle.Value) error {
	list, ok := d.List(v)
	if !ok {
		return fmt.Errorf("\"segments\" is no list: damaged, or no memory snapshot")
	}
	all := d.snap.Segments
	d.snap.Segments = make([]Segment, 0, min(list.Len(), len(all)))
	seen := make([]bool, len(all))
	for i := range list.Len() {
		n, ok := list.At(i).Object(kindSegment)
		if !ok {
			return fmt.Errorf("item %d of the segments is none: no memory snapshot", i)
		}
		if seen[n] {
			return fmt.Errorf("item %d of the segments stands there twice: damaged", i)
		}
		seen[n] = true
		d.snap.Segments = append(d.snap.Segments, all[n])
	}
	return nil
}

// takeTraces fills the traces of all devices. Before PyTorch 2.0 there were none.
func (d *decoder) takeTraces(v pickle.Value) error {
	list, _ := d.List(v)
	if list.Len() > maxDevices {
		return fmt.Errorf("traces of %d devices: damaged", list.Len())
	}
	entries := 0
	for i := range list.Len() {
		t, err := d.trace(list.At(i))
		if err != nil {
			return fmt.Errorf("trace of device %d: %w", i, err)
		}
		// A list may be named for many devices in few bytes, but an entry is of one device.
		if entries += t.Len(); entries > d.events.n {
			return fmt.Errorf("trace of device %d: "+
				"an entry stands there twice, or in the trace of another device: damaged", i)
		}
		d.snap.Traces = append(d.snap.Traces, t)
	}
	return nil
}

// trace is the trace that a list of entries is. The entries of one device stand one after another in every file that
// PyTorch writes, and are not copied then.
func (d *decoder) trace(v pickle.Value) (Trace, error) {
	list, ok := d.List(v)
	if !ok {
		return Trace{}, fmt.Errorf("no list: damaged")
	}
	if list.Len() > d.events.n {
		return Trace{}, fmt.Errorf("an entry stands there twice: damaged")
	}
	if first, ok := list.Run(); ok {
		from, ok := first.Object(kindEvent)
		if !ok {
			return Trace{}, fmt.Errorf("entry 0 is none: damaged")
		}
		return Trace{store: d.events, from: from, n: list.Len()}, nil
	}
	t := Trace{store: &eventStore{}}
	for i := range list.Len() {
		n, ok := list.At(i).Object(kindEvent)
		if !ok {
			return t, fmt.Errorf("entry %d is none: damaged", i)
		}
		t.store.add(*d.events.at(n))
		t.n++
	}
	return t, nil
}
