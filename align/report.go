// Package align joins what a report holds: it finds the iterations, makes a tree of phases of each, and says what
// device memory, which kernels and which API calls belong to each of them.
//
// Times are int64 nanoseconds on the report's clock, sizes int64 bytes. Ranges, iterations and phases are half-open
// [start, end) on the CPU clock.
package align

import (
	"nsysmem/align/caller"
	"nsysmem/align/tensor"
	"nsysmem/align/theory"
)

// A Report is all that align finds in one export.
type Report struct {
	Source    Source
	Collected Collected
	Tracks    []*Track // ordered by process id, then device
	Families  []Family // range families that could be iterations, of all processes, the chosen ones first
	Recording Recording
	Warnings  []Warning
}

// Source says which report this is.
type Source struct {
	Path          string // as given by the user
	NsysVersion   string // empty where unknown
	SchemaVersion string // empty where unknown
	StartUTC      int64  // ns since 1970 of time 0; 0 where unknown
	Start         int64  // ns; earliest event or capture start
	End           int64  // ns; latest event or capture end
	OS            string // empty where unknown
	Driver        string // empty where unknown
	CUDADriver    string // empty where unknown
	TimeShift     int64  // ns by which the export moved all times
}

// Duration is the recorded time in nanoseconds.
func (s Source) Duration() int64 { return s.End - s.Start }

// Collected says what the report holds. "Not collected" is never the same as zero.
type Collected struct {
	Memory  bool // memory-usage events were recorded, even if none came
	NVTX    bool // NVTX ranges were recorded
	Kernels bool // GPU work was recorded: kernels, or whole graphs
	API     bool // CUDA API calls were recorded
	Copies  bool // copies and memsets can be told: recorded, or GPU work was recorded and none came

	// What calls tell of events that are missing although they were to be recorded.
	Launches int64 // successful launches, where no GPU work was recorded; else 0
	Allocs   int64 // successful allocations of device memory, where memory usage was to be recorded and no event is there; else 0
}

// Without is what is known of a stretch of time from which some was lost.
func (c Collected) Without(l Lost) Collected {
	c.Memory, c.Kernels = c.Memory && !l.Memory, c.Kernels && !l.Kernels
	c.API, c.Copies = c.API && !l.API, c.Copies && !l.Copies
	return c
}

// Lost says which figures of a stretch of time are unknown although they were collected: the recording of the events that
// they are counted from ended before it began, or lost some. Their values mean nothing.
type Lost struct {
	Memory  bool // of levels that were traced; those of a snapshot are known
	Kernels bool
	Copies  bool // copies and memsets
	API     bool
}

// A Track is one process on one device.
type Track struct {
	PID         int64
	Process     string // name; empty where unknown
	Device      int64  // ordinal as the process sees it
	DeviceName  string // empty where unknown
	DeviceUUID  string // empty where unknown
	DeviceTotal int64  // bytes; 0 where unknown

	Levels []Level // one for each kind with events, device first; "device" is always there where memory was collected
	Pool   *Pool   // memory pools of cudaMallocAsync; nil where there were none

	IterationsFrom IterationsFrom
	Iterations     []Iteration // in time order
	Phases         []PhaseStat // over steady iterations, in order of first appearance; "(other)" last
	Ranges         []RangeUse  // outermost ranges outside any iteration, in time order
	Attribution    Attribution
	Inferred       *Inferred // with Options.Infer InferAlways, where ranges tell the iterations; else nil
	Total          Use       // the whole track, events outside every range too

	Tensors *tensor.Memory // what tensors hold; nil where neither a snapshot nor the driver tells
	Theory  *theory.Need   // nil unless Options.Params

	Failed     []FailedAlloc    // in time order
	Libraries  []tensor.Library // who asked for the memory of the device level, largest first, static memory last; they add up to its peak and its end; nil without call chains
	LiveAtEnd  []Block          // device kinds and managed, largest first; nil unless Options.Blocks
	LiveAtPeak []Block          // device kinds, at the device level's peak, largest first; nil unless Options.Blocks
	Blocks     []Block          // every block, by birth; nil unless Options.Blocks
	Stayed     []tensor.Stayed  // of the device level, largest first; nil unless Options.Blocks or a snapshot asks for blocks
	Kernels    []KernelStat     // by phase path and name; nil unless Options.Kernels
	Copies     []CopyStat       // by phase path and direction; nil unless Options.Kernels
	Calls      []CallStat       // by phase path and name; nil unless Options.Kernels
	Spans      []Span           // calls of phases, by start; nil unless Options.Spans
}

// A Level is one kind of traced memory over the whole report.
type Level struct {
	Kind           LevelKind
	Peak           int64 // bytes; highest level
	PeakAt         int64 // ns; when the peak was first reached
	End            int64 // bytes; level after the last event
	Baseline       int64 // bytes live before the first event, as far as unmatched frees tell; the level starts there
	Allocs         int64 // allocation events
	AllocBytes     int64 // bytes of those
	Frees          int64 // free events
	FreeBytes      int64 // bytes of those, as their blocks were allocated
	UnmatchedFrees int64 // frees of blocks whose allocation is not in the report
	LostFrees      int64 // blocks that ended because their address was allocated anew
	FailedAllocs   int64 // calls to allocate this kind that returned an error; of LevelAllocated, requests that the allocator could not serve
	Partial        bool  // the report started in the middle: peak and level are lower bounds
	Ended          bool  // its events ended before the program did: the peak is a lower bound, the level at the end unknown
	EndedAt        int64 // ns; from when on nothing was recorded, where Ended; else 0
	Static         int64 // of Allocs, those of modules' static memory
	StaticBytes    int64 // bytes of those
}

// Least says that the peak is a lower bound.
func (l *Level) Least() bool { return l.Partial || l.Ended }

// Pool is the sum of a track's memory pools. Its bytes are not part of any level: a pool's used part is there as blocks.
type Pool struct {
	PeakSize int64 // bytes; highest sum of localMemoryPoolSize
	PeakUsed int64 // bytes; highest sum of localMemoryPoolUtilizedSize
	EndSize  int64 // bytes
	EndUsed  int64 // bytes
	Pools    int   // number of pools seen
}

// IterationsFrom says how the iterations were found.
type IterationsFrom struct {
	How        Origin
	Pattern    string  // name with digits as "#", or the regular expression; empty for none
	Domain     string  // NVTX domain; empty for the default domain
	Confidence float64 // 0 to 1
	Count      int
	TID        int64  // thread that carries them; 0 for none
	Why        string // one clause for a caption: why these, or why none
	Gaps       []int  // numbers missing from the sequence
}

// MemoryUse is one level over one stretch of time. Start, End, Net, Peak and Need are the track's level over that
// time; Allocs to FailedAllocs count what is attributed to it.
type MemoryUse struct {
	Start        int64 // bytes; level just before the stretch
	End          int64 // bytes; level just before its end stamp
	Net          int64 // bytes; End less Start, or the sum of that over the calls of a phase; may be negative
	Peak         int64 // bytes; highest level within, not under Start
	PeakAt       int64 // ns; when Peak was first reached
	Need         int64 // bytes; Peak less Start, of a phase the highest of one call
	Allocs       int64
	AllocBytes   int64
	Frees        int64
	FreeBytes    int64
	FailedAllocs int64

	// Of Allocs and AllocBytes, those of static memory of modules, which comes when a module is loaded.
	StaticAllocs     int64
	StaticAllocBytes int64
}

// An OwnPeak is how high the device level comes in a row without the static memory of modules. CUDA loads modules when they
// are first used, so that the level may be highest in a phase that allocated nothing. It is used to say what made a peak;
// the peak itself is MemoryUse.Peak.
type OwnPeak struct {
	Bytes int64 // not under the level at the start
	At    int64 // ns; when it was first reached
	Need  int64 // bytes over the start, of a phase the highest of one call
}

// GPUUse is the GPU work attributed to a row, whenever it ran.
type GPUUse struct {
	Kernels     int64 // kernels, those in graphs too where the report has them one by one
	KernelNS    int64 // ns; sum of their durations
	BusyNS      int64 // ns in which at least one of them, or a graph launch traced whole, ran
	Graphs      int64 // graph launches traced whole
	GraphNS     int64 // ns; sum of their durations
	Copies      int64
	H2D         int64 // bytes, host to device or array
	D2H         int64 // bytes, device or array to host
	D2D         int64 // bytes, within and between devices
	MemcpyNS    int64 // ns; sum of the copies' durations
	Memsets     int64
	MemsetBytes int64
	MemsetNS    int64 // ns; sum of the memsets' durations
}

// APIUse is the time of CUDA API calls attributed to a row. A process that uses several devices has the same calls on
// each of its tracks, since a call does not say its device.
type APIUse struct {
	Calls   int64
	AllocNS int64 // ns in calls that allocate device, managed or pinned memory, or map it
	FreeNS  int64 // ns in calls that free or unmap it
	SyncNS  int64 // ns in calls that wait for the GPU
}

// Use is all that is counted for a row. Which parts were collected stands in Report.Collected.
type Use struct {
	Memory MemoryUse // the device level
	Own    *OwnPeak  // of the device level; nil where no static memory is in it, and in medians and totals
	GPU    GPUUse
	API    APIUse
	Other  []LevelUse // levels beside the device level that have events: "managed", "pinned", "allocated", "reserved"
}

// LevelUse is the use of a level other than the device level.
type LevelUse struct {
	Level LevelKind
	MemoryUse
}

// An Iteration is one training step, or whatever the program repeats.
type Iteration struct {
	Index     int // number in its name, or its place from 0 where the names have no number of their own
	Name      string
	Start     int64 // ns
	End       int64 // ns; where its range never closed, the end of the capture
	Warmup    bool  // among the first, which allocate what later ones reuse
	Truncated bool  // its range never closed, the program stopped before its last phase, or data of it are missing
	Lost      Lost
	Use
	Phases []Phase // in order of first appearance, parents before children; "(other)" last
}

// Steady says that the iteration counts in medians.
func (it *Iteration) Steady() bool { return !it.Warmup && !it.Truncated }

// OtherPhase is the path of the row for what no top-level phase of an iteration covers.
const OtherPhase = "(other)"

// A Phase is one row of an iteration: all calls of the ranges at one path.
type Phase struct {
	Path     string // range names below the iteration, joined by "/"
	Name     string // last part of Path
	Depth    int    // 1 for a top-level phase
	Calls    int
	Inferred bool  // found in the kernels, not annotated
	Start    int64 // ns; start of the first call
	End      int64 // ns; end of the last call
	Duration int64 // ns; sum over the calls
	Lost     Lost
	Use
}

// PhaseStat is a phase over the steady iterations that have it.
type PhaseStat struct {
	Path       string
	Name       string
	Depth      int
	Inferred   bool
	Iterations int   // steady iterations that have the phase
	Calls      int   // median calls an iteration
	DurationNS int64 // median duration an iteration
	Median     Use   // median of each figure by itself; of an even number the lower middle one, so that it is one that was measured
	Max        Use   // highest of each figure by itself
}

// RangeUse is an outermost range outside any iteration.
type RangeUse struct {
	Name     string
	Domain   string // empty for the default domain
	TID      int64
	Calls    int   // 1, but for a framework's operators, which share one row a name
	Start    int64 // ns; of the first
	End      int64 // ns; of the last
	Duration int64 // ns; sum over the calls: less than End less Start where they are several
	Open     bool  // never closed
	Contains int   // iterations that lie inside it
	Lost     Lost
	Use
}

// Attribution counts which way the kernels of a track went.
type Attribution struct {
	Kernels     int64 // all kernels of the track
	SameThread  int64 // a range was open on the thread of the launching call
	OtherThread int64 // else one was open on the thread that carries the iterations
	Through     int64 // of OtherThread, those for which a framework's or library's range on their own thread gave way
	None        int64 // else no range
	NoLaunch    int64 // the launching call is not in the report
}

// A FailedAlloc is an allocating call that returned an error.
type FailedAlloc struct {
	Time      int64 // ns; start of the call
	Duration  int64 // ns
	TID       int64
	Call      string        // API name without version suffix
	Caller    caller.Caller // who made the call; zero where unknown
	Return    int64         // cudaError_t or CUresult
	Iteration int           // place in Track.Iterations; -1 for none
	Phase     string        // path; empty for none
	Range     string        // outermost range where outside any iteration; empty for none
	Level     int64         // bytes; the track's device level just before the call; -1 where memory was not collected. The call itself does not say how much it asked for
}

// OutOfMemory says that the call failed because memory ran out.
func (f *FailedAlloc) OutOfMemory() bool { return f.Return == outOfMemory }

// Never is the End of a block that was not freed in the report, and the Start of one that was live before it.
const Never = -1 << 63

// A Block is one allocation and its free.
type Block struct {
	Start        int64 // ns; Never where it was live before the report began
	End          int64 // ns; Never where it was not freed in the report
	Address      uint64
	Bytes        int64
	Kind         LevelKind
	MemKind      string // "device", "array", "device static", …: the export's own finer kind
	Stream       int64  // -1 where unknown
	Call         string // API name that allocated; empty where unknown
	FreeCall     string // API name that freed; empty where unknown
	Iteration    int    // place in Track.Iterations where it was born; -1 for none
	Phase        string // path there; where outside any iteration, the outermost range's name; empty for none
	EndIteration int    // likewise where it was freed
	EndPhase     string
	Lost         bool          // its free is not in the report; its address was allocated anew at End
	Folded       int           // how many blocks a line of a list stands for; 0 for a block itself
	Caller       caller.Caller // who made the call that allocated; zero where unknown
}

// KernelStat is one kernel in one phase, over all iterations.
type KernelStat struct {
	Path  string // phase path; "(other)" inside an iteration but in no phase; range name outside; "" for none
	Where Where
	Name  string // short name
	Count int64
	NS    int64 // sum of durations
	MinNS int64
	MaxNS int64
}

// CopyStat is one direction of copy, or memset, in one phase, over all iterations.
type CopyStat struct {
	Path  string
	Where Where
	Kind  string // "host to device", …, "memset"
	Count int64
	Bytes int64
	NS    int64
}

// CallStat is one API function in one phase, over all iterations.
type CallStat struct {
	Path   string
	Where  Where
	Name   string
	Count  int64
	NS     int64
	MaxNS  int64
	Failed int64 // calls that returned an error
}

// A Span is one call of a phase.
type Span struct {
	Iteration int // place in Track.Iterations
	Path      string
	Depth     int
	Inferred  bool
	Start     int64 // ns
	End       int64 // ns
}

// A Family is a group of ranges that differ in digits alone.
type Family struct {
	PID      int64
	TID      int64
	Domain   string
	Pattern  string // name with each run of digits as "#"
	Count    int
	Total    int64   // ns; sum of durations
	Launches float64 // share of the process's launches that fall within, 0 to 1
	Chosen   bool
	Why      string // why it was or was not chosen
	Operator bool   // a framework's or library's own ranges: never found to be iterations
}

// A Point is a step of a level: from Time on it is Low to High, and Last at the end of the stretch that the point
// stands for. Where every event is kept, Low, High and Last are equal.
type Point struct {
	Time int64 // ns
	Low  int64 // bytes
	High int64 // bytes
	Last int64 // bytes
}

// A Curve is one level over a window of time, as stairs. The level before the first point is Before.
type Curve struct {
	Kind   LevelKind // PoolSizeCurve and PoolUsedCurve too
	From   int64     // ns
	To     int64     // ns
	Before int64     // bytes
	Points []Point
}
