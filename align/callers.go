package align

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"nsysmem/align/caller"
	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
)

// chainColumns are what is read of a frame. Without the first ones it means nothing.
var chainColumns = []nsysdb.Column{nsysdb.ID, nsysdb.Depth, nsysdb.Module, nsysdb.Symbol, nsysdb.Unresolved}

const chainNeeded = 3

// maxFrames bounds the frames of a chain that are looked at: whoever asked for memory is among the innermost. Chains of
// PyTorch have up to 64 (observed: the profiler records no more).
const maxFrames = 512

// callers are who made calls, by their call chains. A nil one knows nobody: no chains were recorded.
type callers struct {
	calls   *calls
	byChain map[int64]caller.Caller
}

// of gives who made the call of a process with a correlation id; the zero value where that is unknown.
func (c *callers) of(p *process) func(corr int64) caller.Caller {
	if c == nil {
		return func(int64) caller.Caller { return caller.Caller{} }
	}
	maps := at(c.calls.chains, p)
	return func(corr int64) caller.Caller {
		if corr <= 0 {
			return caller.Caller{}
		}
		for _, m := range maps {
			if id, ok := m[corr]; ok {
				return c.byChain[id]
			}
		}
		return caller.Caller{}
	}
}

// ofChain is who made the call of a chain; the zero value where that is unknown.
func (c *callers) ofChain(id int64) caller.Caller {
	if c == nil {
		return caller.Caller{}
	}
	return c.byChain[id]
}

// readCallers reads the call chains of calls that allocate, succeeded or failed. Where none of these has one, the chains are
// not read: nil.
func readCallers(ctx context.Context, src *source, c *calls) (*callers, error) {
	wanted := c.allocatingChains()
	if len(wanted) == 0 {
		return nil, nil
	}
	r := &chainReader{db: src.db, wanted: wanted, out: make(map[int64]caller.Caller, len(wanted))}
	frames := table{needed: chainNeeded, told: src.progress("call chains", nsysdb.CallChain).add,
		Scan: nsysdb.Scan{Table: nsysdb.CallChain, Columns: chainColumns, Sorted: true, Chains: wanted}}
	err := frames.read(ctx, src.db, func(b *nsysdb.Batch) error {
		r.add(b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.finish()
	return &callers{c, r.out}, nil
}

// anyChain says that an allocating call that succeeded, or nearly all of them, may name its chain.
func (c *calls) anyChain() bool {
	for _, parts := range c.chains {
		for _, m := range parts {
			if len(m) > 0 {
				return true
			}
		}
	}
	return false
}

// libraries says who asked for the memory of a track's device level, largest first, static memory of modules last.
func (as *assembler) libraries(t *trackUse) []tensor.Library {
	l := t.memory.levels[LevelDevice]
	if as.callers == nil || l == nil {
		return nil
	}
	who := as.callers.of(t.proc)
	var sums tensor.Libraries
	for i := range t.memory.blocks {
		b := &t.memory.blocks[i]
		if levelKind(b.kind) != LevelDevice {
			continue
		}
		sum := sums.Of(who(b.bornCorr).Library, b.kind == nsysdb.KindDeviceStatic)
		sum.Blocks++
		sum.Bytes += b.bytes
		if b.bornN <= l.peakN && b.diedN > l.peakN {
			sum.AtPeak += b.bytes
		}
		if b.end == Never {
			sum.Live += b.bytes
		}
	}
	return sums.List()
}

// allocatingChains are the chains of allocating calls, in rising order.
func (c *calls) allocatingChains() []int64 {
	var ids []int64
	for _, parts := range c.chains {
		for _, m := range parts {
			for _, id := range m {
				ids = append(ids, id)
			}
		}
	}
	for i := range c.failed {
		if id := c.failed[i].chain; id != nsysdb.Null {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A chainReader takes in the frames of chains, which come chain by chain, and keeps of each only who made its call: a report
// may have a hundred thousand of them.
type chainReader struct {
	db     *nsysdb.DB
	wanted []int64 // in rising order; those before the frames that come are cut off
	finder caller.Finder
	out    map[int64]caller.Caller

	id     int64 // of the chain whose frames are gathered, while there are some
	frames []chainFrame
	list   []caller.Frame // scratch of finish
}

// A chainFrame is a frame by ids.
type chainFrame struct{ depth, module, symbol int64 }

// add takes in frames.
func (r *chainReader) add(b *nsysdb.Batch) {
	ids, depth, module, symbol, unresolved := b.Cols[0], b.Cols[1], b.Cols[2], b.Cols[3], b.Cols[4]
	for i, id := range ids[:b.Rows] {
		if id != r.id {
			r.finish()
			r.id = id
		}
		for len(r.wanted) > 0 && r.wanted[0] < id {
			r.wanted = r.wanted[1:]
		}
		if len(r.wanted) == 0 || r.wanted[0] != id || id == nsysdb.Null || depth[i] < 0 || len(r.frames) >= 2*maxFrames {
			continue // Null is below 0 too; a chain with so many frames has some twice
		}
		f := chainFrame{depth[i], module[i], symbol[i]}
		if unresolved[i] != 0 && unresolved[i] != nsysdb.Null {
			f.symbol = nsysdb.Null
		}
		r.frames = append(r.frames, f)
	}
}

// finish finds who made the call of the chain whose frames were gathered, and begins another.
func (r *chainReader) finish() {
	if len(r.frames) == 0 {
		return
	}
	slices.SortStableFunc(r.frames, func(x, y chainFrame) int { return cmp.Compare(x.depth, y.depth) })
	frames := slices.CompactFunc(r.frames, func(x, y chainFrame) bool { return x.depth == y.depth })
	r.list = r.list[:0]
	for _, f := range frames[:min(len(frames), maxFrames)] {
		module, _ := r.db.Lookup(f.module)
		symbol, _ := r.db.Lookup(f.symbol)
		if strings.HasPrefix(symbol, "0x") { // an address, whatever the column says
			symbol = ""
		}
		r.list = append(r.list, caller.Frame{Module: module, Symbol: symbol})
	}
	if len(frames) > maxFrames {
		r.list = append(r.list, caller.Frame{}) // nobody knows what is beyond
	}
	if who := r.finder.Of(r.list); who.Library != "" {
		r.out[r.id] = who
	}
	r.frames = r.frames[:0]
}
