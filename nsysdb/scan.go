package nsysdb

import "math"

// Null stands for SQL NULL in a column of a Batch. No time stamp, size, address or id of an export has this value.
// A time beyond ±2^62 ns or a size beyond 2^47 bytes is damage, and is read as Null too.
const Null = math.MinInt64

// A Table is one of the event tables that nsysmem reads, whatever name the export's version gives it.
type Table uint8

// The tables, with the name each has in the exports of Nsight Systems 2022.4 to 2025.3.
const (
	MemoryUsage Table = iota // CUDA_GPU_MEMORY_USAGE_EVENTS
	MemoryPool               // CUDA_GPU_MEMORY_POOL_EVENTS
	Kernel                   // CUPTI_ACTIVITY_KIND_KERNEL
	Memcpy                   // CUPTI_ACTIVITY_KIND_MEMCPY
	Memset                   // CUPTI_ACTIVITY_KIND_MEMSET
	GraphTrace               // CUPTI_ACTIVITY_KIND_GRAPH_TRACE
	API                      // CUPTI_ACTIVITY_KIND_RUNTIME
	CallChain                // CUDA_CALLCHAINS: a row is a frame of the call stack of an API call
	numTables
)

// A Column is a column of an event table by its meaning; all are integers.
type Column uint8

// The columns. Times are nanoseconds on the report's clock, sizes are bytes, ids are the export's own.
const (
	Start         Column = iota // start
	End                         // end
	GlobalPID                   // globalPid: the process, see PID
	GlobalTID                   // globalTid: the thread, see PID and TID
	DeviceID                    // deviceId
	ContextID                   // contextId
	StreamID                    // streamId
	CorrelationID               // correlationId: joins an event to its API call, within one process
	Address                     // address
	Bytes                       // bytes
	MemKind                     // memKind, translated to the MemKind… numbers through the export's own enum table
	Operation                   // memoryOperationType or operationType, translated to Op… or Pool… numbers likewise
	PoolAddress                 // localMemoryPoolAddress
	PoolSize                    // localMemoryPoolSize
	PoolUsed                    // localMemoryPoolUtilizedSize
	ImportedPool                // importedMemoryPoolAddress
	NameID                      // nameId (API) or shortName (Kernel): an id for Strings
	FullNameID                  // demangledName (Kernel): an id for Strings
	ReturnValue                 // returnValue: 0 is success
	CopyKind                    // copyKind, translated to the Copy… numbers likewise
	GridX                       // gridX, in blocks
	GridY                       // gridY
	GridZ                       // gridZ
	BlockX                      // blockX, in threads
	BlockY                      // blockY
	BlockZ                      // blockZ
	GraphID                     // graphId
	ChainID                     // callchainId (API): joins a call to the frames of its call stack, whose ID it is
	ID                          // id (CallChain): which call stack the frame belongs to
	Depth                       // stackDepth: 0 is the innermost frame
	Symbol                      // symbol: the function of a frame, an id for Lookup
	Module                      // module: the file that the function is in, an id for Lookup
	Unresolved                  // unresolved: not 0 where the symbol is a bare address
	numColumns
)

// Kinds of memory, as the export numbers them (CUPTI's own numbers are one higher).
const (
	KindPageable      = 0
	KindPinned        = 1
	KindDevice        = 2
	KindArray         = 3
	KindManaged       = 4
	KindDeviceStatic  = 5
	KindManagedStatic = 6
	KindUnknown       = 7
)

// Operations of a memory-usage event.
const (
	OpAlloc = 0
	OpFree  = 1
)

// Operations of a memory-pool event.
const (
	PoolInvalid   = 0
	PoolCreated   = 1
	PoolDestroyed = 2
	PoolTrimmed   = 3
)

// Kinds of copy.
const (
	CopyUnknown = 0
	CopyHtoD    = 1
	CopyDtoH    = 2
	CopyHtoA    = 3
	CopyAtoH    = 4
	CopyAtoA    = 5
	CopyAtoD    = 6
	CopyDtoA    = 7
	CopyDtoD    = 8
	CopyHtoH    = 9
	CopyPtoP    = 10
	CopyUMHtoD  = 11
	CopyUMDtoH  = 12
	CopyUMDtoD  = 13
)

// PID is the process id within a globalPid or globalTid: bits 24 to 47 (observed in the exports of 2022.4 to 2025.3).
func PID(global int64) int64 { return global >> 24 & 0xFFFFFF }

// TID is the thread id within a globalTid: bits 0 to 23.
func TID(global int64) int64 { return global & 0xFFFFFF }

// Process is the part of a globalTid that names machine and process: equal to the globalPid of that process.
func Process(global int64) int64 { return global &^ 0xFFFFFF }

// A Scan says what to read of a table.
type Scan struct {
	Table   Table
	Columns []Column // in the order in which Batch.Cols has them; a column that the table lacks gives a nil slice
	Parts   int      // how many ranges of rowids to read at once, each by a goroutine of its own; 0 counts as 1
	Sorted  bool     // in the order of start, of call chains that of their ids (ties in no set order), rather than of rowid; then Parts is ignored
	Chains  []int64  // of CallChain with Sorted: the ids, in rising order, whose rows are wanted; others may come too. nil for all
}

// A Batch holds consecutive rows of a scan, by column. It is valid only until the callback returns.
type Batch struct {
	Part int       // which of Scan.Parts, from 0; parts are in rowid order
	Rows int       // number of rows
	Cols [][]int64 // one slice of Rows values for each of Scan.Columns; nil where the table lacks the column
}
