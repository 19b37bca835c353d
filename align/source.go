package align

import (
	"regexp"
	"sync"
	"sync/atomic"

	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// A source is what all stages read from: the export, and how it is to be read. Nothing of it changes meanwhile, but that
// processes are added as they are met.
type source struct {
	db          *nsysdb.DB
	opts        Options
	iteration   *regexp.Regexp // of Options.Iteration; nil for none
	collected   Collected
	capture     stretch          // what was recorded, as far as the export tells
	threadNames map[int64]string // by globalTid
	processes   *processes
	replays     map[snapshotDevice]*torchmem.Replay

	telling sync.Mutex // Options.Progress is called by one goroutine at a time
}

// newSource takes in what is known without reading a table. Its errors are those of wrong options.
func newSource(db *nsysdb.DB, opts Options) (*source, error) {
	iteration, err := opts.check()
	if err != nil {
		return nil, err
	}
	meta := db.Meta()
	s := &source{db: db, opts: opts, iteration: iteration, collected: collected(db), threadNames: make(map[int64]string),
		capture:   stretch{first: meta.CaptureStart, last: meta.CaptureEnd, any: meta.CaptureEnd > meta.CaptureStart},
		processes: newProcesses(meta)}
	for _, t := range meta.Threads {
		s.threadNames[t.GlobalTID] = t.Name
	}
	return s, nil
}

// collected says what the report holds, before anything is counted. Events count for more than settings: nsys 2025.6 and
// later write COLLECT_CUDA_TRACE=false as a default for processes that were traced (observed).
func collected(db *nsysdb.DB) Collected {
	meta := db.Meta()
	rows := func(t nsysdb.Table) bool { return db.Rows(t) > 0 }
	kernels := rows(nsysdb.Kernel) || rows(nsysdb.GraphTrace)
	return Collected{
		API:     rows(nsysdb.API),
		Kernels: kernels,
		Copies:  kernels || rows(nsysdb.Memcpy) || rows(nsysdb.Memset),
		Memory: rows(nsysdb.MemoryUsage) || meta.CollectMemory == nsysdb.On ||
			!db.Missing(nsysdb.MemoryUsage) && meta.CollectMemory != nsysdb.Off,
		NVTX: db.HasNVTX() || meta.CollectNVTX == nsysdb.On,
	}
}

// believe corrects what was collected by what the calls show. A launch that succeeds makes the GPU work, and an allocation
// of device memory leaves an event; where there is none at all, the profiler could not trace the GPU, whatever its settings
// say. Of processes of which nothing is known it says nothing.
func (s *source) believe(c *calls) {
	var launches, allocs int64
	for i := range c.proofs {
		p := &c.proofs[i]
		launches, allocs = launches+int64(p.kernels)+int64(p.graphs), allocs+int64(p.allocs)
	}
	if !s.collected.Kernels {
		s.collected.Launches = launches
	}
	if s.collected.Memory && s.db.Rows(nsysdb.MemoryUsage) == 0 && allocs > 0 {
		s.collected.Memory, s.collected.Allocs = false, allocs
	}
}

// A snapshotDevice is a device of one of Options.Snapshots.
type snapshotDevice struct {
	snapshot *Snapshot
	device   int
}

// replay works out what a device of a snapshot's trace comes to, once. Its callers come one after the other.
func (s *source) replay(of *Snapshot, device int) (*torchmem.Replay, error) {
	key := snapshotDevice{of, device}
	if r := s.replays[key]; r != nil {
		return r, nil
	}
	r, err := of.Data.Replay(device)
	if err != nil {
		return nil, err
	}
	if s.replays == nil {
		s.replays = make(map[snapshotDevice]*torchmem.Replay)
	}
	s.replays[key] = r
	return r, nil
}

// wantsBlocks says that the options ask for blocks: for themselves, or as tensors.
func (s *source) wantsBlocks() bool { return s.opts.Blocks || s.hasSnapshots() }

// hasChains says that calls may name the call chains that led to them: an export has the column always, and the chains where
// they were recorded.
func (s *source) hasChains() bool {
	return s.db.Rows(nsysdb.CallChain) > 0 && s.db.Has(nsysdb.CallChain, chainColumns[:chainNeeded]...)
}

// progress counts the rows of one table and tells of them now and then.
type progress struct {
	src   *source
	stage string
	total int64 // rows
	rows  atomic.Int64
	told  atomic.Int64
}

// progressRows is how many rows are read between two calls of Options.Progress.
const progressRows = 1 << 18

func (s *source) progress(stage string, t nsysdb.Table) *progress {
	return &progress{src: s, stage: stage, total: s.db.Rows(t)}
}

func (p *progress) add(rows int) {
	n := p.rows.Add(int64(rows))
	tell := p.src.opts.Progress
	if tell == nil {
		return
	}
	if last := p.told.Load(); n-last >= progressRows && p.told.CompareAndSwap(last, n) {
		p.src.telling.Lock()
		defer p.src.telling.Unlock()
		tell(p.stage, n, p.total)
	}
}

// A stretch is the time from the first to the last of some events, both inclusive.
type stretch struct {
	first, last int64 // ns
	any         bool  // there is an event; else first and last are a guess
}

func (s *stretch) add(first, last int64) {
	if !s.any {
		s.first, s.last, s.any = first, last, true
	}
	s.first, s.last = min(s.first, first), max(s.last, last)
}

// with is a stretch widened by others.
func (s stretch) with(others ...stretch) stretch {
	for _, o := range others {
		if o.any {
			s.add(o.first, o.last)
		}
	}
	return s
}
