package category

import "strings"

// A Role is what a phase is for.
type Role uint8

// The roles.
const (
	RoleOther     Role = iota // none of the others, or no phase
	RoleData                  // fetches the input
	RoleForward               // forward pass and loss
	RoleBackward              // backward pass
	RoleOptimizer             // optimizer step and zero_grad
)

// roleWords are looked for in a phase's name in this order, so that "backward_step" is a backward pass.
var roleWords = []struct {
	role  Role
	words []string
}{
	{RoleBackward, []string{"backward", "bwd", "backprop"}},
	{RoleOptimizer, []string{"optim", "zero_grad", "adam", "sgd", "weight_update", "update_weights", "opt_step", "clip_grad"}},
	{RoleForward, []string{"forward", "fwd", "loss", "criterion"}},
	{RoleData, []string{"data", "input", "fetch", "h2d", "to_device", "next_batch", "get_batch", "load_batch"}},
}

// RoleOf guesses a phase's role from its path (range names joined by "/"): the outermost part that tells one counts,
// since a layer of a forward pass may bear any name.
func RoleOf(path string) Role {
	for _, part := range strings.Split(strings.ToLower(path), "/") {
		for _, r := range roleWords {
			for _, w := range r.words {
				if strings.Contains(part, w) {
					return r.role
				}
			}
		}
	}
	return RoleOther
}

// A Place is where in a program a block was born or died.
type Place struct {
	Iteration int  // place of the iteration, from 0; between iterations that of the one before, -1 before the first
	Inside    bool // inside that iteration
	Role      Role // of the innermost phase that tells one; outside iterations that of the range, such as model_init
	Call      int  // number of the phase's call within its iteration or of the range, so that equal Places are one stretch of time
}

// A Life is one block, for Of.
type Life struct {
	From  int64 // ns; Never where it was live before recording began
	To    int64 // ns; Never where it was not freed
	Bytes int64 // as requested
	Birth Place // ignored where From is Never
	Death Place // ignored where To is Never
}
