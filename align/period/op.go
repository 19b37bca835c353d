package period

// Class is what a GPU operation does.
type Class uint8

// The classes. Copies of other directions than these count as DtoD.
const (
	Kernel Class = iota
	HtoD         // copy from host memory to the device
	DtoH         // copy from the device to host memory
	DtoD         // copy within or between devices
	Memset
	Graph // launch of a whole CUDA graph; the kernels of one launch must be one Op
)

// Flags is what the caller knows of an operation beyond its identity. Zero means that nothing is known.
type Flags uint8

// The flags.
const (
	Optimizer Flags = 1 << iota // its name is one that optimizers use, see FlagsOf
	fill                        // it fills a single small tensor with a value: one block, see FlagsOf
	Forward                     // a range of an operator says that it belongs to the forward pass
	Backward                    // a range of an operator says that it belongs to the backward pass
	drawn                       // it draws a tensor of random numbers, see FlagsOf
	Tiny                        // a copy of TinyCopy bytes or fewer: a number that the program reads or sets, no input
)

// TinyCopy is the size, in bytes, up to which a copy moves a few numbers rather than input: a layer reads a count or sets a
// scale so (observed in a sharded model, which sets 8 bytes in each layer).
const TinyCopy = 64

// An Op is one GPU operation as it was launched.
type Op struct {
	Key    uint64 // kernel by full name, grid and block; copy by direction and size class; memset by size class
	Loose  uint64 // kernel by full name alone; copy by direction alone; memset one value
	Kind   uint64 // kernel by what it computes, see KindOf; 0 where unknown
	Start  int64  // ns; start of the launching call
	End    int64  // ns; end of the launching call; 0 where unknown
	Thread int32  // launching thread, by any numbering
	Stream int32  // stream it runs on, by any numbering
	Class  Class
	Flags  Flags
}

func (o *Op) name() uint64  { return o.Loose }
func (o *Op) shape() uint64 { return o.Key }

// kind is the kind of a kernel; of other operations, and where a kernel's is unknown, the name.
func (o *Op) kind() uint64 {
	if o.Kind != 0 {
		return o.Kind
	}
	return o.Loose
}

// feeds says that an operation moves input to the device.
func (o *Op) feeds() bool { return o.Class == HtoD && o.Flags&Tiny == 0 }

// work says that an operation computes, unlike copies and memsets.
func (o *Op) work() bool { return o.Class == Kernel || o.Class == Graph }

// end is the end of the launching call, or its start where that is unknown.
func (o *Op) end() int64 { return max(o.Start, o.End) }

// weight is the amount of work of an operation, in kernels.
func (o *Op) weight() int {
	switch o.Class {
	case Kernel:
		return 1
	case Graph:
		return graphKernels
	}
	return 0
}
