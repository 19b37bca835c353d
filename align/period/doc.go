// Package period finds the iterations and phases of a program that nobody annotated, in the sequence of its GPU
// operations alone. It is pure: operations in, cuts out. No iterations are better than wrong ones: what is cut is
// compared, and given up where it does not match.
//
// Times are int64 nanoseconds on the CPU clock of the launching calls. Iterations and phases are half-open [start, end)
// in time; their operation indexes First and Last are both inclusive.
//
// # Words
//
//   - An operation is a kernel, a copy, a memset or a graph launch. Three identities tell which are the same: the shape
//     (name, grid and block), the name, and the kind, which is what an operator computes under whatever names its library
//     chooses. A batch of another size has other shapes, sometimes other names, seldom other kinds.
//   - A sequence is a list of operations in launch order; a place is an index into it; a stretch or span is a part of it.
//   - Work is kernels and graph launches. A feed is a copy to the device.
//   - A run is a few operations in a row. Two stretches are as similar as the runs are that they have in common.
//   - A mark is a run that recurs. A level is the places of one mark: layers, steps and rounds of steps are levels.
//   - A turn is what the main thread launches and then the backward thread: forward pass and backward pass of one
//     micro-batch, and before them whatever came between.
//   - A pass launches the network once. A prefill is the pass of a request's prompt, a decode step that of one token.
//
// # The searches
//
// A training step of PyTorch is told by its threads, since the backward pass is launched by a thread of its own
// (findTraining). Values pass through these stages:
//
//	operations → threadUses → roles → turns → passes → training → phasing → Result
//
// The stages by file:
//
//  1. threads.go, roles.go: who is the main thread, and who launches the backward pass.
//  2. turns.go: the turns of both, and the optimizer in them where names tell it.
//  3. passes.go: what a forward pass looks like, and where it begins in every turn.
//  4. steps.go: in which turns an optimizer comes first, where it ends, and what is an evaluation.
//  5. training.go: steps from one optimizer to the next; how well they match.
//  6. phases.go, times.go: data, forward, backward and optimizer of each step; the times of all.
//  7. memory.go: the times anew, once it is known when memory is taken.
//
// Everything else is told by what recurs on one thread (findRepeats):
//
//	operations → sequence → marks → levels → cuts → spans → repeated → Result
//
// Again by file:
//
//  1. fed.go: requests whose prompts the host feeds, told by the first kernel of a pass.
//  2. marks.go, levels.go: runs that recur evenly, and how the stretches between them match.
//  3. repeats.go: the level that steps are.
//  4. cuts.go, stretches.go: where its steps begin and end.
//  5. requests.go, groups.go: the steps of a level as prefills and decode steps of requests.
//  6. proof.go: what proves that they are steps, and how far each kind of proof is believed.
//
// Find asks for training steps first, and takes what recurs where there are none, or where a few steps only warm up a
// graph. All comparisons are in similar.go and walk.go, all bounds in rules.go.
package period
