package align

import "testing"

// Names as they stand in reports of many programs, and such as a user may well choose.
var ownerNames = []struct {
	domain, name string
	want         owner
}{
	// The program's own, though they look like others'.
	{"", "nccl_allreduce_step", ownProgram},
	{"", "nccl", ownProgram},
	{"", "cublas_gemm", ownProgram},
	{"", "cub scan", ownProgram},
	{"", "forward, seq=3", ownProgram},
	{"", "sequence = 3", ownProgram},
	{"", "step, seq = 3 of 9", ownProgram},
	{"", "compile model", ownProgram},
	{"", "CompiledStep", ownProgram},
	{"", "step {1}", ownProgram},
	{"", "{'a': 1}", ownProgram},
	{"", `{"epoch": 3}`, ownProgram},
	{"", "backward2", ownProgram},
	{"", "Backward1", ownProgram},
	{"", "layerBackward0", ownProgram},
	{"", "Optimizer.step", ownProgram},
	{"", "torch", ownProgram},
	{"", "my::step", ownProgram},
	{"", "layer:conv1", ownProgram}, // what PyProf's users write
	{"", "ProfilerStep#12", ownProgram},
	{"", "ProfilerStep#12, op_id = 5", ownProgram},
	{"", "XlaStep 3", ownProgram},
	{"", "jit_train_step", ownProgram},
	{"", "memcpy H2D", ownProgram},
	{"", "Memcpy inputs", ownProgram},
	{"", "MPI exchange", ownProgram},
	{"", "[pl][profile]run_training_batch", ownProgram},
	{"", "all_reduce grad [layers.3.ln1.weight]", ownProgram},
	{"solver", "step 4", ownProgram},
	{"mpi solver", "step 4", ownProgram},
	{"Domain", "step 4", ownProgram},
	{"dalily", "step 4", ownProgram},
	{"triton_train", "step 4", ownProgram},

	// emit_nvtx, Nsight's own annotation of PyTorch, torch.compile.
	{"", "aten::conv2d", ownOperator},
	{"", "aten::_convolution, seq = 12, op_id = 31, sizes = [[8, 3, 32, 32]], input_op_ids = [(30,0)]", ownOperator},
	{"", "AddmmBackward0, seq = 12, op_id = 5", ownOperator},
	{"", "AddmmBackward0", ownOperator},
	{"", "autograd::engine::evaluate_function: AddmmBackward0", ownOperator},
	{"", "autograd::engine::evaluate_function: AddmmBackward0, op_id = 9", ownOperator},
	{"", "torch::autograd::AccumulateGrad, op_id = 17", ownOperator},
	{"", "struct torch::autograd::AccumulateGrad", ownOperator},
	{"", "detach_, op_id = 3", ownOperator},
	{"", "to, seq = 60471", ownOperator},
	{"", "FlashAttnFunc, seq = 5, op_id = 40", ownOperator},
	{"", "FSDP::pre_forward (blocks.3._checkpoint_wrapped_module), op_id = 12", ownOperator},
	{"", "record_param_comms, op_id = 6", ownOperator},
	{"", "_c10d_functional::all_reduce", ownOperator},
	{"", "Optimizer.step#AdamW.step", ownOperator},
	{"", "Optimizer.zero_grad#SGD.zero_grad, op_id = 2", ownOperator},
	{"", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__, op_id = 4", ownOperator},
	{"", "torch.nn.functional.linear", ownOperator},
	{"", "## Call CompiledFxGraph fbvcwuqulrovfujd7iuc223hzjvp3lnu3ph7 ##", ownOperator},
	{"", "Torch-Compiled Region: 0/0", ownOperator},
	{"", "Memcpy HtoD (Pageable -> Device)", ownOperator},
	{"", "Memset (Device)", ownOperator},

	// PyProf and DLProf.
	{"", "{'mod': 'Tensor', 'op': 'float', 'args': [{'name': '', 'type': 'tensor', 'shape': (18, 104, 160), 'dtype': 'bool'}]}", ownOperator},
	{"", "{'traceMarker': ['a.py:12'], 'funcStack': ''}", ownOperator},
	{"", `{"model_config": {"emit_nvtx": true}}`, ownOperator},

	// Libraries.
	{"NCCL", "ncclAllReduce", ownLibrary},
	{"com.nvidia.nccl.proxy", "Send", ownLibrary},
	{"", "ncclGroupStart", ownLibrary},
	{"", "nccl:all_to_all, op_id = 7", ownLibrary},
	{"", "nccl:_all_gather_base", ownLibrary},
	{"CCCL", "cub::DeviceScan::ExclusiveScan", ownLibrary},
	{"", "cub::DeviceScan::ExclusiveScan", ownLibrary},
	{"cuBLAS", "cublasCreate_v2", ownLibrary},
	{"cuBLASLt", "cublasLtMatmul", ownLibrary},
	{"cudnn_frontend", "execute", ownLibrary},
	{"libcudf", "hash_join_impl", ownLibrary},
	{"cudf_python", "DATAFRAME_COPY", ownLibrary},
	{"rapidsmpf", "shuffle", ownLibrary},
	{"MPI", "MPI_Send", ownLibrary},
	{"UCX", "ucp_tag_send", ownLibrary},
	{"DALI", "[Executor] RunGPU", ownLibrary},
	{"STDPAR", "for_each", ownLibrary},
	{"TensorRT", "/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu", ownLibrary},
	{"TensorRT", "ExecutionContext::enqueue", ownLibrary},
	{"", "{ForeignNode[transformer.h.0.attn.bias.../Cast]}", ownLibrary},
	{"", "Reformatting CopyNode for Input Tensor 0 to /conv1/Conv + /relu/Relu", ownLibrary},
	{"", "__myl_MulMeaAddSqr_myl0_3", ownLibrary},
	{"", "myelinGraphExecute", ownLibrary},
	{"", "nvte_cublas_gemm", ownLibrary},
	{"", "GpuLower::Lower::validateIr", ownLibrary},
	{"TSL", "XlaCompile:#module=jit_train_step,program_id=1#", ownLibrary},
	{"TSL", "XlaPass:#name=fusion,module=jit_train_step,program_id=7#", ownLibrary},
	{"", "XlaPassPipeline:#name=optimization,module=jit_train_step,program_id=7#", ownLibrary},
	{"TSL", "XlaCompileGpuAsm", ownLibrary},
	{"", "XlaEmitGpuAsm:#module=jit_f#", ownLibrary},
	{"TSL", "Thunk:#hlo_op=command_buffer_1#", ownLibrary},
	{"TSL", "XlaModule:#hlo_module=gemm_fusion_dot.11#", ownLibrary}, // tried while it compiles
	{"TSL", "XlaModule:#module=jit_f#", ownLibrary},

	// What XLA executes.
	{"TSL", "XlaModule:#hlo_module=jit_train_step,program_id=7290#", ownModule},
	{"", "TSL:XlaModule:#hlo_module=jit_train_step,program_id=7#", ownModule},
	{"TSL", "XlaModule:#prefix=args[0],hlo_module=jit_stage,program_id=0#", ownModule},
	{"", "XlaModule:#hlo_module=pjit__wrapped_step_fn#", ownModule},
	{"TSL", "XlaModule:#hlo_module=SyncTensorsGraph.12,program_id=3#", ownModule},
}

func TestOwners(t *testing.T) {
	t.Parallel()
	for _, c := range ownerNames {
		if got := ownerOf(c.name, c.domain); got != c.want {
			t.Errorf("%q in domain %q: owner %d, not %d", c.name, c.domain, got, c.want)
		}
	}
}

func TestPatternsOfModules(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"XlaModule:#hlo_module=jit_train_step,program_id=7290#": "XlaModule:#hlo_module=jit_train_step,program_id=##",
		"XlaModule:#hlo_module=jit__lambda,program_id=5965#":    "XlaModule:#hlo_module=jit__lambda,program_id=5965#",
		"jit__lambda 3": "jit__lambda #",
	} {
		if got := pattern(name); got != want {
			t.Errorf("pattern of %q: %q, not %q", name, got, want)
		}
	}
}
