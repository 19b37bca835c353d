package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nsysmem/align"
	"nsysmem/align/theory"
)

// streams are where output goes: results to out, progress and warnings to err.
type streams struct {
	out, err io.Writer
	in       io.Reader // for worker processes; nil where the program is not its own process
	args     []string  // that a worker process is to have too; likewise
}

// common are the flags that every command on reports has.
type common struct {
	s         *streams
	snapshots []string // files, or noSnapshot alone; empty for those beside the report
	beside    *neighbours
	params    int64
	dtype     string
	optimizer string
	quiet     bool
	iteration string
	domain    string
	threads   string
	infer     string
	process   string
	device    int
	hasDevice bool
}

func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "nsysmem",
		Short: "GPU memory, kernels and API time of each training iteration and phase",
		Long: `nsysmem reads the SQLite export of an Nsight Systems report and says which training iteration and which phase
(data, forward, backward, optimizer, or whatever the NVTX ranges say) needs how much GPU memory, what its peak
is, what stays behind, and which kernels run there.

Record a report that has what is needed, and export it:
  nsys profile -t cuda,nvtx --cuda-memory-usage=true -o run python train.py
  nsys export --type sqlite -o run.sqlite run.nsys-rep

Exit codes: 0 done; 1 failed; 2 wrong use; 3 the report lacks the data asked for.`,
		Example: `  nsysmem plot run.sqlite               # run.png: one picture of the whole run
  nsysmem report run.sqlite             # run.xlsx: a workbook for reviewers
  nsysmem summary run.sqlite            # tables in the terminal
  nsysmem info run.sqlite               # what the report holds, and what it lacks
  nsysmem batch runs/ -o out            # many reports, compared
  nsysmem whatif s.pickle --sweep       # what other allocator settings would have reserved`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q: see nsysmem --help", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v: see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newBatch(s), newPlot(s), newReport(s), newSummary(s), newInfo(s), newWhatIf(s))
	return root
}

// buildVersion is the version with the commit that it was built from, where the build knows.
func buildVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" && len(kv.Value) >= 12 {
				v += " (" + kv.Value[:12] + ")"
			}
		}
	}
	return v
}

// flags adds the common flags to a command.
func (c *common) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&c.quiet, "quiet", "q", false, "no progress and no warnings on stderr")
	f.StringVar(&c.iteration, "iteration", "", "regular `expression` that the names of iteration ranges match: a name, domain:name or outer/inner path; default: found")
	f.StringVar(&c.domain, "domain", "", "look for iterations in this NVTX `domain` only (\":\" is the default domain)")
	f.StringVar(&c.threads, "threads", "through", "`MODE`: through gives work of a thread without an open range of the program's own (PyTorch's backward) to the range open on the iterations' thread, with a framework's or library's own range as detail; any does so only where no range at all is open; same never does, as NVIDIA's own scripts")
	f.StringVar(&c.infer, "infer", "auto", "`MODE`: infer iterations and phases from the GPU work, auto where there are no ranges for them, always also to compare with the ranges, or off")
	c.beside = &neighbours{}
	f.StringArrayVar(&c.snapshots, "snapshot", nil, "PyTorch memory snapshot of the same run, a `file` that torch.cuda.memory._dump_snapshot wrote; several times for several ranks, each finds its process; none: without; default: RUN.snapshot.pickle or RUN.pickle, of ranks RUN.rankN.snapshot.pickle, beside the report RUN.sqlite")
	f.Int64Var(&c.params, "params", 0, "`number` of the model's parameters, to put theory beside measurement")
	f.StringVar(&c.dtype, "dtype", "float32", "`TYPE` of the parameters, for --params: float64, float32, float16, bfloat16 or float8")
	f.StringVar(&c.optimizer, "optimizer", "adamw", "`NAME` of the optimizer, for --params: sgd, sgd-momentum, adam, adamw or none")
	f.StringVar(&c.process, "process", "", "only this process, by `pid or name`")
	f.IntVar(&c.device, "device", 0, "only this device, by the process's own `number`")
	complete(cmd, "threads", threadModes...)
	complete(cmd, "infer", inferModes...)
	complete(cmd, "dtype", "float64", "float32", "float16", "bfloat16", "float8")
	complete(cmd, "optimizer", "sgd", "sgd-momentum", "adam", "adamw", "none")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		c.hasDevice = cmd.Flags().Changed("device")
		if err := oneOf("threads", c.threads, threadModes); err != nil {
			return err
		}
		if err := c.checkSnapshots(); err != nil {
			return err
		}
		if c.params < 0 {
			return usage("--params %d: say how many parameters the model has", c.params)
		}
		if err := theory.Check(c.dtype, c.optimizer); err != nil {
			return usage("--dtype, --optimizer: %v", err)
		}
		return oneOf("infer", c.infer, inferModes)
	}
}

// The words that --threads and --infer take, in the order in which they are told.
var (
	threadModes = []string{"through", "any", "same"}
	inferModes  = []string{"auto", "always", "off"}
)

// options are what the common flags say, once they are checked.
func (c *common) options() align.Options {
	infer := map[string]align.Infer{"auto": align.InferAuto, "always": align.InferAlways, "off": align.InferOff}
	threads := map[string]align.Threads{"through": align.ThreadsThrough, "any": align.ThreadsAny, "same": align.ThreadsSame}
	return align.Options{
		Infer:     infer[c.infer],
		Params:    c.params,
		DType:     c.dtype,
		Optimizer: c.optimizer,
		Iteration: c.iteration,
		Domain:    c.domain,
		Threads:   threads[c.threads],
	}
}

// say tells the user something that is no error.
func (c *common) say(format string, args ...any) {
	if !c.quiet {
		line(c.s.err, fmt.Sprintf(format, args...))
	}
}

// wrote tells that a file was made. Of stdout there is nothing to tell.
func (c *common) wrote(name string) {
	if name != "-" {
		c.say("wrote %s", name)
	}
}

// complete offers values for a flag in the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// The error says that there is no such flag, or that values were offered already: neither can happen to a user.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// reports checks that a command was given reports.
func reports(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("no report given: see %s --help", cmd.CommandPath())
	}
	// Only info may be asked which of several reports a snapshot belongs to.
	if s, err := cmd.Flags().GetStringArray("snapshot"); err == nil && len(args) > 1 && len(s) > 0 && s[0] != "" && s[0] != noSnapshot && cmd.Name() != "info" {
		return usage("--snapshot %q with %d reports: a snapshot is of one report: give that one", s[0], len(args))
	}
	return nil
}

// terminal says whether a stream is a terminal, and how wide it is.
func terminal(w io.Writer) (width int, is bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return width, true
}

// changing says whether a stream is a terminal on which a line can be written anew, and how wide it is.
func changing(w io.Writer) (width int, ok bool) {
	width, ok = terminal(w)
	return width, ok && os.Getenv("TERM") != "dumb"
}

// textWidth is the width for tables: the terminal's, else what COLUMNS says, else 200: a file or pipe has no
// edge, but lines that long are still read without scrolling far.
func textWidth(w io.Writer) int {
	if width, ok := terminal(w); ok {
		return width
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 20 {
		return n
	}
	return 200
}

// colour says whether to write colour codes: to a terminal that does not refuse them.
func colour(w io.Writer) bool {
	_, is := terminal(w)
	return is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
