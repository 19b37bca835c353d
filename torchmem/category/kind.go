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

// A Rule is the short, stable name of a rule; empty where none told.
type Rule string

// The rules of Traced, in the order in which they are asked. The first one that fits counts.
const (
	BySeed        Rule = "seed"              // made by _make_grads: the gradient that a backward pass starts from
	ByZeroGrad    Rule = "zero_grad"         // given back inside zero_grad
	ByHandle      Rule = "library handle"    // C++ frames name a library's workspace
	ByStateLoad   Rule = "state load"        // made by load_state_dict of an optimizer
	ByMover       Rule = "mover"             // made by a function that moves batches to the device
	ByCopy        Rule = "copy"              // made by deepcopy of a tensor, or by code that keeps an average
	ByTuning      Rule = "tuning"            // made by an autotuner or to warm the allocator up
	ByModule      Rule = "module"            // made where a module was moved, built or loaded, or its weights flattened
	BySharding    Rule = "sharding"          // made where FSDP took a module over
	ByInitGroup   Rule = "_init_group"       // made by an optimizer's _init_group
	ByOptimizer   Rule = "optimizer"         // made inside an optimizer's step
	ByScaler      Rule = "scaler"            // made by GradScaler, or where gradients are clipped
	ByBucket      Rule = "bucket"            // made by DistributedDataParallel's reducer
	ByFirstUse    Rule = "first use"         // of a size that libraries ask for, kept from a first product on
	BySibling     Rule = "sibling"           // made by a line whose other blocks were given back inside zero_grad
	ByCollective  Rule = "collective"        // made inside torch.distributed
	ByRecompute   Rule = "recompute"         // made by a module that runs on the backward thread
	ByBackward    Rule = "backward"          // made in a backward pass and gone with it, or left behind by it
	ByFreedInPass Rule = "freed by backward" // there before the recording began, and given back by the backward engine
	ByFile        Rule = "file"              // read from a file and kept
	ByPool        Rule = "private pool"      // in a segment of a private pool
	ByResident    Rule = "resident"          // made outside of modules and kept over steps
	ByBefore      Rule = "before forward"    // made outside of modules before a step's forward pass, and used by it
	ByRebinding   Rule = "rebound"           // given back by the line that made it, when its variable got the next one
	ByKept        Rule = "kept"              // made in a forward pass and kept
	BySaved       Rule = "saved"             // alive when a later backward pass begins
	ByPassing     Rule = "passing"           // the rest: gone before a backward pass begins
)

// LifeAlone is how the names of the rules of Of begin.
const LifeAlone = "life: "

// The rules of Of, by life alone.
const (
	LifePassing   Rule = LifeAlone + "passing"
	LifeData      Rule = LifeAlone + "data"
	LifeBefore    Rule = LifeAlone + "before"
	LifeEarly     Rule = LifeAlone + "early"
	LifeBackward  Rule = LifeAlone + "backward"
	LifeOptimizer Rule = LifeAlone + "optimizer"
	LifeForward   Rule = LifeAlone + "forward"
	LifeElsewhere Rule = LifeAlone + "elsewhere"
	LifeWorkspace Rule = LifeAlone + "workspace"
)
