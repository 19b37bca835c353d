package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/plot"
)

// plotFlags are the flags of plot as they are given.
type plotFlags struct {
	pictureFlags
	view, from, to string
	stack, at      string
	iterations     string
}

func newPlot(s *streams) *cobra.Command {
	c := &common{s: s}
	f := &plotFlags{}
	cmd := &cobra.Command{
		Use:   "plot REPORT...",
		Short: "Draw device memory over time, by iteration and phase",
		Long: `plot draws one picture for each process and device of a report: the device level over time with iterations, phases
and the peak; a bar for each iteration from its start to its end level with a whisker to its peak; and one steady
iteration enlarged: one that keeps what most do and needs the median. The ending of the output chooses PNG, SVG or PDF.

Where the tensors are known, from PyTorch's memory snapshot of the run (--snapshot, or beside the report) or because the program ran without a
caching allocator, the level is stacked from them by category: parameter, weight copy, optimizer state, gradient,
activation, input, communication, workspace, graph pool, autograd detail, temporary, unknown. --view segments is a map of
the allocator's segments and blocks at one moment.

The report must have memory events (nsys profile --cuda-memory-usage=true).`,
		Example: `  nsysmem plot run.sqlite                          # writes run.png
  nsysmem plot run.sqlite -o memory.svg --view timeline --from 12.5s --to 13s
  nsysmem plot run.sqlite --snapshot run.pickle --stack phase
  nsysmem plot run.sqlite --snapshot run.pickle --view segments --at 12.5s -o map.png
  nsysmem plot run.sqlite --iterations 3-8 --size 1920x1080 --dpi 120`,
		Args: reports,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.parse(); err != nil {
				return err
			}
			return c.each(cmd.Context(), args, func(path string) error { return c.plot(cmd.Context(), path, f, len(args) > 1) })
		},
	}
	c.flags(cmd)
	g := cmd.Flags()
	g.StringVarP(&f.out.path, "output", "o", "", "`file` (.png, .svg or .pdf), a folder, or - for stdout (PNG); default: the report's name in the working directory")
	g.BoolVar(&f.out.force, "force", false, "replace files that exist")
	g.StringVar(&f.view, "view", "all", "`VIEW`: timeline, iterations, steady, all, or segments: a map of the memory that PyTorch's allocator holds (with a snapshot)")
	g.StringVar(&f.at, "at", "", "`MOMENT` of --view segments: peak (of what tensors hold), reserved (its peak), oom (the first request that failed), or a time such as 12.5s; default peak")
	g.StringVar(&f.stack, "stack", "", "`WHAT` the levels are made of: the tensors by category, by phase of birth, the driver's memory by kind, or none; default: category where a snapshot or the driver tells the tensors")
	complete(cmd, "view", views...)
	complete(cmd, "stack", stacks...)
	complete(cmd, "at", places...)
	g.StringVar(&f.from, "from", "", "start of the timeline on the report's clock, a `time` such as 12.5s or 300ms")
	g.StringVar(&f.to, "to", "", "end of the timeline, a `time`")
	g.StringVar(&f.iterations, "iterations", "", "only these iterations, a number or a `range` such as 3-8, both included")
	f.flags(cmd, "`size` of the picture, such as 1920x1080, 40x25cm or 16x10in; default 1600x1000", "`title` in place of the report's name")
	g.BoolVar(&f.picture.Linear, "linear", false, "one scale for all of the timeline, rather than squeezing set-up and long first iterations")
	g.BoolVar(&f.picture.SinceFirst, "since-first", false, "count time from the first event in view")
	return cmd
}

// The words that flags take.
var (
	views  = []string{"timeline", "iterations", "steady", "all", "segments"}
	stacks = []string{"category", "phase", "kind", "none"}
	places = []string{"peak", "reserved", "oom"}
)

// parse checks the flags and reads them into the options of the picture.
func (f *plotFlags) parse() (err error) {
	o := &f.picture
	o.View, o.Stack = f.view, f.stack
	if err := oneOf("view", f.view, views); err != nil {
		return err
	}
	if err := f.parseAt(); err != nil {
		return err
	}
	if f.stack != "" {
		if err := oneOf("stack", f.stack, stacks); err != nil {
			return err
		}
	}
	if err := f.parseSize(); err != nil {
		return err
	}
	if o.From, err = parseTime(f.from); err != nil {
		return usage("--from: %v", err)
	}
	if o.To, err = parseTime(f.to); err != nil {
		return usage("--to: %v", err)
	}
	if f.to != "" && o.To <= o.From {
		return usage("--to %s is not after --from %s", f.to, f.from)
	}
	if o.Iterations, err = parseRange(f.iterations); err != nil {
		return err
	}
	if f.out.path != "-" {
		err = f.parseEnding()
	}
	if f.ending == "" {
		f.ending = pictureEndings[0]
	}
	return err
}

// parseAt reads --at and checks what goes with the view of segments.
func (f *plotFlags) parseAt() (err error) {
	o := &f.picture
	if f.view != "segments" {
		if f.at != "" {
			return usage("--at: it goes with --view segments; for the timeline say --from and --to")
		}
		return nil
	}
	if o.At = f.at; f.at != "" && !slices.Contains(places, f.at) {
		o.At = "time"
		if o.AtTime, err = parseTime(f.at); err != nil {
			return usage("--at: %v; or peak, reserved or oom", err)
		}
	}
	if f.from != "" || f.to != "" || f.iterations != "" {
		return usage("--view segments shows one moment: give it with --at, not with --from, --to or --iterations")
	}
	if f.stack == "kind" || f.stack == "none" {
		return usage("--view segments --stack %s: say category or phase", f.stack)
	}
	return nil
}

// plot draws the pictures of a report, one for each track that has something to show. Their names are told before the first
// is drawn, so that a file which is in the way costs no work and leaves no half of a set.
func (c *common) plot(ctx context.Context, path string, f *plotFlags, several bool) error {
	if f.view == "segments" && !c.hasSnapshots(path) {
		return usage("--view segments: a report does not tell the blocks of PyTorch's allocator: give its memory snapshot with --snapshot; none lies beside %q", path)
	}
	db, err := c.open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	opts := c.options()
	opts.Spans = true
	opts.Blocks = f.stack == "kind"
	rep, err := c.analyze(ctx, db, opts)
	if err != nil {
		return err
	}
	if err := hasMemory(rep, path); err != nil {
		return err
	}
	if len(rep.Tracks) == 0 {
		c.warn(path, rep.Warnings) // they tell of events that make no sense
		return lacking("plot %q: no process used CUDA in the recorded time", path)
	}
	c.dropIdle(rep)
	f.choose(rep)
	names, err := f.names(path, rep.Tracks, several)
	if err != nil {
		return err
	}
	c.warn(path, rep.Warnings)
	for i, t := range rep.Tracks {
		if err := c.picture(ctx, db, rep, t, names[i], f); err != nil {
			return err
		}
	}
	return nil
}

// hasMemory gives up on a report without memory events.
func hasMemory(rep *findings.Report, path string) error {
	switch c := &rep.Collected; {
	case c.Memory:
		return nil
	case c.Launches > 0:
		return lacking("plot %q: memory events were not collected: %s", path, findings.NoGPU(c))
	}
	return lacking("plot %q: memory events were not collected: record with nsys profile -t cuda,nvtx --cuda-memory-usage=true", path)
}

// names are the files of the pictures of a report's tracks, all of which may be written.
func (f *plotFlags) names(path string, tracks []*align.Track, several bool) ([]string, error) {
	names := make([]string, len(tracks))
	parts := make(map[string]int)
	for i, t := range tracks {
		part := ""
		if len(tracks) > 1 {
			part = fmt.Sprintf(".p%d-gpu%d", t.PID, t.Device)
			// Processes of different machines may have one number.
			if parts[part]++; parts[part] > 1 {
				part += fmt.Sprintf("-%d", parts[part])
			}
		}
		var err error
		if names[i], err = f.out.name(path, part, f.ending, several); err == nil {
			err = f.out.free(names[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// dropIdle leaves out tracks whose picture would be empty, and says which.
func (c *common) dropIdle(rep *findings.Report) {
	worthless := plot.Worthless(rep.Tracks)
	rep.Tracks = slices.DeleteFunc(rep.Tracks, func(t *align.Track) bool {
		why := worthless[t]
		if why != "" {
			c.say("%s: no picture of process %d on device %d: %s", rep.Source.Path, t.PID, t.Device, why)
		}
		return why != ""
	})
}

// choose leaves the tracks that have what the picture is of, where some have it and others do not.
func (f *plotFlags) choose(rep *findings.Report) {
	var kept []*align.Track
	for _, t := range rep.Tracks {
		ten := t.Tensors
		if ten != nil && (f.view != "segments" || ten.Replay != nil && (f.at != "oom" || len(ten.Failures) > 0)) {
			kept = append(kept, t)
		}
	}
	if len(kept) > 0 && (f.view == "segments" || f.stack == "category" || f.stack == "phase") {
		rep.Tracks = kept
	}
}

// picture draws one track. Its curves are read once the window is known, in no more points than can be told apart: a report may
// have more events than fit into memory.
func (c *common) picture(ctx context.Context, db *opened, rep *findings.Report, t *align.Track, name string, f *plotFlags) error {
	windows, err := plot.Windows(rep, t, f.picture)
	if err != nil {
		return coded{exitLacking, err}
	}
	var curves [][]align.Curve
	if len(windows) > 0 {
		if curves, err = align.Curves(ctx, db.DB, rep.Report, windows); err != nil {
			return err
		}
	}
	var doubts []findings.Warning
	err = f.out.write(ctx, name, db.given, c.s.out, func(w io.Writer) (err error) {
		doubts, err = plot.Write(w, strings.TrimPrefix(f.ending, "."), rep, t, curves, f.picture)
		return err
	})
	if err != nil {
		return err
	}
	c.warn(rep.Source.Path, doubts)
	c.wrote(name)
	return nil
}
