package period

import (
	"slices"
	"strings"
)

// optimizerWords are parts of the names of PyTorch's and Apex's multi-tensor kernels and of fused optimizers.
var optimizerWords = []string{
	"multi_tensor_apply", "multitensorapply", "foreach", "adam", "sgd", "adagrad", "adadelta", "rmsprop",
}

// families are the operators that launch kernels of many names: libraries choose among them by size, and with them how
// many there are (split sums, workspaces that are cleared). The first entry with a word in a name counts; all words are
// in lower case.
var families = [...]struct {
	family string
	words  []string
}{
	{"attention", []string{"fmha", "attention", "flash", "sdpa"}},
	{"convolution", []string{
		"fprop", "dgrad", "wgrad", "conv", "winograd", "nchwtonhwc", "nhwctonchw", "cudnn::engines", "cask_plugin",
		"scalepackedtensor",
	}},
	{"normalization", []string{
		"layer_norm", "layernorm", "rowwisemoments", "group_norm", "groupnorm", "batch_norm", "bn_fw", "bn_bw",
		"gammabeta", "rms_norm", "rmsnorm",
	}},
	{"matrix product", []string{
		"gemm", "gemv", "nvjet", "splitk", "cublas", "cutlass", "xmma", "scal_kernel", "wmma", "mma_",
	}},
	{"softmax", []string{"softmax"}},
	{"loss", []string{"nll_loss"}},
	{"concatenation", []string{"catarray"}},
	{"embedding", []string{"gather_kernel", "indexselect", "index_elementwise", "embedding"}},
}

// backwardWords are parts of the names of kernels that only a backward pass launches.
var backwardWords = []string{
	"backward", "_bwd", "bprop", "dgrad", "wgrad", "cutlassb", "bn_bw", "gammabeta", "_grad_",
}

// variants are prefixes of elementwise kernels that change with the size of the tensor.
var variants = strings.NewReplacer("unrolled_", "", "vectorized_", "", "legacy_", "")

// PyTorch's kernels for randn, rand, randint and the like (names as PyTorch 2.x has them). Those that draw a Bernoulli
// distribution are masks of a network, not its input.
const (
	drawing = "distribution_elementwise"
	masking = "bernoulli"
)

// FlagsOf tells from a kernel's full name and its number of blocks whether it is an optimizer's, whether it fills a small
// tensor as a backward pass does first, and whether it draws random numbers. It is 0 where the name tells nothing.
func FlagsOf(name string, blocks int64) Flags {
	var f Flags
	low := strings.ToLower(name)
	if containsAny(low, optimizerWords) {
		f |= Optimizer
	}
	if blocks == 1 && strings.Contains(low, "fillfunctor") {
		f |= fill
	}
	if strings.Contains(low, drawing) && !strings.Contains(low, masking) {
		f |= drawn
	}
	return f
}

// KindOf is a coarser identity of a kernel than its name: that of the operator which launched it, as far as names tell,
// whatever the sizes. It is 0 for an empty name.
func KindOf(name string) uint64 {
	if name == "" {
		return 0
	}
	low := strings.ToLower(name)
	for _, f := range families {
		if containsAny(low, f.words) {
			kind := f.family
			if containsAny(low, backwardWords) {
				kind += " backward"
			}
			return hashText(kind)
		}
	}
	// An elementwise kernel: its functor tells what is done.
	return hashText(noConstants(variants.Replace(low)))
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// noConstants removes the values of constant template arguments, "(int)4", from a name.
func noConstants(s string) string {
	out := make([]byte, 0, len(s))
	inside := false
	for i := range len(s) {
		inside = (isDigit(s[i]) || s[i] == '-') && (inside || i > 0 && s[i-1] == ')')
		if !inside {
			out = append(out, s[i])
		}
	}
	return string(out)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hashText is 64-bit FNV-1a, never 0.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return max(h, 1)
}
