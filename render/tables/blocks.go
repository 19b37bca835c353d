package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/nsysdb"
)

// A blockRow is one allocation and its free.
type blockRow = Row[align.Block]

func blockBytes(r *blockRow) int64 { return r.Item.Bytes }

func wasBorn(r *blockRow) bool { return r.Item.Start != align.Never }

func wasFreed(r *blockRow) bool { return r.Item.End != align.Never }

// isBlock says that a line is a block itself and no sum of several.
func isBlock(r *blockRow) bool { return r.Item.Folded == 0 }

// blockNote says what is special about a block's life.
func blockNote(r *blockRow) string {
	note := lifeNote(r)
	if isBlock(r) {
		return note
	}
	sum := wording.Plural(r.Item.Folded, "block") + " of modules, loaded as they are first used"
	if note == "" {
		return sum
	}
	return sum + "; " + note
}

func lifeNote(r *blockRow) string {
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
	{Key: "address", Head: "address", Unit: Address, Known: func(r *blockRow) bool { return r.Item.Address != 0 },
		Int: func(r *blockRow) int64 { return int64(r.Item.Address) }},
	{Key: "bytes", Head: "bytes", Unit: Count, Int: blockBytes},
	{Key: "size", Head: "size", Unit: Bytes, Int: blockBytes},
	{Key: "live_size", Head: "size", Unit: Bytes, Bar: true, Int: blockBytes},
	{Key: "level", Text: func(r *blockRow) string { return string(r.Item.Kind) }},
	{Key: "kind", Head: "kind", Text: func(r *blockRow) string { return r.Item.MemKind }},
	{Key: "stream", Head: "stream", Unit: ID, Int: func(r *blockRow) int64 { return r.Item.Stream }, Known: func(r *blockRow) bool { return r.Item.Stream >= 0 }},
	{Key: "call", Head: "call", Text: func(r *blockRow) string { return r.Item.Call }},
	optional(Column[*blockRow]{Key: "library", Head: "library", Text: func(r *blockRow) string { return r.Item.Caller.Library }}),
	optional(Column[*blockRow]{Key: "function", Head: "function", Text: func(r *blockRow) string { return r.Item.Caller.Function }}),
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
		Workbook: "pid, device, at_ns, iteration, phase, from, bytes, size, kind, address, call, library, function, freed_ns, end_iteration, end_phase, " +
			"free_call, lifetime_ns, stream, note",
		Parquet: "start_ns, end_ns, address, bytes, level=kind, kind=mem_kind, stream, call, library, function, free_call, iteration, phase, " +
			"end_iteration, end_phase, free_lost",
	}, Views{
		Workbook: "pid, device, bytes, live_size, kind, at_ns=Born, iteration=Born in iteration, phase=Born in phase, from, call, library, function, freed_ns, " +
			"end_iteration, end_phase, address, stream, note",
	})
	Allocations = blockTables[0]
	LiveBlocks  = blockTables[1]
)

// staticKind is the kind of memory of modules' static memory, as align.Block.MemKind has it.
var staticKind = nsysdb.MemKindName(nsysdb.KindDeviceStatic)

// StaticFolded is a list of blocks in which the static memory of modules has one line for each iteration and phase in which
// it was loaded, in place of a line a block: a program has hundreds of such blocks, most of a few bytes, which hide the
// others. The lines come at the end; what was freed and what was not have a line each.
func StaticFolded(blocks []align.Block) []align.Block {
	type place struct {
		iteration int
		phase     string
		freed     bool
	}
	out := make([]align.Block, 0, len(blocks))
	var folded []align.Block
	at := make(map[place]int)
	for i := range blocks {
		b := &blocks[i]
		if b.MemKind != staticKind {
			out = append(out, *b)
			continue
		}
		key := place{b.Iteration, b.Phase, b.End != align.Never}
		k, ok := at[key]
		if !ok {
			k = len(folded)
			at[key] = k
			folded = append(folded, *b)
			folded[k].Bytes = 0 // and no address, should they be several
		}
		f := &folded[k]
		if f.Folded > 0 {
			f.Address = 0
		}
		f.Bytes += b.Bytes
		f.Folded++
		f.Start, f.End = min(f.Start, b.Start), max(f.End, b.End)
	}
	for i := range folded {
		if folded[i].Folded == 1 {
			folded[i].Folded = 0 // it is the block itself
		}
	}
	return append(out, folded...)
}
