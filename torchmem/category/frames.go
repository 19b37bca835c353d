package category

import (
	"slices"
	"strings"

	"nsysmem/torchmem"
)

// A zone is what the innermost telling frame of a stack says of the code that asked for a block.
type zone uint8

const (
	zoneNone       zone = iota
	zoneCall            // a module's forward
	zoneCompiled        // a compiled graph, forward or backward
	zoneEngine          // the backward engine, below a Python frame
	zoneOptimizer       // an optimizer's step
	zoneCollective      // torch.distributed
	zoneScaler          // GradScaler, clipping of gradients
	zoneTuning          // an autotuner's trial runs
)

// marks are further things that frames say. Several can hold of one stack.
type marks uint32

const (
	markSeed      marks = 1 << iota // _make_grads asked: the gradient that a backward pass starts from
	markGrad                        // torch.autograd.grad rather than backward
	markZeroGrad                    // inside zero_grad
	markInitGroup                   // inside an optimizer's _init_group
	markStateLoad                   // inside an optimizer's load_state_dict
	markModule                      // a module's tensors are made or moved: Module._apply, flattened weights, lazy ones, from_pretrained
	markLayer                       // inside the constructor of one of PyTorch's layers, or of nn.init
	markCtor                        // inside some constructor
	markShard                       // FSDP takes a module over
	markSharded                     // below FSDP
	markBucket                      // the innermost frame is DistributedDataParallel's
	markCopy                        // deepcopy of a tensor, or code that keeps an average of weights
	markClones                      // deepcopy that builds layers
	markDict                        // tensors are read from a file
	markMover                       // a function that moves batches to the device
	markScale                       // GradScaler makes its scale
	markClear                       // caches are cleared
	markHandle                      // a library's workspace, by C++ frames
	markDirect                      // the innermost Python frame is the program's own
)

// A trait is what a call stack says. It is worked out once for each stack.
type trait struct {
	zone     zone
	marks    marks
	python   bool // it has a Python frame
	engine   bool // it is on a thread of the backward engine
	line     place
	root     place
	recorded bool // there is a stack at all
}

func (t *trait) has(m marks) bool { return t.marks&m != 0 }

// A place is a line of a program.
type place struct {
	file, name string
	line       int64
}

// isPython tells a Python frame from one of C++.
func isPython(f *torchmem.Frame) bool {
	return strings.HasSuffix(f.File, ".py") || strings.HasPrefix(f.File, "<") || f.Name == "<module>"
}

// inLibrary says that a file belongs to an installed package, to PyTorch or to Python itself.
func inLibrary(file string) bool {
	for _, s := range []string{"site-packages/", "dist-packages/", "/lib/python", "<frozen", "<eval_with_key", "/torch/", "torchinductor"} {
		if strings.Contains(file, s) {
			return true
		}
	}
	return false
}

// A scan goes through a stack from its innermost frame outward.
type scan struct {
	trait
	own     bool // a frame of the program itself was passed
	closure bool // the frames so far are called by an optimizer, and are not its own
	wraps   bool // a module of PyTorch's that wraps others moves its arguments
}

// traitOf reads a stack.
//
//  1. C++ frames say whether the backward engine's thread asks, and whether for a library's workspace.
//  2. Of Python frames the innermost that tells gives the zone; what is further out called it.
//  3. Other marks hold wherever they stand, unless a zone further in says that they only contain the code that asked.
func traitOf(stack []torchmem.Frame) trait {
	var s scan
	s.recorded = len(stack) > 0
	for i := range stack {
		f := &stack[i]
		if !isPython(f) {
			s.native(f)
			continue
		}
		p := place{strings.ReplaceAll(f.File, "\\", "/"), f.Name, f.Line}
		first := !s.python
		s.python, s.root = true, p
		own := !inLibrary(p.file)
		if first {
			s.first(&p, own)
		}
		if own && s.line == (place{}) {
			s.line = p
		}
		if ofFSDP(p.file) {
			s.marks |= markSharded
		}
		s.build(&p)
		if s.zone == zoneNone {
			s.pass(&p)
		}
		s.own = s.own || own
	}
	if s.has(markClones) {
		s.marks &^= markCopy
	}
	if s.zone == zoneCall && !s.wraps {
		s.marks &^= markMover
	}
	return s.trait
}

// native reads a C++ frame.
func (s *scan) native(f *torchmem.Frame) {
	switch n := f.Name; {
	case strings.Contains(n, "autograd::Engine::thread_main"):
		s.engine = true
	case s.python:
	case strings.Contains(n, "WorkspaceForHandle"), strings.Contains(n, "getCurrentCUDABlasHandle"),
		strings.Contains(n, "CUDABlasLtWorkspace"), strings.Contains(n, "cudnn") && strings.Contains(n, "Workspace"):
		s.marks |= markHandle
	}
}

// first reads the innermost Python frame.
func (s *scan) first(p *place, own bool) {
	switch {
	case strings.HasSuffix(p.file, "nn/parallel/distributed.py"):
		s.marks |= markBucket
	case own:
		s.marks |= markDirect
	}
}

// build reads what frames say of tensors that a program makes once.
func (s *scan) build(p *place) {
	switch p.name {
	case "zero_grad":
		s.marks |= markZeroGrad
	case "_make_grads":
		if !s.own {
			s.markIn(p, markSeed, "torch/autograd/")
		}
	case "persistent_load", "load_tensor", "load_file", "get_tensor":
		s.markIn(p, markDict, "torch/serialization.py")
		s.markIn(p, markDict, "safetensors/")
	case "grad":
		if strings.HasSuffix(p.file, "autograd/__init__.py") {
			s.marks |= markGrad
		}
	case "_get_clones", "clones":
		s.marks |= markClones
	case "_clear_cuda_memory", "empty_cache", "_cuda_clearCublasWorkspaces", "clear_cublas_workspaces":
		s.marks |= markClear
	}
	if s.zone != zoneNone && s.zone != zoneCollective {
		return
	}
	switch p.name {
	case "_init_group":
		s.marks |= markInitGroup
	case "load_state_dict", "_process_value_according_to_param_policy":
		if strings.Contains(p.file, "torch/optim/") {
			s.marks |= markStateLoad
		}
	case "_apply", "flatten_parameters", "materialize", "initialize_parameters":
		s.markIn(p, markModule, "torch/nn/")
	case "from_pretrained", "_load_pretrained_model", "_load_state_dict_into_meta_model", "_load_state_dict_into_model",
		"set_module_tensor_to_device", "load_checkpoint_in_model", "_load_parameter_into_model":
		s.marks |= markModule
	case "reset_parameters":
		s.marks |= markLayer
	case "__init__":
		s.marks |= markCtor
		s.markIn(p, markLayer, "torch/nn/modules/")
		if ofFSDP(p.file) {
			s.marks |= markShard
		}
	case "fully_shard":
		s.marks |= markShard
	case "__deepcopy__":
		s.markIn(p, markCopy, "torch/_tensor.py")
		s.markIn(p, markCopy, "torch/nn/parameter.py")
	}
	if s.zone == zoneNone && s.averages(p) {
		s.marks |= markCopy
	}
}

// markIn sets a mark where the frame's file is of a package.
func (s *scan) markIn(p *place, m marks, within string) {
	if strings.Contains(p.file, within) {
		s.marks |= m
	}
}

// averagers are files that keep averages of weights: PyTorch's own, those of timm, diffusers and Lightning, and packages
// and files of that name.
var averagers = []string{"torch/optim/swa_utils.py", "/model_ema.py", "/ema.py", "/ema_pytorch.py", "diffusers/training_utils.py", "/weight_averaging.py"}

// averages says that a function keeps averages of weights: its file does nothing else, or it is the innermost function
// of the program and its name says so, as update_ema does.
func (s *scan) averages(p *place) bool {
	if p.name == "<module>" {
		return false
	}
	for _, file := range averagers {
		if strings.HasSuffix(p.file, file) {
			return true
		}
	}
	words := strings.Split(strings.ToLower(strings.Trim(p.name, "_")), "_")
	switch words[0] {
	case "update", "init", "make", "create", "copy", "clone", "build", "register", "step", "ema":
		return !s.own && slices.Contains(words, "ema")
	}
	return false
}

// movers are functions of frameworks that move a batch to the device.
var movers = map[string]bool{"send_to_device": true, "batch_to_device": true, "move_data_to_device": true, "transfer_batch_to_device": true,
	"batch_to": true, "_prepare_input": true, "_prepare_inputs": true, "pin_memory": true, "recursive_to": true, "_recursive_to": true,
	"_to_kwargs": true, "to_kwargs": true, "scatter_kwargs": true}

// pass reads what a frame says of the code that asked, as long as none further in has.
func (s *scan) pass(p *place) {
	switch p.name {
	case "_call_impl", "_slow_forward":
		s.zoneIn(p, zoneCall, "torch/nn/modules/")
	case "call_func_at_runtime_with_args":
		s.zone = zoneCompiled
	case "_engine_run_backward", "backward", "grad":
		s.zoneIn(p, zoneEngine, "torch/autograd/")
	case "clip_grad_norm_", "clip_grad_value_", "unscale_", "_unscale_grads_", "_maybe_opt_step":
		s.zone = zoneScaler
	case "_lazy_init_scale_growth_tracker":
		s.zone, s.marks = zoneScaler, s.marks|markScale
	case "benchmark_gpu", "benchmark", "do_bench", "autotune_to_one_config", "caching_allocator_warmup":
		if inLibrary(p.file) {
			s.zone = zoneTuning
		}
	case "closure":
		s.closure = true
	}
	if movers[p.name] || strings.Contains(p.name, "collate") {
		s.marks |= markMover
		s.wraps = s.wraps || strings.Contains(p.file, "/torch/")
	}
	switch {
	case s.zone != zoneNone:
	case strings.Contains(p.file, "torch/optim/"):
		s.optimizer(p)
	case !s.own && collective(p.file): // what calls the program, as a launcher does, says nothing of it
		s.zone = zoneCollective
	}
}

func (s *scan) zoneIn(p *place, z zone, within string) {
	if strings.Contains(p.file, within) {
		s.zone = z
	}
}

// optimizer reads a frame of torch.optim. What an optimizer calls in the program's own files is the closure that makes the
// loss, unless the optimizer is the program's own: then the frame is that of the wrapper that all optimizers have.
func (s *scan) optimizer(p *place) {
	base := p.file[strings.LastIndexByte(p.file, '/')+1:]
	switch base {
	case "lr_scheduler.py", "swa_utils.py":
		return
	case "optimizer.py":
	default:
		s.closure = s.closure || s.own
	}
	if !s.closure {
		s.zone = zoneOptimizer
	}
}

// collective says that a file is of PyTorch's distributed package or one like it, and no tensor's own code there.
func collective(file string) bool {
	for _, s := range []string{"deepspeed/runtime/zero/", "deepspeed/comm/", "megatron/core/distributed/", "horovod/", "torch/nn/parallel/replicate.py"} {
		if strings.Contains(file, s) {
			return true
		}
	}
	_, rest, ok := strings.Cut(file, "torch/distributed/")
	if !ok {
		return false
	}
	for _, s := range []string{"tensor/", "_tensor/", "optim/", "checkpoint/", "pipelining/", "algorithms/"} {
		if strings.HasPrefix(rest, s) {
			return strings.HasPrefix(rest, "algorithms/ddp_comm_hooks/")
		}
	}
	return true
}

// ofFSDP says that a file is of fully sharded data parallelism, old or new.
func ofFSDP(file string) bool {
	_, rest, ok := strings.Cut(file, "torch/distributed/")
	return ok && strings.Contains(rest, "fsdp")
}
