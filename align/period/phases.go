package period

// phasing is what tells the phases of training steps.
type phasing struct {
	training
	minor  map[int32]bool // streams that carry little of the work
	factor bool           // a factor on the loss is part of the forward pass
}

func (t training) phasing() phasing {
	return phasing{t, minorStreams(t.sequence), t.factorInForward()}
}

// addPhases adds the phases of a step of turns to an iteration, and gives the places of its operations.
func (p phasing) addPhases(it *Iteration, step span) span {
	for i := step.from; i < step.to; i++ {
		u, forward := &p.list[i], p.forward[i]
		back := u.back - p.beginsBackward(i)
		data := p.dataEnd(forward, back)
		it.add(p.sequence, dataPhase, span{forward, data})
		it.add(p.sequence, forwardPhase, span{data, back})
		it.add(p.sequence, backwardPhase, span{back, u.to})
		if p.ends[i+1] {
			it.add(p.sequence, optimizerPhase, span{p.list[i+1].from, p.optimized[i+1]})
		}
	}
	// An optimizer that is at the start of the turn after the last one belongs to the step.
	return span{p.forward[step.from], max(p.list[step.to-1].to, p.optimized[step.to])}
}

// dataEnd is where the copies to the device end with which a forward pass begins, and the kernels that draw a batch there.
// What prepares a batch on the stream of copies, where that is not one of those that carry the passes, goes with them.
func (p phasing) dataEnd(from, to int) int {
	end := from
	for end < to {
		o, first := p.at(end), p.at(from)
		makes := o.Class == HtoD || o.Class == Kernel && o.Flags&drawn != 0
		if !makes && (end == from || o.Stream != first.Stream || !p.minor[o.Stream]) {
			break
		}
		end++
	}
	return end
}

// minorStreams tells which streams carry little of the work.
func minorStreams(s sequence) map[int32]bool {
	work := map[int32]int{}
	busiest := 0
	n := 0 // work in a row on one stream
	for p := range s.idx {
		o := s.at(p)
		n += one(o.work())
		if p+1 == s.len() || s.at(p+1).Stream != o.Stream {
			work[o.Stream] += n
			busiest = max(busiest, work[o.Stream])
			n = 0
		}
	}
	minor := map[int32]bool{}
	for stream, n := range work {
		minor[stream] = !minorStream.of(n, busiest)
	}
	return minor
}

// beginsBackward is the number of kernels at the end of a turn's forward pass with which the backward pass begins on the
// main thread: the fill of the loss's own gradient with ones, and a factor on the loss just before it where users write it
// in that call too.
func (p phasing) beginsBackward(i int) int {
	switch {
	case !p.endsInFill(i):
		return 0
	case !p.factor && p.hasFactor(i):
		return 2
	}
	return 1
}

// endsInFill says that the forward pass of a turn ends with the fill of the loss's gradient.
func (t training) endsInFill(i int) bool {
	back := t.list[i].back
	return back-t.forward[i] >= leastForward && t.at(back-1).Flags&fill != 0
}

// hasFactor says that the kernel before the fill is a factor on the loss (1 / micro-batches, a loss scale): a
// multiplication whose own backward pass, the first that the backward thread launches, is the same multiplication of the
// same single value.
func (t training) hasFactor(i int) bool {
	u := &t.list[i]
	for p := u.back; p < u.to; p++ {
		if t.is(p, Kernel) {
			return t.is(u.back-2, Kernel) && t.at(u.back-2).shape() == t.at(p).shape()
		}
	}
	return false
}

// factorInForward tells by time whether the factor on the loss belongs to the forward pass: in most turns the program
// pauses after it, and far longer than before it. Where it does not pause the factor may as well be written in the call
// that begins the backward pass.
func (t training) factorInForward() bool {
	later, all := 0, 0
	for i, u := range t.list {
		if !t.endsInFill(i) || !t.hasFactor(i) {
			continue
		}
		all++
		factor, fill := t.at(u.back-2), t.at(u.back-1)
		before := factor.Start - t.at(u.back-3).end()
		after := fill.Start - factor.end()
		later += one(after > farLater*max(0, before))
	}
	return most.exceeded(later, all)
}
