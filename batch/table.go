package batch

import (
	"bufio"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"nsysmem/align"
	"nsysmem/align/findings"
)

// The data set. Each table is a folder of partitions run=NAME, so that the run is a column for those who read it. Sizes
// are bytes and times ns on the report's clock; what is unknown or was not collected is null.

// owner says whose row it is.
type owner struct {
	Rank   *int64 `parquet:"rank,optional"`
	PID    int64  `parquet:"pid"`
	Device int64  `parquet:"device"` // as the process sees it
	Track  string `parquet:"track,dict"`
}

type runRow struct {
	owner
	Group          string  `parquet:"rank_group,dict"`
	Report         string  `parquet:"report,dict"`
	Process        string  `parquet:"process,dict"`
	DeviceName     string  `parquet:"device_name,dict"`
	DeviceUUID     string  `parquet:"device_uuid,dict"`
	DeviceTotal    *int64  `parquet:"device_total_bytes,optional"`
	NsysVersion    string  `parquet:"nsys_version,dict"`
	ExportSchema   string  `parquet:"export_schema,dict"`
	StartUTC       *int64  `parquet:"start_utc_ns,optional"`
	Duration       int64   `parquet:"duration_ns"`
	How            string  `parquet:"iterations_from,dict"`
	Pattern        string  `parquet:"iterations_pattern,dict"`
	Confidence     float64 `parquet:"iterations_confidence"`
	Iterations     int64   `parquet:"iterations"`
	Peak           *int64  `parquet:"peak_bytes,optional"`
	PeakAt         *int64  `parquet:"peak_at_ns,optional"`
	PeakIteration  string  `parquet:"peak_iteration,dict"`
	PeakPhase      string  `parquet:"peak_phase,dict"`
	End            *int64  `parquet:"end_bytes,optional"`
	Baseline       *int64  `parquet:"baseline_bytes,optional"`
	Allocs         *int64  `parquet:"allocs,optional"`
	AllocBytes     *int64  `parquet:"alloc_bytes,optional"`
	Frees          *int64  `parquet:"frees,optional"`
	FreeBytes      *int64  `parquet:"free_bytes,optional"`
	UnmatchedFrees *int64  `parquet:"unmatched_frees,optional"`
	FailedAllocs   *int64  `parquet:"failed_allocs,optional"`
	Partial        bool    `parquet:"partial"`
	ManagedPeak    *int64  `parquet:"managed_peak_bytes,optional"`
	PinnedPeak     *int64  `parquet:"pinned_peak_bytes,optional"`
	PageablePeak   *int64  `parquet:"pageable_peak_bytes,optional"`
	PoolPeak       *int64  `parquet:"pool_peak_size_bytes,optional"`
	PoolUsed       *int64  `parquet:"pool_peak_used_bytes,optional"`
	work
	Findings []string `parquet:"findings,list"`
	Warnings []string `parquet:"warnings,list"`
}

// memory is the device level over a row's time.
type memory struct {
	Start        *int64 `parquet:"start_bytes,optional"`
	End          *int64 `parquet:"end_bytes,optional"`
	Net          *int64 `parquet:"net_bytes,optional"`
	Peak         *int64 `parquet:"peak_bytes,optional"`
	PeakAt       *int64 `parquet:"peak_at_ns,optional"`
	Need         *int64 `parquet:"need_bytes,optional"`
	Allocs       *int64 `parquet:"allocs,optional"`
	AllocBytes   *int64 `parquet:"alloc_bytes,optional"`
	Frees        *int64 `parquet:"frees,optional"`
	FreeBytes    *int64 `parquet:"free_bytes,optional"`
	FailedAllocs *int64 `parquet:"failed_allocs,optional"`
}

// work is the GPU and API work attributed to a row.
type work struct {
	Kernels   *int64 `parquet:"kernels,optional"`
	KernelNS  *int64 `parquet:"kernel_ns,optional"`
	BusyNS    *int64 `parquet:"busy_ns,optional"`
	Graphs    *int64 `parquet:"graphs,optional"`
	GraphNS   *int64 `parquet:"graph_ns,optional"`
	H2D       *int64 `parquet:"h2d_bytes,optional"`
	D2H       *int64 `parquet:"d2h_bytes,optional"`
	D2D       *int64 `parquet:"d2d_bytes,optional"`
	CopyNS    *int64 `parquet:"memcpy_ns,optional"`
	Memset    *int64 `parquet:"memset_bytes,optional"`
	APIAlloc  *int64 `parquet:"api_alloc_ns,optional"`
	APIFree   *int64 `parquet:"api_free_ns,optional"`
	APISync   *int64 `parquet:"api_sync_ns,optional"`
	APICalls  *int64 `parquet:"api_calls,optional"`
	MemcpyAll *int64 `parquet:"copies,optional"`
}

type iterationRow struct {
	owner
	Iteration int64  `parquet:"iteration"`
	Name      string `parquet:"name"`
	StartNS   int64  `parquet:"start_ns"`
	EndNS     int64  `parquet:"end_ns"`
	Warmup    bool   `parquet:"warmup"`
	Truncated bool   `parquet:"truncated"`
	PeakPhase string `parquet:"peak_phase,dict"`
	memory
	work
}

type phaseRow struct {
	owner
	Iteration  int64  `parquet:"iteration"`
	Warmup     bool   `parquet:"warmup"`
	Truncated  bool   `parquet:"truncated"`
	Path       string `parquet:"phase,dict"`
	Name       string `parquet:"name,dict"`
	Depth      int32  `parquet:"depth"`
	Calls      int64  `parquet:"calls"`
	Inferred   bool   `parquet:"inferred"`
	StartNS    int64  `parquet:"start_ns"`
	EndNS      int64  `parquet:"end_ns"`
	DurationNS int64  `parquet:"duration_ns"`
	memory
	work
}

type allocationRow struct {
	owner
	StartNS      *int64 `parquet:"start_ns,optional"` // null where live before the report began
	EndNS        *int64 `parquet:"end_ns,optional"`   // null where not freed in the report
	Address      uint64 `parquet:"address"`
	Bytes        int64  `parquet:"bytes"`
	Kind         string `parquet:"kind,dict"`
	MemKind      string `parquet:"mem_kind,dict"`
	Stream       *int64 `parquet:"stream,optional"`
	Call         string `parquet:"call,dict"`
	FreeCall     string `parquet:"free_call,dict"`
	Iteration    *int64 `parquet:"iteration,optional"`
	Phase        string `parquet:"phase,dict"`
	EndIteration *int64 `parquet:"end_iteration,optional"`
	EndPhase     string `parquet:"end_phase,dict"`
	FreeLost     bool   `parquet:"free_lost"`
}

// tables writes a run's partitions of the data set.
func tables(rep *findings.Report, rec *record, o *Options, s *stage) error {
	owners := make([]owner, len(rep.Tracks))
	for i := range rec.Tracks {
		t := &rec.Tracks[i]
		owners[i] = owner{known(t.Rank >= 0, t.Rank), t.PID, t.Device, rec.label(i)}
	}
	c := &rep.Collected
	err := write(s, &rec.Input, o, "runs", func(put func(runRow) error) error {
		for i := range rec.Tracks {
			if err := put(newRun(owners[i], rec, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = write(s, &rec.Input, o, "iterations", func(put func(iterationRow) error) error {
		for i, t := range rep.Tracks {
			for j := range t.Iterations {
				it := &t.Iterations[j]
				row := iterationRow{owner: owners[i], Iteration: int64(it.Index), Name: it.Name, StartNS: it.Start, EndNS: it.End,
					Warmup: it.Warmup, Truncated: it.Truncated, PeakPhase: rec.Iterations[i][j].PeakPhase,
					memory: newMemory(c, &it.Memory), work: newWork(c, &it.Use)}
				if err := put(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = write(s, &rec.Input, o, "phases", func(put func(phaseRow) error) error {
		for i, t := range rep.Tracks {
			for j := range t.Iterations {
				it := &t.Iterations[j]
				for k := range it.Phases {
					p := &it.Phases[k]
					row := phaseRow{owner: owners[i], Iteration: int64(it.Index), Warmup: it.Warmup, Truncated: it.Truncated,
						Path: p.Path, Name: p.Name, Depth: int32(p.Depth), Calls: int64(p.Calls), Inferred: p.Inferred,
						StartNS: p.Start, EndNS: p.End, DurationNS: p.Duration, memory: newMemory(c, &p.Memory), work: newWork(c, &p.Use)}
					if err := put(row); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err != nil || !o.Allocations {
		return err
	}
	return write(s, &rec.Input, o, "allocations", func(put func(allocationRow) error) error {
		for i, t := range rep.Tracks {
			index := func(place int) *int64 {
				if place < 0 || place >= len(t.Iterations) {
					return nil
				}
				return known(true, int64(t.Iterations[place].Index))
			}
			for j := range t.Blocks {
				b := &t.Blocks[j]
				row := allocationRow{owner: owners[i], StartNS: known(b.Start != align.Never, b.Start), EndNS: known(b.End != align.Never, b.End),
					Address: b.Address, Bytes: b.Bytes, Kind: string(b.Kind), MemKind: b.MemKind, Stream: known(b.Stream >= 0, b.Stream),
					Call: b.Call, FreeCall: b.FreeCall, Iteration: index(b.Iteration), Phase: b.Phase,
					EndIteration: index(b.EndIteration), EndPhase: b.EndPhase, FreeLost: b.Lost}
				if err := put(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func newRun(of owner, rec *record, i int) runRow {
	t, c := &rec.Tracks[i], &rec.Collected
	row := runRow{owner: of, Group: t.Group, Report: rec.Path, Process: t.Process, DeviceName: t.DeviceName, DeviceUUID: t.DeviceUUID,
		DeviceTotal: known(t.DeviceTotal > 0, t.DeviceTotal), NsysVersion: rec.Source.NsysVersion, ExportSchema: rec.Source.SchemaVersion,
		StartUTC: known(rec.Source.StartUTC != 0, rec.Source.StartUTC), Duration: rec.Source.Duration(),
		How: string(t.IterationsFrom.How), Pattern: t.IterationsFrom.Pattern, Confidence: finite(t.IterationsFrom.Confidence),
		Iterations: int64(t.Iterations), PeakIteration: t.PeakIteration, PeakPhase: t.PeakPhase, work: newWork(c, &t.Total),
		Findings: rec.Findings, Warnings: rec.Warnings}
	if l := t.device(); l != nil && c.Memory {
		n := func(v int64) *int64 { return &v }
		row.Peak, row.PeakAt, row.End, row.Baseline = n(l.Peak), n(l.PeakAt), n(l.End), n(l.Baseline)
		row.Allocs, row.AllocBytes, row.Frees, row.FreeBytes = n(l.Allocs), n(l.AllocBytes), n(l.Frees), n(l.FreeBytes)
		row.UnmatchedFrees, row.FailedAllocs, row.Partial = n(l.UnmatchedFrees), known(c.API, l.FailedAllocs), l.Partial
	}
	peak := func(kind align.LevelKind) *int64 {
		if l := align.LevelOf(t.Levels, kind); l != nil {
			return known(true, l.Peak)
		}
		return nil
	}
	row.ManagedPeak, row.PinnedPeak, row.PageablePeak = peak(align.LevelManaged), peak(align.LevelPinned), peak(align.LevelPageable)
	if t.Pool != nil {
		row.PoolPeak, row.PoolUsed = known(true, t.Pool.PeakSize), known(true, t.Pool.PeakUsed)
	}
	return row
}

func newMemory(c *align.Collected, m *align.MemoryUse) memory {
	if !c.Memory {
		return memory{}
	}
	v := *m
	return memory{&v.Start, &v.End, &v.Net, &v.Peak, &v.PeakAt, &v.Need, &v.Allocs, &v.AllocBytes, &v.Frees, &v.FreeBytes,
		known(c.API, v.FailedAllocs)}
}

func newWork(c *align.Collected, u *align.Use) work {
	g, a := u.GPU, u.API
	var w work
	if c.Kernels {
		w.Kernels, w.KernelNS, w.BusyNS, w.Graphs, w.GraphNS = &g.Kernels, &g.KernelNS, &g.BusyNS, &g.Graphs, &g.GraphNS
	}
	if c.Copies {
		w.MemcpyAll, w.H2D, w.D2H, w.D2D, w.CopyNS, w.Memset = &g.Copies, &g.H2D, &g.D2H, &g.D2D, &g.MemcpyNS, &g.MemsetBytes
	}
	if c.API {
		w.APICalls, w.APIAlloc, w.APIFree, w.APISync = &a.Calls, &a.AllocNS, &a.FreeNS, &a.SyncNS
	}
	return w
}

func known(is bool, v int64) *int64 {
	if !is {
		return nil
	}
	return &v
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// putRows is the number of rows that are handed to the encoder at once.
const putRows = 256

// write writes one table of a run, row by row. A run without rows has a partition too: a reader that lists runs finds it.
func write[T any](s *stage, in *Input, o *Options, table string, rows func(put func(T) error) error) error {
	return s.file(in.partition(o.Out, table), func(out io.Writer) error {
		b := bufio.NewWriter(out)
		w := parquet.NewGenericWriter[T](b, parquet.Compression(&parquet.Snappy), parquet.CreatedBy("nsysmem", "0", "0"),
			parquet.MaxRowsPerRowGroup(1<<17), parquet.PageBufferSize(64<<10), parquet.ColumnPageBuffers(parquet.NewBufferPool()))
		buf := make([]T, 0, putRows)
		flush := func() error {
			_, err := w.Write(buf)
			buf = buf[:0]
			return err
		}
		err := rows(func(row T) error {
			buf = append(buf, row)
			if len(buf) == cap(buf) {
				return flush()
			}
			return nil
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		return b.Flush()
	})
}
