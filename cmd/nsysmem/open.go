package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/export"
	"nsysmem/torchmem"
)

// An opened is a report that was opened.
type opened struct {
	*export.Report
	given string // path as the user gave it
}

// open opens a report. One that was not exported yet is exported to a temporary folder if nsys is at hand.
func (c *common) open(ctx context.Context, path string) (*opened, error) {
	r, err := export.Open(ctx, path, "", func() { c.say("exporting %s with nsys", path) })
	if err != nil {
		if begins(path, isPickle) {
			return nil, fmt.Errorf("report %q: it is a memory snapshot of PyTorch, not a report: give the report, and the snapshot with --snapshot (nsysmem whatif SNAPSHOT --report REPORT)", path)
		}
		return nil, err
	}
	return &opened{Report: r, given: path}, nil
}

// begins says whether the first bytes of a file are of a kind. Of one that cannot be read they are not.
func begins(path string, kind func(head []byte) bool) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false // a pipe would wait, or lose what it is read for
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := io.ReadFull(f, head)
	return kind(head[:n])
}

// isPickle tells protocols 2 to 5, in which PyTorch writes snapshots.
func isPickle(head []byte) bool {
	return len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// isSQLite tells what every SQLite file begins with, whatever its name.
func isSQLite(head []byte) bool { return string(head) == "SQLite format 3\x00" }

// isReport says that a file which is no snapshot is a report, exported or not.
func isReport(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".nsys-rep", ".qdrep", ".qdstrm":
		return true
	}
	return begins(path, isSQLite)
}

// analyze aligns a report with its snapshots and keeps the tracks asked for.
func (c *common) analyze(ctx context.Context, db *opened, opts align.Options) (*findings.Report, error) {
	if err := c.pattern(); err != nil {
		return nil, err
	}
	if err := c.readSnapshots(ctx, db.given, &opts); err != nil {
		return nil, err
	}
	return c.align(ctx, db, opts)
}

// align is analyze for snapshots that were read.
func (c *common) align(ctx context.Context, db *opened, opts align.Options) (*findings.Report, error) {
	p := newProgress(c, db.given)
	opts.Progress = p.report
	aligned, err := align.Analyze(ctx, db.DB, opts)
	p.done()
	if err != nil {
		return nil, err
	}
	rep := findings.Of(aligned)
	return rep, c.keep(rep, db.given)
}

// pattern checks --iteration.
func (c *common) pattern() error {
	if _, err := regexp.Compile(c.iteration); err != nil {
		return usage("--iteration %q: %v", c.iteration, err)
	}
	return nil
}

// keep names a report as the user did and keeps the tracks asked for.
func (c *common) keep(rep *findings.Report, given string) error {
	rep.Source.Path = given
	if err := c.pick(rep); err != nil {
		return err
	}
	if c.domain != "" && !slices.ContainsFunc(rep.Families, func(f align.Family) bool {
		return f.Domain == c.domain || f.Domain == "" && (c.domain == ":" || c.domain == "default")
	}) {
		return lacking("%q: no range is in the domain %q: nsysmem info lists the ranges and their domains", given, c.domain)
	}
	if c.iteration == "" || len(rep.Tracks) == 0 {
		return nil
	}
	for _, t := range rep.Tracks {
		if t.IterationsFrom.How == align.OriginPattern {
			return nil
		}
	}
	return lacking("%q: no range matches --iteration %q: nsysmem info lists the ranges", given, c.iteration)
}

// openSnapshot reads a snapshot. What is a report in its place is told to be one: both files lie side by side, and their
// names differ in the ending alone.
func openSnapshot(name string) (*torchmem.Snapshot, error) {
	f, err := os.Open(name)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err // the message names the file already
		}
		return nil, err
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	switch {
	case err != nil && isReport(name):
		return nil, errors.New("it is a report, not a memory snapshot: give the file that torch.cuda.memory._dump_snapshot wrote (nsysmem whatif SNAPSHOT --report REPORT)")
	case err != nil:
		return nil, bare{err}
	}
	return snap, nil
}

// pick keeps the tracks of --process and --device.
func (c *common) pick(rep *findings.Report) error {
	if c.process == "" && !c.hasDevice {
		return nil
	}
	var kept []*align.Track
	var there []string
	for _, t := range rep.Tracks {
		there = append(there, fmt.Sprintf("%d (%s) on device %d", t.PID, t.Process, t.Device))
		if c.process != "" && c.process != strconv.FormatInt(t.PID, 10) && c.process != t.Process {
			continue
		}
		if c.hasDevice && int64(c.device) != t.Device {
			continue
		}
		kept = append(kept, t)
	}
	if len(kept) == 0 {
		if len(there) == 0 {
			return lacking("%q: no process with GPU events in the report", rep.Source.Path)
		}
		return lacking("%q: no such process or device in the report: it has %s", rep.Source.Path, strings.Join(there, ", "))
	}
	rep.Tracks = kept
	ofOthers := func(pid int64) bool {
		return pid != 0 && !slices.ContainsFunc(kept, func(t *align.Track) bool { return t.PID == pid })
	}
	rep.Warnings = slices.DeleteFunc(rep.Warnings, func(w findings.Warning) bool { return ofOthers(w.PID) })
	rep.Findings = slices.DeleteFunc(rep.Findings, func(f findings.Finding) bool { return ofOthers(f.PID()) })
	rep.Families = slices.DeleteFunc(rep.Families, func(f align.Family) bool { return ofOthers(f.PID) })
	return nil
}

// hasWork gives up on a report with neither memory events nor GPU work.
func hasWork(rep *findings.Report) error {
	c := &rep.Collected
	switch {
	case c.Memory || c.Kernels || c.Copies:
	case c.Launches > 0:
		return lacking("%q: neither memory events nor GPU work were collected: %s", rep.Source.Path, findings.NoGPU(c))
	default:
		return lacking("%q: neither memory events nor GPU work were collected: record with nsys profile -t cuda,nvtx --cuda-memory-usage=true", rep.Source.Path)
	}
	return nil
}

// warn tells doubts about a file on stderr, for commands whose output is no text with room for them.
func (c *common) warn(of string, doubts []findings.Warning) {
	for _, w := range doubts {
		c.say("%s: %s", of, w.Text)
	}
}

// each does every report. One that fails is told at once and costs the others nothing; wrong use and an interruption end
// it all.
func (c *common) each(ctx context.Context, paths []string, do func(path string) error) error {
	if len(paths) == 1 {
		return do(paths[0])
	}
	failed, code := 0, exitLacking
	for _, path := range paths {
		err := do(path)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || exitCode(err) == exitUsage || errors.Is(err, syscall.EPIPE) {
			return err
		}
		tell(c.s.err, err)
		failed++
		if exitCode(err) != exitLacking {
			code = exitFailed
		}
	}
	if failed > 0 {
		return coded{code, fmt.Errorf("%d of %d reports failed", failed, len(paths))}
	}
	return nil
}
