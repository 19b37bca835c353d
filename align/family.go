package align

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Names of framework operators as PyTorch's profiler and emit_nvtx, Nsight's own PyTorch annotation and library headers
// write them: "aten::conv2d, seq = 3", "ConvolutionBackward0", "Optimizer.step#AdamW.step", "cub::DeviceScan".
var operatorName = regexp.MustCompile(`^(?:[a-z_0-9]*(?:aten|prims?|c10|c10d|torch|torchvision|autograd|nccl|quantized|cub|thrust|cudnn|cublas)[a-z_0-9]*)::` +
	`|Backward\d+\b|\bseq = \d+|op_id = \d+|^Optimizer\.\w+#|^enumerate\(DataLoader\)|^torch\.|^nccl[A-Z:]`)

// Names of ranges that libraries push in the program's own domain.
var libraryName = regexp.MustCompile(`^(?:cub|thrust|cudnn|cublas|nccl)::|^nccl[A-Z:]`)

// Domains that libraries mark their own ranges with; whole words, any case.
var libraryDomain = regexp.MustCompile(`(?i)^(?:nccl|cccl|cub|thrust|cublas(?:lt|xt|mp)?|cudnn(?:_\w+)?|cusparse|cusolver|cufft|curand|tsl|nvshmem|ucx|ucp|mpi|libcudf|libkvikio|cutlass|cutensor|nvjpeg|nvtx_internal|python-gil|cupy|cupti|dali|numba)(?:\b|$)`)

// Words of a name that stand for one round of the program. Later words give way to earlier ones that lie inside them.
var iterationWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:(?:train|training|profiler|mini|micro|global|opt|eval|valid)?(iteration|iter|step|batch|epoch|request))s?(?:[^a-z]|$)`)

// Words of phases within a round: a name such as "optimizer_step" is not a round.
var phaseWord = regexp.MustCompile(`(?i)optim|forward|backward|\bloss|zero_?grad|data|load|sched|\blr\b|clip|scaler|all_?reduce`)

var digits = regexp.MustCompile(`\d+`)

// pattern is a name with each run of digits as "#".
func pattern(name string) string { return digits.ReplaceAllString(name, "#") }

// A family is a group of ranges on one thread that differ in digits alone.
type family struct {
	proc     *process
	thread   *thread
	domain   int64
	pattern  string
	members  []int32 // indexes into analysis.spans, in time order, without those nested in another member
	total    int64   // ns
	launches int64
	share    float64 // of the process's launches
	word     string  // the iteration word in its name, in lower case; empty for none
	operator bool
	overlaps bool // members overlap without nesting
	nested   int  // members left out because they lie inside another
	chosen   bool
	why      string
}

// families groups the spans of a process. Families of operators and libraries are grouped too, to be told and refused.
func (a *analysis) families(p *process) []*family {
	type key struct {
		thread  *thread
		domain  int64
		pattern string
	}
	byKey := make(map[key]*family)
	patterns := make(map[int32]string)
	var out []*family
	for _, t := range p.threads {
		for _, id := range t.ranges {
			s := &a.spans[id]
			pat, ok := patterns[s.name]
			if !ok {
				pat = pattern(a.names[s.name])
				patterns[s.name] = pat
			}
			k := key{t, s.domain, pat}
			f := byKey[k]
			if f == nil {
				f = &family{proc: p, thread: t, domain: s.domain, pattern: pat, operator: s.operator}
				if m := iterationWord.FindStringSubmatch(pat); m != nil && !phaseWord.MatchString(pat) {
					f.word = strings.ToLower(m[1])
				}
				byKey[k] = f
				out = append(out, f)
			}
			f.add(a, id)
		}
	}
	return out
}

// add appends a member; members come by start. One that was never closed ends where the next round begins: a program
// that leaves a round by an exception does not close its range.
func (f *family) add(a *analysis, id int32) {
	s := &a.spans[id]
	if n := len(f.members); n > 0 {
		last := &a.spans[f.members[n-1]]
		switch {
		case last.open:
			if !succeeds(a.names[s.name], a.names[last.name]) {
				f.nested++
				return
			}
		case s.start < last.end && s.end <= last.end:
			f.nested++
			return
		case s.start < last.end:
			f.overlaps = true
		}
	}
	f.members = append(f.members, id)
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

// closeMembers ends members that were never closed where the next one begins.
func (f *family) closeMembers(spans []span) {
	for i, id := range f.members {
		if s := &spans[id]; i+1 < len(f.members) && s.end == maxTime {
			s.end = spans[f.members[i+1]].start
		}
	}
}

// time is the sum of the members' durations, in ns; one that was never closed lasts to the last time seen so far.
func (f *family) time(a *analysis) int64 {
	sum := int64(0)
	for _, id := range f.members {
		s := &a.spans[id]
		sum += min(s.end, a.lastTime) - s.start
	}
	return sum
}

// measure sums the time of the members and the launches within them.
func (f *family) measure(a *analysis, inclusive []int64, launches int64) {
	f.total, f.launches = f.time(a), 0
	for _, id := range f.members {
		f.launches += inclusive[id]
	}
	if launches > 0 {
		f.share = float64(f.launches) / float64(launches)
	}
}

// wholeShare is the share of the launches from which a family that is named for a phase can be the whole round: a program
// may do all its work in a range called "forward".
const wholeShare = 0.95

// choose picks the family that carries the iterations of a process, or nil.
//
//  1. Refuse operators, libraries, families whose members overlap, and single ranges without a word for a round.
//  2. Refuse what holds little of the GPU work beside the fullest family.
//  3. Families named by a word for a round win over others; an epoch gives way to what repeats inside it.
//  4. Of several, the outermost wins: the one that lies inside no other; of those, the one with most launches, most time.
func choose(a *analysis, fams []*family) *family {
	best := 0.0
	for _, f := range fams {
		switch {
		case f.operator:
			f.why = "a framework's or library's own ranges"
		case f.overlaps:
			f.why = "its ranges overlap"
		case len(f.members) < 2 && f.word == "":
			f.why = "stands alone"
		default:
			best = max(best, f.share)
			continue
		}
	}
	var words, others []*family
	for _, f := range fams {
		switch {
		case f.why != "":
		case f.share < best*0.3 || best > 0 && f.launches == 0:
			f.why = "holds little of the GPU work"
		case f.word != "":
			words = append(words, f)
		case best > 0 && phaseWord.MatchString(f.pattern) && f.share < wholeShare:
			f.why = "named for a phase, and holds only part of the GPU work"
		case len(f.members) >= 2 && f.share >= best*0.5:
			others = append(others, f)
		default:
			f.why = "holds less of the GPU work than another"
		}
	}
	set := words
	if len(words) > 1 {
		set = nil
		for _, f := range words {
			if f.word == "epoch" && holdsRepeats(a, f, words) {
				f.why = "what repeats inside it is the finer unit"
				continue
			}
			set = append(set, f)
		}
	}
	if len(words) == 0 {
		set = others
	}
	if len(set) == 0 {
		return nil
	}
	var outer []*family
	for _, f := range set {
		inside := false
		for _, g := range set {
			if g != f && within(a, f, g) {
				f.why, inside = fmt.Sprintf("lies inside %q", g.pattern), true
				break
			}
		}
		if !inside {
			outer = append(outer, f)
		}
	}
	if len(outer) == 0 {
		outer = set
	}
	sort.SliceStable(outer, func(i, j int) bool {
		x, y := outer[i], outer[j]
		if x.launches != y.launches {
			return x.launches > y.launches
		}
		if x.total != y.total {
			return x.total > y.total
		}
		if x.pattern != y.pattern {
			return x.pattern < y.pattern
		}
		return x.thread.tid < y.thread.tid
	})
	f := outer[0]
	f.chosen = true
	for _, g := range append(words, others...) {
		if g != f && g.why == "" {
			g.why = fmt.Sprintf("%q was preferred", f.pattern)
		}
	}
	switch {
	case f.word != "":
		f.why = fmt.Sprintf("%d ranges named %q follow each other on one thread", len(f.members), f.pattern)
	default:
		f.why = fmt.Sprintf("%d ranges named %q are the outermost that repeat", len(f.members), f.pattern)
	}
	return f
}

// within says that most members of f lie inside members of g.
func within(a *analysis, f, g *family) bool {
	if f.thread != g.thread {
		return false
	}
	n := 0
	for _, id := range f.members {
		if g.holder(a, id) {
			n++
		}
	}
	return 2*n > len(f.members)
}

// holder says that a member of the family holds the span.
func (f *family) holder(a *analysis, id int32) bool {
	s := &a.spans[id]
	i := sort.Search(len(f.members), func(k int) bool { return a.spans[f.members[k]].start > s.start }) - 1
	if i < 0 {
		return false
	}
	g := &a.spans[f.members[i]]
	return g.start <= s.start && s.end <= g.end && (g.end-g.start) > (s.end-s.start)
}

// holdsRepeats says that another family of the set repeats inside the members of f.
func holdsRepeats(a *analysis, f *family, set []*family) bool {
	for _, g := range set {
		if g != f && g.word != "epoch" && len(g.members) > len(f.members) && within(a, g, f) {
			return true
		}
	}
	return false
}

// byPattern makes a family of the ranges whose name, domain:name or, where the expression has a slash, path matches. On
// several threads the one with most launches, then most ranges, counts.
func (a *analysis) byPattern(p *process, re *regexp.Regexp, domain string) *family {
	var best *family
	for _, t := range p.threads {
		f := &family{proc: p, thread: t, pattern: re.String()}
		var open []int32
		for _, id := range t.ranges {
			s := &a.spans[id]
			for len(open) > 0 && a.spans[open[len(open)-1]].end <= s.start {
				open = open[:len(open)-1]
			}
			if a.inDomain(s, domain) && a.matches(re, s, open) {
				f.domain = s.domain
				f.add(a, id)
			}
			open = append(open, id)
		}
		if len(f.members) == 0 {
			continue
		}
		f.measure(a, a.inclusiveLaunches(p), a.launches[p.index])
		if best == nil || f.launches > best.launches || f.launches == best.launches && len(f.members) > len(best.members) {
			best = f
		}
	}
	if best != nil {
		best.chosen = true
		best.why = fmt.Sprintf("%d ranges match %q", len(best.members), re)
		if best.nested > 0 {
			best.why += fmt.Sprintf("; %d more lie inside these and are left out", best.nested)
		}
	}
	return best
}

func (a *analysis) matches(re *regexp.Regexp, s *span, open []int32) bool {
	name := a.names[s.name]
	if re.MatchString(name) || re.MatchString(a.domainName(s)+":"+name) {
		return true
	}
	if len(open) == 0 || !strings.Contains(re.String(), "/") {
		return false // else whatever lies inside "step 3" would match "^step"
	}
	parts := make([]string, 0, len(open)+1)
	for _, id := range open {
		parts = append(parts, a.names[a.spans[id].name])
	}
	return re.MatchString(strings.Join(append(parts, name), "/"))
}

// numbering gives the members their index: the number in their names where exactly one number tells them apart and it
// rises with time, else their place.
func numbering(names []string) (index []int, gaps []int) {
	index = make([]int, len(names))
	for i := range index {
		index[i] = i
	}
	var nums [][]string
	for _, n := range names {
		nums = append(nums, digits.FindAllString(n, -1))
	}
	if len(names) == 0 || len(nums[0]) == 0 {
		return index, nil
	}
	for col := range nums[0] {
		vals := make([]int, 0, len(names))
		for i := range nums {
			if col >= len(nums[i]) {
				break
			}
			v, err := strconv.Atoi(nums[i][col])
			if err != nil || i > 0 && v <= vals[i-1] {
				break
			}
			vals = append(vals, v)
		}
		if len(vals) != len(names) {
			continue
		}
		copy(index, vals)
		step := 0
		for i := 1; i < len(vals); i++ {
			if d := vals[i] - vals[i-1]; step == 0 || d < step {
				step = d
			}
		}
		for i := 1; i < len(vals) && len(gaps) < 100; i++ {
			for v := vals[i-1] + step; v < vals[i] && len(gaps) < 100; v += step {
				gaps = append(gaps, v)
			}
		}
		return index, gaps
	}
	return index, nil
}
