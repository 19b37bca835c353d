package align

// A pace counts the launches of a process over time, in buckets of equal width. It answers how many lie between two times
// without keeping a time for each. The launch of a graph counts for many.
type pace struct {
	first, width int64 // ns; width is that of a bucket, at least 1
	counts       []int64
	all          int64
}

// Buckets of all processes together, and of one: with more, their sum costs more than exactness gains.
const (
	allBuckets = 1 << 20
	maxBuckets = 1 << 13
	minBuckets = 1 << 6
)

// newPace makes a pace of a stretch of time for one of so many processes.
func newPace(t stretch, procs int) *pace {
	n := int64(min(maxBuckets, max(minBuckets, allBuckets/max(1, procs))))
	return &pace{first: t.first, width: max(1, (t.last-t.first)/n+1), counts: make([]int64, n)}
}

// graphLaunches is how many launches that of a graph counts for: a graph replaces many kernels, most often a whole step.
const graphLaunches = 20

// add counts a launch. One before or after the stretch counts nowhere: no range reaches there.
func (p *pace) add(at int64, class callClass) {
	n := int64(1)
	if class == classLaunchGraph {
		n = graphLaunches
	}
	p.all += n
	if i := uint64(at-p.first) / uint64(p.width); i < uint64(len(p.counts)) {
		p.counts[i] += n
	}
}

// merge adds the counts of another pace of the same stretch.
func (p *pace) merge(o *pace) {
	for i, n := range o.counts {
		p.counts[i] += n
	}
	p.all += o.all
}

// sum turns the counts into running sums, so that between answers.
func (p *pace) sum() {
	total := int64(0)
	for i, n := range p.counts {
		total += n
		p.counts[i] = total
	}
}

// until is about how many launches come before a time: within a bucket they are taken to be even.
func (p *pace) until(at int64) float64 {
	d := at - p.first
	if d <= 0 {
		return 0
	}
	i := d / p.width
	if i >= int64(len(p.counts)) {
		return float64(p.counts[len(p.counts)-1])
	}
	before := int64(0)
	if i > 0 {
		before = p.counts[i-1]
	}
	return float64(before) + float64(p.counts[i]-before)*float64(d%p.width)/float64(p.width)
}

// between is about how many launches are in [from, to).
func (p *pace) between(from, to int64) float64 {
	if p == nil || to <= from {
		return 0
	}
	return p.until(to) - p.until(from)
}
