package category

import (
	"cmp"
	"slices"

	"nsysmem/torchmem"
)

// lasting says that a block outlives the whole of a later iteration, or stayed though iterations came after it.
func (s *sorter) lasting(b *Life) bool {
	if b.To == torchmem.Never {
		return b.Birth.Iteration < s.last || s.last == 0
	}
	whole := b.Death.Iteration // iterations before this one were outlived
	if !b.Death.Inside {
		whole++
	}
	return whole-b.Birth.Iteration > 1
}

// outlives says that a block is not gone with its iteration.
func outlives(b *Life) bool {
	return b.To == torchmem.Never || b.Death.Iteration > b.Birth.Iteration || !b.Death.Inside
}

func (s *sorter) passing(blocks []int) {
	for _, i := range blocks {
		s.out[i] = Temporary
		if s.lives[i].Birth.Role == RoleBackward {
			s.out[i] = AutogradDetail
		}
	}
}

func (s *sorter) data(blocks []int) {
	for _, i := range blocks {
		s.out[i] = Input
	}
}

func (s *sorter) before(blocks []int) {
	for _, i := range blocks {
		b := &s.lives[i]
		switch {
		case b.Birth.Role == RoleOptimizer:
			s.out[i] = OptimizerState
		case b.To != torchmem.Never && b.Death.Iteration <= 0 && (s.last > 0 || b.Death.Inside):
			s.out[i] = Temporary
		default:
			s.out[i] = Parameter
		}
	}
}

// backward is rule 6. Gradients that their life tells come first: they say how much room there is for the doubtful ones.
func (s *sorter) backward(blocks []int) {
	var doubtful []int
	for _, i := range blocks {
		b := &s.lives[i]
		switch {
		case s.lasting(b) || b.To == torchmem.Never:
			doubtful = append(doubtful, i)
		case outlives(b) || b.Death.Role == RoleOptimizer:
			s.out[i] = Gradient
		case b.Death.Role == RoleOther:
			doubtful = append(doubtful, i)
		default:
			s.out[i] = AutogradDetail
		}
	}
	params := s.sizes(s.all(Parameter))
	if len(params) == 0 { // the recording began after the parameters were made
		params = s.sizes(s.born[bornEarly])
	}
	s.fillGradients(doubtful, params)
}

// fillGradients takes of the doubtful blocks as many at once as there are parameters of that size without a gradient.
func (s *sorter) fillGradients(doubtful []int, params map[int64]int) {
	slices.SortStableFunc(doubtful, func(a, b int) int { return cmp.Compare(s.lives[a].From, s.lives[b].From) })
	have := s.countsOf(Gradient)
	ends := map[int64][]int64{} // ends of those that were taken and may still live, by size
	for _, i := range doubtful {
		b := &s.lives[i]
		live := slices.DeleteFunc(ends[b.Bytes], func(end int64) bool { return end != torchmem.Never && end <= b.From })
		if len(live)+have[b.Bytes].most(b.From, b.To) < params[b.Bytes] {
			s.out[i] = Gradient
			live = append(live, b.To)
		} else if !s.lasting(b) && b.To != torchmem.Never {
			s.out[i] = AutogradDetail
		}
		ends[b.Bytes] = live
	}
}

// early is rule 4. One that goes with the iteration in which recording began can be anything.
func (s *sorter) early(blocks []int) {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(i int) bool {
		b := &s.lives[i]
		return b.To != torchmem.Never && b.Death.Iteration <= 0 && s.last != 0
	})
	gradients := s.gradientsOfEarly()
	if len(gradients) == 0 {
		for _, i := range blocks {
			s.out[i] = Parameter
		}
		return
	}
	sets := setsOfState(s.sizes(blocks), gradients)
	taken := map[int64]int{}
	for _, i := range blocks {
		size := s.lives[i].Bytes
		switch n := gradients[size]; {
		case taken[size] < n:
			s.out[i] = Parameter
		case taken[size] < n*(sets+1):
			s.out[i] = OptimizerState
		}
		taken[size]++
	}
}

// gradientsOfEarly is how many gradients of each size there are at most at once, less those of parameters that were seen
// being made.
func (s *sorter) gradientsOfEarly() map[int64]int {
	gradients := map[int64]int{}
	for size, n := range s.countsOf(Gradient) {
		gradients[size] = n.later[0]
	}
	for _, i := range s.all(Parameter) {
		if size := s.lives[i].Bytes; gradients[size] > 0 {
			gradients[size]--
		}
	}
	return gradients
}

// setsOfState is how many blocks of optimizer state each parameter has: the same for all sizes, so the fewest that any
// size has room for, and none where a size has not even its parameters. Other blocks of a size only add to it.
func setsOfState(there, gradients map[int64]int) int {
	sets, known := 0, false
	for size, n := range gradients {
		if n > 0 {
			if room := max(there[size]/n-1, 0); !known || room < sets {
				sets, known = room, true
			}
		}
	}
	return sets
}

func (s *sorter) optimizer(blocks []int) {
	params := s.sizes(s.all(Parameter))
	for _, i := range blocks {
		b := &s.lives[i]
		if s.lasting(b) || outlives(b) && params[b.Bytes] > 0 {
			s.out[i] = OptimizerState
		} else if !outlives(b) {
			s.out[i] = Temporary
		}
	}
}

func (s *sorter) forward(blocks []int) {
	for _, i := range blocks {
		if !s.lasting(&s.lives[i]) {
			s.out[i] = Activation
		}
	}
}

func (s *sorter) elsewhere(blocks []int) {
	params := s.sizes(s.all(Parameter))
	trains := slices.Contains(s.out, Gradient)
	for _, i := range blocks {
		b := &s.lives[i]
		if trains && s.lasting(b) && params[b.Bytes] > 0 {
			s.out[i] = OptimizerState
		} else if !outlives(b) {
			s.out[i] = Temporary
		}
	}
}

// isWorkspace says that a block which no rule told is of a size that libraries ask for, and kept from a pass on.
func (s *sorter) isWorkspace(b birth, l *Life) bool {
	return (b == bornForward || b == bornBackward) && s.lasting(l) && (workspaceSizes[l.Bytes] || l.Bytes == handleSize)
}

// all are the blocks that were given a kind so far.
func (s *sorter) all(kind Kind) []int {
	var out []int
	for i, k := range s.out {
		if k == kind {
			out = append(out, i)
		}
	}
	return out
}

// sizes are how many of the blocks there are of each size.
func (s *sorter) sizes(blocks []int) map[int64]int {
	m := map[int64]int{}
	for _, i := range blocks {
		m[s.lives[i].Bytes]++
	}
	return m
}
