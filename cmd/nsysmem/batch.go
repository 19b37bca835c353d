package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/batch"
	"nsysmem/internal/export"
	"nsysmem/internal/wording"
)

// batchFlags are the flags of batch as they are given.
type batchFlags struct {
	out                         string
	jobs                        int
	shard, rank                 string
	plot, workbook, allocations bool
	redo, prune                 bool
	worker                      bool // this process does what another sends it
}

func newBatch(s *streams) *cobra.Command {
	c := &common{s: s}
	f := &batchFlags{}
	cmd := &cobra.Command{
		Use:   "batch RUNS... -o FOLDER",
		Short: "Do many reports and compare them, on one machine or a cluster",
		Long: `batch does every report that RUNS names and compares them. RUNS are reports, folders, which are searched for .sqlite
files and, with nsys on PATH, .nsys-rep files, patterns such as 'runs/*/rank?.sqlite', and lists @FILE with one of these
a line. The folder gets

  batch.xlsx          runs, iterations of all runs, phases by runs, spread over ranks, failures
  batch.png           peak of each run, level by iteration with the range over ranks
  reports/NAME.json   the summary of each report; with --plot and --workbook its picture and workbook
  data/               Parquet tables, partitioned by run, that DuckDB, Spark and Polars open as one data set:
                      SELECT * FROM read_parquet('FOLDER/data/iterations/*/*.parquet', hive_partitioning=true)

Runs are called by their files. A rank is taken from the path ("rank3", "r3" and alike) or from the report itself, and
ranks are compared by the number of the iteration, never by the clock.

A report that cannot be read stands among the failures and costs the others nothing; the exit code is then 1. Stopped
at any moment and started again, batch does only what is missing or has changed. PyTorch's memory snapshots that lie beside
a report, RUN.snapshot.pickle or RUN.pickle of RUN.sqlite and RUN.rankN.snapshot.pickle of its ranks, are used with it;
--snapshot none leaves them out.

Nothing in the folder is lost by another call: pictures, workbooks and allocations that are there stay, and are made
anew where their report has changed, whether this call asks for them or not. Results of reports that RUNS no longer
names stay in reports/ and data/, but are not compared; --prune removes them. Results made with other settings, such as
another --iteration, cannot be compared: batch refuses until --redo says to replace them.

On a cluster every task is given the same RUNS and the same folder, and takes its share: the one of its place in a
Slurm array or a Kubernetes indexed job, or what --shard says. Then batch merge compares what all of them did.`,
		Example: `  nsysmem batch runs/ -o out
  nsysmem batch 'sweep/*/rank*.sqlite' @more.txt -o out --jobs 8 --plot --workbook
  nsysmem batch runs/ -o out --rank-pattern 'gpu(\d+)'
  nsysmem batch runs/ -o out --shard 3/8                   # on the third of eight machines
  nsysmem batch merge out                                  # when they are done
  nsysmem batch slurm runs/ -o out --tasks 64 | sh         # or let Slurm do both
  nsysmem batch kubernetes /data/runs -o /data/out --image registry/nsysmem --claim reports --tasks 64 | kubectl apply -f -`,
		Args: batchArgs(f),
		RunE: func(cmd *cobra.Command, args []string) error { return c.batch(cmd, args, f) },
	}
	c.flags(cmd)
	f.flags(cmd)
	cmd.Flags().StringVar(&f.shard, "shard", "", "do only this share, `i/n`; default: the task's own in a Slurm array or Kubernetes indexed job, else all")
	cmd.Flags().BoolVar(&f.prune, "prune", false, "remove results of reports that RUNS no longer names, and what failed reports left from before")
	cmd.Flags().BoolVar(&f.worker, "worker", false, "")
	cmd.Flags().MarkHidden("worker")
	cmd.AddCommand(newBatchMerge(s), newBatchSlurm(s), newBatchKubernetes(s))
	return cmd
}

// flags adds the flags that say what is done, on whatever machine.
func (f *batchFlags) flags(cmd *cobra.Command) {
	g := cmd.Flags()
	// A snapshot that is named would be of one report.
	g.Lookup("snapshot").Usage = "`none`: without the memory snapshots that lie beside reports, such as RUN.snapshot.pickle beside RUN.sqlite"
	g.StringVarP(&f.out, "output", "o", "", "`folder` of the batch")
	g.IntVarP(&f.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "reports done at once, and processor cores used; each takes memory")
	g.BoolVar(&f.plot, "plot", false, "draw each report")
	g.BoolVar(&f.workbook, "workbook", false, "write a workbook of each report")
	g.BoolVar(&f.allocations, "allocations", false, "write every allocation to the data set")
	g.BoolVar(&f.redo, "redo", false, "replace results that were made with other settings")
	g.StringVar(&f.rank, "rank-pattern", "", "regular `expression` that finds the rank in a report's path, in its first group; default: rank_N, rN")
}

// batchArgs checks what can be checked before any report is looked for: a batch may take hours.
func batchArgs(f *batchFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := reports(cmd, args); err != nil {
			return err
		}
		if s, err := cmd.Flags().GetStringArray("snapshot"); err == nil && slices.ContainsFunc(s, func(s string) bool { return s != "" && s != noSnapshot }) {
			return usage("--snapshot %q: a snapshot is of one report: use nsysmem report or summary; batch takes those that lie beside reports, or none", s[0])
		}
		if f.out == "" {
			return usage("-o is missing: name the folder of the batch")
		}
		if f.jobs < 1 || f.jobs > maxJobs {
			return usage("--jobs %d: say 1 to %d", f.jobs, maxJobs)
		}
		if info, err := os.Stat(f.out); err == nil && !info.IsDir() {
			return usage("-o %q: it is a file; a batch needs a folder", f.out)
		}
		if _, err := regexp.Compile(f.rank); err != nil {
			return usage("--rank-pattern %q: %v", f.rank, err)
		}
		return nil
	}
}

// batchOptions are the options of a batch but for its share.
func (c *common) batchOptions(f *batchFlags) (batch.Options, error) {
	o := batch.Options{Out: f.out, Jobs: f.jobs, Plot: f.plot, Workbook: f.workbook, Allocations: f.allocations, Version: buildVersion(), Redo: f.redo,
		Settings: fmt.Sprintf("%+v process=%q device=%d,%t snapshot=%q", c.options(), c.process, c.device, c.hasDevice, c.snapshots),
		Warn:     func(s string) { c.say("%s", s) }}
	if f.rank != "" {
		o.RankPattern = regexp.MustCompile(f.rank)
	}
	o.Beside = func(given string) []string {
		files, _ := c.snapshotFiles(given)
		return files
	}
	base := c.options()
	o.Analyze = func(ctx context.Context, r *export.Report, given string, opts align.Options) (*findings.Report, error) {
		all := base
		all.Blocks, all.Kernels, all.Spans = opts.Blocks, opts.Kernels, opts.Spans
		if err := c.readSnapshots(ctx, given, &all); err != nil {
			return nil, err
		}
		aligned, err := align.Analyze(ctx, r.DB, all)
		if err != nil {
			return nil, err
		}
		rep := findings.Of(aligned)
		if err := c.keep(rep, given); err != nil {
			return nil, err
		}
		return rep, hasWork(rep)
	}
	return o, c.pattern()
}

// batch does a batch or a share of it, or reports that another process sends.
//
//  1. A process that was started for reports does nothing else: see workers.
//  2. The share is told, by the flag or by the scheduler that started this process.
//  3. The reports are found and done.
//  4. Whoever did all of them compares them too. A share leaves that to batch merge.
func (c *common) batch(cmd *cobra.Command, args []string, f *batchFlags) error {
	o, err := c.batchOptions(f)
	if err != nil {
		return err
	}
	// The collector waits until the heap has grown by a part of it, so that it would run for each small report. These bytes,
	// which are never touched and so take no memory, count as heap; beside a large report they do not.
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	if f.worker {
		// What stops the batch stops all processes of a terminal; the first one decides what becomes of the others.
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		return batch.Serve(context.WithoutCancel(cmd.Context()), c.s.in, c.s.out, o)
	}
	c.workers(&o)
	by, err := f.share(&o)
	if err != nil {
		return err
	}
	o.Given = strings.Join(passed(cmd, func(name string) bool { return !notSettings[name] }), " ")
	inputs, err := batch.Find(args, &o)
	if err != nil {
		return err
	}
	share := o.Shard.Count > 0
	if share {
		c.say("share %d of %d%s, %d reports in all", o.Shard.Index, o.Shard.Count, by, len(inputs))
	}
	done, err := c.runBatch(cmd.Context(), inputs, o)
	if err != nil {
		return err
	}
	if share {
		return c.batchEnd(done, f.out, "the share", fmt.Sprintf("; when all shares are: nsysmem batch merge %s", f.out))
	}
	merged, err := c.merge(cmd.Context(), f.out, f.prune)
	if err != nil {
		return err
	}
	merged.Kept = done.Kept
	return c.batchEnd(merged, f.out, "the batch", "")
}

// share sets which share of the reports to do. by says in words who gave it, empty where the user did or nobody.
func (f *batchFlags) share(o *batch.Options) (by string, err error) {
	if f.shard != "" {
		if o.Shard, err = batch.ParseShard(f.shard); err != nil {
			return "", usage("--shard %q: write which of how many, such as 3/8", f.shard)
		}
	} else if o.Shard, by, err = batch.ShardFromEnv(os.Getenv); err != nil {
		return "", coded{exitUsage, err}
	}
	if o.Shard.Count > 0 && f.prune {
		return "", usage("--prune: other shares may need what it removes: say nsysmem batch merge %s --prune when all are done", f.out)
	}
	if by != "" {
		by = " of the " + by
	}
	return by, nil
}

// runBatch does reports and tells how far it is.
func (c *common) runBatch(ctx context.Context, inputs []batch.Input, o batch.Options) (*batch.Outcome, error) {
	// A job that was given so many cores of a shared machine should take no more.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(o.Jobs, runtime.GOMAXPROCS(0))))
	p := newBatchProgress(c)
	o.Progress, o.Warn = p.report, p.around(o.Warn)
	done, err := batch.Run(ctx, inputs, o)
	p.clear()
	switch {
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("interrupted: %d of %d reports are done: the same command does the rest", p.last.Done-p.last.Failed, p.last.Total)
	case errors.Is(err, batch.ErrSettings):
		err = coded{exitUsage, err}
	}
	return done, err
}

// maxJobs bounds the processes of one batch: each takes a hundred megabytes.
const maxJobs = 256

// workers lets reports be done by processes of their own, which have the arguments of this one.
func (c *common) workers(o *batch.Options) {
	if c.s.in == nil || len(c.s.args) == 0 || c.s.args[0] != "batch" {
		return
	}
	own, err := os.Executable()
	if err != nil {
		return // then they are done in this process
	}
	args := append([]string{"batch", "--worker"}, c.s.args[1:]...)
	o.Worker = func(cores int) *exec.Cmd {
		cmd := exec.Command(own, args...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", min(cores, runtime.NumCPU())))
		dieWithParent(cmd)
		return cmd
	}
}

// merge compares what is in a batch's folder, and removes before what its list does not name where that is asked for.
func (c *common) merge(ctx context.Context, out string, prune bool) (*batch.Outcome, error) {
	if prune {
		n, err := batch.Prune(out)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			c.say("removed results of %s that are not in the batch or failed", wording.Plural(n, "report"))
		}
	}
	return batch.Merge(ctx, out)
}

// batchEnd tells what came of a batch, and is an error where a report failed or is missing. what is the part of the batch
// that was done; next is what the user is to do after it.
func (c *common) batchEnd(o *batch.Outcome, out, what, next string) error {
	for _, name := range o.Files {
		c.wrote(name)
	}
	kept := ""
	if o.Kept > 0 {
		kept = fmt.Sprintf(" (%d from before)", o.Kept)
	}
	c.say("%s is done: %s%s%s", what, wording.Plural(o.Done, "report"), kept, next)
	if o.Others > 0 {
		c.say("reports and data in %s also have results of %s that the list no longer names; they are not compared, and --prune removes them",
			out, wording.Plural(o.Others, "report"))
	}
	failed, missing := len(o.Failed), missingReports(o.Missing)
	switch {
	case failed > 0 && missing != "":
		return fmt.Errorf("%s failed, %s", wording.Plural(failed, "report"), missing)
	case failed > 0:
		where := "the sheet Failures of " + filepath.Join(out, "batch.xlsx") + " says why"
		if len(o.Files) == 0 { // a share writes no workbook
			where = o.Failed[0].Reason
		}
		return fmt.Errorf("%s failed: %s", wording.Plural(failed, "report"), where)
	case missing != "":
		return errors.New(missing)
	}
	return nil
}

// missingReports names reports without a result, the first ones where there are many; it is empty where there are none.
func missingReports(missing []batch.Input) string {
	const most = 8
	if len(missing) == 0 {
		return ""
	}
	var names []string
	for _, in := range missing[:min(len(missing), most)] {
		names = append(names, in.Name)
	}
	list := strings.Join(names, ", ")
	if len(missing) > most {
		list += " and others"
	}
	return fmt.Sprintf("%s missing: %s: run the same batch again for these", wording.Plural(len(missing), "report"), list)
}

// notSettings are the flags of batch on which no figure depends.
var notSettings = map[string]bool{"output": true, "jobs": true, "shard": true, "worker": true, "plot": true, "workbook": true, "allocations": true,
	"redo": true, "prune": true, "quiet": true}

// passed are the flags of a command that were given and whose names are wanted, as another call of it takes them.
func passed(cmd *cobra.Command, wanted func(name string) bool) []string {
	var args []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !wanted(f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}
