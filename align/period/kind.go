package period

import "strings"

// families are kernels that one operator launches under many names: libraries choose among them by size, and with them
// how many there are (split sums, workspaces that are cleared). Of the first entry that fits a name, all lower case.
var families = [...]struct {
	family string
	words  []string
}{
	{"attention", []string{"fmha", "attention", "flash", "sdpa"}},
	{"convolution", []string{"fprop", "dgrad", "wgrad", "conv", "winograd", "nchwtonhwc", "nhwctonchw", "cudnn::engines", "cask_plugin", "scalepackedtensor"}},
	{"normalization", []string{"layer_norm", "layernorm", "rowwisemoments", "group_norm", "groupnorm", "batch_norm", "bn_fw", "bn_bw", "gammabeta", "rms_norm", "rmsnorm"}},
	{"matrix product", []string{"gemm", "gemv", "nvjet", "splitk", "cublas", "cutlass", "xmma", "scal_kernel", "wmma", "mma_"}},
	{"softmax", []string{"softmax"}},
	{"loss", []string{"nll_loss"}},
	{"concatenation", []string{"catarray"}},
	{"embedding", []string{"gather_kernel", "indexselect", "index_elementwise", "embedding"}},
}

// backwards are words in names of kernels that only a backward pass launches.
var backwards = [...]string{"backward", "_bwd", "bprop", "dgrad", "wgrad", "cutlassb", "bn_bw", "gammabeta", "_grad_"}

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
			if containsAny(low, backwards[:]) {
				kind += " backward"
			}
			return hashText(kind)
		}
	}
	// How many elements a thread takes changes with the size; the functor tells what is done.
	for _, s := range [...]string{"unrolled_", "vectorized_", "legacy_"} {
		low = strings.ReplaceAll(low, s, "")
	}
	return hashText(noConstants(low))
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// noConstants removes the values of constant template arguments, "(int)4", from a name.
func noConstants(s string) string {
	if !strings.Contains(s, ")") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if i > 0 && s[i-1] == ')' && (isDigit(s[i]) || s[i] == '-') {
			for i < len(s) && (isDigit(s[i]) || s[i] == '-') {
				i++
			}
			i--
			continue
		}
		out = append(out, s[i])
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
