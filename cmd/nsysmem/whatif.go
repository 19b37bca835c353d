package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
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
	out      output
	size     string
	picture  plot.Options

	bytes  int64 // capacity
	ending string
}

func newWhatIf(s *streams) *cobra.Command {
	c := &common{s: s, threads: "any"}
	f := &whatIfFlags{}
	cmd := &cobra.Command{
		Use:   "whatif SNAPSHOT",
		Short: "Say what other settings of PyTorch's allocator would have reserved",
		Long: `whatif reads a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), serves its requests again under other
settings of PYTORCH_CUDA_ALLOC_CONF, and says for each what it would have reserved, on which card it would run, and
where it would stop on a card of a given size. The setting of the recorded run and the defaults are always compared.

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
	g.StringVar(&f.size, "size", "", "`size` of the picture, such as 1600x1000, 40x25cm or 16x10in")
	g.IntVar(&f.picture.DPI, "dpi", 0, "dots an inch, which sets how large text is; default 100")
	g.StringVar(&f.picture.Font, "font", "", "font `file` for characters that the built-in font lacks")
	g.StringVar(&f.picture.Title, "title", "", "`title` in place of the snapshot's name")
	g.StringVar(&c.iteration, "iteration", "", "with --report: regular `expression` that the names of iteration ranges match; default: found")
	g.StringVar(&c.domain, "domain", "", "with --report: look for iterations in this NVTX `domain` only")
	g.StringVar(&c.infer, "infer", "auto", "with --report: infer iterations from the GPU work, `auto` or off")
	g.StringVar(&c.process, "process", "", "with --report: only this process, by `pid or name`")
	g.IntVar(&c.device, "device", 0, "device `number`, as the snapshot or, with --report, the process has it; default: the one that reserved most")
	g.BoolVarP(&c.quiet, "quiet", "q", false, "no progress and no warnings on stderr")
	return cmd
}

func (f *whatIfFlags) parse(c *common) error {
	switch f.format {
	case "text", "json", "csv":
	default:
		return usage("--format %q: say text, json or csv", f.format)
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
	if mode, ok := inferModes[c.infer]; !ok || mode == align.InferAlways {
		return usage("--infer %q: say auto or off", c.infer)
	}
	if f.size != "" {
		if f.picture.Size, err = plot.ParseSize(f.size); err != nil {
			return usage("--size: %v", err)
		}
	}
	if err := plot.CheckSize(f.picture); err != nil {
		return usage("--size, --dpi: %v", bare{err})
	}
	if f.out.path != "" && !isFolder(f.out.path) {
		f.ending = strings.ToLower(filepath.Ext(f.out.path))
		switch f.ending {
		case ".png", ".svg", ".pdf":
		default:
			return usage("-o %q: the name must end in .png, .svg or .pdf", f.out.path)
		}
	}
	return nil
}

// byteUnits are the units of --capacity. Cards are sold in GB of either kind, so that a bare G would be a guess.
var byteUnits = map[string]float64{"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}

var bytesRE = regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$`)

// parseBytes reads a size such as "24GiB", "80GB" (a thousand million each) or plain bytes.
func parseBytes(s string) (int64, error) {
	m := bytesRE.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: write bytes, or a number with MiB, GiB or GB", s)
	}
	unit, ok := byteUnits[strings.ToLower(m[2])]
	if !ok {
		return 0, fmt.Errorf("%q: the unit %s is not known: write MiB, GiB or TiB, or MB, GB or TB for powers of ten", s, m[2])
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, err)
	}
	if m[2] == "" && (strings.Contains(m[1], ".") || v < 1<<20) {
		return 0, fmt.Errorf("%q has no unit: write %sGiB, or MiB, TiB, GB or MB", s, m[1])
	}
	v = math.Round(v * unit)
	if v < 1<<20 || v > 1<<50 {
		return 0, fmt.Errorf("%q: say between 1MiB and 1024TiB", s)
	}
	return int64(v), nil
}

func (c *common) whatIf(ctx context.Context, path string, f *whatIfFlags) error {
	picture := ""
	if f.out.path != "" {
		ending := f.ending
		if ending == "" {
			ending = ".png"
		}
		var err error
		if picture, err = f.out.name(path, ".whatif", ending, false); err == nil && !isFolder(f.out.path) {
			picture = f.out.path
		}
		if err == nil {
			err = f.out.free(picture)
		}
		if err != nil {
			return err
		}
	}
	w, rep, err := c.compareSettings(ctx, path, f)
	if err != nil {
		return err
	}
	if rep != nil {
		c.warnings(rep, nil)
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
	b := bufio.NewWriterSize(c.s.out, 1<<16)
	switch f.format {
	case "json":
		err = summary.WriteWhatIfJSON(b, w)
	case "csv":
		err = summary.WriteWhatIfCSV(b, w)
	default:
		err = summary.WriteWhatIf(b, w, textWidth(c.s.out), colour(c.s.out))
	}
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return err
	}
	if picture != "" && !c.quiet {
		for _, d := range doubts {
			fmt.Fprintf(c.s.err, "nsysmem: %s: %s\n", wording.Message(path), wording.Message(d.Text))
		}
		fmt.Fprintf(c.s.err, "nsysmem: wrote %s\n", wording.Message(picture))
	}
	return nil
}

// compareSettings reads snapshot and report and simulates. The report is nil without --report.
func (c *common) compareSettings(ctx context.Context, path string, f *whatIfFlags) (*whatif.Comparison, *findings.Report, error) {
	o := whatif.Options{Name: path, Device: -1, Confs: f.confs, Sweep: f.sweep, Capacity: f.bytes}
	if c.hasDevice {
		o.Device = c.device
	}
	c.snapshot = path
	var rep *findings.Report
	if f.report == "" {
		var opts align.Options
		if err := c.readSnapshot(ctx, &opts); err != nil {
			return nil, nil, err
		}
		o.Snapshot = opts.Snapshot
	} else {
		db, err := c.open(ctx, f.report)
		if err != nil {
			return nil, nil, err
		}
		defer db.Close()
		opts := c.options()
		opts.Spans = true
		if rep, err = c.analyze(ctx, db, opts); err != nil {
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

// sweepTracks compares settings for each track that the snapshot was joined with, at the size of its card.
func (c *common) sweepTracks(ctx context.Context, path string, rep *findings.Report) ([]*whatif.Comparison, error) {
	var out []*whatif.Comparison
	p := newProgress(c, path)
	defer p.done()
	for _, t := range rep.Tracks {
		if t.Tensors == nil || t.Tensors.Replay == nil {
			continue
		}
		w, err := whatif.Compare(ctx, whatif.Options{Snapshot: t.Tensors.Replay.Snapshot(), Name: c.snapshot, Track: t, Sweep: true, Capacity: t.DeviceTotal,
			Progress: func(done, total int) { p.report("settings", int64(done), int64(total)) }})
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}
