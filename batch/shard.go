package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Shard is one of Count shares of a batch. The zero value is the whole batch.
type Shard struct {
	Index int // from 1
	Count int
}

// ParseShard reads a share such as "3/8".
func ParseShard(s string) (Shard, error) {
	a, b, ok := strings.Cut(s, "/")
	i, errI := strconv.Atoi(a)
	n, errN := strconv.Atoi(b)
	if !ok || errI != nil || errN != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("batch: share %q: write which of how many, such as 3/8", s)
	}
	return Shard{i, n}, nil
}

// ShardFromEnv is the share that a scheduler gave this process: the task of a Slurm array or the index of a Kubernetes
// job, and its name in words. Without either it is the whole batch and an empty name. get is os.Getenv.
//
// A Slurm array says its number of tasks, its least and its step; of an array with gaps no share can be told, which is an
// error. Kubernetes says the index alone, so that the manifest must give JOB_COMPLETIONS.
func ShardFromEnv(get func(string) string) (Shard, string, error) {
	env := &environment{get: get}
	switch {
	case get("SLURM_ARRAY_TASK_ID") != "":
		id, count := env.number("SLURM_ARRAY_TASK_ID", 0), env.number("SLURM_ARRAY_TASK_COUNT", 0)
		least, step := env.number("SLURM_ARRAY_TASK_MIN", 0), env.number("SLURM_ARRAY_TASK_STEP", 1)
		if env.err != nil {
			return Shard{}, "", env.err
		}
		if step < 1 || (id-least)%step != 0 || (id-least)/step < 0 || (id-least)/step >= count {
			return Shard{}, "", fmt.Errorf("batch: task %d of a Slurm array of %d from %d in steps of %d is no regular share: say --shard i/n", id, count, least, step)
		}
		return Shard{(id-least)/step + 1, count}, "Slurm array", nil
	case get("JOB_COMPLETION_INDEX") != "":
		id, count := env.number("JOB_COMPLETION_INDEX", 0), env.number("JOB_COMPLETIONS", 0)
		if env.err != nil {
			return Shard{}, "", env.err
		}
		if count < 1 || id < 0 || id >= count {
			return Shard{}, "", fmt.Errorf("batch: JOB_COMPLETION_INDEX=%d needs JOB_COMPLETIONS above it in the environment: see batch kubernetes, or say --shard i/n", id)
		}
		return Shard{id + 1, count}, "Kubernetes job", nil
	}
	return Shard{}, "", nil
}

// An environment reads numbers of a process's environment. Its error is that of the first which is none.
type environment struct {
	get func(string) string
	err error
}

// number is a variable's number, or the one to take where it is missing.
func (e *environment) number(name string, missing int) int {
	v := e.get(name)
	if v == "" {
		return missing
	}
	n, err := strconv.Atoi(v)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("batch: %s=%q is no number: say --shard i/n", name, v)
	}
	return n
}

// take returns the reports of a share, largest first. From the largest down, each report goes to the share with the least
// to do so far, so that all shares end at about one time; every process comes to the same result.
func (s Shard) take(inputs []Input) []Input {
	all := slices.Clone(inputs)
	slices.SortStableFunc(all, bySize)
	if s.Count <= 1 {
		return all
	}
	// Each report counts for something, so that shares beyond the number of reports get none.
	load := make([]int64, min(s.Count, len(all)))
	var own []Input
	for _, in := range all {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		load[least] += max(in.Size, 0) + perReport
		if least == s.Index-1 {
			own = append(own, in)
		}
	}
	return own
}

// perReport stands for what a report costs whatever its size, in bytes.
const perReport = 256 << 10
