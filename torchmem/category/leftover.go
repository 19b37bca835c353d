package category

import (
	"nsysmem/torchmem"
)

// workspaceSizes are sizes, in bytes, that libraries ask PyTorch's allocator for and keep: cuBLAS 4096 KiB twice and 16
// KiB eight times, on Hopper and later 4096 KiB eight times (PyTorch's defaults for CUBLAS_WORKSPACE_CONFIG), with :4096:8
// or :16:8 as PyTorch's notes on reproducibility advise; cuBLASLt 1 MiB (CUBLASLT_WORKSPACE_SIZE); on AMD's cards 76 and
// 128 MiB.
var workspaceSizes = map[int64]bool{8519680: true, 32 << 20: true, 128 << 10: true, 1 << 20: true, 8 << 20: true, 76 << 20: true, 128 << 20: true}

// handleSize is what a cuBLAS handle takes from the driver itself, in bytes: the same in each run that was recorded on a
// Hopper card, twice a process (forward and backward thread). It is a block where the driver's blocks are the tensors.
const handleSize = 64 << 20

type workspaceKey struct {
	bytes  int64
	stream uint64
	engine bool
}

// passRules need the sizes of parameters.
var passRules = []stackRule{
	{ByBucket, (*telling).bucket},
	{BySibling, kindIf(Gradient, (*telling).sibling)},
	{ByCollective, kindIf(Communication, (*telling).collective)},
	{ByFirstUse, kindIf(Workspace, (*telling).firstUse)},
	{ByRecompute, (*telling).recompute},
	{ByBackward, (*telling).backward},
}

// count counts parameters by size, and says whether gradients are blocks of their own.
func (t *telling) count() {
	t.params, t.used, t.lines = sizeCount{}, map[workspaceKey]int32{}, map[torchmem.StackID]*lineUse{}
	first := int32(-1)
	if len(t.passes) > 0 {
		first = t.passes[0].from
	}
	t.countCleared()
	left := make([]int64, len(t.passes)) // bytes that outlive each pass
	var buckets int64
	for i := range t.told {
		s := t.subject(i)
		switch {
		case t.told[i].Kind == Parameter && (s.to > first || s.from > first):
			t.params[s.b.Requested]++
		case t.told[i].Rule == ByZeroGrad:
			t.line(s.b.Stack).gradients++
		case t.told[i].Rule == "" && s.born.has(markBucket) && t.lasts(&s):
			buckets += s.b.Requested
		}
		if s.pass >= 0 && s.born.engine && s.to > t.passes[s.pass].to && s.born.zone == zoneNone && !(s.kept() && workspaceSizes[s.b.Requested]) {
			left[s.pass] += s.b.Requested
		}
	}
	var most int64
	for _, n := range left {
		most = max(most, n)
	}
	// Reducers of DDP may be rebuilt once, so that half of what buckets came to is one set of them.
	t.apart = 4*most > buckets
}

func (t *telling) line(id torchmem.StackID) *lineUse {
	l := t.lines[id]
	if l == nil {
		l = &lineUse{}
		t.lines[id] = l
	}
	return l
}

// bucket tells a reduction bucket. With gradient_as_bucket_view the gradients are views of it, and a backward pass leaves
// nothing else behind.
func (t *telling) bucket(s *subject) (Kind, bool) {
	switch {
	case !s.born.has(markBucket):
		return Unknown, false
	case t.lasts(s) && !t.apart:
		return Gradient, true
	}
	return Communication, true
}

// sibling tells a gradient by the line that made it, where the others of that line were given back in zero_grad.
func (t *telling) sibling(s *subject) bool {
	l := t.lines[s.b.Stack]
	return l != nil && l.gradients > 0 && s.born.python && (s.pass >= 0 && s.to > t.passes[s.pass].to || s.pass < 0 && s.over == 0)
}

// firstUse tells a library's workspace: of a size that libraries ask for, taken at a product on a stream for the first
// time, and kept until caches are cleared. Where zero_grad or the program gives gradients back, those of the backward
// thread are left over; where it does not, they are more than there are parameters of the size.
func (t *telling) firstUse(s *subject) bool {
	if !workspaceSizes[s.b.Requested] || !s.kept() && (s.freed == nil || !s.freed.has(markClear)) {
		return false
	}
	in := s.pass >= 0 && s.born.engine
	switch {
	case in, s.born.zone == zoneCall, s.born.zone == zoneCompiled:
	case s.born.zone == zoneNone && t.stay(s.b.Requested) > t.params[s.b.Requested]: // a product outside of modules has its twin in the backward pass
	default:
		return false
	}
	key := workspaceKey{s.b.Requested, s.b.Stream, in}
	if gone, ok := t.used[key]; ok && s.from < gone {
		return false
	}
	if n := t.params[s.b.Requested]; in && n > 0 && s.from > t.cleared && t.stay(s.b.Requested) <= n {
		return false // a gradient
	}
	t.used[key] = s.to
	return true
}

// countCleared finds the last zero_grad. Several lines may clear several models' gradients: the one that stopped first counts.
func (t *telling) countCleared() {
	last := map[place]int32{}
	for i := range t.told {
		if t.told[i].Rule == ByZeroGrad {
			s := t.subject(i)
			last[s.freed.line] = max(last[s.freed.line], s.to)
		}
	}
	t.cleared = -1
	for _, at := range last {
		if t.cleared < 0 || at < t.cleared {
			t.cleared = at
		}
	}
}

// collective tells a buffer of torch.distributed. What FSDP leaves behind in a backward pass is a gradient.
func (t *telling) collective(s *subject) bool {
	left := s.born.has(markSharded) && s.pass >= 0 && s.born.engine && s.to > t.passes[s.pass].to
	return s.born.zone == zoneCollective && !s.born.has(markMover) && !left
}

// stay is how many blocks of a size backward passes left behind for good.
func (t *telling) stay(bytes int64) int {
	if t.kept == nil {
		t.kept = sizeCount{}
		for i := range t.told {
			if s := t.subject(i); workspaceSizes[s.b.Requested] && s.pass >= 0 && s.born.engine && s.kept() && t.told[i].Rule == "" {
				t.kept[s.b.Requested]++
			}
		}
	}
	return t.kept[bytes]
}

// recompute tells what a module makes when it runs again during a backward pass, as with checkpointing.
func (t *telling) recompute(s *subject) (Kind, bool) {
	if s.pass < 0 || !s.born.engine || s.born.zone != zoneCall {
		return Unknown, false
	}
	if s.freed != nil && s.freed.zone == zoneCall && s.to <= t.passes[s.pass].to {
		return Temporary, true
	}
	return Activation, true
}

// backward tells what a backward pass made: a gradient where it is left behind, unless it is used by a later pass, as
// that of a gradient penalty is.
func (t *telling) backward(s *subject) (Kind, bool) {
	if s.pass < 0 || !s.born.engine {
		return Unknown, false
	}
	p := &t.passes[s.pass]
	if s.to <= p.to && !(s.kept() && p.to == t.end) {
		return AutogradDetail, true
	}
	n := t.params[s.b.Requested]
	switch {
	case s.kept():
		return Gradient, n > 0 || !t.private(s.b)
	case p.grad && t.usedAgain(s):
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

// private says that a block lies in a segment of a private pool.
func (t *telling) private(b *torchmem.Block) bool {
	for i := range t.r.Private {
		if p := &t.r.Private[i]; b.BirthEvent >= p.Since && b.Addr-p.Addr < uint64(p.Size) {
			return true
		}
	}
	return false
}
