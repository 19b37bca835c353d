package align

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"nsysmem/align/period"
	"nsysmem/nsysdb"
)

// maxOps bounds the GPU operations of all processes that iterations are searched in: a quarter of a gigabyte of them.
const maxOps = 1 << 22

// infer finds iterations and phases in the GPU work of the processes that lack ranges for them, and puts what it finds
// among their ranges. It tells whether it found any, so that calls must be joined anew.
func (a *analysis) infer(ctx context.Context, chosen map[*process]*family) (bool, error) {
	want := make(map[*process]bool)
	for _, p := range a.procs {
		switch f := chosen[p]; {
		case a.launches[p.index] == 0 && a.db.Missing(nsysdb.Kernel) && a.db.Missing(nsysdb.GraphTrace):
		case f == nil && a.opts.Iteration == "", f != nil && !a.hasPhases(f), a.opts.Infer == InferAlways:
			want[p] = true
		}
	}
	if a.opts.Infer == InferOff || len(want) == 0 {
		return false, nil
	}
	ops, err := a.readOps(ctx, want)
	if err != nil {
		return false, err
	}
	found := false
	for _, p := range a.procs {
		if !want[p] {
			continue
		}
		res := period.Result{Why: fmt.Sprintf("more than %d GPU operations, too many to search for a period", maxOps)}
		list := ops[p]
		if list != nil {
			res = period.Find(list.ops)
		}
		p.found = &res
		if a.opts.Infer == InferAlways && list != nil {
			p.ops = list
		}
		switch f := chosen[p]; {
		case f == nil && a.opts.Iteration == "":
			p.from.Why = res.Why
			if len(res.Iterations) > 0 {
				a.pseudoIterations(p, list, &res)
				found = true
			}
		case f != nil && !a.hasPhases(f) && a.pseudoPhases(p, f, &res):
			found = true
		}
	}
	return found, nil
}

// hasPhases says that ranges begin inside the members of a family, other than a library's.
func (a *analysis) hasPhases(f *family) bool {
	k := 0
	for _, id := range f.thread.ranges {
		s := &a.spans[id]
		for k < len(f.members) && a.spans[f.members[k]].end <= s.start {
			k++
		}
		if k == len(f.members) {
			return false
		}
		if id != f.members[k] && !s.library && s.start >= a.spans[f.members[k]].start {
			return true
		}
	}
	return false
}

// An opList is the GPU operations of a process in launch order.
type opList struct {
	ops     []period.Op
	threads []int64 // by Op.Thread: globalTid
	kernels []int32 // by operation: kernels in it
}

// rawOp is an operation before its launch is known.
type rawOp struct {
	key, loose uint64
	kind       uint64
	stream     int32
	flags      period.Flags
	class      period.Class
	kernels    int32
}

// readOps reads the GPU operations of some processes and joins them to their launches. A process with too many of them
// has none.
func (a *analysis) readOps(ctx context.Context, want map[*process]bool) (map[*process]*opList, error) {
	raw := make(map[*process]map[int64]rawOp)
	total := int64(0)
	for _, t := range []nsysdb.Table{nsysdb.Kernel, nsysdb.Memcpy, nsysdb.Memset, nsysdb.GraphTrace} {
		if !a.db.Missing(t) {
			total += a.db.Rows(t)
		}
	}
	if total > maxOps {
		return nil, nil
	}
	for p := range want {
		raw[p] = make(map[int64]rawOp)
	}
	if err := a.rawOps(ctx, raw); err != nil {
		return nil, err
	}
	return a.launchOps(ctx, raw)
}

// rawOps reads kernels, copies, memsets and graphs by correlation id. All kernels of one graph launch share its id and
// are one operation.
func (a *analysis) rawOps(ctx context.Context, raw map[*process]map[int64]rawOp) error {
	type named struct {
		hash   uint64
		kind   uint64
		flags1 period.Flags // for one block
		flags  period.Flags // for more
	}
	names := make(map[int64]named)
	name := func(id int64) named {
		n, ok := names[id]
		if !ok {
			s := a.db.String(id)
			n = named{hashText(s), period.KindOf(s), period.FlagsOf(s, 1), period.FlagsOf(s, 2)}
			names[id] = n
		}
		return n
	}
	add := func(gpid, corr int64, op rawOp) {
		m := raw[a.process(nsysdb.Process(gpid))]
		if m == nil || corr <= 0 {
			return
		}
		old, ok := m[corr]
		if ok {
			// The order in which a graph's kernels come is not its own: sums do not depend on it.
			op.key, op.loose, op.flags = op.key+old.key, op.loose+old.loose, op.flags|old.flags
			op.kind = 0
			op.class, op.kernels = period.Graph, op.kernels+old.kernels
		}
		m[corr] = op
	}
	read := func(t nsysdb.Table, cols []nsysdb.Column, row func(c [][]int64, i int) rawOp) error {
		if a.db.Missing(t) {
			return nil
		}
		cols = append([]nsysdb.Column{nsysdb.GlobalPID, nsysdb.CorrelationID, nsysdb.StreamID}, cols...)
		return a.db.Scan(ctx, nsysdb.Scan{Table: t, Columns: cols}, func(b *nsysdb.Batch) error {
			if b.Cols[1] == nil {
				return nil
			}
			for i := 0; i < b.Rows; i++ {
				gpid := int64(0)
				if b.Cols[0] != nil {
					gpid = b.Cols[0][i]
				}
				op := row(b.Cols[3:], i)
				if b.Cols[2] != nil {
					op.stream = int32(b.Cols[2][i])
				}
				add(gpid, b.Cols[1][i], op)
			}
			return nil
		})
	}
	at := func(c []int64, i int) uint64 {
		if c == nil {
			return 0
		}
		return uint64(c[i])
	}
	err := read(nsysdb.Kernel, []nsysdb.Column{nsysdb.FullNameID, nsysdb.NameID, nsysdb.GridX, nsysdb.GridY, nsysdb.GridZ,
		nsysdb.BlockX, nsysdb.BlockY, nsysdb.BlockZ}, func(c [][]int64, i int) rawOp {
		id := c[0]
		if id == nil {
			id = c[1]
		}
		var n named
		if id != nil {
			n = name(id[i])
		}
		h := n.hash
		for _, d := range c[2:8] {
			h = mix(h, at(d, i))
		}
		blocks := at(c[2], i) * at(c[3], i) * at(c[4], i)
		f := n.flags
		if blocks <= 1 {
			f = n.flags1
		}
		return rawOp{key: h, loose: n.hash, kind: n.kind, flags: f, class: period.Kernel, kernels: 1}
	})
	if err != nil {
		return err
	}
	err = read(nsysdb.Memcpy, []nsysdb.Column{nsysdb.CopyKind, nsysdb.Bytes}, func(c [][]int64, i int) rawOp {
		class := period.DtoD
		switch k := int64(at(c[0], i)); k {
		case nsysdb.CopyHtoD, nsysdb.CopyHtoA:
			class = period.HtoD
		case nsysdb.CopyDtoH, nsysdb.CopyAtoH:
			class = period.DtoH
		}
		loose := mix(1, uint64(class))
		return rawOp{key: mix(loose, sizeClass(at(c[1], i))), loose: loose, class: class}
	})
	if err != nil {
		return err
	}
	err = read(nsysdb.Memset, []nsysdb.Column{nsysdb.Bytes}, func(c [][]int64, i int) rawOp {
		return rawOp{key: mix(2, sizeClass(at(c[0], i))), loose: 2, class: period.Memset}
	})
	if err != nil {
		return err
	}
	return read(nsysdb.GraphTrace, []nsysdb.Column{nsysdb.GraphID}, func(c [][]int64, i int) rawOp {
		h := mix(3, at(c[0], i))
		return rawOp{key: h, loose: h, class: period.Graph}
	})
}

// launchOps joins the operations to the API calls that launched them.
func (a *analysis) launchOps(ctx context.Context, raw map[*process]map[int64]rawOp) (map[*process]*opList, error) {
	out := make(map[*process]*opList)
	for p := range raw {
		out[p] = &opList{}
	}
	if a.db.Missing(nsysdb.API) {
		return out, nil
	}
	hints := make(map[int64]*apiThread)
	err := a.db.Scan(ctx, nsysdb.Scan{Table: nsysdb.API, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.End, nsysdb.GlobalTID,
		nsysdb.CorrelationID}}, func(b *nsysdb.Batch) error {
		c := b.Cols
		if c[0] == nil || c[2] == nil || c[3] == nil {
			return nil
		}
		var last *apiThread
		for i := 0; i < b.Rows; i++ {
			if last == nil || last.tid != c[2][i] {
				last = hints[c[2][i]]
				if last == nil {
					last = &apiThread{tid: c[2][i], proc: a.process(nsysdb.Process(c[2][i]))}
					if t := last.proc.find(last.tid); t != nil {
						last.own = cursor{segs: t.segs, pos: -1}
					}
					hints[c[2][i]] = last
				}
			}
			m := raw[last.proc]
			r, ok := m[c[3][i]]
			if !ok {
				continue
			}
			delete(m, c[3][i])
			end := c[0][i]
			if c[1] != nil {
				end = max(end, c[1][i])
			}
			list := out[last.proc]
			op := period.Op{Key: r.key, Loose: r.loose, Kind: r.kind, Stream: r.stream, Start: c[0][i], End: end, Class: r.class, Flags: r.flags, Thread: list.thread(last.tid)}
			op.Flags |= a.hint(last.own.at(op.Start))
			list.ops = append(list.ops, op)
			list.kernels = append(list.kernels, r.kernels)
		}
		return nil
	})
	for _, l := range out {
		l.sort()
	}
	return out, err
}

// hint is what an operator's range says of the work in it.
func (a *analysis) hint(span int32) period.Flags {
	if span < 0 || !a.spans[span].operator {
		return 0
	}
	switch name := a.names[a.spans[span].name]; {
	case strings.Contains(name, "Backward"):
		return period.Backward
	case strings.HasPrefix(name, "Optimizer."):
		return period.Optimizer
	case strings.HasPrefix(name, "aten::"):
		return period.Forward
	}
	return 0
}

func (l *opList) thread(tid int64) int32 {
	for i, t := range l.threads {
		if t == tid {
			return int32(i)
		}
	}
	l.threads = append(l.threads, tid)
	return int32(len(l.threads) - 1)
}

// sort puts the operations in launch order.
func (l *opList) sort() {
	order := make([]int, len(l.ops))
	sorted := true
	for i := range order {
		order[i] = i
		sorted = sorted && (i == 0 || l.ops[i-1].Start < l.ops[i].Start)
	}
	if !sorted {
		slices.SortFunc(order, func(i, j int) int {
			x, y := &l.ops[i], &l.ops[j]
			return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(l.threads[x.Thread], l.threads[y.Thread]),
				cmp.Compare(x.End, y.End), cmp.Compare(x.Key, y.Key))
		})
		ops, kernels := make([]period.Op, len(order)), make([]int32, len(order))
		for k, i := range order {
			ops[k], kernels[k] = l.ops[i], l.kernels[i]
		}
		l.ops, l.kernels = ops, kernels
	}
	// Threads are numbered by their own ids, so that the numbers do not depend on the rows' order.
	ids := slices.Clone(l.threads)
	slices.Sort(ids)
	for i := range l.ops {
		k, _ := slices.BinarySearch(ids, l.threads[l.ops[i].Thread])
		l.ops[i].Thread = int32(k)
	}
	l.threads = ids
}

// sizeClass is the binary logarithm of a size: copies of about one size are one class.
func sizeClass(n uint64) uint64 {
	k := uint64(0)
	for n > 0 {
		n >>= 1
		k++
	}
	return k
}

// mix is a hash of two numbers (the finalizer of splitmix64).
func mix(h, v uint64) uint64 {
	h ^= v + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
