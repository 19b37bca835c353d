package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// An opened is a report that was opened, and exported first where it had to be.
type opened struct {
	*nsysdb.DB
	given string // path as the user gave it
	temp  string // folder of the export; empty for none
}

func (o *opened) Close() {
	o.DB.Close()
	if o.temp != "" {
		os.RemoveAll(o.temp)
	}
}

// open opens a report. One that was not exported yet is exported to a temporary folder if nsys is at hand.
func (c *common) open(ctx context.Context, path string) (*opened, error) {
	db, err := nsysdb.Open(path)
	if err == nil {
		return &opened{DB: db, given: path}, nil
	}
	if !errors.Is(err, nsysdb.ErrNsysRep) {
		return nil, err
	}
	nsys, look := exec.LookPath("nsys")
	if look != nil {
		return nil, err
	}
	return c.export(ctx, nsys, path)
}

func (c *common) export(ctx context.Context, nsys, path string) (*opened, error) {
	temp, err := os.MkdirTemp("", "nsysmem-")
	if err != nil {
		return nil, err
	}
	out := filepath.Join(temp, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".sqlite")
	// A path that begins with a dash would be taken for an option.
	in, err := filepath.Abs(path)
	if err == nil {
		if !c.quiet {
			fmt.Fprintf(c.s.err, "nsysmem: exporting %s with nsys\n", oneLine(path))
		}
		var text []byte
		text, err = exec.CommandContext(ctx, nsys, "export", "--type", "sqlite", "--output", out, in).CombinedOutput()
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("export %q: nsys: %w: %s", path, err, lastLine(string(text)))
		}
	}
	var db *nsysdb.DB
	if err == nil {
		db, err = nsysdb.Open(out)
	}
	if err != nil {
		os.RemoveAll(temp)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return &opened{DB: db, given: path, temp: temp}, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// analyze aligns a report and keeps the tracks asked for.
func (c *common) analyze(ctx context.Context, db *opened, opts align.Options) (*align.Report, error) {
	if opts.Iteration != "" {
		if _, err := regexp.Compile(opts.Iteration); err != nil {
			return nil, usage("--iteration %q: %v", opts.Iteration, err)
		}
	}
	if err := c.readSnapshot(&opts); err != nil {
		return nil, err
	}
	p := newProgress(c, db.given)
	opts.Progress = p.report
	rep, err := align.Analyze(ctx, db.DB, opts)
	p.done()
	if err != nil {
		return nil, err
	}
	rep.Source.Path = db.given
	if err := c.pick(rep); err != nil {
		return nil, err
	}
	if opts.Iteration != "" && len(rep.Tracks) > 0 {
		found := false
		for _, t := range rep.Tracks {
			found = found || t.IterationsFrom.How == "pattern"
		}
		if !found {
			return nil, lacking("%q: no range matches --iteration %q: nsysmem info lists the ranges", db.given, opts.Iteration)
		}
	}
	return rep, nil
}

// readSnapshot reads the file of --snapshot. Nothing in it is run: see torchmem.
func (c *common) readSnapshot(opts *align.Options) error {
	if c.snapshot == "" {
		return nil
	}
	f, err := os.Open(c.snapshot)
	if err != nil {
		return fmt.Errorf("snapshot %q: %w", c.snapshot, err)
	}
	defer f.Close()
	if opts.Snapshot, err = torchmem.Read(f, torchmem.Options{}); err != nil {
		return fmt.Errorf("snapshot %q: %w", c.snapshot, err)
	}
	opts.SnapshotName = c.snapshot
	return nil
}

// pick keeps the tracks of --process and --device.
func (c *common) pick(rep *align.Report) error {
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
	return nil
}

// hasWork gives up on a report with neither memory events nor GPU work.
func hasWork(rep *align.Report) error {
	if !rep.Collected.Memory && !rep.Collected.Kernels && !rep.Collected.Copies {
		return lacking("%q: neither memory events nor GPU work were collected: record with nsys profile -t cuda,nvtx --cuda-memory-usage=true", rep.Source.Path)
	}
	return nil
}

// warnings tells the report's doubts on stderr, for commands whose output is a file.
func (c *common) warnings(rep *align.Report, more []align.Warning) {
	if c.quiet {
		return
	}
	for _, w := range append(append([]align.Warning(nil), rep.Warnings...), more...) {
		fmt.Fprintf(c.s.err, "nsysmem: %s: %s\n", oneLine(rep.Source.Path), oneLine(w.Text))
	}
}
