package tables

import (
	"slices"

	"nsysmem/align"
)

// A blockRow is one allocation and its free.
type blockRow = Row[align.Block]

func blockBytes(r *blockRow) int64 { return r.Item.Bytes }

func wasBorn(r *blockRow) bool { return r.Item.Start != align.Never }

func wasFreed(r *blockRow) bool { return r.Item.End != align.Never }

// blockNote says what is special about a block's life.
func blockNote(r *blockRow) string {
	switch born, freed := wasBorn(r), wasFreed(r); {
	case r.Item.Lost:
		return "free not in the report"
	case !born && !freed:
		return "live throughout"
	case !born:
		return "live before the report"
	case !freed:
		return "not freed"
	}
	return ""
}

var blocks = slices.Concat(trackColumns[align.Block](), []Column[*blockRow]{
	{Key: "at_ns", Head: "time", Unit: Time, Int: func(r *blockRow) int64 { return r.after(r.Item.Start) }, Known: wasBorn},
	{Key: "start_ns", Unit: Time, Int: func(r *blockRow) int64 { return r.Item.Start }, Known: wasBorn},
	{Key: "freed_ns", Head: "freed", Unit: Time, Int: func(r *blockRow) int64 { return r.after(r.Item.End) }, Known: wasFreed},
	{Key: "end_ns", Unit: Time, Int: func(r *blockRow) int64 { return r.Item.End }, Known: wasFreed},
	{Key: "lifetime_ns", Head: "lifetime", Unit: Time, Int: func(r *blockRow) int64 { return r.Item.End - r.Item.Start },
		Known: func(r *blockRow) bool { return wasBorn(r) && wasFreed(r) }},
	{Key: "address", Head: "address", Unit: Address, Int: func(r *blockRow) int64 { return int64(r.Item.Address) }},
	{Key: "bytes", Head: "bytes", Unit: Count, Int: blockBytes},
	{Key: "size", Head: "size", Unit: Bytes, Int: blockBytes},
	{Key: "live_size", Head: "size", Unit: Bytes, Bar: true, Int: blockBytes},
	{Key: "level", Text: func(r *blockRow) string { return string(r.Item.Kind) }},
	{Key: "kind", Head: "kind", Text: func(r *blockRow) string { return r.Item.MemKind }},
	{Key: "stream", Head: "stream", Unit: ID, Int: func(r *blockRow) int64 { return r.Item.Stream }, Known: func(r *blockRow) bool { return r.Item.Stream >= 0 }},
	{Key: "call", Head: "call", Text: func(r *blockRow) string { return r.Item.Call }},
	{Key: "free_call", Head: "freed by", Text: func(r *blockRow) string { return r.Item.FreeCall }},
	iterationOf("iteration", "iteration", func(b *align.Block) int { return b.Iteration }),
	{Key: "phase", Head: "phase", Text: func(r *blockRow) string { return r.Item.Phase }},
	originOf(func(b *align.Block) (int, string) { return b.Iteration, b.Phase }),
	iterationOf("end_iteration", "freed in iteration", func(b *align.Block) int { return b.EndIteration }),
	{Key: "end_phase", Head: "freed in phase", Text: func(r *blockRow) string { return r.Item.EndPhase }},
	{Key: "free_lost", Unit: Flag, Int: func(r *blockRow) int64 { return one(r.Item.Lost) }},
	{Key: "note", Head: "note", Text: blockNote},
})

// Allocations has a row for each block, LiveBlocks one for each that is live at a moment.
var (
	blockTables = define(blocks, Views{
		Workbook: "pid, device, at_ns, iteration, phase, from, bytes, size, kind, address, call, freed_ns, end_iteration, end_phase, " +
			"free_call, lifetime_ns, stream, note",
		Parquet: "start_ns, end_ns, address, bytes, level=kind, kind=mem_kind, stream, call, free_call, iteration, phase, " +
			"end_iteration, end_phase, free_lost",
	}, Views{
		Workbook: "pid, device, bytes, live_size, kind, at_ns=Born, iteration=Born in iteration, phase=Born in phase, from, call, freed_ns, " +
			"end_iteration, end_phase, address, stream, note",
	})
	Allocations = blockTables[0]
	LiveBlocks  = blockTables[1]
)
