package nsysdb

// Meta is what an export says of itself, of the machine and of the recording. Environment variables, command lines
// and host names are never read.
type Meta struct {
	NsysVersion    string // EXPORT_PRODUCT_VERSION, such as "2025.3.2.0"; empty where the export does not say
	SchemaVersion  string // EXPORT_SCHEMA_VERSION, such as "3.20.3"; empty where the export does not say
	StartUTC       int64  // ns since 1970 of the report's time 0; 0 where the export does not say
	CaptureStart   int64  // ns on the report's clock; 0 where the export does not say
	CaptureEnd     int64  // ns on the report's clock; 0 where the export does not say
	TimeShift      int64  // ns; EXPORT_PARAM_TIME_SHIFT or EXPORT_CONFIG_TIME_SHIFT
	TimeNormalized bool   // EXPORT_PARAM_TIME_NORMALIZE

	CollectMemory Setting // COLLECT_GPU_MEMORY_USAGE
	CollectCUDA   Setting // COLLECT_CUDA_TRACE
	CollectNVTX   Setting // COLLECT_NVTX_TRACE
	GraphMode     string  // CUDA_GRAPH_TRACE_OPTIONS:MODE, "Graph" or "Node"; empty where the export does not say

	OS          string // such as "Ubuntu 24.04.3 LTS"; empty where the export does not say
	Driver      string // such as "580.159.04"; empty where the export does not say
	CUDADriver  string // such as "13.0"; empty where the export does not say
	GPUs        []GPU
	Processes   []ProcessInfo // every process that the export lists, those without CUDA work too
	Threads     []ThreadInfo
	Diagnostics []Diagnostic
	MPIRanks    map[int64]int64 // globalPid → rank; nil without table MPI_RANKS
}

// A Setting is a yes-or-no capture setting.
type Setting uint8

// The values of a Setting.
const (
	NotSaid Setting = iota // the export does not say
	Off
	On
)

// GPU is a device of the recorded machine.
type GPU struct {
	ID          int64  // the machine's own number of the device (TARGET_INFO_GPU.id)
	Name        string // such as "NVIDIA H200"
	UUID        string // empty where the export does not say
	BusLocation string // empty where the export does not say
	TotalMemory int64  // bytes; 0 where the export does not say
	// CUDAIDs is, by process id (not globalPid), the ordinal under which the process sees the device, as
	// TARGET_INFO_CUDA_DEVICE says; nil where the export does not say.
	CUDAIDs map[int64]int64
}

// ProcessInfo names a process.
type ProcessInfo struct {
	GlobalPID int64
	PID       int64
	Name      string // the executable's base name; arguments are cut off
}

// ThreadInfo names a thread.
type ThreadInfo struct {
	GlobalTID int64
	Name      string
}

// A Diagnostic is a message of the profiler itself.
type Diagnostic struct {
	Severity string // "warning", "error" or "fatal"
	Text     string // one line; commands, folders, hosts and users are left out; empty where it was too long to be read

	GlobalPID int64 // process that it is about; 0 for none
	Count     int64 // how many times it says so of that process; at least 1
}

// TableInfo is a table of the export, for listings.
type TableInfo struct {
	Name    string
	Rows    int64 // number of rows
	Columns []string
}

// NVTX holds the ranges of a report.
type NVTX struct {
	Ranges  []Range             // push/pop and start/end ranges, in rowid order
	Names   []string            // Range.Name is an index into it; each string stands there once
	Domains map[DomainID]string // names of the domains that the export names; the default domain 0 is not in it
}

// A DomainID is a domain of one process: two processes may use one number for different domains.
type DomainID struct {
	GlobalPID int64
	Domain    int64
}

// A Range is an NVTX range, half-open [Start, End).
type Range struct {
	Start   int64 // ns
	End     int64 // ns; Null where the range was never closed, or where the export gives an end before its start
	TID     int64 // globalTid of the thread that opened it
	Domain  int64 // domain number within the process; 0 is the default domain
	Name    int32 // index into NVTX.Names
	Damaged bool  // the export gives an end that is 0 or before its start
}
