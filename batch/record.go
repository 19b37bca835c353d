package batch

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/tables"
)

// A record is what the comparison of all reports needs to know of one. A file holds its head and then the iterations of
// each track, so that whoever needs the head alone reads no more.
type record struct {
	recordHead
	Iterations [][]iteration // by track
}

// recordMark begins a file, and changes where older files can no longer be understood.
const recordMark = "nsysmem batch record 3\n"

// A recordHead is a record without its iterations.
type recordHead struct {
	Input
	Version  string
	Settings string
	Extras   extras // what was asked for, or was there before

	Error   string // why the report failed; empty where it did not, and only then the rest is there
	Outputs []file // files of this result; of a report that failed, those of an earlier one, which stay

	Source    align.Source
	Collected align.Collected
	Tracks    []track
	Findings  []string // severity and text
	Warnings  []string
}

// A file is an output below the batch's folder.
type file struct {
	Path string
	Size int64
}

// A track is what a record holds of an align.Track.
type track struct {
	PID         int64
	Process     string
	Device      int64
	DeviceName  string
	DeviceUUID  string
	DeviceTotal int64
	Rank        int64  // -1 where unknown
	Group       string // shared by the ranks of one job; empty without rank

	Levels         []align.Level
	Pool           *align.Pool
	IterationsFrom align.IterationsFrom
	Iterations     int
	PeakIteration  string   // name of the iteration with the device level's peak; empty outside iterations
	PeakPhase      string   // path of the phase that made it
	PeakTies       []string // of others that came as near
	Phases         []align.PhaseStat
	Attribution    align.Attribution
	Total          align.Use
}

// An iteration is what a record holds of an align.Iteration: all but its phases, of which the one with the peak is named.
type iteration struct {
	Index     int
	Name      string
	Start     int64 // ns
	End       int64 // ns
	Warmup    bool
	Truncated bool
	Lost      align.Lost
	PeakBy    align.PeakBy
	Memory    align.MemoryUse
	GPU       align.GPUUse
	API       align.APIUse
}

// newRecord makes the record of an aligned report. ranks are those that the report itself gives its processes, by pid.
func newRecord(in Input, rep *findings.Report, ranks map[int64]int64) *record {
	r := &record{recordHead: recordHead{Input: in, Source: rep.Source, Collected: rep.Collected}}
	for _, f := range rep.Findings {
		r.Findings = append(r.Findings, string(f.Severity)+": "+f.Text)
	}
	for _, w := range rep.Warnings {
		r.Warnings = append(r.Warnings, w.Text)
	}
	for _, t := range rep.Tracks {
		out := track{PID: t.PID, Process: t.Process, Device: t.Device, DeviceName: t.DeviceName, DeviceUUID: t.DeviceUUID,
			DeviceTotal: t.DeviceTotal, Levels: t.Levels, Pool: t.Pool, IterationsFrom: t.IterationsFrom,
			Iterations: len(t.Iterations), Phases: t.Phases, Attribution: t.Attribution, Total: t.Total}
		out.Rank, out.Group = in.Rank, in.Group
		// A report of several ranks says which process is which; the path can give them one number at most.
		if rank, ok := ranks[t.PID]; ok && (in.Rank < 0 || len(ranks) > 1) {
			out.Rank, out.Group = rank, withoutNumbers(in.Path)
		}
		if l := t.Level(align.LevelDevice); l != nil {
			if it, by := t.PeakPlace(l); it != nil {
				out.PeakIteration, out.PeakPhase, out.PeakTies = it.Name, by.Phase, by.Ties
			}
		}
		its := make([]iteration, len(t.Iterations))
		for i := range t.Iterations {
			it := &t.Iterations[i]
			its[i] = iteration{Index: it.Index, Name: it.Name, Start: it.Start, End: it.End, Warmup: it.Warmup,
				Truncated: it.Truncated, Lost: it.Lost, Memory: it.Memory, GPU: it.GPU, API: it.API}
			if rep.Collected.Memory && !it.Lost.Memory {
				its[i].PeakBy = it.PeakBy(align.LevelDevice)
			}
		}
		r.Tracks = append(r.Tracks, out)
		r.Iterations = append(r.Iterations, its)
	}
	return r
}

// withoutNumbers is a path with each number as "#".
func withoutNumbers(path string) string {
	var b []byte
	for i := 0; i < len(path); {
		if n := digits(path[i:]); n > 0 {
			b = append(b, '#')
			i += n
			continue
		}
		b = append(b, path[i])
		i++
	}
	return string(b)
}

// device is the track's device level; nil where it has none.
func (t *track) device() *align.Level { return align.LevelOf(t.Levels, align.LevelDevice) }

// run is the track as a row of tables.
func (t *track) run(h *recordHead, label string) *tables.Run {
	return &tables.Run{Label: label, Rank: t.Rank, Group: t.Group, Path: h.Path, Source: &h.Source, Collected: &h.Collected,
		Track: &align.Track{PID: t.PID, Process: t.Process, Device: t.Device, DeviceName: t.DeviceName, DeviceUUID: t.DeviceUUID,
			DeviceTotal: t.DeviceTotal, Levels: t.Levels, Pool: t.Pool, IterationsFrom: t.IterationsFrom, Attribution: t.Attribution, Total: t.Total},
		Iterations: t.Iterations, PeakIteration: t.PeakIteration, PeakBy: align.PeakBy{Phase: t.PeakPhase, Ties: t.PeakTies}, Findings: h.Findings, Warnings: h.Warnings}
}

// step is the iteration as a row of tables.
func (it *iteration) step(r *tables.Run) *tables.Step {
	return &tables.Step{Collected: r.Collected, From: r.Source.Start, Path: r.Path, Track: r.Track, Peak: &it.PeakBy,
		Iteration: &align.Iteration{Index: it.Index, Name: it.Name, Start: it.Start, End: it.End, Warmup: it.Warmup, Truncated: it.Truncated, Lost: it.Lost,
			Use: align.Use{Memory: it.Memory, GPU: it.GPU, API: it.API}}}
}

// label names a track among those of all runs. A device's number says little: each process may call its own device 0.
func (h *recordHead) label(i int) string {
	if len(h.Tracks) < 2 {
		return h.Name
	}
	t := &h.Tracks[i]
	if t.Rank >= 0 && t.Rank != h.Rank {
		once := true
		for k := range h.Tracks {
			once = once && (k == i || h.Tracks[k].Rank != t.Rank)
		}
		if once {
			return fmt.Sprintf("%s rank %d", h.Name, t.Rank)
		}
	}
	return fmt.Sprintf("%s p%d gpu%d", h.Name, t.PID, t.Device)
}

func (r *record) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(recordMark)
	e := gob.NewEncoder(b)
	if err := e.Encode(&r.recordHead); err != nil {
		return err
	}
	for _, its := range r.Iterations {
		if err := e.Encode(its); err != nil {
			return err
		}
	}
	return b.Flush()
}

// readHead reads the head of a record.
func readHead(path string) (*recordHead, error) {
	r, err := readRecord(path, -1)
	if err != nil {
		return nil, err
	}
	return &r.recordHead, nil
}

// readRecord reads a record, its iterations only where there are at most so many.
func readRecord(path string, most int) (*record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bufio.NewReader(f)
	mark := make([]byte, len(recordMark))
	if _, err := io.ReadFull(b, mark); err != nil || string(mark) != recordMark {
		return nil, fmt.Errorf("batch: read %q: not a record of this version", path)
	}
	d := gob.NewDecoder(b)
	r := &record{}
	if err := d.Decode(&r.recordHead); err != nil {
		return nil, fmt.Errorf("batch: read %q: %w", path, err)
	}
	n := 0
	for i := range r.Tracks {
		n += r.Tracks[i].Iterations
	}
	if n > most {
		return r, nil
	}
	r.Iterations = make([][]iteration, len(r.Tracks))
	for i := range r.Iterations {
		if err := d.Decode(&r.Iterations[i]); err != nil {
			return nil, fmt.Errorf("batch: read %q: %w", path, err)
		}
		if len(r.Iterations[i]) != r.Tracks[i].Iterations {
			return nil, fmt.Errorf("batch: read %q: %d iterations where %d were written", path, len(r.Iterations[i]), r.Tracks[i].Iterations)
		}
	}
	return r, nil
}

// current says whether a record is of this report as it is now, made by this version with these settings and at least
// these extras.
func (h *recordHead) current(in *Input, version, settings string, e extras) bool {
	return h.Input == *in && h.Version == version && h.Settings == settings && h.Extras.has(e)
}

// whole says whether all files of a result are there as they were written, those of further extras left aside.
func (h *recordHead) whole(out string, e extras) bool {
	for _, f := range h.Outputs {
		if !e.has(extraOf(f.Path)) {
			continue
		}
		if info, err := os.Stat(filepath.Join(out, f.Path)); err != nil || info.Size() != f.Size {
			return false
		}
	}
	return true
}

// finished returns the record of a report whose result is there and needs no doing; a failure is worth another try.
func finished(in *Input, o *Options) bool {
	h, err := readHead(in.record(o.Out))
	return err == nil && h.current(in, o.Version, o.settings(), o.extras()) && h.Error == "" && h.whole(o.Out, o.extras())
}

// removeFile removes a file that may be gone already.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
