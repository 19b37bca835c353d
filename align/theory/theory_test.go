package theory

import "testing"

func TestOf(t *testing.T) {
	for _, c := range []struct {
		params           int64
		dtype, optimizer string
		want             Need
	}{
		{100, "float32", "adamw", Need{Parameter: 400, Gradient: 400, State: 800}},
		{100, "BFloat16", "sgd-momentum", Need{Parameter: 200, Gradient: 200, State: 200}},
		{100, "float64", "sgd", Need{Parameter: 800, Gradient: 800}},
		{100, "float8", "none", Need{Parameter: 100}},
	} {
		c.want.Params, c.want.DType, c.want.Optimizer = c.params, c.dtype, c.optimizer
		if got := Of(c.params, c.dtype, c.optimizer); got == nil || *got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
	if Of(0, "float32", "adam") != nil {
		t.Error("of no parameters")
	}
}

func TestCheck(t *testing.T) {
	if err := Check("float16", "sgd"); err != nil {
		t.Error(err)
	}
	if Check("int8", "sgd") == nil || Check("float16", "lion") == nil {
		t.Error("what is not known is not told")
	}
}
