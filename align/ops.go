package align

import (
	"cmp"
	"context"
	"hash/fnv"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"nsysmem/align/period"
	"nsysmem/nsysdb"
)

// maxOps bounds the GPU operations of all processes that iterations are searched in: a quarter of a gigabyte of them.
const maxOps = 1 << 22

// An opList is the GPU operations of a process in launch order.
type opList struct {
	ops     []period.Op
	threads []int64 // by Op.Thread: globalTid
	kernels []int32 // by operation: kernels in it
	begun   int64   // ns; start of the first call by which a program sets CUDA up; maxTime for none
}

// begins says that the recording holds the program's beginning, rather than a window of it.
func (l *opList) begins() bool { return len(l.ops) > 0 && l.begun <= l.ops[0].Start }

// setUpCall matches the calls by which a program sets CUDA up, before it launches anything; one in the midst of its work makes
// few of these (observed in recordings from the start and in such of a capture range).
var setUpCall = regexp.MustCompile(`^cu(?:da)?(?:Init|ModuleGetLoadingMode|GetProcAddress|ModuleLoad|LibraryLoad|CtxCreate|DevicePrimaryCtx|GetDeviceProp|` +
	`Malloc|MemAlloc|HostAlloc|MemHostAlloc|MemCreate|StreamCreate)`)

// A rawOp is an operation before its launch is known.
type rawOp struct {
	key, loose uint64
	kind       uint64
	stream     int32
	flags      period.Flags
	class      period.Class
	kernels    int32
}

// opTables are those that hold GPU operations.
var opTables = []nsysdb.Table{nsysdb.Kernel, nsysdb.Memcpy, nsysdb.Memset, nsysdb.GraphTrace}

// readOps reads the GPU operations of some processes and joins them to their launches. Where there are too many of them it
// gives none at all.
func readOps(ctx context.Context, src *source, j *joiner, want map[*process]bool) (map[*process]*opList, error) {
	total := int64(0)
	for _, t := range opTables {
		total += src.db.Rows(t)
	}
	if total > maxOps {
		return nil, nil
	}
	raw := rawOps{src: src, byProc: make(map[*process]map[int64]rawOp), names: make(map[int64]kernelName)}
	for p := range want {
		raw.byProc[p] = make(map[int64]rawOp)
	}
	if err := raw.read(ctx); err != nil {
		return nil, err
	}
	return raw.launched(ctx, j)
}

// rawOps are the operations of some processes by correlation id. All kernels of one graph launch share its id and are one
// operation.
type rawOps struct {
	src    *source
	byProc map[*process]map[int64]rawOp
	names  map[int64]kernelName
}

// A kernelName is what a kernel's name tells.
type kernelName struct {
	hash   uint64
	kind   uint64
	single period.Flags // of a kernel with one block
	flags  period.Flags // of one with more
}

func (r *rawOps) name(id int64) kernelName {
	n, ok := r.names[id]
	if !ok {
		s := r.src.db.String(id)
		h := fnv.New64a()
		h.Write([]byte(s)) // never fails
		n = kernelName{h.Sum64(), period.KindOf(s), period.FlagsOf(s, 1), period.FlagsOf(s, 2)}
		r.names[id] = n
	}
	return n
}

// Seeds of the hashes of operations that are no kernels, so that those of two kinds never meet.
const (
	seedCopy   = 1
	seedMemset = 2
	seedGraph  = 3
)

// read reads kernels, copies, memsets and graphs.
func (r *rawOps) read(ctx context.Context) error {
	name := nsysdb.FullNameID
	if !r.src.db.Has(nsysdb.Kernel, name) {
		name = nsysdb.NameID
	}
	named := r.src.db.Has(nsysdb.Kernel, name)
	kernel := []nsysdb.Column{name, nsysdb.GridX, nsysdb.GridY, nsysdb.GridZ, nsysdb.BlockX, nsysdb.BlockY, nsysdb.BlockZ}
	err := r.table(ctx, nsysdb.Kernel, kernel, func(c [][]int64, i int) rawOp {
		var n kernelName
		if named {
			n = r.name(c[0][i])
		}
		return kernelOp(n, c[1:], i)
	})
	if err != nil {
		return err
	}
	if err := r.table(ctx, nsysdb.Memcpy, []nsysdb.Column{nsysdb.CopyKind, nsysdb.Bytes}, copyOp); err != nil {
		return err
	}
	err = r.table(ctx, nsysdb.Memset, []nsysdb.Column{nsysdb.Bytes}, func(c [][]int64, i int) rawOp {
		return rawOp{key: mix(seedMemset, sizeClass(c[0][i])), loose: seedMemset, class: period.Memset}
	})
	if err != nil {
		return err
	}
	return r.table(ctx, nsysdb.GraphTrace, []nsysdb.Column{nsysdb.GraphID}, func(c [][]int64, i int) rawOp {
		h := mix(seedGraph, uint64(c[0][i]))
		return rawOp{key: h, loose: h, class: period.Graph}
	})
}

// table reads a table whose rows op makes operations of. A column that the table lacks reads as 0.
func (r *rawOps) table(ctx context.Context, t nsysdb.Table, cols []nsysdb.Column, op func(c [][]int64, i int) rawOp) error {
	cols = append([]nsysdb.Column{nsysdb.CorrelationID, nsysdb.GlobalPID, nsysdb.StreamID}, cols...)
	work := table{needed: 1, Scan: nsysdb.Scan{Table: t, Columns: cols}}
	return work.read(ctx, r.src.db, func(b *nsysdb.Batch) error {
		for i := range b.Rows {
			n := op(b.Cols[3:], i)
			n.stream = int32(b.Cols[2][i])
			r.add(b.Cols[1][i], b.Cols[0][i], n)
		}
		return nil
	})
}

func (r *rawOps) add(gpid, corr int64, op rawOp) {
	m := r.byProc[r.src.processes.of(gpid)]
	if m == nil || corr <= 0 {
		return
	}
	if old, ok := m[corr]; ok {
		// The order in which a graph's kernels come is not its own: sums do not depend on it.
		op.key, op.loose, op.flags = op.key+old.key, op.loose+old.loose, op.flags|old.flags
		op.kind = 0
		op.class, op.kernels = period.Graph, op.kernels+old.kernels
	}
	m[corr] = op
}

// kernelOp makes an operation of a kernel: its name, its grid (the first three columns) and its blocks (three more).
func kernelOp(n kernelName, c [][]int64, i int) rawOp {
	h := n.hash
	for _, d := range c {
		h = mix(h, uint64(d[i]))
	}
	flags := n.flags
	if uint64(c[0][i])*uint64(c[1][i])*uint64(c[2][i]) <= 1 {
		flags = n.single
	}
	return rawOp{key: h, loose: n.hash, kind: n.kind, flags: flags, class: period.Kernel, kernels: 1}
}

// copyOp makes an operation of a copy: its direction and about its size.
func copyOp(c [][]int64, i int) rawOp {
	class := period.DtoD
	switch c[0][i] {
	case nsysdb.CopyHtoD, nsysdb.CopyHtoA:
		class = period.HtoD
	case nsysdb.CopyDtoH, nsysdb.CopyAtoH:
		class = period.DtoH
	}
	loose := mix(seedCopy, uint64(class))
	op := rawOp{key: mix(loose, sizeClass(c[1][i])), loose: loose, class: class}
	if c[1][i] <= period.TinyCopy {
		op.flags = period.Tiny
	}
	return op
}

// launched joins the operations to the API calls that launched them, and takes those out.
func (r *rawOps) launched(ctx context.Context, j *joiner) (map[*process]*opList, error) {
	out := make(map[*process]*opList)
	for p := range r.byProc {
		out[p] = &opList{begun: maxTime}
	}
	var last *joinedThread
	setUp := make(map[int64]bool) // by nameId
	api := table{needed: 3, missing: map[nsysdb.Column]int64{nsysdb.End: nsysdb.Null},
		Scan: nsysdb.Scan{Table: nsysdb.API,
			Columns: []nsysdb.Column{nsysdb.Start, nsysdb.GlobalTID, nsysdb.CorrelationID, nsysdb.End, nsysdb.NameID}}}
	err := api.read(ctx, r.src.db, func(b *nsysdb.Batch) error {
		start, tid, corr, end, names := b.Cols[0], b.Cols[1], b.Cols[2], b.Cols[3], b.Cols[4]
		for i := range b.Rows {
			if last == nil || last.tid != tid[i] {
				last = j.known(tid[i])
			}
			m := r.byProc[last.proc]
			op, ok := m[corr[i]]
			if !ok {
				begin, ok := setUp[names[i]]
				if !ok {
					begin = setUpCall.MatchString(r.src.db.String(names[i]))
					setUp[names[i]] = begin
				}
				if l := out[last.proc]; begin && l != nil {
					l.begun = min(l.begun, start[i])
				}
				continue
			}
			delete(m, corr[i])
			out[last.proc].add(op, last, j.ranges.hint(last.own.at(start[i])), start[i], max(start[i], end[i]))
		}
		return nil
	})
	for _, l := range out {
		l.sort()
	}
	return out, err
}

// add appends an operation that a call from start to end launched on a thread.
func (l *opList) add(r rawOp, t *joinedThread, hint period.Flags, start, end int64) {
	thread := slices.Index(l.threads, t.tid)
	if thread < 0 {
		thread = len(l.threads)
		l.threads = append(l.threads, t.tid)
	}
	l.ops = append(l.ops, period.Op{Key: r.key, Loose: r.loose, Kind: r.kind, Stream: r.stream, Start: start, End: end,
		Class: r.class, Flags: r.flags | hint, Thread: int32(thread)})
	l.kernels = append(l.kernels, r.kernels)
}

// hint is what an operator's range says of the work in it.
func (r *ranges) hint(span int32) period.Flags {
	if span < 0 || !r.spans[span].operator {
		return 0
	}
	switch name := r.name(span); {
	case strings.Contains(name, "Backward"):
		return period.Backward
	case strings.HasPrefix(name, "Optimizer."):
		return period.Optimizer
	case strings.HasPrefix(name, "aten::"):
		return period.Forward
	}
	return 0
}

// sort puts the operations in launch order, and numbers threads by their own ids, so that neither depends on the order of
// the rows.
func (l *opList) sort() {
	order := make([]int, len(l.ops))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		x, y := &l.ops[i], &l.ops[j]
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(l.threads[x.Thread], l.threads[y.Thread]),
			cmp.Compare(x.End, y.End), cmp.Compare(x.Key, y.Key))
	})
	ids := slices.Sorted(slices.Values(l.threads))
	ops, kernels := make([]period.Op, len(order)), make([]int32, len(order))
	for k, i := range order {
		ops[k], kernels[k] = l.ops[i], l.kernels[i]
		thread, _ := slices.BinarySearch(ids, l.threads[ops[k].Thread])
		ops[k].Thread = int32(thread)
	}
	l.ops, l.kernels, l.threads = ops, kernels, ids
}

// sizeClass is the binary logarithm of a size: copies of about one size are one class.
func sizeClass(n int64) uint64 { return uint64(bits.Len64(uint64(n))) }
