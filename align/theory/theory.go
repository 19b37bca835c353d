// Package theory says what memory a model needs by arithmetic alone, to be put beside what was measured.
package theory

import (
	"fmt"
	"strings"
)

// A Need is what a model of so many parameters needs.
type Need struct {
	Params    int64
	DType     string
	Optimizer string
	Parameter int64 // bytes
	Gradient  int64 // bytes; 0 without an optimizer, which alone asks for gradients
	State     int64 // bytes; optimizer state
}

// dtypeBytes are the sizes of PyTorch's floating-point types.
var dtypeBytes = map[string]int64{"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8": 1}

// optimizerStates are the values that an optimizer keeps for each parameter, of the parameter's type: momentum keeps
// one, Adam and AdamW two (first and second moment).
var optimizerStates = map[string]int64{"none": 0, "sgd": 0, "sgd-momentum": 1, "adam": 2, "adamw": 2}

// Check says what is wrong with a type or an optimizer; nil where nothing is.
func Check(dtype, optimizer string) error {
	if _, ok := dtypeBytes[dtype]; !ok {
		return fmt.Errorf("unknown type %q: say float64, float32, float16, bfloat16 or float8", dtype)
	}
	if _, ok := optimizerStates[optimizer]; !ok {
		return fmt.Errorf("unknown optimizer %q: say sgd, sgd-momentum, adam, adamw or none", optimizer)
	}
	return nil
}

// Of works out what a model needs; nil where params is not positive. The type and the optimizer are such that Check has
// nothing against them.
func Of(params int64, dtype, optimizer string) *Need {
	if params <= 0 {
		return nil
	}
	size := dtypeBytes[strings.ToLower(dtype)]
	n := &Need{Params: params, DType: dtype, Optimizer: optimizer, Parameter: params * size,
		State: params * size * optimizerStates[optimizer]}
	if optimizer != "none" {
		n.Gradient = n.Parameter
	}
	return n
}
