package align

import (
	"fmt"
	"strings"
)

// Theory is what a model of so many parameters needs by arithmetic alone.
type Theory struct {
	Params    int64
	DType     string
	Optimizer string
	Parameter int64 // bytes
	Gradient  int64 // bytes
	State     int64 // bytes; optimizer state
}

// dtypeBytes are the sizes of PyTorch's floating-point types.
var dtypeBytes = map[string]int64{"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8": 1}

// optimizerStates are the values that an optimizer keeps for each parameter, of the parameter's type: momentum keeps one,
// Adam and AdamW two (first and second moment).
var optimizerStates = map[string]int64{"none": 0, "sgd": 0, "sgd-momentum": 1, "adam": 2, "adamw": 2}

// CheckTheory says what is wrong with a type or an optimizer; nil where nothing is.
func CheckTheory(dtype, optimizer string) error {
	if _, ok := dtypeBytes[dtype]; !ok {
		return fmt.Errorf("unknown type %q: say float64, float32, float16, bfloat16 or float8", dtype)
	}
	if _, ok := optimizerStates[optimizer]; !ok {
		return fmt.Errorf("unknown optimizer %q: say sgd, sgd-momentum, adam, adamw or none", optimizer)
	}
	return nil
}

// theory works out what Options ask for; nil where they do not.
func theory(o Options) *Theory {
	if o.Params <= 0 {
		return nil
	}
	size := dtypeBytes[strings.ToLower(o.DType)]
	t := &Theory{Params: o.Params, DType: o.DType, Optimizer: o.Optimizer, Parameter: o.Params * size,
		State: o.Params * size * optimizerStates[o.Optimizer]}
	if o.Optimizer != "none" {
		t.Gradient = t.Parameter
	}
	return t
}
