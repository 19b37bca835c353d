package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"nsysmem/batch"
	"nsysmem/internal/wording"
)

func newBatchMerge(s *streams) *cobra.Command {
	c := &common{s: s}
	var wait time.Duration
	var prune bool
	cmd := &cobra.Command{
		Use:   "merge FOLDER",
		Short: "Compare what the shares of a batch have done",
		Long: `merge writes batch.xlsx and batch.png from whatever results are in a batch's folder, and says which are missing. It reads
no report, so it needs none. The exit code is 1 where reports failed or are missing; the files are written all the same.`,
		Example: `  nsysmem batch merge out
  nsysmem batch merge out --wait 2h     # until every share is done`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one folder: see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait > 0 {
				if err := c.wait(cmd.Context(), args[0], wait); err != nil {
					return err
				}
			}
			merged, err := c.merge(cmd.Context(), args[0], prune)
			if err != nil {
				return err
			}
			return c.batchEnd(merged, args[0], "the comparison", "")
		},
	}
	cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "no progress and no warnings on stderr")
	cmd.Flags().BoolVar(&prune, "prune", false, "remove results of reports that the batch does not name, and what failed reports left from before")
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so `long`, such as 2h, for results that are missing")
	return cmd
}

// wait waits for the results of a batch. That some are missing when time is up is for the comparison to say.
func (c *common) wait(ctx context.Context, out string, long time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	err := batch.Wait(limited, out, 2*time.Second, func(missing int) { c.say("waiting for %s", wording.Plural(missing, "report")) })
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

func newBatchSlurm(s *streams) *cobra.Command {
	c := &common{s: s}
	f := &batchFlags{}
	job := &batch.Slurm{}
	script := &scriptFile{}
	var command string
	cmd := &cobra.Command{
		Use:   "slurm RUNS... -o FOLDER",
		Short: "Write a script that does a batch as a Slurm array",
		Long: `slurm writes a shell script to stdout. The script submits an array whose tasks share out the reports, and a job that
merges their results once the array has ended. RUNS and the flags are those of batch; patterns and folders are looked
through by the tasks. The folder must be on a file system that all nodes have.`,
		Example: `  nsysmem batch slurm runs/ -o out --tasks 64 | sh
  nsysmem batch slurm runs/ -o out --tasks 64 --jobs 4 --sbatch=--partition=cpu --sbatch=--time=1:00:00 --script job.sh`,
		Args: batchArgs(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if job.Tasks < 1 {
				return usage("--tasks %d: say 1 or more", job.Tasks)
			}
			if err := c.pattern(); err != nil {
				return err
			}
			if command == "" {
				own, err := os.Executable()
				if err != nil {
					return fmt.Errorf("batch slurm: where nsysmem is: %w: say --command", err)
				}
				command = own
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			job.Dir, job.Out, job.CPUs = dir, filepath.Clean(f.out), f.jobs
			job.Command = []string{command}
			job.Args = f.forTasks(cmd, job.Out, args)
			text, err := job.Script()
			if err != nil {
				return coded{exitUsage, err}
			}
			c.lookThrough(args, f)
			return script.write(c.s.out, text, 0o755)
		},
	}
	c.flags(cmd)
	f.flags(cmd)
	f.oneJob(cmd)
	g := cmd.Flags()
	g.IntVar(&job.Tasks, "tasks", 16, "tasks of the array")
	g.StringArrayVar(&job.Options, "sbatch", nil, "further `option` of sbatch, such as --partition=cpu; may be given several times")
	g.StringVar(&job.Name, "name", "nsysmem", "`name` of the jobs")
	g.StringVar(&command, "command", "", "nsysmem as the nodes call it, a `path`; default: this program's own")
	script.flags(cmd)
	return cmd
}

// lookThrough warns of RUNS that name nothing here. The tasks look for themselves, and may see more.
func (c *common) lookThrough(args []string, f *batchFlags) {
	warn := func(s string) { c.say("%s", s) }
	inputs, err := batch.Find(args, &batch.Options{Out: f.out, Warn: warn})
	if err != nil {
		warn("from here the tasks would find nothing to do: " + err.Error())
		return
	}
	missing, first := 0, ""
	for i := range inputs {
		if inputs[i].Size < 0 {
			if missing++; missing == 1 {
				first = inputs[i].Path
			}
		}
	}
	switch {
	case missing == len(inputs):
		c.say("%s: there is no such report or folder here: the tasks would find nothing to do", first)
	case missing > 0:
		c.say("%d of %d reports are not there as seen from here, the first: %s", missing, len(inputs), first)
	}
}

func newBatchKubernetes(s *streams) *cobra.Command {
	c := &common{s: s}
	f := &batchFlags{}
	job := &batch.Kubernetes{}
	script := &scriptFile{}
	var command string
	cmd := &cobra.Command{
		Use:   "kubernetes RUNS... -o FOLDER",
		Short: "Write the manifests that do a batch as a Kubernetes job",
		Long: `kubernetes writes the manifests of two jobs to stdout: an indexed one whose pods share out the reports, and one that
waits for their results and merges them. RUNS, the folder and the flags are those of batch as the pods see them: below
the place where a volume claim is mounted that many pods may write to.`,
		Example: `  nsysmem batch kubernetes /data/runs -o /data/out --image registry/nsysmem:1 --claim reports --tasks 64 | kubectl apply -f -`,
		Args:    batchArgs(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.pattern(); err != nil {
				return err
			}
			job.Out, job.CPUs, job.Command = f.out, f.jobs, []string{command}
			job.Args = f.forTasks(cmd, job.Out, args)
			text, err := job.Manifests()
			if err != nil {
				return coded{exitUsage, err}
			}
			return script.write(c.s.out, text, 0o644)
		},
	}
	c.flags(cmd)
	f.flags(cmd)
	f.oneJob(cmd)
	g := cmd.Flags()
	g.IntVar(&job.Tasks, "tasks", 16, "pods of the job")
	g.StringVar(&job.Image, "image", "", "`image` that has nsysmem")
	g.StringVar(&job.Claim, "claim", "", "persistent volume `claim` with the reports and the folder")
	g.StringVar(&job.Mount, "mount", "/data", "`path` where the pods have the claim")
	g.StringVar(&job.Memory, "memory", "2Gi", "`memory` of each pod")
	g.StringVar(&job.Name, "name", "nsysmem", "`name` of the jobs")
	g.StringVar(&command, "command", "nsysmem", "nsysmem as the image has it, a `path`")
	script.flags(cmd)
	return cmd
}

// forTasks are the arguments with which tasks call batch: the flags that were given and that batch has too, and the reports.
func (f *batchFlags) forTasks(cmd *cobra.Command, out string, reports []string) []string {
	args := passed(cmd, func(name string) bool {
		switch name {
		case "jobs", "output": // follow for all tasks alike, whether they were given or not
			return false
		case "quiet": // of the writing of the script
			return false
		}
		return cmd.Parent().Flags().Lookup(name) != nil
	})
	args = append(args, fmt.Sprintf("--jobs=%d", f.jobs), "--output="+out, "--")
	return append(args, reports...)
}

// oneJob makes one job the default: the machine that writes the script says nothing about the nodes.
func (f *batchFlags) oneJob(cmd *cobra.Command) {
	f.jobs = 1
	j := cmd.Flags().Lookup("jobs")
	j.DefValue, j.Usage = "1", "reports that a task does at once, and processor cores of each task"
}

// scriptFile is where a script goes.
type scriptFile struct {
	name  string // empty or "-" for stdout
	force bool
}

func (f *scriptFile) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "script", "", "write to this `file` rather than to stdout")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a file that exists")
}

// write makes the file, whole or not at all; what is there and is no file, such as a device, is never replaced.
func (f *scriptFile) write(stdout io.Writer, text string, mode os.FileMode) error {
	if f.name == "" || f.name == "-" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	file, err := target(f.name)
	if err != nil {
		return fmt.Errorf("write %q: %w", f.name, err)
	}
	switch info, err := os.Stat(file); {
	case err != nil: // writing tells what is wrong
	case !info.Mode().IsRegular():
		return fmt.Errorf("write %q: it is no regular file: give another name with --script", f.name)
	case !f.force:
		return fmt.Errorf("write %q: the file exists: give another name with --script, or --force to replace it", f.name)
	}
	if err = writeFile(file, []byte(text)); err == nil {
		err = os.Chmod(file, mode)
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", f.name, cause(err))
	}
	return nil
}
