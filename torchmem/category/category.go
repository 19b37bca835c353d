// Package category tells what each block of memory of a training program is for, by when and in which phase it was born
// and died. Times are int64 nanoseconds of any one clock, sizes int64 bytes.
package category

import (
	"slices"
	"sort"
	"strings"

	"nsysmem/torchmem"
)

// A Role is what a phase is for.
type Role uint8

// The roles.
const (
	RoleOther     Role = iota // none of the others, or no phase
	RoleData                  // fetches the input
	RoleForward               // forward pass and loss
	RoleBackward              // backward pass
	RoleOptimizer             // optimizer step and zero_grad
)

// roleWords are looked for in a phase's name in this order, so that "backward_step" is a backward pass.
var roleWords = []struct {
	role  Role
	words []string
}{
	{RoleBackward, []string{"backward", "bwd", "backprop"}},
	{RoleOptimizer, []string{"optim", "zero_grad", "adam", "sgd", "weight_update", "update_weights", "opt_step", "clip_grad"}},
	{RoleForward, []string{"forward", "fwd", "loss", "criterion"}},
	{RoleData, []string{"data", "input", "fetch", "h2d", "to_device", "next_batch", "get_batch", "load_batch"}},
}

// RoleOf guesses a phase's role from its path (range names joined by "/"): the outermost part that tells one counts,
// since a layer of a forward pass may bear any name.
func RoleOf(path string) Role {
	for _, part := range strings.Split(strings.ToLower(path), "/") {
		for _, r := range roleWords {
			for _, w := range r.words {
				if strings.Contains(part, w) {
					return r.role
				}
			}
		}
	}
	return RoleOther
}

// A Place is where in a program a block was born or died.
type Place struct {
	Iteration int  // place of the iteration, from 0; between iterations that of the one before, -1 before the first
	Inside    bool // inside that iteration
	Role      Role // of the innermost phase that tells one; outside iterations that of the range, such as model_init
	Call      int  // number of the phase's call within its iteration or of the range, so that equal Places are one stretch of time
}

// A Life is one block, for Of.
type Life struct {
	From  int64 // ns; Never where it was live before recording began
	To    int64 // ns; Never where it was not freed
	Bytes int64 // as requested
	Birth Place // ignored where From is Never
	Death Place // ignored where To is Never
}

// A Kind is what a block is for, in the words of PyTorch's profiler.
type Kind uint8

// The categories. Of says how they are told.
const (
	Unknown Kind = iota
	Parameter
	OptimizerState
	Input
	Activation
	Gradient
	AutogradDetail
	Temporary
	NumKinds // not a category
)

var kindNames = [NumKinds]string{"unknown", "parameter", "optimizer state", "input", "activation", "gradient",
	"autograd detail", "temporary"}

// String is the category's name in tables.
func (c Kind) String() string {
	if c < NumKinds {
		return kindNames[c]
	}
	return "unknown"
}

// Of tells what each block is for, by its life alone. A block is *lasting* where it outlives the whole of a
// later iteration, or lives on at the end of the recording and was born before the last iteration. The first rule that
// fits counts:
//
//  1. Born and gone within one call of one phase: autograd detail in a backward pass, temporary elsewhere.
//  2. Born in a data phase: input, however long it lives.
//  3. Born before the first iteration: optimizer state where that was in a range for the optimizer, temporary where it is
//     gone before the second iteration, else parameter (buffers, such as running means, are among them).
//  4. Live before recording began, and after its first iteration: of each size as many parameters as there are gradients,
//     and as many whole sets of optimizer state as all sizes have blocks for; the others are unknown. All are parameters
//     where there are no gradients. Which block of a size is which cannot be told, so only the sums are right.
//  5. Born in the optimizer's phase: optimizer state where it is lasting, or outlives its iteration and has the size of a
//     parameter; else temporary, or unknown where it outlives its iteration.
//  6. Born in a backward pass and given back by the optimizer's phase of the same iteration, or in the next iteration:
//     gradient. One that is lasting, or dies in a phase without a role, or was born in the last iteration and stayed:
//     gradient as long as there are parameters of its size that have no gradient yet (a gradient that is kept over steps
//     is so, a library's workspace is not). The others: autograd detail, or unknown where they are lasting.
//  7. Born in a forward pass: activation, or unknown where it is lasting (a library's workspace, a cached mask). A weight
//     cast for autocast is temporary or activation, by how long autocast keeps it.
//  8. Born elsewhere in an iteration: optimizer state where it is lasting and has the size of a parameter, in a program
//     that has gradients; temporary where it is gone with its iteration, else unknown.
//
// The result has one category for each block. iterations is the number of iterations; with none, all but what rules 1 and
// 2 tell is unknown.
func Of(lives []Life, iterations int) []Kind {
	c := sorter{lives: lives, last: iterations - 1, out: make([]Kind, len(lives))}
	var early, weak []int
	for i := range lives {
		b := &lives[i]
		switch {
		case b.From == torchmem.Never:
			early = append(early, i)
		case b.To != torchmem.Never && b.Birth == b.Death:
			c.out[i] = Temporary
			if b.Birth.Role == RoleBackward {
				c.out[i] = AutogradDetail
			}
		case b.Birth.Role == RoleData:
			c.out[i] = Input
		case iterations == 0:
		case b.Birth.Iteration < 0:
			switch {
			case b.Birth.Role == RoleOptimizer:
				c.out[i] = OptimizerState
			case b.To != torchmem.Never && b.Death.Iteration <= 0 && (c.last > 0 || b.Death.Inside):
				c.out[i] = Temporary
			default:
				c.out[i] = Parameter
			}
		}
	}
	params := c.sizes(Parameter)

	// Gradients next, since rule 4 needs them. Those that their life tells come first: they say how much room there is
	// for the others.
	for i := range lives {
		b := &lives[i]
		if b.From == torchmem.Never || c.out[i] != Unknown || iterations == 0 || !b.Birth.Inside || b.Birth.Role != RoleBackward {
			continue
		}
		switch {
		case c.lasting(b) || b.To == torchmem.Never:
			weak = append(weak, i)
		case b.Death.Iteration > b.Birth.Iteration || !b.Death.Inside || b.Death.Role == RoleOptimizer:
			c.out[i] = Gradient
		case b.Death.Role == RoleOther:
			weak = append(weak, i)
		default:
			c.out[i] = AutogradDetail
		}
	}
	if len(params) == 0 { // the recording began after the parameters were made
		for s, n := range c.sizesOf(early) {
			params[s] = n
		}
	}
	c.fillGradients(weak, params)
	if len(early) > 0 && iterations > 0 {
		c.sortEarly(early)
		params = c.sizes(Parameter)
	}

	trains := slices.Contains(c.out, Gradient)
	for i := range lives {
		b := &lives[i]
		if b.From == torchmem.Never || c.out[i] != Unknown || iterations == 0 || !b.Birth.Inside {
			continue
		}
		outlives := b.To == torchmem.Never || b.Death.Iteration > b.Birth.Iteration || !b.Death.Inside
		switch b.Birth.Role {
		case RoleOptimizer:
			if c.lasting(b) || outlives && params[b.Bytes] > 0 {
				c.out[i] = OptimizerState
			} else if !outlives {
				c.out[i] = Temporary
			}
		case RoleForward:
			if !c.lasting(b) {
				c.out[i] = Activation
			}
		case RoleBackward: // decided above
		default:
			if c.lasting(b) && params[b.Bytes] > 0 && trains {
				c.out[i] = OptimizerState
			} else if !outlives {
				c.out[i] = Temporary
			}
		}
	}
	return c.out
}

type sorter struct {
	lives []Life
	last  int // place of the last iteration
	out   []Kind
}

// lasting says that a block outlives the whole of a later iteration, or stayed though iterations came after it.
func (c *sorter) lasting(b *Life) bool {
	if b.To == torchmem.Never {
		return b.Birth.Iteration < c.last || c.last == 0
	}
	whole := b.Death.Iteration // iterations before this one were outlived
	if !b.Death.Inside {
		whole++
	}
	return whole-b.Birth.Iteration > 1
}

func (c *sorter) sizes(of Kind) map[int64]int {
	m := map[int64]int{}
	for i, k := range c.out {
		if k == of {
			m[c.lives[i].Bytes]++
		}
	}
	return m
}

func (c *sorter) sizesOf(list []int) map[int64]int {
	m := map[int64]int{}
	for _, i := range list {
		m[c.lives[i].Bytes]++
	}
	return m
}

// counts says how many blocks of one size are live from each time on.
type counts struct {
	at    []int64 // ns, rising
	live  []int   // from at on
	later []int   // the highest of live from here to the end
}

// most is the highest count in [from, to]; to may be Never, the end.
func (n *counts) most(from, to int64) int {
	if n == nil {
		return 0
	}
	i := sort.Search(len(n.at), func(i int) bool { return n.at[i] > from }) - 1
	if to == torchmem.Never {
		return n.later[max(i, 0)]
	}
	most := 0
	for k := max(i, 0); k < len(n.at) && n.at[k] <= to; k++ {
		most = max(most, n.live[k])
	}
	return most
}

// countsOf are the counts of the blocks of a category, by size.
func (c *sorter) countsOf(of Kind) map[int64]*counts {
	type change struct {
		at int64
		by int
	}
	bySize := map[int64][]change{}
	for i, k := range c.out {
		if k != of {
			continue
		}
		b := &c.lives[i]
		bySize[b.Bytes] = append(bySize[b.Bytes], change{b.From, 1})
		if b.To != torchmem.Never {
			bySize[b.Bytes] = append(bySize[b.Bytes], change{b.To, -1})
		}
	}
	out := map[int64]*counts{}
	for size, all := range bySize {
		// Frees first at one time: an address handed on is not two blocks.
		sort.Slice(all, func(i, j int) bool {
			if all[i].at != all[j].at {
				return all[i].at < all[j].at
			}
			return all[i].by < all[j].by
		})
		n := &counts{}
		live := 0
		for _, x := range all {
			live += x.by
			n.at = append(n.at, x.at)
			n.live = append(n.live, live)
		}
		n.later = append(n.later, n.live...)
		for i := len(n.later) - 2; i >= 0; i-- {
			n.later[i] = max(n.later[i], n.later[i+1])
		}
		out[size] = n
	}
	return out
}

// fillGradients takes of the doubtful blocks as many at once as there are parameters of that size without a gradient.
func (c *sorter) fillGradients(list []int, params map[int64]int) {
	sort.SliceStable(list, func(a, b int) bool { return c.lives[list[a]].From < c.lives[list[b]].From })
	have := c.countsOf(Gradient)
	ends := map[int64][]int64{} // ends of those that were taken and may still live
	for _, i := range list {
		b := &c.lives[i]
		live := ends[b.Bytes][:0]
		for _, end := range ends[b.Bytes] {
			if end == torchmem.Never || end > b.From {
				live = append(live, end)
			}
		}
		if len(live)+have[b.Bytes].most(b.From, b.To) < params[b.Bytes] {
			c.out[i] = Gradient
			live = append(live, b.To)
		} else if !c.lasting(b) && b.To != torchmem.Never {
			c.out[i] = AutogradDetail
		}
		ends[b.Bytes] = live
	}
}

// sortEarly is rule 4.
func (c *sorter) sortEarly(list []int) {
	gradients := map[int64]int{}
	for s, n := range c.countsOf(Gradient) {
		gradients[s] = n.later[0]
	}
	there := map[int64]int{}
	lasting := list[:0:0]
	for _, i := range list {
		// One that goes with the iteration in which recording began can be anything.
		if b := &c.lives[i]; b.To == torchmem.Never || b.Death.Iteration > 0 || c.last == 0 {
			lasting = append(lasting, i)
			there[b.Bytes]++
		}
	}
	if len(gradients) == 0 {
		for _, i := range lasting {
			c.out[i] = Parameter
		}
		return
	}
	for i, k := range c.out { // parameters that were seen being made have their gradients already
		if s := c.lives[i].Bytes; k == Parameter && gradients[s] > 0 {
			gradients[s]--
		}
	}
	// How many sets of state there are is the same for all sizes; other blocks of a size only add to it.
	sets := -1
	for s, n := range gradients {
		if n > 0 && (sets < 0 || there[s]/n-1 < sets) {
			sets = there[s]/n - 1
		}
	}
	taken := map[int64]int{}
	for _, i := range lasting {
		s := c.lives[i].Bytes
		switch n := gradients[s]; {
		case taken[s] < n:
			c.out[i] = Parameter
		case taken[s] < n*(sets+1):
			c.out[i] = OptimizerState
		}
		taken[s]++
	}
}

// Max is the highest sum of bytes of each category in [from, to), ns: each category at its own time.
func Max(lives []Life, cats []Kind, from, to int64) [NumKinds]int64 {
	type change struct {
		at  int64
		by  int64
		cat Kind
	}
	var now, most [NumKinds]int64
	var all []change
	for i := range lives {
		b := &lives[i]
		if b.To != torchmem.Never && b.To <= from || b.From != torchmem.Never && b.From >= to {
			continue
		}
		if b.From == torchmem.Never || b.From < from {
			now[cats[i]] += b.Bytes
		} else {
			all = append(all, change{b.From, b.Bytes, cats[i]})
		}
		if b.To != torchmem.Never && b.To < to {
			all = append(all, change{b.To, -b.Bytes, cats[i]})
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].at != all[j].at {
			return all[i].at < all[j].at
		}
		return all[i].by < all[j].by
	})
	most = now
	for _, x := range all {
		now[x.cat] += x.by
		most[x.cat] = max(most[x.cat], now[x.cat])
	}
	return most
}

// At is the sum of bytes of each category that is live just after time t, ns.
func At(lives []Life, cats []Kind, t int64) [NumKinds]int64 {
	var sum [NumKinds]int64
	for i := range lives {
		b := &lives[i]
		if (b.From == torchmem.Never || b.From <= t) && (b.To == torchmem.Never || b.To > t) {
			sum[cats[i]] += b.Bytes
		}
	}
	return sum
}
