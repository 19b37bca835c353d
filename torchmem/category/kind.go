package category

// A Kind is what a block is for, in the words of PyTorch's profiler where it has one.
type Kind uint8

// The categories. Of and Traced say how they are told.
const (
	Unknown Kind = iota
	Parameter
	OptimizerState
	Input
	Activation
	Gradient
	AutogradDetail
	Temporary
	Workspace     // scratch memory that a library keeps inside PyTorch's allocator: cuBLAS, cuBLASLt, cuDNN
	Communication // buffers of collectives: reduction buckets, gathered and unsharded copies
	GraphPool     // in the private pool of a CUDA graph, and told by nothing else
	WeightCopy    // copies of weights that no gradient is made for: averages, master copies, target networks
	NumKinds      // not a category
)

var kindNames = [NumKinds]string{"unknown", "parameter", "optimizer state", "input", "activation", "gradient",
	"autograd detail", "temporary", "workspace", "communication", "graph pool", "weight copy"}

// String is the category's name in tables.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "unknown"
}

// A Told is a block's category and the rule that told it.
type Told struct {
	Kind Kind
	Rule Rule
}

// A Rule is what told a block's category. Its String is short and stable.
type Rule uint8

// The rules of Traced, in the order in which they are asked; the first one that fits counts. Then those of Of, by life
// alone.
const (
	ByNone        Rule = iota // nothing told
	BySeed                    // made by _make_grads: the gradient that a backward pass starts from
	ByZeroGrad                // given back inside zero_grad
	ByHandle                  // C++ frames name a library's workspace
	ByStateLoad               // made by load_state_dict of an optimizer
	ByMover                   // made by a function that moves batches to the device
	ByCopy                    // made by deepcopy of a tensor, or by code that keeps an average
	ByTuning                  // made by an autotuner or to warm the allocator up
	ByModule                  // made where a module was moved, built or loaded, or its weights flattened
	BySharding                // made where FSDP took a module over
	ByInitGroup               // made by an optimizer's _init_group
	ByOptimizer               // made inside an optimizer's step
	ByScaler                  // made by GradScaler, or where gradients are clipped
	ByBucket                  // made by DistributedDataParallel's reducer
	ByFirstUse                // of a size that libraries ask for, kept from a first product on
	BySibling                 // made by a line whose other blocks were given back inside zero_grad
	ByCollective              // made inside torch.distributed
	ByRecompute               // made by a module that runs on the backward thread
	ByBackward                // made in a backward pass and gone with it, or left behind by it
	ByFreedInPass             // there before the recording began, and given back by the backward engine
	ByFile                    // read from a file and kept
	ByPool                    // in a segment of a private pool
	ByResident                // made outside of modules and kept over steps
	ByBefore                  // made outside of modules before a step's forward pass, and used by it
	ByRebinding               // given back by the line that made it, when its variable got the next one
	ByKept                    // made in a forward pass and kept
	BySaved                   // alive when a later backward pass begins
	ByPassing                 // the rest: gone before a backward pass begins

	LifePassing
	LifeData
	LifeBefore
	LifeEarly
	LifeBackward
	LifeOptimizer
	LifeForward
	LifeElsewhere
	LifeWorkspace
	numRules
)

// LifeAlone is how the names of the rules of Of begin.
const LifeAlone = "life: "

var ruleNames = [numRules]string{ByNone: "",
	BySeed:        "seed",
	ByZeroGrad:    "zero_grad",
	ByHandle:      "library handle",
	ByStateLoad:   "state load",
	ByMover:       "mover",
	ByCopy:        "copy",
	ByTuning:      "tuning",
	ByModule:      "module",
	BySharding:    "sharding",
	ByInitGroup:   "_init_group",
	ByOptimizer:   "optimizer",
	ByScaler:      "scaler",
	ByBucket:      "bucket",
	ByFirstUse:    "first use",
	BySibling:     "sibling",
	ByCollective:  "collective",
	ByRecompute:   "recompute",
	ByBackward:    "backward",
	ByFreedInPass: "freed by backward",
	ByFile:        "file",
	ByPool:        "private pool",
	ByResident:    "resident",
	ByBefore:      "before forward",
	ByRebinding:   "rebound",
	ByKept:        "kept",
	BySaved:       "saved",
	ByPassing:     "passing",
	LifePassing:   LifeAlone + "passing",
	LifeData:      LifeAlone + "data",
	LifeBefore:    LifeAlone + "before",
	LifeEarly:     LifeAlone + "early",
	LifeBackward:  LifeAlone + "backward",
	LifeOptimizer: LifeAlone + "optimizer",
	LifeForward:   LifeAlone + "forward",
	LifeElsewhere: LifeAlone + "elsewhere",
	LifeWorkspace: LifeAlone + "workspace",
}

// String is the rule's name in tables; empty where nothing told.
func (r Rule) String() string {
	if r < numRules {
		return ruleNames[r]
	}
	return ""
}
