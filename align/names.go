package align

import (
	"regexp"
	"strconv"
)

// Words of a name that stand for one round of the program. Later words give way to earlier ones that lie inside them.
var iterationWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:(?:train|training|profiler|mini|micro|global|opt|eval|valid)?(iteration|iter|step|batch|epoch|request))s?(?:[^a-z]|$)`)

// Words of phases within a round: a name such as "optimizer_step" is not a round.
var phaseWord = regexp.MustCompile(`(?i)optim|forward|backward|\bloss|zero_?grad|data|load|sched|\blr\b|clip|scaler|all_?reduce`)

// Words of a pass within a round: what lies inside such a range is a part of a pass, a layer or a chunk.
var passWord = regexp.MustCompile(`(?i)forward|backward|(?:^|[^a-z])(?:fwd|bwd|fprop|bprop)|\bloss|zero_?grad|all_?reduce|optimi[sz]er|` +
	`data_?load|load_?data`)

// Words of a forward pass, and of what only training has.
var (
	forwardWord  = regexp.MustCompile(`(?i)forward|(?:^|[^a-z])(?:fwd|fprop)|\bloss`)
	trainingWord = regexp.MustCompile(`(?i)backward|(?:^|[^a-z])(?:bwd|bprop)|optim|zero_?grad`)
)

// Words of an optimizer's step; PyTorch's profiler writes "Optimizer.step#AdamW.step".
var optimizerWord = regexp.MustCompile(`(?i)(?:^|[^a-z])optim(?:$|[^a-z])|optimi[sz]er`)

// Words that make a round a part of another one, or another thing than a step of the program's main work: micro-batches,
// decode steps and tokens, evaluations, steps of a diffusion.
var innerWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:micro|sub|inner|decod|token|eval|valid|val(?:$|[^a-z])|test|denois|diffus|rollout|warm|dummy|calib)`)

var digits = regexp.MustCompile(`\d+`)

// pattern is a name with each run of digits as "#". A function without a name that XLA compiled keeps the number of its
// program, which alone tells it from another.
func pattern(name string) string {
	if xlaAnonymous.MatchString(name) && xlaModule.MatchString(name) {
		return name
	}
	return digits.ReplaceAllString(name, "#")
}

// succeeds says that a round of that name may follow the other, rather than lie inside it: its number is higher, or the
// names have no numbers.
func succeeds(name, before string) bool {
	x, y := digits.FindAllString(name, -1), digits.FindAllString(before, -1)
	if len(x) == 0 || len(y) == 0 {
		return true
	}
	i, err1 := strconv.Atoi(x[len(x)-1])
	k, err2 := strconv.Atoi(y[len(y)-1])
	return err1 == nil && err2 == nil && i > k
}

// maxGaps bounds the missing numbers that are told.
const maxGaps = 100

// numbering gives the rounds of a program their index: the number in their names where exactly one number tells them apart
// and it rises with time, else their place. Gaps are the numbers that are missing from the sequence.
func numbering(names []string) (index, gaps []int) {
	index = make([]int, len(names))
	nums := make([][]string, len(names))
	columns := 0
	for i, n := range names {
		index[i], nums[i] = i, digits.FindAllString(n, -1)
		if i == 0 {
			columns = len(nums[0])
		}
	}
	for col := range columns {
		if vals := rising(nums, col); vals != nil {
			return vals, missing(vals)
		}
	}
	return index, nil
}

// rising are the numbers at one place of the names; nil where they do not all rise.
func rising(nums [][]string, col int) []int {
	vals := make([]int, len(nums))
	for i := range nums {
		if col >= len(nums[i]) {
			return nil
		}
		v, err := strconv.Atoi(nums[i][col])
		if err != nil || i > 0 && v <= vals[i-1] {
			return nil
		}
		vals[i] = v
	}
	return vals
}

// missing are the numbers that a rising sequence leaves out, going by its smallest step.
func missing(vals []int) (gaps []int) {
	step := 0
	for i := 1; i < len(vals); i++ {
		if d := vals[i] - vals[i-1]; step == 0 || d < step {
			step = d
		}
	}
	for i := 1; i < len(vals); i++ {
		for v := vals[i-1] + step; v < vals[i]; v += step {
			if len(gaps) == maxGaps {
				return gaps
			}
			gaps = append(gaps, v)
		}
	}
	return gaps
}
