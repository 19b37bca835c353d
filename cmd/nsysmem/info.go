package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/nsysdb"
	"nsysmem/render/phrase"
	"nsysmem/render/summary"
	"nsysmem/render/tables"
	"nsysmem/torchmem"
)

func newInfo(s *streams) *cobra.Command {
	c := &common{s: s}
	format := "text"
	cmd := &cobra.Command{
		Use:   "info REPORT...",
		Short: "Say what a report holds, and how to record what it lacks",
		Long: `info lists the versions, tables, processes and devices of a report, what was collected and what was not and how to
record it, and the families of NVTX ranges with the one that carries the iterations. It works on every export.

With --snapshot it also says what a PyTorch memory snapshot holds and whether it is of the same run.`,
		Example: `  nsysmem info run.sqlite
  nsysmem info run.sqlite --snapshot s.pickle
  nsysmem info run.sqlite --format json`,
		Args: reports,
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usage("--format %q: say text or json", format)
			}
			return c.each(cmd.Context(), args, func(path string) error { return c.info(cmd, path, format) })
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&format, "format", "f", "text", "`FORMAT`: text or json")
	complete(cmd, "format", "text", "json")
	return cmd
}

func (c *common) info(cmd *cobra.Command, path, format string) error {
	db, err := c.open(cmd.Context(), path)
	if err != nil {
		return err
	}
	defer db.Close()
	opts := c.options()
	if err := c.readSnapshot(cmd.Context(), &opts); err != nil {
		return err
	}
	plain := *c
	plain.snapshot = "" // it is read
	rep, err := plain.analyze(cmd.Context(), db, opts)
	trouble := ""
	if err != nil && opts.Snapshot != nil {
		// A snapshot of another run is something to tell here, not to fail for.
		trouble = strings.TrimPrefix(err.Error(), "align: ")
		without := opts
		without.Snapshot = nil
		rep, err = plain.analyze(cmd.Context(), db, without)
	}
	if err != nil {
		return err
	}
	info, err := describe(db, rep)
	if err != nil {
		return err
	}
	if opts.Snapshot != nil {
		info.Snapshot = describeSnapshot(c.snapshot, opts.Snapshot, rep, trouble)
	}
	if format == "json" {
		return summary.WriteInfoJSON(c.s.out, info)
	}
	return summary.WriteInfo(c.s.out, info, textWidth(c.s.out), colour(c.s.out))
}

// describe gathers what a report holds.
func describe(db *opened, rep *findings.Report) (*summary.Info, error) {
	meta := db.Meta()
	info := &summary.Info{Source: rep.Source, Families: rep.Families, Findings: rep.Findings, Warnings: rep.Warnings}
	if st, err := os.Stat(db.given); err == nil {
		info.Size = st.Size()
	}
	exported, err := db.Tables()
	if err != nil {
		return nil, err
	}
	rows := make(map[string]int64)
	for _, t := range exported {
		info.Tables = append(info.Tables, tables.ExportTable{Name: t.Name, Rows: t.Rows, Columns: len(t.Columns)})
		rows[t.Name] = t.Rows
	}
	info.Contents = contents(db, rep, rows["NVTX_EVENTS"])
	info.Settings = settings(meta)
	for i := range meta.GPUs {
		g := &meta.GPUs[i]
		info.Devices = append(info.Devices, tables.Device{ID: g.ID, Name: g.Name, UUID: g.UUID, Bus: g.BusLocation, TotalMemory: g.TotalMemory})
	}
	info.Processes = processes(meta, rep)
	for _, t := range rep.Tracks {
		info.Iterations = append(info.Iterations, summary.Iterations{PID: t.PID, Device: t.Device, IterationsFrom: t.IterationsFrom})
	}
	for _, t := range rep.Tracks {
		if note := agreement(t); note != "" {
			info.Notes = append(info.Notes, note)
		}
	}
	return info, nil
}

// describeSnapshot gathers what a snapshot holds, and which track each of its devices goes with.
func describeSnapshot(path string, snap *torchmem.Snapshot, rep *findings.Report, trouble string) *summary.SnapshotInfo {
	out := &summary.SnapshotInfo{File: path, Settings: "n/a: the snapshot does not say", Annotations: len(snap.Annotations), Trouble: trouble}
	if snap.Settings.Known {
		out.Settings = "the defaults"
	}
	if snap.Settings.Conf != "" {
		out.Settings = snap.Settings.Conf
	}
	if st, err := os.Stat(path); err == nil {
		out.Size = st.Size()
	}
	for _, d := range snap.Devices() {
		n := tables.SnapshotDevice{Device: d}
		r, err := snap.Replay(d)
		if err != nil {
			n.Trouble = err.Error()
			out.Devices = append(out.Devices, n)
			continue
		}
		use := r.Whole()
		n.Entries, n.From, n.To, n.Blocks, n.Failures, n.Cut = r.Events, r.From, r.To, len(r.Blocks), len(r.Failures), r.Doubts.Cut
		n.Reserved, n.Allocated, n.Peak = use.ReservedEnd, use.AllocatedEnd, use.AllocatedPeak
		for i := range r.Segments {
			if r.Segments[i].Death == torchmem.Never {
				n.Segments++
			}
		}
		for _, t := range rep.Tracks {
			if ten := t.Tensors; ten != nil && ten.Replay != nil && ten.Replay.Device == d {
				n.Match = &tables.SnapshotMatch{PID: t.PID, Device: t.Device, Clock: phrase.Clock(ten.Clock)}
			}
		}
		out.Devices = append(out.Devices, n)
	}
	return out
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
	note := who + fmt.Sprintf("inferred from the GPU work alone: %d iterations, annotated: %d; %d of the inferred begin in the gap before an annotated one; confidence %.2f (%s)",
		len(x.Iterations), x.Annotated, x.Boundaries, x.Confidence, x.Why)
	if x.Kernels > 0 {
		note += fmt.Sprintf("; %d of %d kernels (%.1f %%) are in the phase that the annotation gives them", x.Agree, x.Kernels, 100*float64(x.Agree)/float64(x.Kernels))
	}
	return note
}

func contents(db *opened, rep *findings.Report, nvtx int64) []tables.Content {
	how := make(map[string]string)
	for _, g := range phrase.Missing(rep.Collected) {
		how[g.What] = g.How
	}
	c := &rep.Collected
	n := func(t nsysdb.Table) int64 {
		if db.Missing(t) {
			return 0
		}
		return db.Rows(t)
	}
	out := []tables.Content{
		{Name: "device memory", Collected: c.Memory, Rows: n(nsysdb.MemoryUsage)},
		{Name: "GPU kernels", Collected: c.Kernels, Rows: n(nsysdb.Kernel) + n(nsysdb.GraphTrace)},
		{Name: "CUDA API calls", Collected: c.API, Rows: n(nsysdb.API)},
		{Name: "NVTX ranges", Collected: c.NVTX, Rows: nvtx},
	}
	for i := range out {
		if !out[i].Collected {
			out[i].How = how[out[i].Name]
		}
	}
	return out
}

func settings(meta *nsysdb.Meta) []summary.Setting {
	word := map[nsysdb.Setting]string{nsysdb.Off: "off", nsysdb.On: "on"}
	var out []summary.Setting
	add := func(name, value string) {
		if value != "" {
			out = append(out, summary.Setting{Name: name, Value: value})
		}
	}
	add("CUDA trace", word[meta.CollectCUDA])
	add("memory usage", word[meta.CollectMemory])
	add("NVTX trace", word[meta.CollectNVTX])
	add("CUDA graphs", strings.ToLower(meta.GraphMode))
	if meta.TimeShift != 0 {
		add("times shifted by", fmt.Sprintf("%d ns", meta.TimeShift))
	}
	if meta.TimeNormalized {
		add("times normalized", "yes")
	}
	return out
}

// processes lists the processes with CUDA work.
func processes(meta *nsysdb.Meta, rep *findings.Report) []tables.Process {
	byPID := make(map[int64]*tables.Process)
	var pids []int64
	for _, t := range rep.Tracks {
		p := byPID[t.PID]
		if p == nil {
			p = &tables.Process{PID: t.PID, Name: t.Process, Rank: -1, Kernels: -1, MemoryEvents: -1, Calls: -1}
			for gpid, rank := range meta.MPIRanks {
				if nsysdb.PID(gpid) == t.PID {
					p.Rank = rank
				}
			}
			byPID[t.PID] = p
			pids = append(pids, t.PID)
		}
		p.Devices = append(p.Devices, t.Device)
		if rep.Collected.Kernels {
			p.Kernels = max(p.Kernels, 0) + t.Attribution.Kernels
		}
		if rep.Collected.Memory {
			p.MemoryEvents = max(p.MemoryEvents, 0)
			for _, l := range t.Levels {
				if !l.Kind.FromSnapshot() {
					p.MemoryEvents += l.Allocs + l.Frees
				}
			}
		}
		if rep.Collected.API {
			p.Calls = t.Total.API.Calls
		}
	}
	sort.Slice(pids, func(i, j int) bool { return pids[i] < pids[j] })
	var out []tables.Process
	for _, pid := range pids {
		out = append(out, *byPID[pid])
	}
	return out
}
