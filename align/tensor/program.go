package tensor

import (
	"iter"

	"nsysmem/align/caller"
	"nsysmem/torchmem/category"
)

// A Program is what a report knows of the program whose tensors are looked for.
type Program struct {
	Timeline
	Iterations int       // how many there are
	Steady     []Stretch // the steady ones, in time order
	Begin      int64     // ns; what happened before it has no phase; Never where the report does not tell its time
}

// A Stretch is a stretch of time, [From, To).
type Stretch struct{ From, To int64 } // ns

// A Timeline finds moments of a program among its iterations and phases. It is fastest where they are asked for in time
// order.
type Timeline interface {
	// Where gives the place among the iterations, -1 for none, and the path of the phase, empty for none.
	Where(at int64) (iteration int, phase string)
	// Place gives the moment as the search for categories wants it.
	Place(at int64) category.Place
	// Lifetime is the number of iterations begun in [from, to). Either may be Never.
	Lifetime(from, to int64) int
}

// A Driver gives the device memory that the driver handed out on the track, as the report has it.
type Driver interface {
	DriverBlocks
	// Born says where the program was when it got a block, and by which call, empty where unknown.
	Born(block int) (call string, iteration int, phase string)
	// Callers says who asked for a block, the zero value where unknown; nil where no call chains were recorded.
	Callers() func(block int) caller.Caller
	// Died says where it was when it gave a block back.
	Died(block int) (iteration int, phase string)
}

// DriverBlocks lists the blocks that the driver handed out on one device to a process.
type DriverBlocks interface {
	// Blocks are those of device memory, static ones too, with numbers for Born and Died of Driver. Arrays are not among
	// them: nothing of PyTorch is one.
	Blocks() iter.Seq2[int, DriverBlock]
}

// A DriverBlock is one block that the driver handed out.
type DriverBlock struct {
	Start   int64 // ns; Never where it was live before the report began
	End     int64 // ns; Never where it was not freed in the report
	Address uint64
	Bytes   int64
	Stream  uint64 // 0 where unknown
	Static  bool   // it came with a module, such as a library's variables
}
