package caller

import (
	"regexp"
	"strings"
)

// A module is what is known of a file that holds functions.
type module struct {
	kind      moduleKind
	name      string // as in Caller.Library
	allocator bool   // of PyTorch's: it holds the caching allocator
}

// A moduleKind says how a module counts in a chain. Those up to interpreter are passed over.
type moduleKind uint8

const (
	unknownModule moduleKind = iota
	cuda                     // CUDA's runtime, driver and tools, and the profiler
	system                   // the C library, threads, the loader
	interpreter              // Python
	library                  // a library that is called by names of its own
	pytorch
	program // any other: the program, or a library that is not known here
)

// known are the libraries by what their files are called, without "lib" in front and "64" or a version behind. Sources are
// the files of CUDA's redistributable packages and wheels on Linux (libcublasLt.so.12) and Windows (cublasLt64_12.dll), and
// of the frameworks' wheels.
var known = knownModules()

func knownModules() map[string]module {
	all := make(map[string]module)
	for _, k := range []struct {
		kind  moduleKind
		name  string
		stems string
	}{
		{cuda, "", "cuda cudart nvcuda cupti nvperf_host nvrtc nvrtc-builtins nvjitlink cudadebugger"},
		{system, "", "c m dl rt gcc_s stdc++ c++ c++abi pthread util ld-linux-x86-64 ld-linux-aarch64 ld-linux-ppc64le ld-musl-x86_64 gomp iomp5 omp " +
			"ffi ntdll kernel32 kernelbase ucrtbase msvcrt vcomp"},
		{interpreter, "", "python pypy3-c _ctypes"},
		{library, "cuBLAS", "cublas nvblas"},
		{library, "cuBLASLt", "cublaslt"},
		{library, "cuDNN", "cudnn"},
		{library, "NCCL", "nccl nccl-net"},
		{library, "NVSHMEM", "nvshmem nvshmem_host"},
		{library, "cuFFT", "cufft cufftw cufftmp"},
		{library, "cuSOLVER", "cusolver cusolvermg"},
		{library, "cuSPARSE", "cusparse"},
		{library, "cuSPARSELt", "cusparselt"},
		{library, "cuRAND", "curand"},
		{library, "cuTENSOR", "cutensor cutensormg"},
		{library, "NPP", "nppc nppial nppicc nppidei nppif nppig nppim nppist nppisu nppitc npps"},
		{library, "nvJPEG", "nvjpeg"},
		{library, "TensorRT", "nvinfer nvinfer_plugin nvonnxparser"},
		{library, "OpenMPI", "mpi open-pal"},
		{library, "UCX", "ucp uct uct_cuda ucs"},
		{pytorch, "PyTorch", "torch torch_cuda torch_cuda_cu torch_cuda_cpp torch_cuda_linalg torch_cpu torch_python torch_nvshmem c10 c10_cuda"},
		{program, "Triton", "triton cuda_utils __triton_launcher"},
		{program, "TensorFlow", "tensorflow tensorflow_framework tensorflow_cc _pywrap_tensorflow_internal _pywrap_tensorflow_common"},
		{program, "JAX", "xla_extension xla_cuda_plugin _jax pjrt_c_api_gpu_plugin"},
		{program, "ONNX Runtime", "onnxruntime onnxruntime_providers_cuda onnxruntime_providers_tensorrt onnxruntime_pybind11_state"},
	} {
		for stem := range strings.FieldsSeq(k.stems) {
			all[stem] = module{kind: k.kind, name: k.name, allocator: stem == "c10_cuda" || stem == "c10"}
		}
	}
	return all
}

// packages are frameworks by their folder among Python's packages, for those of their files that are called anything.
var packages = map[string]module{
	"torch":         {kind: pytorch, name: "PyTorch"},
	"triton":        {kind: program, name: "Triton"},
	"tensorflow":    {kind: program, name: "TensorFlow"},
	"jaxlib":        {kind: program, name: "JAX"},
	"jax_plugins":   {kind: program, name: "JAX"},
	"cupy":          {kind: program, name: "CuPy"},
	"cupy_backends": {kind: program, name: "CuPy"},
	"cupyx":         {kind: program, name: "CuPy"},
}

var (
	// packaged finds the folder of a Python package in a path.
	packaged = regexp.MustCompile(`[/\\](?:site|dist)-packages[/\\]([^/\\]+)[/\\]`)
	// ending is what stands behind a file's own name: .so with a version, the platform of an extension of Python.
	ending = regexp.MustCompile(`(?i)(?:\.(?:cpython|pypy|cp)-?\d[^/\\]*|\.abi3)?\.(?:so(?:\.[\w.]*)?|dll|pyd|dylib|exe)$`)
	// wheelHash is what auditwheel adds to the name of a library that it copies into a wheel.
	wheelHash = regexp.MustCompile(`-[0-9a-f]{8}$`)
	// versionEnd is the version in the name itself: cublas64_12, cudart64_110, python3.12, libc-2.31, msvcp140_1. cuDNN's
	// parts stand before it: cudnn_graph64_9.
	versionEnd = regexp.MustCompile(`(?:64)?(?:[-_.]?\d[\d._]*t?)?$`)
	// cudnnPart is a part of cuDNN, since its version 8 in files of their own: libcudnn_ops_infer.so.8, libcudnn_graph.so.9.
	cudnnPart = regexp.MustCompile(`^cudnn_[a-z_]+$`)
	// nvidiaPart is a part of the driver or of the profiler, of which there are more with each release, windowsPart one of
	// the C library of Windows.
	nvidiaPart  = regexp.MustCompile(`^(?:nvidia-|toolsinjection|nsys)`)
	windowsPart = regexp.MustCompile(`^(?:msvcp|vcruntime|api-ms-win-)`)
)

// module says what a file is.
func (f *Finder) module(path string) module {
	m, ok := f.modules[path]
	if !ok {
		if f.modules == nil {
			f.modules = make(map[string]module)
		}
		m = moduleOf(path)
		f.modules[path] = m
	}
	return m
}

// moduleOf says what a file is by its name, and by the Python package that it lies in. Names in brackets are the profiler's:
// but for the kernel's they stand for code of which it does not know where it is from.
//
//  1. The file's own name is what is left without folders, version, platform and what a wheel's maker added.
//  2. Libraries that are known go by that name, parts of some by its beginning.
//  3. Files of Python packages go by the package, any other by its name.
func moduleOf(path string) module {
	file := path[strings.LastIndexAny(path, `/\`)+1:]
	switch {
	case file == "[vdso]":
		return module{kind: system}
	case file == "" || strings.HasPrefix(file, "["):
		return module{}
	case strings.HasSuffix(file, ".py"):
		return module{kind: interpreter}
	}
	shared := ending.MatchString(file) && !strings.HasSuffix(strings.ToLower(file), ".exe")
	name := wheelHash.ReplaceAllString(ending.ReplaceAllString(file, ""), "")
	stem := strings.TrimPrefix(strings.ToLower(name), "lib")
	short := versionEnd.ReplaceAllString(stem, "")
	for _, s := range []string{stem, short} {
		// A program may be called anything, such as "m"; Python is one.
		if m, ok := known[s]; ok && (shared || m.kind == interpreter) {
			return m
		}
	}
	switch {
	case shared && cudnnPart.MatchString(short):
		return known["cudnn"]
	case shared && nvidiaPart.MatchString(stem):
		return module{kind: cuda}
	case shared && windowsPart.MatchString(stem):
		return module{kind: system}
	}
	if in := packaged.FindStringSubmatch(path); in != nil {
		if m, ok := packages[strings.ToLower(in[1])]; ok {
			return m
		}
		if name != strings.TrimSuffix(file, ".so") { // an extension of Python: many are called _C
			return module{kind: program, name: in[1]}
		}
	}
	if name == "" {
		return module{}
	}
	return module{kind: program, name: name}
}
