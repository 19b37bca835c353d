package caller

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// chain is a call chain, innermost frame first: "module symbol" each, with a symbol of "-" for none.
func chain(lines ...string) (out []Frame) {
	for _, l := range lines {
		module, symbol, _ := strings.Cut(l, " ")
		if symbol == "-" {
			symbol = ""
		}
		out = append(out, Frame{module, symbol})
	}
	return out
}

// inCUDA are the innermost frames of every chain.
var inCUDA = chain("/opt/nsight/libcupti.so.13.0 -", "/usr/lib/libcuda.so.580.159.04 -", "/venv/lib/libcudart.so.13 cudaMalloc")

// torchOps are outer frames of PyTorch.
var torchOps = chain("/venv/site-packages/torch/lib/libtorch_cuda.so at::native::addmm_out_cuda_impl(at::Tensor&)",
	"/venv/site-packages/torch/lib/libtorch_cpu.so at::_ops::addmm::redispatch(c10::DispatchKeySet, at::Tensor const&)",
	"/venv/site-packages/torch/lib/libtorch_cpu.so at::_ops::linear::call(at::Tensor const&)",
	"/usr/bin/python3.12 _PyEval_EvalFrameDefault", "/usr/lib/libc.so.6 __libc_start_main")

func TestOf(t *testing.T) {
	t.Parallel()
	const torch = "/venv/site-packages/torch/lib/"
	for name, c := range map[string]struct {
		chain []Frame
		want  Caller
	}{
		"cuBLAS": {slices.Concat(inCUDA[:2], chain("/x/libcublas.so.13 -", "/x/libcublas.so.13 -", "/x/libcublas.so.13 cublasCreate_v2"), torchOps), Caller{"cuBLAS", "cublasCreate_v2"}},
		"cuDNN, in two files": {slices.Concat(inCUDA, chain("/x/libcudnn_graph.so.9 -", "/x/libcudnn_graph.so.9 cudnn::create(int)", "/x/libcudnn.so.9 cudnnCreate"), torchOps),
			Caller{"cuDNN", "cudnnCreate"}},
		"the inner of two libraries": {slices.Concat(inCUDA, chain("/x/libcublasLt.so.13 cublasLtMatmul", "/x/libcublas.so.13 cublasSgemm_v2"), torchOps), Caller{"cuBLASLt", "cublasLtMatmul"}},
		"through the C library": {slices.Concat(inCUDA, chain("/x/libnccl.so.2 ncclInit(void)", "/usr/lib/libc.so.6 pthread_once", "/usr/lib/libstdc++.so.6.0.33 -", "/x/libnccl.so.2 ncclCommInitRank"), torchOps),
			Caller{"NCCL", "ncclCommInitRank"}},
		"not through another library": {slices.Concat(inCUDA, chain("/x/libcusolver.so.11 cusolverDnCreate", "/x/libmine.so f()", "/x/libcusolver.so.11 cusolverDnSgesvd")), Caller{"cuSOLVER", "cusolverDnCreate"}},
		"no name in it":               {slices.Concat(inCUDA, chain("/x/libcufft.so.11 -"), torchOps), Caller{"cuFFT", ""}},
		"PyTorch's operator": {slices.Concat(inCUDA, chain(torch+"libc10_cuda.so c10::cuda::CUDACachingAllocator::alloc_block(int)", torch+"libtorch_cpu.so at::detail::empty_generic(int)",
			torch+"libtorch_cpu.so at::_ops::empty_strided::call(int)"), torchOps), Caller{"PyTorch", "at::_ops::addmm"}},
		"an empty tensor": {slices.Concat(inCUDA, chain(torch+"libc10_cuda.so c10::cuda::CUDACachingAllocator::alloc_block(int)", torch+"libtorch_cpu.so at::_ops::empty_strided::call(int)",
			"/usr/bin/python3.12 -")), Caller{"PyTorch", "at::_ops::empty_strided"}},
		"PyTorch without an operator": {slices.Concat(inCUDA, chain(torch+"libc10_cuda.so c10::cuda::Allocator::alloc_block(int)", torch+"libc10_cuda.so c10::cuda::Allocator::allocate(long)",
			torch+"libtorch_cuda.so at::cuda::getWorkspace()", "/usr/bin/python3.12 -")), Caller{"PyTorch", "at::cuda::getWorkspace"}},
		"the allocator alone": {slices.Concat(inCUDA, chain(torch+"libc10_cuda.so c10::cuda::Allocator::alloc_block(int)", torch+"libc10_cuda.so c10::cuda::Allocator::allocate(long)")),
			Caller{"PyTorch", "c10::cuda::Allocator::allocate"}},
		"NCCL linked into PyTorch":   {slices.Concat(inCUDA, chain(torch+"libtorch_cuda.so ncclCalloc(void**)", torch+"libtorch_cuda.so pncclCommInitRank", torch+"libtorch_cuda.so c10d::NCCLComm::create(int)")), Caller{"NCCL", "pncclCommInitRank"}},
		"a C++ function like NCCL's": {slices.Concat(inCUDA, chain("/home/ann/secret/train ncclAlloc(int)", "/home/ann/secret/train main")), Caller{"train", "ncclAlloc"}},
		"the program":                {slices.Concat(inCUDA, chain("/home/ann/secret/train Model::Model(int)", "/home/ann/secret/train main", "/usr/lib/libc.so.6 __libc_start_main")), Caller{"train", "Model::Model"}},
		"its runtime linked statically": {slices.Concat(inCUDA[:2], chain("/home/ann/train -", "/home/ann/train cudaMalloc", "/home/ann/train cudaError cudaMalloc<float>(float**, unsigned long)", "/home/ann/train thrust::detail::allocate(int)",
			"/home/ann/train void fill<float>(int)", "/home/ann/train main")), Caller{"train", "fill"}},
		"a function like CUDA's":          {slices.Concat(inCUDA, chain("/home/ann/train cudaAllocate(unsigned long)", "/home/ann/train main")), Caller{"train", "cudaAllocate"}},
		"CuPy":                            {slices.Concat(inCUDA, chain("/v/site-packages/cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so __pyx_f_malloc", "/usr/bin/python3 -")), Caller{"CuPy", "__pyx_f_malloc"}},
		"an extension in a package":       {slices.Concat(inCUDA, chain("/v/site-packages/torch_scatter/_scatter_cuda.so scatter(int)")), Caller{"_scatter_cuda", "scatter"}},
		"an extension called like others": {slices.Concat(inCUDA, chain("/v/site-packages/acme/_C.cpython-312-x86_64-linux-gnu.so run()")), Caller{"acme", "run"}},
		"Python alone":                    {slices.Concat(inCUDA, chain("/usr/lib/libffi.so.8 -", "/usr/lib/python3.12/_ctypes.cpython-312-x86_64-linux-gnu.so -", "/usr/bin/python3.12 _PyEval", "/home/ann/a.py f")), Caller{Library: Python}},
		"the driver's thread":             {slices.Concat(inCUDA[:2], chain("/usr/lib/libc.so.6 clone")), Caller{Library: CUDA}},
		"broken off in CUDA":              {inCUDA, Caller{}},
		"of nobody knows whom":            {slices.Concat(inCUDA, chain("[Unknown] -", "/x/libcublas.so.13 cublasCreate_v2")), Caller{}},
		"without modules":                 {slices.Concat(inCUDA, chain(" f")), Caller{}},
		"no frames":                       {nil, Caller{}},
	} {
		if got := new(Finder).Of(c.chain); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What a file is, and that no folder is ever given out.
func TestModules(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/usr/lib/libcublas.so.12":                                      "cuBLAS",
		"/opt/conda/envs/x/lib/libcublas.so.12.4.5.8":                   "cuBLAS",
		`C:\Program Files\NVIDIA GPU Computing Toolkit\cublas64_12.dll`: "cuBLAS",
		`C:\x\cublasLt64_12.dll`:                                        "cuBLASLt",
		"/x/torch/lib/libcublasLt-f1a2b3c4.so.11":                       "cuBLASLt",
		"/x/libcudnn_ops_infer.so.8":                                    "cuDNN",
		`C:\x\cudnn_graph64_9.dll`:                                      "cuDNN",
		"/x/libcusolverMg.so.11":                                        "cuSOLVER",
		"/x/libcusparseLt.so.0":                                         "cuSPARSELt",
		"/x/libcusparse.so.12":                                          "cuSPARSE",
		"/x/libcufftw.so.11":                                            "cuFFT",
		"/x/libnvinfer_plugin.so.10":                                    "TensorRT",
		`C:\x\torch\lib\c10_cuda.dll`:                                   "PyTorch",
		"/v/site-packages/torch/_C.cpython-312-x86_64-linux-gnu.so":     "PyTorch",
		"/v/site-packages/torchvision/_C.so":                            "_C",
		"/v/dist-packages/jaxlib/xla_extension.so":                      "JAX",
		"/v/site-packages/tensorflow/libtensorflow_framework.so.2":      "TensorFlow",
		"/root/.triton/cache/ab/__triton_launcher.so":                   "Triton",
		"/home/ann/secret/libcudahelpers.so.1":                          "libcudahelpers",
		"/home/ann/secret/libtorchbearer.so":                            "libtorchbearer",
		"/home/ann/secret/m":                                            "m",
		"/home/ann/secret/cuda":                                         "cuda",
		`C:\Users\Ann\train.exe`:                                        "train",
		"train.v2":                                                      "train.v2",
	} {
		if m := moduleOf(path); m.name != want || m.kind <= interpreter || strings.ContainsAny(m.name, `/\`) {
			t.Errorf("%s: %+v, want %q", path, m, want)
		}
	}
	for path, want := range map[string]moduleKind{
		"/usr/lib/libcuda.so.1": cuda, `C:\Windows\System32\nvcuda.dll`: cuda, "/x/libcudart-d0da41ae.so.11.0": cuda, "/x/cudart64_110.dll": cuda, "/opt/libToolsInjection64.so": cuda,
		"/usr/lib/libnvidia-ptxjitcompiler.so.580": cuda, "/usr/lib/libc-2.31.so": system, "/lib/ld-linux-x86-64.so.2": system, "[vdso]": system, `C:\Windows\vcruntime140_1.dll`: system,
		"/usr/bin/python3.13t": interpreter, "/usr/lib/libpython3.12.so.1.0": interpreter, `C:\x\python312.dll`: interpreter, "/home/ann/train.py": interpreter,
		"[Unknown]": unknownModule, "": unknownModule, "/home/ann/": unknownModule, ".so": unknownModule,
	} {
		if m := moduleOf(path); m.kind != want || m.name != "" {
			t.Errorf("%s: %+v, want %d", path, m, want)
		}
	}
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]string{
		"cublasCreate_v2": "cublasCreate_v2",
		"void at::cuda::blas::gemm<float, std::vector<int> >(char, at::OpMathType<float>::type)": "at::cuda::blas::gemm",
		"at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA__mm(at::Tensor const&)":  "at::wrapper_CUDA__mm",
		"_ZN2at6native10empty_cudaEN3c108ArrayRefIlEE":                                           "at::native::empty_cuda",
		"_ZN5Buf_tIfEC2Em": "Buf_t::Buf_t",
		"torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)": "torch::autograd::Node::operator()",
		"std::ostream& ns::operator<< <int>(std::ostream&, int)":                                    "ns::operator<<",
		"ns::X::operator bool() const":                                                              "ns::X::operator bool",
		"ns::operators::run(int)":                                                                   "ns::operators::run",
		"train::main::{{closure}}":                                                                  "train::main::{{closure}}",
		"<":                                                                                         "<",
		"(":                                                                                         "(",
		"_Znot mangled":                                                                             "mangled",
	} {
		if got := shorten(symbol); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
	if got := shorten(strings.Repeat("é", 1<<20)); len(got) > longest+len("…") || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes", len(got))
	}
}

// A chain of a million frames and names that grow as they are demangled are done within a moment.
func TestHostile(t *testing.T) {
	t.Parallel()
	start := time.Now()
	many := slices.Concat(inCUDA, slices.Repeat(chain("/x/libc.so.6 f"), 1_000_000))
	if got := new(Finder).Of(many); got.Library != CUDA {
		t.Errorf("%+v", got)
	}
	for _, s := range []string{"_Z" + strings.Repeat("N", 1<<20), "_ZN1aIXsr" + strings.Repeat("1aI", 10_000), "_Z1fI" + strings.Repeat("St4pairI", 5000), "_R" + strings.Repeat("NvC", 1<<18),
		"_Z1fSt6vectorIiE" + strings.Repeat("S_IS0_S1_E", 2000), strings.Repeat("<(", 1<<20), strings.Repeat("operator", 1<<18)} {
		if got := shorten(s); len(got) > longest+len("…") {
			t.Errorf("%d bytes", len(got))
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
