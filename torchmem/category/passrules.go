package category

// workspaceSizes are sizes, in bytes, that libraries ask PyTorch's allocator for and keep: cuBLAS 4096 KiB twice and 16
// KiB eight times, on Hopper and later 4096 KiB eight times (PyTorch's defaults for CUBLAS_WORKSPACE_CONFIG), with :4096:8
// or :16:8 as PyTorch's notes on reproducibility advise; cuBLASLt 1 MiB (CUBLASLT_WORKSPACE_SIZE), which also is :4096:2 less
// its small ones; on AMD's cards 76 and 128 MiB.
var workspaceSizes = map[int64]bool{8519680: true, 32 << 20: true, 128 << 10: true, 1 << 20: true, 8 << 20: true, 76 << 20: true, 128 << 20: true}

// handleSize is what a cuBLAS handle takes from the driver itself, in bytes: the same in each run that was recorded on a
// Hopper card, once for the forward thread and once for the backward thread. It is a block where the driver's blocks are
// the tensors.
const handleSize = 64 << 20

// passRules need to know the sizes of parameters.
var passRules = []stackRule{
	{ByBucket, (*telling).bucket},
	{ByFirstUse, kindIf(Workspace, (*telling).firstUse)},
	{BySibling, kindIf(Gradient, (*telling).sibling)},
	{ByCollective, kindIf(Communication, (*telling).collective)},
	{ByRecompute, (*telling).recompute},
	{ByBackward, (*telling).backward},
}

// bucket tells a reduction bucket. With gradient_as_bucket_view the gradients are views of it, and a backward pass leaves
// no others behind.
func (t *telling) bucket(s *subject) (Kind, bool) {
	if s.lasts() && !t.apart {
		return Gradient, s.born.has(markBucket)
	}
	return Communication, s.born.has(markBucket)
}

// sibling tells a gradient by the line that made it, where others of that line were given back in zero_grad.
func (t *telling) sibling(s *subject) bool {
	l := t.lines[s.b.Stack]
	return l != nil && l.gradients > 0 && s.born.python && (t.left(s) || s.pass < 0 && s.over == 0)
}

// collective tells a buffer of torch.distributed. What FSDP leaves behind in a backward pass is a gradient.
func (t *telling) collective(s *subject) bool {
	return s.born.zone == zoneCollective && !s.born.has(markMover) && !(s.born.has(markSharded) && t.left(s))
}

// A libraryUse is one thread and stream that a library's workspace of a size serves.
type libraryUse struct {
	bytes  int64
	stream uint64
	engine bool
}

// firstUse tells a library's workspace: of a size that libraries ask for, kept until caches are cleared, and the first
// such one of its thread and stream. In a forward pass nothing else of such a size is kept over steps first. What a backward
// pass leaves behind may be a gradient of that size: it is not where zero_grad came after it and did not clear it, nor
// where more stay than there are parameters. A product outside of modules is told by its twin in the backward pass.
func (t *telling) firstUse(s *subject) bool {
	n := s.b.Requested
	if !workspaceSizes[n] || !s.kept() && (s.freed == nil || !s.freed.has(markClear)) || !t.longUsed(s) {
		return false
	}
	in, spare := s.born.engine && (s.pass >= 0 || s.early() && t.earlyStacks), t.stay[n] > t.params[n]
	switch {
	case in && t.params[n] > 0 && (s.from > t.lastClear || t.lastClear < 0) && !spare:
		return false
	case in, s.born.zone == zoneCall, s.born.zone == zoneCompiled:
	case s.born.zone != zoneNone || !spare:
		return false
	}
	use := libraryUse{n, s.b.Stream, in}
	if gone, ok := t.uses[use]; ok && s.from < gone {
		return false
	}
	t.uses[use] = s.to
	return true
}

// longUsed says that a block lives over half of the backward passes or more than three, as many as a step of adversarial
// training has: what was made last may be kept only because the recording ends.
func (t *telling) longUsed(s *subject) bool { return 2*s.over+1 >= len(t.passes) || s.over > 3 }

// recompute tells what a module makes when it runs again during a backward pass, as with checkpointing.
func (t *telling) recompute(s *subject) (Kind, bool) {
	if s.pass < 0 || !s.born.engine || s.born.zone != zoneCall {
		return Unknown, false
	}
	if s.freed != nil && s.freed.zone == zoneCall && !t.left(s) {
		return Temporary, true
	}
	return Activation, true
}

// backward tells what a backward pass made: a gradient where it is left behind, unless a later pass uses it, as one
// does a gradient penalty.
func (t *telling) backward(s *subject) (Kind, bool) {
	switch {
	case s.pass < 0 || !s.born.engine:
		return Unknown, false
	case !t.left(s) && !s.kept():
		return AutogradDetail, true
	case s.kept():
		return Gradient, t.params[s.b.Requested] > 0 || !t.private(s)
	case t.passes[s.pass].grad && t.usedAgain(s):
		return Activation, true
	}
	return Gradient, true
}

// usedAgain says that a backward pass that is not of torch.autograd.grad begins while the block lives.
func (t *telling) usedAgain(s *subject) bool {
	for k := int(s.next); k < len(t.passes) && t.passes[k].from < s.to; k++ {
		if !t.passes[k].grad {
			return true
		}
	}
	return false
}
