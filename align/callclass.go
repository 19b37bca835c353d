package align

import (
	"regexp"
	"strings"
)

// A callClass is what an API call does, as far as accounting cares.
type callClass uint8

const (
	classOther callClass = iota
	classAllocDevice
	classAllocPinned
	classAllocManaged
	classAllocVMM
	classFree
	classSync
	classLaunch
	classLaunchGraph
)

// runtimeVersion ends every CUDA runtime name in an export: "cudaMalloc_v3020", "cudaMemcpyAsync_ptsz_v7000".
var runtimeVersion = regexp.MustCompile(`(?:_pt[sd][sz])?_v\d{4,}$`)

// callName is an API name without its version suffix; driver names have none.
func callName(name string) string {
	if strings.HasPrefix(name, "cuda") {
		return runtimeVersion.ReplaceAllString(name, "")
	}
	return name
}

// classify names the class of an API function. The functions are those of CUDA's runtime and driver API references.
func classify(name string) callClass {
	name = callName(name)
	s := strings.TrimPrefix(strings.TrimPrefix(name, "cuda"), "cu")
	switch {
	case s == name:
		return classOther
	case strings.HasPrefix(s, "MallocHost"), strings.HasPrefix(s, "HostAlloc"), strings.HasPrefix(s, "MemHostAlloc"),
		strings.HasPrefix(s, "MemAllocHost"):
		return classAllocPinned
	case strings.HasPrefix(s, "MallocManaged"), strings.HasPrefix(s, "MemAllocManaged"):
		return classAllocManaged
	case s == "MemCreate", s == "MemMap", s == "MemSetAccess":
		return classAllocVMM
	case strings.HasPrefix(s, "Malloc"), strings.HasPrefix(s, "MemAlloc"), strings.HasPrefix(s, "ArrayCreate"),
		strings.HasPrefix(s, "Array3DCreate"), strings.HasPrefix(s, "MipmappedArrayCreate"):
		return classAllocDevice
	case strings.HasPrefix(s, "Free"), strings.HasPrefix(s, "MemFree"), s == "MemUnmap", s == "MemRelease",
		strings.HasPrefix(s, "ArrayDestroy"), strings.HasPrefix(s, "MipmappedArrayDestroy"):
		return classFree
	case strings.Contains(s, "Synchronize"):
		return classSync
	case strings.HasPrefix(s, "Launch") && !strings.HasPrefix(s, "LaunchHostFunc"):
		return classLaunch
	case strings.HasPrefix(s, "GraphLaunch"):
		return classLaunchGraph
	}
	return classOther
}

// outOfMemory is cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY alike.
const outOfMemory = 2

// failed says that an allocating call got no memory. Frameworks try out what kinds of handle cuMemCreate knows and take
// other errors of it for an answer (observed: 800 once a process with PyTorch's expandable segments).
func failed(class callClass, ret int64) bool {
	return ret == outOfMemory || ret > 0 && class != classAllocVMM
}

// level is the level that a call of an allocating class raises.
func (c callClass) level() LevelKind {
	switch c {
	case classAllocPinned:
		return LevelPinned
	case classAllocManaged:
		return LevelManaged
	}
	return LevelDevice
}
