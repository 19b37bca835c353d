package period

// Requests by the groups that steps come in, where neither the host feeds them nor prefill and decode step launch the same
// kernels: a server that replays graphs, or has kernels of its own for prompts.

// groups makes requests of steps that come in groups, each after a stretch of the same other work: a prefill.
//
//  1. Between two steps, or at the beginning of one that is longer than usual, there may be more: what is long enough begins a
//     group.
//  2. Such work comes before the first step too, and not after the last: else it is an evaluation, not a prefill.
//  3. It is alike in nearly all groups, and each group has several steps.
func (s sequence) groups(its []span) (repeated, bool) {
	typical := median(lengths(its))
	heads, pieces := []int{0}, []span{{}}
	sizes := make([]int, 0, len(its))
	for i := 1; i < len(its); i++ {
		x := span{its[i-1].to, max(its[i].from, its[i].to-typical)}
		if x.len() > 0 && most.of(x.len(), typical) && s.in(x).works() > 0 {
			heads, pieces = append(heads, i), append(pieces, x)
			sizes = append(sizes, x.len())
		}
	}
	if len(heads) < leastGroups || len(its) < leastSteps*len(heads) {
		return repeated{}, false
	}
	usual := median(sizes)
	end := max(its[0].from, its[0].to-typical)
	pieces[0] = span{max(0, end-usual), end}
	after := span{its[len(its)-1].to, min(s.len(), its[len(its)-1].to+usual)}
	model := s.in(pieces[1])
	same := 0
	for _, x := range pieces {
		same += one(similar(s.in(x), model) >= groupLikeness)
	}
	if !nearlyAll.of(same, len(pieces)) || similar(s.in(pieces[0]), model) < groupLikeness ||
		similar(s.in(after), model) >= groupLikeness {
		return repeated{}, false
	}
	r := repeated{proof: proofGroups, confidence: agreement(s.stretches(its))}
	for k, h := range heads {
		to, next := its[len(its)-1].to, len(its)
		if k+1 < len(heads) {
			to, next = pieces[k+1].from, heads[k+1]
		}
		r.its = append(r.its, span{pieces[k].from, to})
		r.steps = append(r.steps, pieces[k])
		for _, x := range its[h:next] {
			r.steps = append(r.steps, span{max(x.from, pieces[k].to), min(x.to, to)})
		}
	}
	return r, true
}
