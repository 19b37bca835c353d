package torchmem

// An Action is what one entry of a trace says.
type Action uint8

// The actions, each with the name that a snapshot gives it.
const (
	Other         Action = iota // a name that is not in this list
	Alloc                       // alloc: a block was handed out
	FreeRequested               // free_requested: the program gave it back
	FreeCompleted               // free_completed: its last use by a stream is over, it can be handed out again
	SegmentAlloc                // segment_alloc: cudaMalloc
	SegmentFree                 // segment_free: cudaFree
	SegmentMap                  // segment_map: memory mapped into an expandable segment
	SegmentUnmap                // segment_unmap: memory taken out of one
	OOM                         // oom: a request that could not be served
	Snapshotted                 // snapshot: a snapshot was taken
	UserDefined                 // user_defined: the program marked a region; never an allocation
	numActions
)

var actionNames = [numActions]string{"other", "alloc", "free_requested", "free_completed", "segment_alloc",
	"segment_free", "segment_map", "segment_unmap", "oom", "snapshot", "user_defined"}

// String is the name that a snapshot gives the action.
func (a Action) String() string {
	if a < numActions {
		return actionNames[a]
	}
	return "other"
}

// A TraceEvent is one entry of a device's trace. Five million of them must fit into memory beside their replay, so it
// holds ids where text would stand.
type TraceEvent struct {
	Time   int64  // ns since 1970, in whole µs; 0 where the snapshot has no times
	Addr   uint64 // address; of OOM, the bytes that were free on the device
	Size   int64  // bytes, as requested; of segment events, the segment's or the mapped part's size
	Stream uint64 // CUDA stream handle; 0 is the default stream
	Stack  StackID
	Note   uint32 // user metadata, for Snapshot.Text; 0 for none
	Action Action
}

// A Trace is the history of one device. The zero value, and a nil one, has no entries.
type Trace struct {
	store *eventStore
	from  int // number of the first entry in store
	n     int
}

// TraceOf is a trace of the given entries.
func TraceOf(events []TraceEvent) Trace {
	st := &eventStore{}
	for _, e := range events {
		st.add(e)
	}
	return Trace{store: st, n: st.n}
}

// Len is the number of entries.
func (t *Trace) Len() int {
	if t == nil {
		return 0
	}
	return t.n
}

// At is entry i, counted from 0; the zero entry where there is none.
func (t *Trace) At(i int) TraceEvent {
	if i < 0 || i >= t.Len() {
		return TraceEvent{}
	}
	return *t.store.at(t.from + i)
}

// Each calls f with every entry in order until it returns false.
func (t *Trace) Each(f func(i int, e *TraceEvent) bool) {
	for i := range t.Len() {
		if !f(i, t.store.at(t.from+i)) {
			return
		}
	}
}

// eventChunk is the number of entries of one piece of an eventStore.
const eventChunk = 1 << 14

// An eventStore holds entries in pieces of one size. A slice that grows by copying would need twice the memory for a
// while, and the largest snapshots are the ones that matter here.
type eventStore struct {
	chunks [][]TraceEvent
	n      int
}

func (s *eventStore) at(i int) *TraceEvent { return &s.chunks[i/eventChunk][i%eventChunk] }

func (s *eventStore) add(e TraceEvent) int {
	if s.n == len(s.chunks)*eventChunk {
		var chunk []TraceEvent
		if s.n > 0 { // a small snapshot should not pay for a whole piece
			chunk = make([]TraceEvent, 0, eventChunk)
		}
		s.chunks = append(s.chunks, chunk)
	}
	c := &s.chunks[s.n/eventChunk]
	*c = append(*c, e)
	s.n++
	return s.n - 1
}
