package period

// fedRequests finds requests whose prompts the host feeds while their decode steps need nothing from it.
//
//  1. The first kernel after the copies to the device tells, by kind, where passes begin: the embedding of tokens.
//  2. Passes that copies lead in to are prefills, if there are far more others, those match among themselves and prefills
//     are of other shapes than what follows them.
func (s sequence) fedRequests() (repeated, bool) {
	first, fed := s.firstKind()
	if fed < leastRequests {
		return repeated{}, false
	}
	cuts := s.passes(first)
	if len(cuts) < passesPerPrefill*fed || len(cuts) < leastPasses {
		return repeated{}, false
	}
	steps := s.spans(s.dropSetUp(cuts))
	bodies := s.stretches(steps)
	heads, ok := fedPrefills(bodies)
	if !ok {
		return repeated{}, false
	}
	conf := agreement(bodies)
	if conf < leastAgreement || !s.holdMost(steps) {
		return repeated{}, false
	}
	its, _ := s.join(steps, heads)
	return repeated{its: its, proof: proofRequests, steps: steps, confidence: conf}, true
}

// firstKind is the kind of kernel that comes first after copies to the device most often, and how often; of equals the
// least.
func (s sequence) firstKind() (kind uint64, times int) {
	count := map[uint64]int{}
	for p := 1; p < s.len(); p++ {
		if s.is(p-1, HtoD) && s.is(p, Kernel) {
			count[s.at(p).kind()]++
		}
	}
	for k, n := range count {
		if n > times || n == times && k < kind {
			kind, times = k, n
		}
	}
	return kind, times
}

// passes lists where passes begin that a kind of kernel begins: at the first of several in a row, or at the copies to the
// device before.
func (s sequence) passes(first uint64) (at []int) {
	begins := func(p int) bool { return s.is(p, Kernel) && s.at(p).kind() == first }
	low := 0 // after the start of the pass before
	for p := range s.len() {
		if begins(p) && (p == 0 || !begins(p-1)) {
			start := s.back(HtoD, p, low)
			at = append(at, start)
			low = start + 1
		}
	}
	return at
}

// fedPrefills lists the passes that copies to the device lead in to, and says that they are prefills: the first pass is
// one, nearly all are unlike the pass that follows, and nearly all other passes are like their next.
func fedPrefills(passes []sequence) (heads []int, ok bool) {
	fed := func(i int) bool { return passes[i].is(0, HtoD) }
	unlike, same := 0, 0
	for i := range passes {
		last := i+1 == len(passes)
		switch {
		case fed(i):
			heads = append(heads, i)
			unlike += one(!last && alike(passes[i], passes[i+1]) < alikeByShape)
		case !last && !fed(i+1):
			same += one(alike(passes[i], passes[i+1]) >= alikeByShape)
		}
	}
	return heads, len(heads) >= leastRequests && heads[0] == 0 && nearlyAll.of(unlike, len(heads)) &&
		nearlyAll.of(same, len(passes)-2*len(heads)) && same >= leastSamePasses
}

// holdMost says that stretches hold most of the work after the first one's start.
func (s sequence) holdMost(spans []span) bool {
	work := 0
	for _, x := range spans {
		work += s.in(x).works()
	}
	return nearlyAll.of(work, s.cut(spans[0].from, s.len()).works())
}
