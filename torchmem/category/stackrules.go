package category

func marked(m marks) func(s *subject) bool { return func(s *subject) bool { return s.born.has(m) } }

// stackRules need nothing but a block's own stacks and life.
var stackRules = []stackRule{
	{BySeed, kindIf(AutogradDetail, func(_ *telling, s *subject) bool { return s.born.has(markSeed) })},
	{ByZeroGrad, kindIf(Gradient, (*telling).cleared)},
	{ByHandle, kindIf(Workspace, func(_ *telling, s *subject) bool { return s.born.has(markHandle) })},
	{ByStateLoad, lasting(OptimizerState, marked(markStateLoad))},
	{ByMover, kindIf(Input, func(t *telling, s *subject) bool { return s.born.has(markMover) && t.used(s) })},
	{ByCopy, lasting(WeightCopy, marked(markCopy))},
	{ByTuning, kindIf(Temporary, func(_ *telling, s *subject) bool { return s.born.zone == zoneTuning && !s.kept() })},
	{ByModule, kindIf(Parameter, func(_ *telling, s *subject) bool { return s.born.has(markModule) })},
	{BySharding, kindIf(Parameter, func(_ *telling, s *subject) bool { return s.born.has(markShard) })},
	{ByModule, lasting(Parameter, func(s *subject) bool { return s.born.has(markLayer) && s.born.zone == zoneNone })},
	{ByInitGroup, (*telling).initGroup},
	{ByOptimizer, (*telling).optimizer},
	{ByScaler, scaler},
}

// cleared tells a gradient by zero_grad, which gives nothing else back. What the program made before a backward pass may go
// with a gradient that shares it, as a sparse one does its indices.
func (t *telling) cleared(s *subject) bool {
	return s.freed != nil && s.freed.has(markZeroGrad) && !s.born.has(markZeroGrad) && (s.born.engine || s.over == 0)
}

// state is what an optimizer leaves behind: it lives over two further steps, or for good.
func (t *telling) state(s *subject) bool {
	return s.kept() || over(t.rounds, s.from, s.to) >= 2 || s.over >= 2
}

func (t *telling) initGroup(s *subject) (Kind, bool) {
	return OptimizerState, s.born.has(markInitGroup) && t.state(s)
}

func (t *telling) optimizer(s *subject) (Kind, bool) {
	if t.state(s) {
		return OptimizerState, s.born.zone == zoneOptimizer
	}
	return Temporary, s.born.zone == zoneOptimizer
}

// scaler tells what GradScaler keeps, its scale, and what it and the clipping of gradients make on the way.
func scaler(_ *telling, s *subject) (Kind, bool) {
	if s.born.has(markScale) {
		return OptimizerState, true
	}
	return Temporary, s.born.zone == zoneScaler
}
