package category

import (
	"slices"
	"strings"
	"testing"

	"nsysmem/torchmem"
)

// A tape is a made-up memory history: requests and frees, each with a call stack.
type tape struct {
	t      *testing.T
	events []torchmem.TraceEvent
	stacks [][]torchmem.Frame
	ids    map[string]torchmem.StackID
	addr   uint64
	pools  []Pool
	names  map[uint64]string // by address, which no two blocks of a tape share
}

func newTape(t *testing.T) *tape {
	return &tape{t: t, stacks: [][]torchmem.Frame{nil}, ids: map[string]torchmem.StackID{"": 0}, addr: 1 << 32, names: map[uint64]string{}}
}

// Short names of files, as they stand in stacks of tapes.
const lib = "/usr/lib/python3/dist-packages/"

var files = map[string]string{
	"module.py": lib + "torch/nn/modules/module.py", "linear.py": lib + "torch/nn/modules/linear.py", "transformer.py": lib + "torch/nn/modules/transformer.py",
	"optimizer.py": lib + "torch/optim/optimizer.py", "adam.py": lib + "torch/optim/adam.py", "autograd": lib + "torch/autograd/__init__.py",
	"function.py": lib + "torch/autograd/function.py", "ddp.py": lib + "torch/nn/parallel/distributed.py", "fsdp.py": lib + "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
	"dtensor.py": lib + "torch/distributed/tensor/_dispatch.py", "errors.py": lib + "torch/distributed/elastic/multiprocessing/errors/__init__.py",
	"_tensor.py": lib + "torch/_tensor.py", "scaler.py": lib + "torch/amp/grad_scaler.py", "clip.py": lib + "torch/nn/utils/clip_grad.py",
	"bench.py": lib + "torch/_inductor/runtime/benchmarking.py", "serialization.py": lib + "torch/serialization.py", "accelerate.py": lib + "accelerate/utils/operations.py",
	"checkpoint.py": lib + "torch/utils/checkpoint.py", "swa.py": lib + "torch/optim/swa_utils.py", "closure.py": lib + "lightning/pytorch/loops/optimization/automatic.py",
	"train.py": "/home/me/train.py", "model.py": "/home/me/model.py", "gnn.py": lib + "torch_geometric/utils/_scatter.py",
	"pygdata.py": lib + "torch_geometric/data/data.py", "threading.py": "/usr/lib/python3.12/threading.py", "C++": "??",
}

// stack numbers a call stack, innermost first: "forward model.py:3, _call_impl module.py, <module> train.py". Empty is the
// backward engine's own thread.
func (p *tape) stack(text string) torchmem.StackID {
	if id, ok := p.ids[text]; ok {
		return id
	}
	var frames []torchmem.Frame
	for _, f := range strings.Split(text, ", ") {
		k := strings.LastIndexByte(f, ' ')
		name, where := f[:k], f[k+1:]
		file, line, _ := strings.Cut(where, ":")
		full, ok := files[file]
		if !ok {
			full = file
		}
		frames = append(frames, torchmem.Frame{Name: name, File: full, Line: int64(len(line)) * 10})
	}
	p.stacks = append(p.stacks, frames)
	p.ids[text] = torchmem.StackID(len(p.stacks) - 1)
	return p.ids[text]
}

func (p *tape) event(a torchmem.Action, addr uint64, size int64, stack string) {
	p.events = append(p.events, torchmem.TraceEvent{Action: a, Addr: addr, Size: size, Stack: p.stack(stack), Time: int64(len(p.events)+1) * 1000})
}

// take asks for a block with a name.
func (p *tape) take(name string, size int64, stack string) uint64 {
	p.addr += 1 << 30
	p.names[p.addr] = name
	p.event(torchmem.Alloc, p.addr, size, stack)
	return p.addr
}

func (p *tape) free(stack string, blocks ...uint64) {
	for _, b := range blocks {
		p.event(torchmem.FreeRequested, b, 0, stack)
		p.event(torchmem.FreeCompleted, b, 0, stack)
	}
}

// tell gives what the blocks of each name are told to be: "kind by rule", in order of birth, equal ones once.
func (p *tape) tell() map[string][]string {
	p.t.Helper()
	snap := &torchmem.Snapshot{Traces: []torchmem.Trace{torchmem.TraceOf(p.events)}}
	r, err := snap.Replay(0)
	if err != nil {
		p.t.Fatal(err)
	}
	rec := RecordingOf(r)
	rec.Stack = func(id torchmem.StackID) []torchmem.Frame { return p.stacks[id] }
	rec.Private = p.pools
	lives := make([]Life, len(r.Blocks))
	for i, b := range r.Blocks {
		lives[i] = Life{From: b.Birth, To: b.Death, Bytes: b.Requested}
	}
	out := map[string][]string{}
	for i, told := range Traced(rec, lives, 0) {
		name := p.names[r.Blocks[i].Addr]
		text := told.Kind.String() + " by " + told.Rule.String()
		if !slices.Contains(out[name], text) {
			out[name] = append(out[name], text)
		}
	}
	return out
}

// Stacks of an ordinary program.
const (
	main      = "<module> train.py"
	call      = "_call_impl module.py, " + main
	forward   = "forward linear.py, " + call
	step      = "step adam.py, wrapper optimizer.py, " + main
	initGroup = "_init_group adam.py, " + step
	zeroGrad  = "zero_grad optimizer.py, " + main
	seed      = "_make_grads autograd, backward autograd, backward _tensor.py, " + main
	engine    = ""
	built     = "<lambda> module.py, _apply module.py, " + main
)

// A plan is where a test adds to a training program of four steps. Each function is given the number of the step.
type plan struct {
	setup                                func(p *tape)        // before the model is made
	data, begin, late, back, update, end func(p *tape, i int) // in order: with the input, in the forward pass, after it, in the backward pass, in the optimizer, after zero_grad
	clear                                string               // stack that gives gradients back; zeroGrad where empty
	keep                                 bool                 // gradients are kept
	bare                                 bool                 // the program has no module, no optimizer and no zero_grad
}

const (
	steps     = 4
	paramSize = 4096
)

func (f plan) run(p *tape) {
	do := func(g func(p *tape, i int), i int) {
		if g != nil {
			g(p, i)
		}
	}
	if f.setup != nil {
		f.setup(p)
	}
	if !f.bare {
		p.take("parameter", paramSize, built)
		p.take("parameter", 2*paramSize, built)
	}
	var grads []uint64
	var input uint64
	for i := range steps {
		in := p.take("input", 300, "data train.py, "+main)
		if i > 0 {
			p.free("data train.py, "+main, input)
		}
		input = in
		do(f.data, i)
		var act uint64
		if !f.bare {
			act = p.take("activation", 7000, forward)
			p.free(forward, p.take("scratch", 50, forward))
		}
		do(f.begin, i)
		do(f.late, i)
		s := p.take("seed", 4, seed)
		detail := p.take("detail", 600, engine)
		if !f.bare && (!f.keep || i == 0) {
			grads = append(grads, p.take("gradient", paramSize, engine), p.take("gradient", 2*paramSize, engine))
		}
		do(f.back, i)
		p.free(engine, detail)
		if !f.bare {
			p.free(engine, act)
		}
		p.free("backward _tensor.py, "+main, s)
		if !f.bare {
			if i == 0 {
				p.take("state", paramSize, initGroup)
				p.take("state", 2*paramSize, initGroup)
			}
			p.free(step, p.take("update", paramSize, step))
		}
		do(f.update, i)
		if clear := f.clear; !f.keep && !f.bare {
			if clear == "" {
				clear = zeroGrad
			}
			p.free(clear, grads...)
			grads = nil
		}
		do(f.end, i)
	}
}
