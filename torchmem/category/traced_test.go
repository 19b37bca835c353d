package category

import (
	"strings"
	"testing"

	"nsysmem/torchmem"
)

// ordinary is what the blocks of a plan without additions are.
var ordinary = map[string]string{"parameter": "parameter by module", "input": "input by before forward", "activation": "activation by saved",
	"scratch": "temporary by passing", "seed": "autograd detail by seed", "detail": "autograd detail by backward",
	"gradient": "gradient by zero_grad", "state": "optimizer state by _init_group", "update": "temporary by optimizer"}

// once makes a function that a plan calls in step 0 alone.
func once(f func(p *tape)) func(p *tape, i int) {
	return func(p *tape, i int) {
		if i == 0 {
			f(p)
		}
	}
}

// keeps takes a block named x in step 0 and keeps it; passing takes one in each step and gives it back to the same stack
// at once; held takes one in each step and gives it back in the next, by the stack freed.
func keeps(size int64, stack string) func(p *tape, i int) {
	return once(func(p *tape) { p.take("x", size, stack) })
}

func passing(size int64, stack string) func(p *tape, i int) {
	return func(p *tape, _ int) { p.free(stack, p.take("x", size, stack)) }
}

func held(size int64, stack, freed string) func(p *tape, i int) {
	var last uint64
	return func(p *tape, i int) {
		x := p.take("x", size, stack)
		if i > 0 {
			p.free(freed, last)
		}
		last = x
	}
}

// TestRules gives each rule a block, named x, that it is for, and one beside it that it must leave to another.
func TestRules(t *testing.T) {
	t.Parallel()
	two := func(f ...func(p *tape, i int)) func(p *tape, i int) {
		return func(p *tape, i int) {
			for _, g := range f {
				g(p, i)
			}
		}
	}
	var x uint64
	handle := "malloc C++, at::cuda::getCurrentCUDABlasHandle() C++, " + forward
	for _, c := range []struct {
		name string
		plan plan
		want string // how the list of what x is told to be begins: the last of several may have been kept
	}{
		{"an ordinary program", plan{}, ""},
		{"a function of the program named like the seed's", plan{data: keeps(8, "_make_grads train.py, "+main)}, "input by resident"},
		{"a gradient that the program made itself", plan{update: func(p *tape, _ int) {
			p.free(zeroGrad, p.take("x", 64, "step train.py, "+main))
		}}, "gradient by zero_grad"},
		{"an input that goes with its sparse gradient", plan{data: held(64, "data train.py, "+main, zeroGrad)}, "input by before forward"},
		{"cuBLAS's handle, by C++ frames", plan{begin: keeps(999, handle)}, "workspace by library handle"},
		{"another C++ frame", plan{begin: keeps(999, strings.Replace(handle, "getCurrentCUDABlasHandle", "addmm", 1))}, "activation by kept"},
		{"state that an optimizer loads", plan{setup: func(p *tape) { p.take("x", 64, "load_state_dict optimizer.py, "+main) }}, "optimizer state by state load"},
		{"a model that loads", plan{setup: func(p *tape) { passing(64, "load_state_dict module.py, "+main)(p, 0) }}, "temporary by passing"},
		{"a framework moves a batch", plan{end: held(64, "send_to_device accelerate.py, "+main, main)}, "input by mover"},
		{"a function of the same name inside a module", plan{begin: held(64, "scatter gnn.py, "+forward, engine)}, "activation by saved"},
		{"a batch collated inside a module", plan{begin: held(64, "collate gnn.py, "+forward, engine)}, "activation by saved"},
		{"deepcopy", plan{setup: func(p *tape) { p.take("x", 64, "__deepcopy__ _tensor.py, deepcopy copy.py, "+main) }}, "weight copy by copy"},
		{"deepcopy that builds layers", plan{setup: func(p *tape) {
			p.take("x", 64, "__deepcopy__ _tensor.py, _get_clones transformer.py, __init__ transformer.py, "+main)
		}}, "parameter by module"},
		{"an average that moves", plan{setup: func(p *tape) { p.take("x", 64, "<lambda> module.py, _apply module.py, __init__ swa.py, "+main) }}, "weight copy by copy"},
		{"an averaged model's forward pass", plan{begin: held(64, "forward linear.py, _call_impl module.py, forward swa.py, "+main, engine)}, "activation by saved"},
		{"a function that keeps an average", plan{end: keeps(64, "init_ema train.py, "+main)}, "weight copy by copy"},
		{"a function that trains with one", plan{data: held(64, "train_ema train.py, "+main, main)}, "input by before forward"},
		{"an autotuner's tensors", plan{begin: held(64, "benchmark_gpu bench.py, "+call, main)}, "temporary by tuning,activation by kept"},
		{"a program's own benchmark", plan{data: held(64, "benchmark train.py, "+main, main)}, "input by before forward"},
		{"a data set's own _apply", plan{setup: func(p *tape) { p.take("x", 64, "_apply pygdata.py, "+main) }}, "input by resident"},
		{"weights that are flattened", plan{setup: func(p *tape) { p.take("x", 64, "flatten_parameters "+lib+"torch/nn/modules/rnn.py, "+main) }}, "parameter by module"},
		{"from_pretrained", plan{setup: func(p *tape) { p.take("x", 64, "from_pretrained "+lib+"transformers/modeling_utils.py, "+main) }}, "parameter by module"},
		{"a layer made on the device", plan{setup: func(p *tape) { p.take("x", 64, "__init__ linear.py, __init__ model.py, "+main) }}, "parameter by module"},
		{"what its constructor makes on the way", plan{setup: func(p *tape) { passing(64, "__init__ linear.py, "+main)(p, 0) }}, "temporary by module"},
		{"FSDP takes a module over", plan{setup: func(p *tape) { p.take("x", 64, "__init__ fsdp.py, "+main) }}, "parameter by sharding"},
		{"a data set of a folder named for FSDP", plan{setup: func(p *tape) { p.take("x", 64, "load /home/fsdp/data.py, "+main) }}, "input by resident"},
		{"an optimizer's state that is gone", plan{update: passing(64, initGroup)}, "temporary by optimizer"},
		{"state of a program's own optimizer", plan{update: keeps(64, "step train.py, wrapper optimizer.py, "+main)}, "optimizer state by optimizer"},
		{"a loss in an optimizer's closure", plan{begin: held(64, "loss train.py, closure closure.py, "+step, engine)}, "activation by saved"},
		{"the scale", plan{setup: func(p *tape) { p.take("x", 4, "_lazy_init_scale_growth_tracker scaler.py, "+main) }}, "optimizer state by scaler"},
		{"a norm that is kept", plan{update: held(4, "clip_grad_norm_ clip.py, "+main, main)}, "temporary by scaler"},
		{"buckets beside gradients", plan{setup: func(p *tape) { p.take("x", 3*paramSize, "_ddp_init_helper ddp.py, "+main) }}, "communication by bucket"},
		{"a module that DDP wraps", plan{begin: held(64, "forward linear.py, _call_impl module.py, forward ddp.py, "+call, engine)}, "activation by saved"},
		{"a gathered copy", plan{begin: held(64, "alloc_storage fsdp.py, _pre_forward fsdp.py, "+call, engine)}, "communication by collective"},
		{"a gradient that FSDP reduced", plan{back: held(64, "foreach_reduce fsdp.py, apply function.py", "x train.py, "+main)}, "gradient by backward"},
		{"one that zero_grad gave back but in the last step", plan{back: held(64, "foreach_reduce fsdp.py, apply function.py", zeroGrad)}, "gradient by zero_grad,gradient by sibling"},
		{"a workspace beside the gradients of a line", plan{back: two(keeps(32<<20, "backward model.py, apply function.py"),
			held(64, "backward model.py, apply function.py", zeroGrad))}, "workspace by first use,gradient by zero_grad"},
		{"buckets beside gradients of a compiled pass", plan{bare: true, setup: func(p *tape) { p.take("x", paramSize, "_ddp_init_helper ddp.py, "+main) },
			back: func(p *tape, _ int) {
				x = p.take("g", paramSize, "call_func_at_runtime_with_args "+lib+"torch/_functorch/utils.py, apply function.py")
			}, end: func(p *tape, _ int) { p.free(zeroGrad, x) }}, "communication by bucket"},
		{"a distributed tensor's operator", plan{begin: held(64, "dispatch dtensor.py, "+forward, engine)}, "activation by saved"},
		{"a program that a launcher records", plan{data: held(64, "data train.py, wrapper errors.py, "+main, main)}, "input by before forward"},
		{"a library's workspace in a forward pass", plan{begin: keeps(32<<20, forward)}, "workspace by first use"},
		{"another size", plan{begin: keeps(32<<20+512, forward)}, "activation by kept"},
		{"one that comes and goes", plan{begin: held(32<<20, forward, engine)}, "activation by saved,activation by kept"},
		{"a library's workspace in a backward pass", plan{back: keeps(1<<20, engine)}, "workspace by first use"},
		{"one of a parameter's size that zero_grad did not clear", plan{setup: func(p *tape) { p.take("w", 1<<20, built) },
			back: keeps(1<<20, engine)}, "workspace by first use"},
		{"a gradient of that size that is kept", plan{keep: true, setup: func(p *tape) { p.take("w", 1<<20, built) },
			back: keeps(1<<20, engine)}, "gradient by backward"},
		{"one more than there are parameters", plan{keep: true, setup: func(p *tape) { p.take("w", 1<<20, built) },
			back: two(keeps(1<<20, engine), keeps(1<<20, engine))}, "workspace by first use,gradient by backward"},
		{"a module that runs again", plan{back: func(p *tape, _ int) {
			p.free(engine, p.take("x", 64, "forward linear.py, _call_impl module.py, backward checkpoint.py, apply function.py"))
		}}, "activation by recompute"},
		{"what it frees itself", plan{back: passing(64, "forward linear.py, _call_impl module.py, backward checkpoint.py, apply function.py")}, "temporary by recompute"},
		{"a backward pass below it", plan{back: func(p *tape, _ int) {
			p.free(engine, p.take("x", 64, "_engine_run_backward "+lib+"torch/autograd/graph.py, backward checkpoint.py, apply function.py"))
		}}, "autograd detail by backward"},
		{"a gradient that the program drops", plan{clear: "update train.py, " + main}, ""},
		{"a penalty's gradient", plan{late: func(p *tape, _ int) {
			p.take("seed", 4, strings.Replace(seed, "backward autograd", "grad autograd", 1))
			x = p.take("x", 64, engine)
			p.take("loss", 4, "penalty train.py, "+main)
		}, update: func(p *tape, _ int) { p.free(main, x) }}, "activation by backward"},
		{"a gradient that the program asked for", plan{late: func(p *tape, _ int) {
			s := p.take("seed", 4, strings.Replace(seed, "backward autograd", "grad autograd", 1))
			x = p.take("x", 64, engine)
			p.free(main, s, x)
		}}, "gradient by backward"},
		{"kept outside of a private pool", plan{begin: keeps(64, forward)}, "activation by kept"},
		{"made before the first step, and there is no other parameter", plan{bare: true, setup: func(p *tape) { p.take("x", 64, main) },
			back: func(p *tape, _ int) { g := p.take("g", 64, engine); p.take("junk", 1, main); p.free(main, g) }}, "parameter by resident"},
		{"data that stays", plan{setup: func(p *tape) { p.take("x", 1e6, main) }}, "input by resident"},
		{"one tensor of a parameter's size", plan{setup: func(p *tape) { p.take("x", paramSize, main) }}, "input by resident"},
		{"one tensor for each parameter", plan{end: func(p *tape, i int) {
			if i == 0 {
				p.take("x", paramSize, "copy train.py, "+main)
				p.take("x", 2*paramSize, "copy train.py, "+main)
			}
		}}, "weight copy by resident"},
		{"made after what the backward pass uses", plan{late: held(64, "loss train.py, "+main, engine)}, "activation by saved,activation by kept"},
		{"made after it, and its variable gets the next one", plan{late: two(held(64, "noise train.py, "+main, "noise train.py, "+main),
			func(p *tape, _ int) { p.take("more", 1, forward) })}, "input by rebound"},
		{"gone before the backward pass", plan{late: passing(64, "loss train.py, "+main)}, "temporary by passing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			c.plan.run(p)
			got := p.tell()
			if x := strings.Join(got["x"], ","); !strings.HasPrefix(x, c.want) {
				t.Errorf("x is %s, want %s", x, c.want)
			}
			for name, want := range ordinary {
				if name == "gradient" && (c.plan.keep || c.plan.clear != "") {
					want = "gradient by backward"
				}
				if list := got[name]; len(list) > 0 && list[0] != want {
					t.Errorf("%s is %v, want %s", name, list, want)
				}
			}
		})
	}
}

// TestRulesOfView has a program whose gradients are views of the reduction buckets: a backward pass leaves no others.
func TestRulesOfView(t *testing.T) {
	t.Parallel()
	p := newTape(t)
	plan{bare: true, setup: func(p *tape) {
		p.take("parameter", paramSize, built)
		p.take("bucket", paramSize, "_ddp_init_helper ddp.py, __init__ ddp.py, "+main)
	}, back: func(p *tape, _ int) { p.free(engine, p.take("detail", paramSize, engine)) },
		begin: func(p *tape, i int) {
			if i == 1 {
				p.take("rebuilt", paramSize, "_pre_forward ddp.py, forward ddp.py, "+call)
			}
		}}.run(p)
	got := p.tell()
	for name, want := range map[string]string{"bucket": "gradient by bucket", "rebuilt": "gradient by bucket", "detail": "autograd detail by backward"} {
		if list := got[name]; len(list) != 1 || list[0] != want {
			t.Errorf("%s is %v, want %s", name, list, want)
		}
	}
}

// TestRulesOfPools has two blocks that are kept, one in a segment of a graph's private pool.
func TestRulesOfPools(t *testing.T) {
	t.Parallel()
	p := newTape(t)
	plan{begin: once(func(p *tape) {
		p.take("out", 64, forward)
		x := p.take("in", 64, forward)
		p.pools = append(p.pools, Pool{Addr: x - 512, Size: 2 << 20, Since: 3})
		y := p.take("older", 64, forward)
		p.pools = append(p.pools, Pool{Addr: y, Size: 2 << 20, Since: int32(len(p.events))})
	})}.run(p)
	got := p.tell()
	for name, want := range map[string]string{"out": "activation by kept", "in": "graph pool by private pool", "older": "activation by kept"} {
		if list := got[name]; len(list) != 1 || list[0] != want {
			t.Errorf("%s is %v, want %s", name, list, want)
		}
	}
}

// TestRulesOfFiles has programs that read a model and what its optimizer kept from a file.
func TestRulesOfFiles(t *testing.T) {
	t.Parallel()
	read := "persistent_load serialization.py, " + main
	for _, c := range []struct {
		sets int // blocks that are read for each parameter
		made bool
		want string
	}{
		{1, false, "weight copy by file"}, {2, false, "optimizer state by file"}, {3, false, "weight copy by file,optimizer state by file"},
		{3, true, "weight copy by file"},
	} {
		p := newTape(t)
		plan{bare: true, setup: func(p *tape) {
			p.take("parameter", paramSize, built)
			for range c.sets {
				p.take("x", paramSize, read)
			}
			p.free(main, p.take("gone", paramSize, read))
		}, update: once(func(p *tape) {
			if c.made {
				p.take("state", paramSize, initGroup)
			}
		})}.run(p)
		got := p.tell()
		if x := strings.Join(got["x"], ","); x != c.want || got["gone"][0] != "temporary by passing" {
			t.Errorf("%d sets, state made %v: x is %s, want %s; gone is %v", c.sets, c.made, x, c.want, got["gone"])
		}
	}
}

// TestRulesOfAssignedFiles has a model whose parameters are the tensors that were read.
func TestRulesOfAssignedFiles(t *testing.T) {
	t.Parallel()
	p := newTape(t)
	plan{bare: true, setup: func(p *tape) { p.take("x", paramSize, "persistent_load serialization.py, "+main) },
		back: func(p *tape, _ int) { p.free(zeroGrad, p.take("g", paramSize, engine)) }}.run(p)
	if x := strings.Join(p.tell()["x"], ","); x != "parameter by file" {
		t.Errorf("x is %s", x)
	}
}

// TestRulesOfFailures has a step that ends in its forward pass, where a request fails.
func TestRulesOfFailures(t *testing.T) {
	t.Parallel()
	for fails, want := range map[bool]string{true: "activation by saved", false: "temporary by passing"} {
		p := newTape(t)
		plan{}.run(p)
		x := p.take("x", 64, forward)
		if fails {
			p.event(torchmem.OOM, 0, 1<<40, forward)
		}
		p.free(main, x)
		if got := p.tell()["x"]; len(got) != 1 || got[0] != want {
			t.Errorf("failing %v: x is %v, want %s", fails, got, want)
		}
	}
}

// TestRulesWithoutBackward has a program that generates: what lives from one call of a module to the next is a cache, and
// what is made outside of modules for the next call is input.
func TestRulesWithoutBackward(t *testing.T) {
	t.Parallel()
	p := newTape(t)
	p.take("parameter", paramSize, built)
	for range 3 {
		in := p.take("input", 32, "generate train.py, "+main)
		cache := p.take("cache", 64, forward)
		p.free("generate train.py, "+main, p.take("logits", 16, "generate train.py, "+main))
		next := p.take("input", 8, "generate train.py, "+main)
		p.free(forward, p.take("scratch", 16, forward))
		p.free(main, in, cache, next)
	}
	got := p.tell()
	for name, want := range map[string]string{"parameter": "parameter by module", "input": "input by before forward", "cache": "activation by saved",
		"logits": "temporary by passing", "scratch": "temporary by passing"} {
		if list := got[name]; len(list) != 1 || list[0] != want {
			t.Errorf("%s is %v, want %s", name, list, want)
		}
	}
}

// TestRulesAnywhere runs the ordinary program where PyTorch lies elsewhere, on another kind of thread, and below a frame
// that is none of Python's usual ones.
func TestRulesAnywhere(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *torchmem.Frame){
		"Windows": func(f *torchmem.Frame) {
			f.File = strings.ReplaceAll(strings.Replace(f.File, lib, "C:/env/Lib/site-packages/", 1), "/", `\`)
		},
		"an editable copy": func(f *torchmem.Frame) { f.File = strings.Replace(f.File, lib, "/home/me/pytorch/", 1) },
		"a thread": func(f *torchmem.Frame) {
			if f.Name == "<module>" {
				f.Name, f.File = "_bootstrap", files["threading.py"]
			}
		},
		"embedded": func(f *torchmem.Frame) {
			if f.Name == "<module>" {
				f.Name = "serve"
			}
		},
	} {
		p := newTape(t)
		plan{}.run(p)
		for _, s := range p.stacks {
			for i := range s {
				change(&s[i])
			}
		}
		got := p.tell()
		for block, want := range ordinary {
			if list := got[block]; len(list) == 0 || list[0] != want {
				t.Errorf("%s: %s is %v, want %s", name, block, list, want)
			}
		}
	}
}

// TestRulesWithoutStacks falls back to life where no stack has a Python frame, and does without the stacks of frees.
func TestRulesWithoutStacks(t *testing.T) {
	t.Parallel()
	p := newTape(t)
	plan{}.run(p)
	for i := range p.events {
		if p.events[i].Action != torchmem.Alloc {
			p.events[i].Stack = 0
		}
	}
	got := p.tell()
	for name, want := range ordinary {
		if name == "gradient" {
			want = "gradient by backward"
		}
		if list := got[name]; len(list) == 0 || list[0] != want {
			t.Errorf("without stacks of frees %s is %v, want %s", name, list, want)
		}
	}
	for i := range p.events {
		p.events[i].Stack = p.stack("at::native::addmm C++")
	}
	for name, list := range p.tell() {
		for _, told := range list {
			if told != "unknown by " && !strings.Contains(told, " by "+LifeAlone) {
				t.Errorf("C++ stacks alone: %s is %s", name, told)
			}
		}
	}
}

// TestRulesFromTheMiddle has a recording that began after the model was made: what was there is left to life, but for what
// the backward engine gives back.
func TestRulesFromTheMiddle(t *testing.T) {
	t.Parallel()
	p := newTape(t)
	held := p.take("held", 64, forward)
	param := p.take("weights", 64, built)
	p.events = nil
	plan{bare: true, back: once(func(p *tape) { p.free(engine, held) }), end: func(p *tape, i int) {
		if i == steps-1 {
			p.free(main, param)
		}
	}}.run(p)
	got := p.tell()
	if got["held"][0] != "activation by freed by backward" || strings.HasPrefix(got["weights"][0], "activation") {
		t.Errorf("held is %v, weights are %v", got["held"], got["weights"])
	}
}
