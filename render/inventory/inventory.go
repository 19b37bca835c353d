// Package inventory says what a report and a memory snapshot hold, for a user who asks why something is missing or what
// could be asked of them. It gathers; how that reads is for those who write it.
package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/nsysdb"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// A Report is what a report holds. It can be filled for every report that opens, those without any GPU work too.
type Report struct {
	Source     align.Source
	Size       int64                // bytes of the file; 0 where unknown
	Contents   []tables.Content     // what nsysmem reads, collected or not
	Tables     []tables.ExportTable // every table of the export
	Settings   []Setting            // of the recording; those that the export does not tell are left out
	Processes  []tables.Process     // with CUDA work only, by number
	Devices    []tables.Device      // of the machine
	Iterations []Iterations         // one for each track
	Families   []align.Family
	Snapshots  []Snapshot
	Notes      []string // such as how well inferred phases agree with annotated ones
	Findings   []findings.Finding
	Warnings   []findings.Warning // those of the profiler itself too
}

// A Setting is a capture setting and its value.
type Setting struct {
	Name  string
	Value string
}

// Iterations says how the iterations of one track were found.
type Iterations struct {
	PID    int64
	Device int64
	align.IterationsFrom
}

// Of gathers what an open report holds. Size and Snapshots are left to the caller. The error is that of reading the list of
// tables.
func Of(db *nsysdb.DB, rep *findings.Report) (*Report, error) {
	meta := db.Meta()
	out := &Report{
		Source:    rep.Source,
		Settings:  settings(meta, eventsOf(db)),
		Processes: processes(meta, rep),
		Families:  rep.Families,
		Findings:  rep.Findings,
		Warnings:  rep.Warnings,
	}
	exported, err := db.Tables()
	if err != nil {
		return nil, err
	}
	var ranges int64
	for _, t := range exported {
		out.Tables = append(out.Tables, tables.ExportTable{Name: t.Name, Rows: t.Rows, Columns: len(t.Columns)})
		if t.Name == "NVTX_EVENTS" {
			ranges = t.Rows // all of them; a reader of rows knows only those that are ranges
		}
	}
	out.Contents = contents(db, rep, ranges)
	for i := range meta.GPUs {
		g := &meta.GPUs[i]
		out.Devices = append(out.Devices, tables.Device{
			ID: g.ID, Name: g.Name, UUID: g.UUID, Bus: g.BusLocation, TotalMemory: g.TotalMemory})
	}
	for _, t := range rep.Tracks {
		out.Iterations = append(out.Iterations, Iterations{PID: t.PID, Device: t.Device, IterationsFrom: t.IterationsFrom})
		if note := agreement(t); note != "" {
			out.Notes = append(out.Notes, note)
		}
	}
	return out, nil
}

// agreement says how well inferred iterations and phases agree with annotated ones; empty where they were not compared.
func agreement(t *align.Track) string {
	x := t.Inferred
	if x == nil {
		return ""
	}
	who := fmt.Sprintf("process %d device %d: ", t.PID, t.Device)
	if len(x.Iterations) == 0 {
		return who + "no iterations are found in the GPU work alone: " + x.Why
	}
	note := who + fmt.Sprintf("inferred from the GPU work alone: %d iterations, annotated: %d;"+
		" %d of the inferred begin in the gap before an annotated one; confidence %.2f (%s)",
		len(x.Iterations), x.Annotated, x.Boundaries, x.Confidence, x.Why)
	if x.Kernels > 0 {
		note += fmt.Sprintf("; %d of %d kernels (%.1f %%) are in the phase that the annotation gives them",
			x.Agree, x.Kernels, 100*float64(x.Agree)/float64(x.Kernels))
	}
	same, phases := 0, 0
	for i := range x.Phases {
		same, phases = same+x.Phases[i].Same, phases+x.Phases[i].Iterations
	}
	if phases > 0 {
		note += fmt.Sprintf("; net, peak and need of a phase in a steady iteration are those of the annotated one, to the byte, in %d of %d cases",
			same, phases)
	}
	return note
}

// contents says of each kind of data whether it was collected, and how to where it was not.
func contents(db *nsysdb.DB, rep *findings.Report, ranges int64) []tables.Content {
	rows := func(t nsysdb.Table) int64 {
		if db.Missing(t) {
			return 0
		}
		return db.Rows(t)
	}
	c := &rep.Collected
	out := []tables.Content{
		{Name: "device memory", Collected: c.Memory, Rows: rows(nsysdb.MemoryUsage)},
		{Name: "GPU kernels", Collected: c.Kernels, Rows: rows(nsysdb.Kernel)},
		{Name: "CUDA API calls", Collected: c.API, Rows: rows(nsysdb.API)},
		{Name: "NVTX ranges", Collected: c.NVTX, Rows: ranges},
	}
	// A graph traced whole is no kernel: it stands for many, and no process counts it as one.
	if n := rows(nsysdb.GraphTrace); n > 0 {
		out = slices.Insert(out, 2, tables.Content{Name: "CUDA graphs traced whole", Collected: true, Rows: n})
	}
	chains := tables.Content{Name: "call chains of CUDA calls", Collected: rows(nsysdb.CallChain) > 0, Rows: rows(nsysdb.CallChain)}
	if !chains.Collected {
		chains.How = phrase.ChainsHow
	}
	out = append(out, chains)
	for _, gap := range phrase.Missing(rep.Collected) {
		if i := slices.IndexFunc(out, func(c tables.Content) bool { return c.Name == gap.What }); i >= 0 && !out[i].Collected {
			out[i].How = gap.How
		}
	}
	return out
}

// settings are those of the recording that say why something may be missing.
func settings(meta *nsysdb.Meta, there events) []Setting {
	all := []Setting{
		{"CUDA trace", collects(meta.CollectCUDA, there.cuda)},
		{"memory usage", collects(meta.CollectMemory, there.memory)},
		{"NVTX trace", collects(meta.CollectNVTX, there.nvtx)},
		{"CUDA graphs", strings.ToLower(meta.GraphMode)},
	}
	if meta.TimeShift != 0 {
		all = append(all, Setting{"times shifted by", fmt.Sprintf("%d ns", meta.TimeShift)})
	}
	if meta.TimeNormalized {
		all = append(all, Setting{"times normalized", "yes"})
	}
	return slices.DeleteFunc(all, func(s Setting) bool { return s.Value == "" })
}

// events are the kinds of events that a report has.
type events struct{ cuda, memory, nvtx bool }

func eventsOf(db *nsysdb.DB) (e events) {
	for _, t := range []nsysdb.Table{nsysdb.API, nsysdb.Kernel, nsysdb.GraphTrace, nsysdb.Memcpy, nsysdb.Memset} {
		e.cuda = e.cuda || db.Rows(t) > 0
	}
	e.memory, e.nvtx = db.Rows(nsysdb.MemoryUsage) > 0, db.HasNVTX()
	return e
}

// collects says what a setting was, nothing where the export does not tell. Events tell more than a setting that says off,
// which some versions write for what was on.
func collects(s nsysdb.Setting, events bool) string {
	switch {
	case s == nsysdb.On, s == nsysdb.Off && events:
		return "on"
	case s == nsysdb.Off:
		return "off"
	}
	return ""
}

// processes lists the processes with CUDA work. A process has a track for each of its devices; what was not collected of it
// is -1, and not the 0 of nothing there.
func processes(meta *nsysdb.Meta, rep *findings.Report) []tables.Process {
	ranks := make(map[int64]int64)
	for gpid, rank := range meta.MPIRanks {
		ranks[nsysdb.PID(gpid)] = rank
	}
	var out []tables.Process
	for _, t := range rep.Tracks {
		i := slices.IndexFunc(out, func(p tables.Process) bool { return p.PID == t.PID })
		if i < 0 {
			i = len(out)
			out = append(out, tables.Process{PID: t.PID, Name: t.Process, Rank: -1, Kernels: -1, MemoryEvents: -1, Calls: -1})
			if rank, ok := ranks[t.PID]; ok {
				out[i].Rank = rank
			}
		}
		p := &out[i]
		p.Devices = append(p.Devices, t.Device)
		if rep.Collected.Kernels {
			p.Kernels = max(p.Kernels, 0) + t.Attribution.Kernels
		}
		if rep.Collected.Memory {
			p.MemoryEvents = max(p.MemoryEvents, 0) + memoryEvents(t)
		}
		if rep.Collected.API {
			p.Calls = t.Total.API.Calls // of the process, whatever the device
		}
	}
	slices.SortFunc(out, func(a, b tables.Process) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

// memoryEvents is the number of a track's events in the report. The levels of a snapshot are no events of the report.
func memoryEvents(t *align.Track) int64 {
	var n int64
	for _, l := range t.Levels {
		if !l.Kind.FromSnapshot() {
			n += l.Allocs + l.Frees
		}
	}
	return n
}
