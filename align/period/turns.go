package period

// A turn is what the main thread launches and then the backward thread: the forward pass of a micro-batch and its
// backward pass. What comes before the forward pass (an optimizer, an evaluation, the model's set-up) is in the turn
// whose forward pass it precedes. All numbers are places in the turns' sequence.
type turn struct {
	from  int  // first of the main thread
	back  int  // first of the backward thread
	to    int  // after the last of the backward thread
	rest  int  // after the last kernel of the main thread with an optimizer's name; from where there is none
	named bool // there is one
}

// turns is the work of main and backward thread. The last turn has no backward pass, and perhaps no work either.
type turns struct {
	sequence
	list  []turn
	named bool // names tell which kernels are an optimizer's
}

// turnsOf splits the operations of main and backward thread into turns.
func turnsOf(ops []Op, roles []role) turns {
	s := sequence{ops: ops}
	var list []turn
	cur := turn{back: -1}
	for i, r := range roles {
		if r == noRole {
			continue
		}
		p := s.len()
		s.idx = append(s.idx, int32(i))
		switch {
		case r == backwardRole && cur.back < 0:
			cur.back = p
		case r == mainRole && cur.back >= 0:
			cur.to = p
			list = append(list, cur)
			cur = turn{from: p, back: -1}
		}
	}
	end := s.len()
	if cur.back >= 0 {
		cur.to = end
		list = append(list, cur)
		cur.from = end
	}
	cur.back, cur.to = end, end
	return findNamed(s, append(list, cur))
}

// findNamed finds the optimizers of turns where names tell them.
func findNamed(s sequence, list []turn) turns {
	names := optimizerNames(s, list)
	for i := range list {
		u := &list[i]
		u.rest = u.from
		for p := u.back - 1; p >= u.from && len(names) > 0; p-- {
			if names[s.at(p).name()] {
				u.rest, u.named = p+1, true
				break
			}
		}
	}
	return turns{s, list, len(names) > 0}
}

// optimizerNames collects the names that only optimizers launch: those marked so, less those that the program launches
// before its first backward pass (unless that leaves none, as when the recording begins in the middle).
func optimizerNames(s sequence, list []turn) map[uint64]bool {
	all, early, late := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	for i, u := range list {
		for p := u.from; p < u.back; p++ {
			switch o := s.at(p); {
			case o.Flags&Optimizer == 0:
			case i == 0:
				early[o.Loose] = true
			default:
				all[o.Loose] = true
				if !early[o.Loose] {
					late[o.Loose] = true
				}
			}
		}
	}
	if len(late) > 0 {
		return late
	}
	return all
}

// main is the main thread's part of a turn.
func (t turns) main(i int) sequence { return t.cut(t.list[i].from, t.list[i].back) }

// rest is the main thread's part of a turn after the last kernel with an optimizer's name.
func (t turns) rest(i int) sequence { return t.cut(t.list[i].rest, t.list[i].back) }
