package period

// Find searches the operations of one process, given in launch order (by Start). It takes time about linear in their
// number. A recording that does not hold the program's beginning may be a window inside one pass: then what nothing but
// likeness tells is not given.
func Find(ops []Op, begins bool) Result {
	if len(ops) < leastOps {
		return none("too few GPU operations to repeat")
	}
	for i := 1; i < len(ops); i++ {
		if ops[i].Start < ops[i-1].Start {
			return none("the GPU operations are not in launch order")
		}
	}
	train := findTraining(ops)
	steps := len(train.Iterations)
	if steps >= sureSteps {
		return train
	}
	other := findRepeats(ops, train.Why != "", begins)
	if steps > 0 {
		// A few eager steps may be the warm-up of a captured graph that is replayed many times: then the replays are the
		// iterations. Replays of other kinds (an evaluation, say) do not outweigh training.
		if len(other.Iterations) > replaysPerStep*steps && launchGraphs(ops, other.Iterations) {
			return other
		}
		return train
	}
	if len(other.Iterations) == 0 && train.Why != "" {
		other.Why = train.Why + "; " + other.Why
	}
	return other
}

// launchGraphs says that most iterations launch a graph.
func launchGraphs(ops []Op, its []Iteration) bool {
	n := 0
	for _, it := range its {
		for i := it.First; i <= it.Last; i++ {
			if ops[i].Class == Graph {
				n++
				break
			}
		}
	}
	return most.exceeded(n, len(its))
}
