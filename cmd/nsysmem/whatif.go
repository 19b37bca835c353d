package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/whatif"
	"nsysmem/render/plot"
	"nsysmem/render/summary"
	"nsysmem/torchmem/allocator"
)

// whatIfFlags are the flags of whatif as they are given.
type whatIfFlags struct {
	confs    []string
	capacity string
	sweep    bool
	format   string
	report   string
	pictureFlags

	bytes int64 // the capacity; 0 where none was given
}

func newWhatIf(s *streams) *cobra.Command {
	c := &common{s: s, threads: "through"}
	f := &whatIfFlags{}
	cmd := &cobra.Command{
		Use:   "whatif SNAPSHOT",
		Short: "Say what other settings of PyTorch's allocator would have reserved",
		Long: `whatif reads a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), serves its requests again under other
settings of PYTORCH_CUDA_ALLOC_CONF, and says for each what it would have reserved, on which card it would run, and
where it would stop on a card of a given size. The setting of the recorded run and the defaults are always compared.

It takes one snapshot; nsysmem report --whatif compares settings for each process of a report with several. Of a snapshot with
several devices it takes the one that reserved most, or that of --device.

With the report of the same run (--report), iterations and phases name the places, and memory that others than PyTorch
took is added.

Settings that --conf takes:
  ` + strings.Join(allocator.KnownSettings(), "\n  "),
		Example: `  nsysmem whatif run.snapshot.pickle --sweep
  nsysmem whatif run.snapshot.pickle --conf max_split_size_mb:128 --conf expandable_segments:True
  nsysmem whatif run.snapshot.pickle --report run.sqlite --capacity 24GiB --sweep -o settings.png`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("give one snapshot: see %s --help", cmd.CommandPath())
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			c.hasDevice = cmd.Flags().Changed("device")
			if c.device < 0 {
				return usage("--device %d: devices are numbered from 0", c.device)
			}
			if f.capacity == "" && cmd.Flags().Changed("capacity") {
				return usage("--capacity: say how much, such as 24GiB")
			}
			return f.parse(c)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.whatIf(cmd.Context(), args[0], f)
		},
	}
	g := cmd.Flags()
	g.StringArrayVar(&f.confs, "conf", nil, "a `setting` as in PYTORCH_CUDA_ALLOC_CONF; may be given several times")
	g.BoolVar(&f.sweep, "sweep", false, "try some two dozen settings and rank them")
	g.StringVar(&f.capacity, "capacity", "", "`size` of the card, such as 24GiB: which requests fail there")
	g.StringVar(&f.report, "report", "", "report of the same run, a `file`: names iterations and phases, adds memory outside PyTorch")
	g.StringVarP(&f.format, "format", "f", "text", "`text`, json or csv")
	g.StringVarP(&f.out.path, "output", "o", "", "draw the settings over time into a `file` (.png, .svg or .pdf) too")
	g.BoolVar(&f.out.force, "force", false, "replace a file that exists")
	f.flags(cmd, "`size` of the picture, such as 1600x1000, 40x25cm or 16x10in", "`title` in place of the snapshot's name")
	g.StringVar(&c.iteration, "iteration", "", "with --report: regular `expression` that the names of iteration ranges match; default: found")
	g.StringVar(&c.domain, "domain", "", "with --report: look for iterations in this NVTX `domain` only")
	g.StringVar(&c.infer, "infer", "auto", "with --report: infer iterations from the GPU work, `auto` or off")
	g.StringVar(&c.process, "process", "", "with --report: only this process, by `pid or name`")
	g.IntVar(&c.device, "device", 0, "device `number`, as the snapshot or, with --report, the process has it; default: the one that reserved most")
	g.BoolVarP(&c.quiet, "quiet", "q", false, "no progress and no warnings on stderr")
	return cmd
}

// parse checks the flags and reads them.
func (f *whatIfFlags) parse(c *common) error {
	if err := oneOf("format", f.format, []string{"text", "json", "csv"}); err != nil {
		return err
	}
	for _, conf := range f.confs {
		if _, err := allocator.ParseConfig(conf); err != nil {
			return usage("--conf: %v", bare{err})
		}
	}
	var err error
	if f.capacity != "" {
		if f.bytes, err = parseBytes(f.capacity); err != nil {
			return usage("--capacity: %v", err)
		}
	}
	// Comparing inferred with annotated iterations says nothing about settings.
	if err := oneOf("infer", c.infer, []string{"auto", "off"}); err != nil {
		return err
	}
	if err := f.parseSize(); err != nil {
		return err
	}
	return f.parseEnding()
}

// whatIf compares settings and writes what came of them: a table to stdout and, where -o names one, a picture.
func (c *common) whatIf(ctx context.Context, path string, f *whatIfFlags) error {
	picture, err := f.pictureName(path)
	if err != nil {
		return err
	}
	w, rep, err := c.compareSettings(ctx, path, f)
	if err != nil {
		return err
	}
	if rep != nil {
		c.warn(f.report, rep.Warnings)
	}
	var doubts []findings.Warning
	if picture != "" {
		err = f.out.write(ctx, picture, path, c.s.out, func(out io.Writer) (err error) {
			doubts, err = plot.WriteWhatIf(out, strings.TrimPrefix(strings.ToLower(filepath.Ext(picture)), "."), w, f.picture)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.writeSettings(w, f.format); err != nil {
		return err
	}
	if picture != "" {
		c.warn(path, doubts)
		c.wrote(picture)
	}
	return nil
}

// pictureName is the file of the picture, which may be written; empty where none was asked for.
func (f *whatIfFlags) pictureName(path string) (string, error) {
	if f.out.path == "" {
		return "", nil
	}
	ending := f.ending
	if ending == "" {
		ending = ".png"
	}
	name, err := f.out.name(path, ".whatif", ending, false)
	if err != nil {
		return "", err
	}
	if !isFolder(f.out.path) {
		name = f.out.path // the user's own name tells the picture from others
	}
	return name, f.out.free(name)
}

// writeSettings writes the comparison to stdout.
func (c *common) writeSettings(w *whatif.Comparison, format string) (err error) {
	b := bufio.NewWriterSize(c.s.out, 1<<16)
	switch format {
	case "json":
		err = summary.WriteWhatIfJSON(b, w)
	case "csv":
		err = summary.WriteWhatIfCSV(b, w)
	default:
		err = summary.WriteWhatIf(b, w, textWidth(c.s.out), colour(c.s.out))
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// compareSettings reads snapshot and report and simulates. The report is nil without --report.
func (c *common) compareSettings(ctx context.Context, path string, f *whatIfFlags) (*whatif.Comparison, *findings.Report, error) {
	o := whatif.Options{Name: path, Device: -1, Confs: f.confs, Sweep: f.sweep, Capacity: f.bytes}
	if c.hasDevice {
		o.Device = c.device
	}
	snaps, err := readSnapshots(ctx, []string{path}, false)
	if err != nil {
		return nil, nil, err
	}
	var rep *findings.Report
	if f.report == "" {
		o.Snapshot = snaps[0].Data
	} else {
		db, err := c.open(ctx, f.report)
		if err != nil {
			return nil, nil, err
		}
		defer db.Close()
		opts := c.options()
		opts.Spans, opts.Snapshots = true, snaps
		if err := c.pattern(); err != nil {
			return nil, nil, err
		}
		if rep, err = c.align(ctx, db, opts); err != nil {
			return nil, nil, err
		}
		o.Track = joinedTrack(rep)
		if o.Track == nil {
			return nil, nil, lacking("%q: the process or device asked for is not that of snapshot %q", f.report, path)
		}
		o.Snapshot = o.Track.Tensors.Replay.Snapshot()
	}
	p := newProgress(c, path)
	o.Progress = func(done, total int) { p.report("settings", int64(done), int64(total)) }
	w, err := whatif.Compare(ctx, o)
	p.done()
	return w, rep, err
}

// joinedTrack is the track that the snapshot belongs to; of several, the one that reserved most.
func joinedTrack(rep *findings.Report) *align.Track {
	var out *align.Track
	most := int64(-1)
	for _, t := range rep.Tracks {
		if t.Tensors == nil || t.Tensors.Replay == nil {
			continue
		}
		if n := t.Tensors.Replay.Whole().ReservedPeak; n > most {
			out, most = t, n
		}
	}
	return out
}

// sweepTracks compares settings for each track that a snapshot was joined with, at the size of its card. Where there is none
// it says so: the settings were asked for.
func (c *common) sweepTracks(ctx context.Context, path string, rep *findings.Report) ([]*whatif.Comparison, error) {
	var out []*whatif.Comparison
	p := newProgress(c, path)
	defer p.done()
	for _, t := range rep.Tracks {
		if t.Tensors == nil || t.Tensors.Replay == nil {
			continue
		}
		w, err := whatif.Compare(ctx, whatif.Options{Snapshot: t.Tensors.Replay.Snapshot(), Name: t.Tensors.File, Track: t, Sweep: true, Capacity: t.DeviceTotal,
			Progress: func(done, total int) { p.report("settings", int64(done), int64(total)) }})
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		c.warn(path, rep.Warnings)
		return nil, lacking("report %q: --whatif: no snapshot goes with a process and device of it", path)
	}
	return out, nil
}
