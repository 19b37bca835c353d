package caller

import (
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

var (
	// cudaFunction is a function of CUDA's own, as a runtime that is linked statically brings it into any file.
	cudaFunction = regexp.MustCompile(`^(?:cuda[A-Z]\w*|cu[A-Z][a-z]\w*|libcudart_static_\w+|__cuda\w+|cudart::.*|(?:[\w:]+ )?cudaMalloc\w*<.*)$`)
	// plumbing is a function of C++'s own library and of CUDA's for it, which other functions ask for memory.
	plumbing = regexp.MustCompile(`^(?:std|__gnu_cxx|thrust|cub|cuda)::`)
	// operatorName is a call of an operator of PyTorch.
	operatorName = regexp.MustCompile(`^(?:.* )?(at::_ops::(\w+))::(?:call|redispatch)\(`)
	// emptyOperator is an operator that makes a tensor without values: empty, empty_strided, empty_memory_format, new_empty….
	emptyOperator = regexp.MustCompile(`^(?:new_)?empty`)
)

// entries are libraries by the names of the C functions that they are called by, as their headers have them. A name of C has
// no parameters behind it.
var entries = []struct {
	name  string
	entry *regexp.Regexp
}{
	{"NCCL", regexp.MustCompile(`^p?nccl[A-Z]\w*$`)},
	{"cuDNN", regexp.MustCompile(`^cudnn[A-Z]\w*$`)},
	{"cuBLASLt", regexp.MustCompile(`^cublasLt[A-Z]\w*$`)},
	{"cuBLAS", regexp.MustCompile(`^cublas(?:Xt)?[A-Z]\w*$`)},
	{"cuFFT", regexp.MustCompile(`^cufft[A-Z]\w*$`)},
	{"cuSOLVER", regexp.MustCompile(`^cusolver(?:Dn|Sp|Rf|Mg)[A-Z]\w*$`)},
	{"cuSPARSE", regexp.MustCompile(`^cusparse[A-Z]\w*$`)},
	{"cuRAND", regexp.MustCompile(`^curand[A-Z]\w*$`)},
}

// static is the library of such functions that are in a run of another module: the innermost, and the outermost function of
// it; unknown where there is none.
func static(run []Frame) (c Caller) {
	for _, r := range run {
		for i := range entries {
			e := &entries[i]
			if (c.Library == "" || c.Library == e.name) && e.entry.MatchString(r.Symbol) {
				c = Caller{e.name, r.Symbol}
				break
			}
		}
	}
	return c
}

// longest is how many bytes of a function's name are kept: an instance of a template may have thousands, of which the first
// tell it apart.
const longest = 200

// tooLong is how many bytes a name may have to be looked at. Names of templates' instances have some thousands.
const tooLong = 1 << 15

// function is a name as people write it: not mangled, without return type, parameters and arguments of templates.
func (f *Finder) function(symbol string) string {
	s, ok := f.functions[symbol]
	if !ok {
		if f.functions == nil {
			f.functions = make(map[string]string)
		}
		s = shorten(symbol)
		f.functions[symbol] = s
	}
	return s
}

// shorten makes a name short. The profiler mostly gives names that are not mangled any more.
func shorten(symbol string) string {
	s := symbol[:min(len(symbol), tooLong)]
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") {
		s = demangle.Filter(s, demangle.NoClones, demangle.MaxLength(15)) // 1<<15, as tooLong
	}
	s = strings.ReplaceAll(s, "(anonymous namespace)::", "")
	if short := bare(s); short != "" {
		s = short
	}
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}

// bare is a name without what stands in angle brackets, from its first parameter on, and without a return type, which ends at
// the last space outside of brackets. In a name of an operator these are part of it.
func bare(s string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		rest := s[i:]
		if depth == 0 && strings.HasPrefix(rest, "operator") && (i == 0 || s[i-1] == ':' || s[i-1] == ' ') {
			if op := operatorEnd.FindString(rest); op != "" {
				b.WriteString(strings.ReplaceAll(op, " ", "\x00")) // a space that stays
				i += len(op) - 1
				continue
			}
		}
		switch c := s[i]; {
		case c == '<':
			depth++
		case c == '>':
			depth = max(depth-1, 0)
		case depth > 0:
		case c == '(':
			return named(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return named(b.String())
}

// operatorEnd is the name of an operator of C++, up to its parameters or the arguments of its template.
var operatorEnd = regexp.MustCompile(`^operator(?:\(\)|\[\]|<<=?|>>=?|<=>|->\*?|<=|>=|<|>|[-+*/%^&|~!=,]+| [\w: ]+\*?)`)

// named is the last word, with the spaces that stay.
func named(s string) string {
	s = strings.TrimLeft(strings.TrimSpace(s), ":")
	s = s[strings.LastIndexByte(s, ' ')+1:]
	return strings.ReplaceAll(s, "\x00", " ")
}
