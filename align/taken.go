package align

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"nsysmem/align/period"
	"nsysmem/align/tensor"
	"nsysmem/internal/await"
	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// maxTimes bounds the memory events whose times are kept: a quarter of a gigabyte of them. Where there are more, phases are
// cut where they launch.
const maxTimes = 1 << 24

// takenBlocks are the blocks that the driver handed out to a process on one device, by time. When they ended is not
// known.
type takenBlocks []tensor.DriverBlock

// Blocks lists them.
func (t takenBlocks) Blocks() iter.Seq2[int, tensor.DriverBlock] { return slices.All(t) }

// memoryTimes are when processes take and give back device memory.
type memoryTimes struct {
	src    *source
	byProc map[*process]*period.Memory
	blocks map[trackKey]takenBlocks       // those that snapshots are compared with
	live   map[*process]*liveTable[int64] // when live blocks were taken
	time   stretch                        // of the events
}

// readMemoryTimes reads when some processes take and give back device memory. program is the time of its ranges and calls.
//
//  1. The driver's blocks are read. Static memory comes with modules, whenever those are loaded, and does not count.
//  2. Where a snapshot belongs to a process, tensors count in their place: the driver gives the caching allocator only
//     what it lacks. Their times are on the report's clock, as in the levels.
func readMemoryTimes(ctx context.Context, src *source, want map[*process]bool, program stretch) (map[*process]period.Memory, error) {
	out := make(map[*process]period.Memory)
	if src.db.Missing(nsysdb.MemoryUsage) || src.db.Rows(nsysdb.MemoryUsage) > maxTimes {
		return out, nil
	}
	m, err := ordered(func(sorted bool) (*memoryTimes, error) {
		m := &memoryTimes{src: src, byProc: make(map[*process]*period.Memory), blocks: make(map[trackKey]takenBlocks),
			live: make(map[*process]*liveTable[int64])}
		for p := range want {
			m.byProc[p] = &period.Memory{}
		}
		in := memoryReader{db: src.db, columns: memoryColumns[:memoryDrawn], event: m.event}
		return m, in.scan(ctx, sorted)
	})
	if err != nil {
		return nil, err
	}
	if src.hasSnapshots() {
		if err := await.Call(ctx, func() error { m.tensors(tensorTime(src, m.time, program)); return nil }); err != nil {
			return nil, err
		}
	}
	for p, x := range m.byProc {
		out[p] = *x
	}
	return out, nil
}

// event counts a row of the driver's.
func (m *memoryTimes) event(e *memEvent) {
	m.time.add(e.time, e.time)
	p := m.src.processes.of(e.gpid)
	x := m.byProc[p]
	if e.bytes < 0 || e.kind != nsysdb.KindDevice && e.kind != nsysdb.KindArray {
		return
	}
	if e.op == nsysdb.OpAlloc && m.src.hasSnapshots() {
		key := trackKey{p, e.device}
		m.blocks[key] = append(m.blocks[key], tensor.DriverBlock{Start: e.time, End: Never, Address: uint64(e.address), Bytes: e.bytes})
	}
	if x == nil {
		return
	}
	live := entry(m.live, p)
	switch e.op {
	case nsysdb.OpAlloc:
		x.Taken = append(x.Taken, e.time)
		live.put(e.address, e.time)
	case nsysdb.OpFree:
		born := int64(Never)
		if at := live.get(e.address); at != nil {
			born = *at
			live.remove(e.address)
		}
		x.Given = append(x.Given, period.Given{At: e.time, Born: born})
	}
}

// tensors puts the times of snapshots' blocks in the place of the driver's, for the processes that their devices belong to.
// What speaks against a snapshot is told where it is joined to the report.
func (m *memoryTimes) tensors(time tensor.ReportTime) {
	keys := slices.SortedFunc(maps.Keys(m.blocks), func(x, y trackKey) int {
		return cmp.Or(cmp.Compare(x.proc.gpid, y.proc.gpid), cmp.Compare(x.device, y.device))
	})
	var tracks []laidTrack
	for _, key := range keys {
		tracks = append(tracks, laidTrack{key, m.blocks[key]})
	}
	layout := m.src.lay(tracks, time)
	tensors := make(map[*process]*period.Memory)
	for _, key := range keys {
		of, l := key.proc, layout.of[key]
		if l == nil || m.byProc[of] == nil {
			continue
		}
		replay := l.match.Replay
		x := entry(tensors, of)
		shift := time.UTC + l.match.Clock.Offset
		for i := range replay.Blocks {
			b, born := &replay.Blocks[i], int64(Never)
			if b.Birth != torchmem.Never {
				born = b.Birth - shift
				x.Taken = append(x.Taken, born)
			}
			if b.Death != torchmem.Never {
				x.Given = append(x.Given, period.Given{At: b.Death - shift, Born: born})
			}
		}
	}
	for p, x := range tensors {
		slices.Sort(x.Taken)
		slices.SortStableFunc(x.Given, func(a, b period.Given) int { return cmp.Compare(a.At, b.At) })
		x.Driver = m.byProc[p].Taken
		m.byProc[p] = x
	}
}
