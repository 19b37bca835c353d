package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
)

func allocationsTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(t.Blocks) })
	start := rep.Source.Start
	origin := fromOf(rep)
	return &table{
		sheet: "Allocations", name: "Allocations", tab: tabMemory, n: n, fixed: 3,
		none: missing(rep, rep.Collected.Memory, "device memory", "none in the recorded time"),
		cols: columns(
			column{head: "Time (ms)", as: asTime}, column{head: "Iteration", as: asID}, column{head: "Phase"}, column{head: "From"},
			column{head: "Bytes", as: asCount}, column{head: "Size (MiB)", as: asMiB}, column{head: "Kind"}, column{head: "Address", as: asAddress},
			column{head: "Call"}, column{head: "Freed (ms)", as: asTime}, column{head: "Freed in iteration", as: asID}, column{head: "Freed in phase"},
			column{head: "Freed by"}, column{head: "Lifetime (ms)", as: asTime}, column{head: "Stream", as: asID}, column{head: "Note"}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &t.Blocks[j]
			born, died := k.Start != align.Never, k.End != align.Never
			r.track(t)
			r.ms(born, k.Start-start)
			r.where(origin, t, k.Iteration, k.Phase)
			r.int(k.Bytes)
			r.mib(true, k.Bytes)
			r.text(k.MemKind)
			r.address(k.Address)
			r.text(k.Call)
			r.ms(died, k.End-start)
			r.iterationIndex(t, k.EndIteration)
			r.text(k.EndPhase)
			r.text(k.FreeCall)
			r.ms(born && died, k.End-k.Start)
			r.intIf(k.Stream >= 0, k.Stream)
			r.text(blockNote(k))
		},
	}
}

// blockNote says what is special about a block's life.
func blockNote(k *align.Block) string {
	switch {
	case k.Lost:
		return "free not in the report"
	case k.Start == align.Never && k.End == align.Never:
		return "live throughout"
	case k.Start == align.Never:
		return "live before the report"
	case k.End == align.Never:
		return "not freed"
	}
	return ""
}

// liveTable lists the blocks that are live at one time, largest first.
func liveTable(rep *findings.Report, sheet, name string, blocks func(*align.Track) []align.Block) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(blocks(t)) })
	start := rep.Source.Start
	origin := fromOf(rep)
	return &table{
		sheet: sheet, name: name, tab: tabMemory, n: n, fixed: 2,
		none: missing(rep, rep.Collected.Memory, "device memory", "none"),
		cols: columns(
			column{head: "Bytes", as: asCount}, column{head: "Size (MiB)", as: asMiB, bar: true}, column{head: "Kind"},
			column{head: "Born (ms)", as: asTime}, column{head: "Born in iteration", as: asID}, column{head: "Born in phase"}, column{head: "From"}, column{head: "Call"},
			column{head: "Freed (ms)", as: asTime}, column{head: "Freed in iteration", as: asID}, column{head: "Freed in phase"},
			column{head: "Address", as: asAddress}, column{head: "Stream", as: asID}, column{head: "Note"}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &blocks(t)[j]
			r.track(t)
			r.int(k.Bytes)
			r.mib(true, k.Bytes)
			r.text(k.MemKind)
			r.ms(k.Start != align.Never, k.Start-start)
			r.where(origin, t, k.Iteration, k.Phase)
			r.text(k.Call)
			r.ms(k.End != align.Never, k.End-start)
			r.iterationIndex(t, k.EndIteration)
			r.text(k.EndPhase)
			r.address(k.Address)
			r.intIf(k.Stream >= 0, k.Stream)
			r.text(blockNote(k))
		},
	}
}
