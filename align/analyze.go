package align

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"nsysmem/internal/await"
	"nsysmem/nsysdb"
)

// maxProcs bounds the processes of one report; what belongs to further ones is counted with the last.
const maxProcs = 4096

// An analysis is the work on one report.
type analysis struct {
	db   *nsysdb.DB
	opts Options
	rep  *Report

	names       []string // of ranges
	domains     map[nsysdb.DomainID]string
	spans       []span
	pseudoNames map[string]int32
	threadNames map[int64]string

	mu     sync.Mutex // guards procs, byGPID and each process's tracks while tables are read at once
	procs  []*process
	byGPID map[int64]*process
	groups []group

	corr        [][]*corrMap        // by process: one for each part that saw calls of it
	allocNames  [][]map[int64]int32 // likewise: correlation id → nameId of allocating and freeing calls
	apiUse      []APIUse            // by span, then by process for calls without a range
	launchCount []int64             // likewise
	launches    []int64             // by process
	inclusive   map[*process][]int64
	callStats   map[callKey]*CallStat
	failed      []failedCall
	vmm         []int64 // cuMemCreate and alike, by process
	keepBlocks  bool    // blocks are wanted: for themselves, or as tensors
	keepNames   bool    // names of allocating and freeing calls are wanted

	firstTime, lastTime    int64 // ns; of API calls, ranges and the capture
	timed                  bool  // firstTime and lastTime are known
	memoryTime, kernelTime stretch
	copyTime               stretch
	memoryRows             int64

	warnedMu sync.Mutex // guards rep.Warnings and opts.Progress
}

// A group is a phase path or range name that details are summed by.
type group struct {
	path  string
	where Where
}

// Analyze aligns a report. It reads each event table once, unless its rows are out of order; API calls are read again
// where the launches show another main thread than was guessed, and they and the GPU work where iterations or phases are
// inferred.
//
//  1. Ranges are read, and for each thread the innermost range at any time is laid out.
//  2. API calls are read: each is joined to a range, and its place kept by correlation id.
//  3. Iterations are chosen among the families of ranges, by how many launches they hold. Where there are none, or no
//     phases inside them, they are searched in the GPU work and put among the ranges, and calls are joined anew.
//  4. Rows are made: iterations, their phases, and outermost ranges outside them.
//  5. Memory events, kernels and copies are read at once, each joined to its row through its call.
//  6. A snapshot's devices are found among the tracks, and its levels are swept past the same rows.
//  7. Sums are rolled up into the report.
//
// An error is a failure to read, a bad Options.Iteration, or a snapshot that is of another run; what the report lacks
// stands in Report.Collected.
func Analyze(ctx context.Context, db *nsysdb.DB, opts Options) (*Report, error) {
	a, re, err := newAnalysis(db, opts)
	if err != nil {
		return nil, err
	}
	if err := a.readRanges(ctx); err != nil {
		return nil, err
	}
	if err := a.iterate(ctx, re); err != nil {
		return nil, err
	}
	if err := a.readEvents(ctx); err != nil {
		return nil, err
	}
	if opts.Snapshot != nil { // joining reads no table, so that what goes on after an interrupt disturbs nobody
		if err := await.Call(ctx, a.joinSnapshot); err != nil {
			return nil, err
		}
	}
	a.assemble()
	return a.rep, nil
}

// newAnalysis begins an analysis with what is known without reading a table. The regular expression is that of
// Options.Iteration, nil for none.
func newAnalysis(db *nsysdb.DB, opts Options) (*analysis, *regexp.Regexp, error) {
	a := &analysis{db: db, opts: opts, byGPID: make(map[int64]*process), threadNames: make(map[int64]string)}
	var re *regexp.Regexp
	if opts.Iteration != "" {
		var err error
		if re, err = regexp.Compile(opts.Iteration); err != nil {
			return nil, nil, fmt.Errorf("align: iteration pattern %q: %w", opts.Iteration, err)
		}
	}
	meta := db.Meta()
	a.rep = &Report{Source: Source{Path: db.Path(), NsysVersion: meta.NsysVersion, SchemaVersion: meta.SchemaVersion,
		StartUTC: meta.StartUTC, OS: meta.OS, Driver: meta.Driver, CUDADriver: meta.CUDADriver, TimeShift: meta.TimeShift}}
	for _, t := range meta.Threads {
		a.threadNames[t.GlobalTID] = t.Name
	}
	a.collected(meta)
	a.keepNames = opts.Blocks || opts.Snapshot != nil
	a.keepBlocks = a.keepNames
	a.firstTime, a.lastTime = meta.CaptureStart, meta.CaptureEnd
	a.timed = a.lastTime > a.firstTime
	return a, re, nil
}

// readEvents reads memory events, kernels and copies at once.
func (a *analysis) readEvents(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := []func(context.Context) error{a.readMemory, a.readKernels, a.readCopies}
	errs := make(chan error, len(jobs))
	for _, job := range jobs {
		go func() {
			err := job(ctx)
			if err != nil {
				cancel()
			}
			errs <- err
		}()
	}
	var first error
	for range jobs {
		if err := <-errs; err != nil && (first == nil || first == context.Canceled) {
			first = err
		}
	}
	a.corr = nil // the largest that is kept of the calls, and of no more use
	return first
}

// process returns the process of a globalPid, made when first seen.
func (a *analysis) process(gpid int64) *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.byGPID[gpid]
	if p == nil {
		if len(a.procs) >= maxProcs {
			return a.procs[maxProcs-1]
		}
		p = newProcess(gpid, int32(len(a.procs)))
		for _, q := range a.db.Meta().Processes {
			if q.GlobalPID == gpid || q.GlobalPID == 0 && q.PID == p.pid {
				p.name = q.Name
			}
		}
		a.byGPID[gpid] = p
		a.procs = append(a.procs, p)
	}
	return p
}

// track returns a process's track of a device, made when first seen.
func (a *analysis) track(p *process, device int64) *track {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range p.tracks {
		if t.device == device {
			return t
		}
	}
	t := &track{proc: p, device: device, levels: make(map[LevelKind]*levelSweep)}
	p.tracks = append(p.tracks, t)
	return t
}

// allTracks are the tracks made so far, while tables may be read at once.
func (a *analysis) allTracks() []*track {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*track
	for _, p := range a.procs {
		out = append(out, p.tracks...)
	}
	return out
}

// firstTrack returns the track of a process's lowest device, device 0 where it has none.
func (a *analysis) firstTrack(p *process) *track {
	a.mu.Lock()
	device := int64(0)
	for i, t := range p.tracks {
		if i == 0 || t.device < device {
			device = t.device
		}
	}
	a.mu.Unlock()
	return a.track(p, device)
}

// corrViews gives one goroutine its own view of all correlation ids.
func (a *analysis) corrViews() [][]*corrMap {
	out := make([][]*corrMap, len(a.corr))
	for i, ms := range a.corr {
		for _, m := range ms {
			out[i] = append(out[i], m.reader())
		}
	}
	return out
}

// lookup finds the place of a call of a process.
func lookup(views [][]*corrMap, p *process, corr int64) (place, bool) {
	if corr <= 0 || int(p.index) >= len(views) {
		return placeOf(-1, wayNone), false
	}
	for _, m := range views[p.index] {
		if v, ok := m.get(corr); ok {
			return place(v), true
		}
	}
	return placeOf(-1, wayNone), false
}

// sawTime widens the time of the report.
func (a *analysis) sawTime(first, last int64) {
	if !a.timed {
		a.firstTime, a.lastTime, a.timed = first, last, true
	}
	a.firstTime, a.lastTime = min(a.firstTime, first), max(a.lastTime, last)
}

// A stretch is the time that some events span, gathered by one goroutine.
type stretch struct {
	first, last int64 // ns
	any         bool
}

func (s *stretch) add(first, last int64) {
	if !s.any {
		s.first, s.last, s.any = first, last, true
	}
	s.first, s.last = min(s.first, first), max(s.last, last)
}

func (a *analysis) warn(w Warning) {
	a.warnedMu.Lock()
	defer a.warnedMu.Unlock()
	a.rep.Warnings = append(a.rep.Warnings, w)
}

// readRanges reads the NVTX ranges and lays out each thread.
func (a *analysis) readRanges(ctx context.Context) error {
	nv, err := a.db.NVTX(ctx)
	if err != nil {
		return err
	}
	a.order(nv)
	a.names, a.domains = nv.Names, nv.Domains
	operators := a.operatorNames()
	library := make(map[nsysdb.DomainID]bool)
	for id, name := range nv.Domains {
		library[id] = libraryDomain.MatchString(name)
	}
	a.spans = make([]span, 0, len(nv.Ranges))
	open, damaged := int64(0), int64(0)
	for i := range nv.Ranges {
		r := &nv.Ranges[i]
		gpid := nsysdb.Process(r.TID)
		p := a.process(gpid)
		s := span{start: r.Start, end: r.End, name: r.Name, proc: p.index, domain: r.Domain, row: -1}
		if r.End == nsysdb.Null {
			s.end, s.open = maxTime, true
			open++
		}
		if r.Damaged {
			damaged++
		}
		a.sawTime(r.Start, max(r.Start, r.End)) // Null, the End of an open range, is below any time
		if clean := operators[r.Name]; clean >= 0 {
			s.operator, s.name = true, clean
		}
		s.library = library[nsysdb.DomainID{GlobalPID: gpid, Domain: r.Domain}] || libraryName.MatchString(a.names[s.name])
		s.operator = s.operator || s.library
		s.thread = p.thread(r.TID)
		s.thread.name = a.threadNames[r.TID]
		s.thread.ranges = append(s.thread.ranges, int32(len(a.spans)))
		a.spans = append(a.spans, s)
	}
	if damaged > 0 {
		a.warn(Warning{Code: DamagedRanges, Count: damaged})
	}
	if open > damaged {
		a.warn(Warning{Code: OpenRanges, Count: open - damaged})
	}
	for _, p := range a.procs {
		for _, t := range p.threads {
			t.helper = helperThread.MatchString(t.name)
			t.sortRanges(a.spans)
			t.segs = t.cut(a.spans, func(*span) bool { return true })
		}
		sort.Slice(p.threads, func(i, j int) bool { return p.threads[i].tid < p.threads[j].tid })
	}
	return nil
}

// order makes what follows independent of the order of the table's rows: processes are met by their ids, and an index
// of a name is its place in alphabetical order, names of rounds before all others. Of ranges that start and end at
// the same times the one with the lower index counts as the outer one.
func (a *analysis) order(nv *nsysdb.NVTX) {
	gpids := make([]int64, 0, 8)
	for i := range nv.Ranges {
		if g := nsysdb.Process(nv.Ranges[i].TID); len(gpids) == 0 || gpids[len(gpids)-1] != g {
			gpids = append(gpids, g)
		}
	}
	slices.Sort(gpids)
	for _, g := range slices.Compact(gpids) {
		a.process(g)
	}
	by := make([]int32, len(nv.Names))
	round := make([]bool, len(nv.Names))
	for i, name := range nv.Names {
		by[i], round[i] = int32(i), iterationWord.MatchString(name) && !phaseWord.MatchString(name)
	}
	slices.SortFunc(by, func(x, y int32) int {
		if round[x] != round[y] {
			if round[x] {
				return -1
			}
			return 1
		}
		return strings.Compare(nv.Names[x], nv.Names[y])
	})
	names, place := make([]string, len(by)), make([]int32, len(by))
	for k, i := range by {
		names[k], place[i] = nv.Names[i], int32(k)
	}
	nv.Names = names
	for i := range nv.Ranges {
		nv.Ranges[i].Name = place[nv.Ranges[i].Name]
	}
}

var operatorNumbers = regexp.MustCompile(`,?\s*\b(?:seq|op_id|op_ids|sizes|input_op_ids|sz)\s*=\s*(?:\[.*\]|[^,]*)`)

// operatorNames gives for each name the index of its form without running numbers, where it is an operator's; else -1.
func (a *analysis) operatorNames() []int32 {
	out := make([]int32, len(a.names))
	index := make(map[string]int32)
	for i := range out {
		out[i] = -1
		if name := a.names[i]; operatorName.MatchString(name) {
			clean := operatorNumbers.ReplaceAllString(name, "")
			if clean == "" {
				clean = name
			}
			k, ok := index[clean]
			if !ok {
				k = int32(len(a.names))
				a.names = append(a.names, clean)
				index[clean] = k
			}
			out[i] = k
		}
	}
	return out
}

func (a *analysis) domainName(s *span) string {
	return a.domains[nsysdb.DomainID{GlobalPID: a.procs[s.proc].gpid, Domain: s.domain}]
}

// inDomain says that a span is in the domain asked for: by name, or ":" for the default one; empty asks for any.
func (a *analysis) inDomain(s *span, domain string) bool {
	if domain == "" {
		return true
	}
	name := a.domainName(s)
	return name == domain || name == "" && (domain == ":" || domain == "default")
}

// collected says what the report holds, before anything is counted.
func (a *analysis) collected(meta *nsysdb.Meta) {
	db, c := a.db, &a.rep.Collected
	rows := func(t nsysdb.Table) bool { return !db.Missing(t) && db.Rows(t) > 0 }
	c.API = rows(nsysdb.API)
	c.Kernels = rows(nsysdb.Kernel) || rows(nsysdb.GraphTrace)
	c.Copies = c.Kernels || rows(nsysdb.Memcpy) || rows(nsysdb.Memset)
	c.Memory = rows(nsysdb.MemoryUsage) || meta.CollectMemory == nsysdb.On ||
		!db.Missing(nsysdb.MemoryUsage) && meta.CollectMemory != nsysdb.Off
	c.NVTX = db.HasNVTX() || meta.CollectNVTX == nsysdb.On
}
