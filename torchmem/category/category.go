// Package category tells what each block of memory of a training program is for: by the call stacks that asked for it and
// gave it back, and by when and in which phase it was born and died. Times are int64 nanoseconds of any one clock, sizes int64 bytes.
package category

import "nsysmem/torchmem"

// Of tells what each block is for, by its life alone: for programs whose stacks are not known. A block is *lasting* where it outlives the whole of a later
// iteration, or lives on at the end of the recording and was born before the last iteration. The first rule that fits its
// birth counts:
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
//  7. Born in a forward pass: activation, or unknown where it is lasting (a cached mask). A weight cast for autocast is
//     temporary or activation, by how long autocast keeps it.
//  8. Born elsewhere in an iteration: optimizer state where it is lasting and has the size of a parameter, in a program
//     that has gradients; temporary where it is gone with its iteration, else unknown.
//
// The result has one category for each block. iterations is the number of iterations; with none, all but what rules 1 and
// 2 tell is unknown.
func Of(lives []Life, iterations int) []Told {
	return ofRest(lives, iterations, make([]Told, len(lives)))
}

// ofRest is Of for those blocks that are not told yet. The others count where rules look at sizes.
func ofRest(lives []Life, iterations int, told []Told) []Told {
	s := sorter{lives: lives, last: iterations - 1, out: make([]Kind, len(lives))}
	for i := range lives {
		s.out[i] = told[i].Kind
		if told[i].Rule == ByNone {
			b := s.birthOf(&lives[i])
			s.born[b] = append(s.born[b], i)
		}
	}
	for _, r := range rules {
		r.sort(&s, s.born[r.birth])
		for _, i := range s.born[r.birth] {
			switch {
			case s.out[i] != Unknown:
				told[i] = Told{s.out[i], r.rule}
			case s.isWorkspace(r.birth, &lives[i]):
				told[i] = Told{Workspace, LifeWorkspace}
			}
		}
	}
	return told
}

// A birth is what is told of a block by how it was born. Each block has one.
type birth uint8

const (
	bornUnclear  birth = iota // between iterations, or where there are none
	bornEarly                 // live before recording began
	bornPassing               // born and gone within one call of one phase
	bornData                  // in a data phase
	bornBefore                // before the first iteration
	bornBackward              // in a backward pass of an iteration, as the next are in theirs
	bornOptimizer
	bornForward
	bornElsewhere // in an iteration, in no phase that tells
	numBirths
)

// rules are those of Of, each with the blocks that it is for. They stand in the order of what they
// need: gradients need to know the parameters that were seen, what was there early needs the gradients, and the rest
// needs all parameters.
var rules = []struct {
	birth birth
	rule  Rule
	sort  func(s *sorter, blocks []int)
}{
	{bornPassing, LifePassing, (*sorter).passing},       // rule 1
	{bornData, LifeData, (*sorter).data},                // rule 2
	{bornBefore, LifeBefore, (*sorter).before},          // rule 3
	{bornBackward, LifeBackward, (*sorter).backward},    // rule 6
	{bornEarly, LifeEarly, (*sorter).early},             // rule 4
	{bornOptimizer, LifeOptimizer, (*sorter).optimizer}, // rule 5
	{bornForward, LifeForward, (*sorter).forward},       // rule 7
	{bornElsewhere, LifeElsewhere, (*sorter).elsewhere}, // rule 8
}

type sorter struct {
	lives []Life
	last  int // place of the last iteration; -1 where there is none
	born  [numBirths][]int
	out   []Kind
}

func (s *sorter) birthOf(b *Life) birth {
	switch {
	case b.From == torchmem.Never && s.last >= 0:
		return bornEarly
	case b.From == torchmem.Never:
		return bornUnclear
	case b.To != torchmem.Never && b.Birth == b.Death:
		return bornPassing
	case b.Birth.Role == RoleData:
		return bornData
	case s.last < 0:
		return bornUnclear
	case b.Birth.Iteration < 0:
		return bornBefore
	case !b.Birth.Inside:
		return bornUnclear
	}
	switch b.Birth.Role {
	case RoleBackward:
		return bornBackward
	case RoleOptimizer:
		return bornOptimizer
	case RoleForward:
		return bornForward
	}
	return bornElsewhere
}
