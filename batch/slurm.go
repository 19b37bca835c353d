package batch

import (
	"fmt"
	"slices"
	"strings"
)

// Slurm says how to do a batch as a Slurm array.
type Slurm struct {
	Command []string // nsysmem, as the nodes call it
	Args    []string // of its command batch, with the reports and -o
	Out     string   // folder of the batch
	Dir     string   // where paths start from
	Tasks   int      // of the array, each of which takes a share; at least 1
	CPUs    int      // cores of each task; at least 1
	Name    string   // of the jobs
	Options []string // further options of sbatch for both jobs, such as "--partition=gpu"
}

// Script is a shell script that submits the array and the job that merges its results, whatever became of the tasks: the
// comparison says what is missing. Run again it does only what is missing. Every task takes the share of its number, so
// that a task which is requeued takes the same one.
func (s *Slurm) Script() (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	logs := s.Out + "/logs"
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/sh")
	line("# Submits an array of %d tasks that share out the reports, and a job that merges their results.", s.Tasks)
	line("# Run it with sh on a machine that has sbatch. Run again, it does only what is missing.")
	line("set -eu")
	line("cd %s", quote(s.Dir))
	line("mkdir -p -- %s", quote(logs))
	line("")
	job := func(variable, dependency, name, log string, options []string, command []string) {
		line("%s=$(sbatch --parsable%s <<'END_OF_JOB'", variable, dependency)
		line("#!/bin/sh")
		line("#SBATCH --job-name=%s", option(name))
		line("#SBATCH --chdir=%s", option(s.Dir))
		line("#SBATCH --output=%s", option(strings.ReplaceAll(logs, "%", "%%")+"/"+log))
		for _, o := range append(options, s.Options...) {
			line("#SBATCH %s", o)
		}
		line("exec %s", quoted(command))
		line("END_OF_JOB")
		line(")")
	}
	job("array", "", s.Name, "%A_%a.log", []string{fmt.Sprintf("--array=0-%d", s.Tasks-1), fmt.Sprintf("--cpus-per-task=%d", s.CPUs), "--requeue", "--open-mode=append"},
		slices.Concat(s.Command, []string{"batch"}, s.Args))
	line("array=${array%%%%;*} # a cluster's name may follow")
	line("")
	job("merge", ` --dependency="afterany:$array"`, s.Name+"-merge", "merge_%j.log", []string{"--open-mode=append"},
		slices.Concat(s.Command, []string{"batch", "merge", "--", s.Out}))
	line(`echo "array $array, merge ${merge%%%%;*}"`)
	return b.String(), nil
}

// check refuses what cannot be passed on through sbatch as it is.
func (s *Slurm) check() error {
	for _, w := range slices.Concat([]string{s.Out, s.Dir, s.Name}, s.Options, s.Command, s.Args) {
		if strings.ContainsAny(w, "\n\r\x00") {
			return fmt.Errorf("batch: %q: a line break cannot be passed on to sbatch", w)
		}
	}
	if strings.Contains(s.Out, `\`) {
		return fmt.Errorf("batch: folder %q: a backslash in the name of a log would keep sbatch from numbering it: give another folder", s.Out)
	}
	if s.Tasks < 1 || s.CPUs < 1 {
		return fmt.Errorf("batch: %d tasks of %d CPUs: both must be 1 at least", s.Tasks, s.CPUs)
	}
	return nil
}

// quote makes one word of s for the shell.
func quote(s string) string {
	plain := s != ""
	for _, c := range s {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./=,:+@%", c))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}

// option makes one value of an #SBATCH line, which sbatch takes apart as a shell does with double quotes.
func option(s string) string {
	if !strings.ContainsAny(s, " \t\v\f\"'\\#") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
