package align

import (
	"regexp"
	"strings"
)

// An owner says who opened a range: the program itself, or what it stands on.
type owner uint8

// The owners. Only a program's own range and a module's execution may be an iteration.
const (
	ownProgram  owner = iota
	ownOperator       // one operator of a framework, as its profiler or PyProf pushes it around each
	ownLibrary        // a library's internal: a function of cub or NCCL, a layer of TensorRT, a pass of XLA's compiler
	ownModule         // one execution of a program that XLA compiled: a library's range, and a round of the program
)

// ownerOf says who opened a range, by its name and its domain, which is empty for the default one. A name decides before
// a domain: XLA compiles and executes in one.
func ownerOf(name, domain string) owner {
	return ownerByName(name).in(libraryDomain.MatchString(domain))
}

// in is the owner of a range whose name tells so much, in a library's domain or another one.
func (o owner) in(library bool) owner {
	if o == ownProgram && library {
		return ownLibrary
	}
	return o
}

// ownerByName is the owner as far as the name alone tells.
//
//  1. XLA's modules are told apart from its compilation.
//  2. What PyTorch's profiler marks as a step is the program's, whatever emit_nvtx appends to it.
//  3. Libraries' names, then operators': a cub function is both.
func ownerByName(name string) owner {
	switch {
	case xlaModule.MatchString(name):
		if m := xlaExecution.FindStringSubmatch(name); m != nil && (m[2] != "" || xlaEntry.MatchString(m[1])) {
			return ownModule
		}
		return ownLibrary
	case strings.HasPrefix(name, "ProfilerStep#"):
		return ownProgram
	case libraryName.MatchString(name):
		return ownLibrary
	case operatorName.MatchString(name), strings.Contains(name, " = ") && emittedName.MatchString(name):
		return ownOperator
	}
	return ownProgram
}

// beginsWith joins alternatives of how a name begins. emit_nvtx writes a name of its own for each of many thousand calls, so
// that a name that begins otherwise must be refused at once.
func beginsWith(alternatives ...string) *regexp.Regexp {
	return regexp.MustCompile("^(?:" + strings.Join(alternatives, "|") + ")")
}

// XLA annotates with "XlaModule:#hlo_module=jit_step,program_id=7#" what it executes (GpuExecutable, in
// xla/service/gpu/gpu_executable.cc). Kernels that it tries while it compiles are executed too, as modules without a
// program_id that are named after a fusion. Modules of a user are named for the function that was compiled: by JAX jit_ and
// pmap_, by PyTorch/XLA SyncTensorsGraph, by TensorFlow cluster_ and a_inference_.
var (
	xlaModule    = regexp.MustCompile(`^(?:TSL:)?XlaModule:#`)
	xlaExecution = regexp.MustCompile(`#(?:prefix=.*,)?hlo_module=([^,#]+)(,program_id=\d+)?`)
	xlaAnonymous = regexp.MustCompile(`hlo_module=p?jit__(?:lambda|unnamed)`) // several programs of a user share such a name
	xlaEntry     = regexp.MustCompile(`^(?:p?jit|pmap|xmap)_|^SyncTensorsGraph\b|^cluster_|^a_inference_`)
)

// Domains that libraries mark their own ranges with, in any case and whole, save for a version or the name of a part: a
// program may call its own domain "mpi solver". As headers and sources name them: NCCL (src/include/nvtx.h,
// com.nvidia.nccl.proxy), CCCL (cub, Thrust), TSL and xprof (XLA), libcudf, cudf_python, rapidsmpf, DALI, UCX; as Nsight
// Systems does: cuBLAS, cuDNN, cuSOLVER, cuSPARSE, TensorRT, MPI, OpenSHMEM, NVSHMEM, STDPAR, Python-GIL.
var libraryDomain = regexp.MustCompile(`(?i)^(?:com\.nvidia\.[\w.]+|(?:` + strings.Join([]string{
	`nccl`, `cccl`, `cub`, `thrust`, `stdpar`, `cutlass`, `cublas`, `cudnn`, `cusparse`, `cusolver`, `cufft`, `curand`, `cutensor`, `nvjpeg`,
	`tensorrt`, `myelin`, `dali`, `triton`, `tsl`, `xla`, `xprof`, `tensorflow-core`, `horovodops`,
	`nvshmem`, `openshmem`, `mpi`, `ucx`, `ucp`, `uct`, `ucs`,
	`(?:lib)?(?:cudf|kvikio|rmm|cuml|cugraph|cuvs|raft|rapidsmpf?)`, `cupy`, `numba`, `cupti`, `python-gil`, `nvtx_internal`,
}, "|") + `)(?:(?:lt|xt|mp|mg|dx|dn|sp)|[ ._-]?(?:v?\d[\w.]*|frontend|backend|python|plugin|proxy|internal))?)\s*$`)

// Names of ranges that libraries push without a domain of their own: functions of C++ libraries by their namespace, of C
// libraries by their prefix; XLA's before it had a domain; layers of TensorRT and of Myelin, its compiler; of Transformer
// Engine, nvFuser and DALI.
var libraryName = beginsWith(
	`(?:cub|thrust|cutlass|cudnn|cublas\w*|cusparse|cusolver|cufft|curand|nccl)::`,
	`nccl(?:[A-Z]\w*$|:_?[a-z])`,
	`(?:cublas(?:Lt|Xt)?|cudnn|cusparse|cusolver(?:Dn|Sp|Mg)?|cufft|curand)[A-Z]\w*$`,
	`MPI_[A-Z]\w+$`,
	`(?:TSL:)?(?:Xla[A-Z]\w*:#|Xla(?:CompileGpuAsm|OptimizeLlvmIr|EmitGpuAsm|EmitLlvmIr)$|Thunk:#)`,
	`ExecutionContext::(?:enqueue|execute)`, `\{ForeignNode\[`, `Reformatting CopyNode for `, `\(Unnamed Layer\* \d+\)`, `__my[el]\w*_`, `myelin[A-Z]\w*$`,
	`nvte_\w`, `transformer_engine\.`,
	`(?:GpuLower|Fusion(?:ExecutorCache|KernelRuntime|Definition|Container|Cache)|KernelExecutor|ExprEvalExecutor|HostIrExecutor|ExecutorDispatch|ExpressionEvaluator)::`,
	`\[DALI\]`,
)

// emit_nvtx appends to the name of an operator ", seq = 3, op_id = 7, sizes = [[2]]" (getNvtxStr in
// torch/csrc/profiler/util.cpp).
var emittedName = regexp.MustCompile(`, (?:seq|op_id) = \d+(?:,|$)|, sizes = \[`)

// Names of operators: they are known by the namespace of their library, nodes of the backward graph by their class.
// torch.compile and the optimizers mark their calls, Nsight's own annotation of PyTorch the functions of torch. PyProf and
// DLProf push a Python dictionary around each call (apex/pyprof/nvtx/nvmarker.py).
var operatorName = beginsWith(
	`(?:struct )?(?:aten|prims?|quantized|autograd|fbgemm|xformers|flash_attn|torch\w*|c10|\w*c10d\w*|FSDP)::`,
	`_?[A-Z]\w*[a-z0-9]Backward\d+\b`,
	`Optimizer\.\w+#`, `enumerate\(DataLoader\)#`,
	`torch\.[a-z_]`,
	`## Call CompiledFxGraph\b`, `Torch-Compiled Region\b`, `TorchDynamo Cache Lookup\b`, `AOTDispatcher Runtime Wrapper\b`, `CompiledFunction(?:Backward)?$`,
	`Mem(?:cpy|set) \(?(?:HtoD|DtoH|DtoD|PtoP|HtoH|Device)\b`,
	`\{['"](?:mod|op|traceMarker|funcStack|strRepr|model_config)['"]: ['"\[{]`,
)
