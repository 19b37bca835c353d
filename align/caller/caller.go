// Package caller says who made a CUDA call, from its call chain: the library, or the program itself, and the function in it.
//
// Modules are files with their folders, which are private: what is given out has none.
package caller

// A Frame is one function of a call chain.
type Frame struct {
	Module string // file that holds it, with folders; empty where unknown
	Symbol string // its name as the profiler has it; empty where there is none but an address
}

// A Caller is who made a call. The zero value is unknown.
type Caller struct {
	Library  string // such as "cuBLAS", or a file's name without folders and ending; empty where unknown
	Function string // without parameters and arguments of templates; empty where no function of the library has a name
}

// CUDA is the Library of calls that CUDA's driver made by itself, Python that of calls that a Python program made through
// ctypes, without any library in between.
const (
	CUDA   = "CUDA driver"
	Python = "Python"
)

// A Finder finds callers. It remembers what it was asked before: chains of one program are made of the same few modules and
// functions. The zero value is ready; it is for one goroutine at a time.
type Finder struct {
	modules   map[string]module
	functions map[string]string
}

// Of says who made the call of a chain, whose first frame is the innermost.
//
//  1. Frames of CUDA itself, of the profiler and of the C library are passed over, outwards, to the first of another module:
//     that is the library that asked. A frame whose module is unknown ends the search, since it may be anyone's.
//  2. The frames of that library that follow each other are its run. A library that is linked statically into it is told by
//     the names of its own C functions, which stand in the run.
//  3. The function is what the library was called by, the outermost of the run. Of a program, which has no outside, it is the
//     innermost; of PyTorch the operator that wanted the memory.
func (f *Finder) Of(frames []Frame) Caller {
	first, python := 0, false
	for ; first < len(frames); first++ {
		m := f.module(frames[first].Module)
		if m.kind == unknownModule {
			return Caller{}
		}
		if python = python || m.kind == interpreter; m.kind > interpreter {
			break
		}
	}
	switch {
	case first < len(frames):
	case python:
		return Caller{Library: Python}
	case len(frames) > 0 && f.module(frames[first-1].Module).kind == system:
		return Caller{Library: CUDA} // up to where its thread began
	default:
		return Caller{} // the chain breaks off in CUDA
	}
	m := f.module(frames[first].Module)
	run := f.run(frames[first:], m)
	if m.kind != library && !m.allocator {
		if c := static(run); c.Library != "" {
			return c
		}
	}
	c := Caller{Library: m.name}
	switch m.kind {
	case library:
		c.Function = f.outermost(run)
	case pytorch:
		if c.Function = f.operator(run); c.Function != "" {
			break
		}
		fallthrough
	default:
		c.Function = f.innermost(run)
	}
	return c
}

// run is the frames of a library that follow each other, with those of the C library among them: it calls itself through
// that, as in std::call_once.
func (f *Finder) run(frames []Frame, of module) []Frame {
	end := 0
	for i := range frames {
		m := f.module(frames[i].Module)
		if m.kind == system || m.kind == cuda {
			continue
		}
		if m.name != of.name {
			break
		}
		end = i + 1
	}
	return frames[:end]
}

// outermost is the outermost function of a run that has a name and is not of the C library.
func (f *Finder) outermost(run []Frame) string {
	for i := len(run) - 1; i >= 0; i-- {
		if s := run[i].Symbol; s != "" && f.module(run[i].Module).kind > interpreter {
			return f.function(s)
		}
	}
	return ""
}

// innermost is the innermost one that is none of CUDA's own, which are in the program where its runtime is linked
// statically. Those that only pass the request on, of PyTorch's allocator or of C++'s library, count where there is no other,
// and then the outermost of them.
func (f *Finder) innermost(run []Frame) (function string) {
	for _, r := range run {
		m := f.module(r.Module)
		if r.Symbol == "" || m.kind <= interpreter || cudaFunction.MatchString(r.Symbol) {
			continue
		}
		function = f.function(r.Symbol)
		if !m.allocator && !plumbing.MatchString(function) {
			break
		}
	}
	return function
}

// operator is the innermost of PyTorch's operators in a run that does more than to make an empty tensor: operators call
// those of the family "empty" for the memory of their results. Its dispatcher calls an operator through
// at::_ops::NAME::call or redispatch (torchgen's Operators.h).
func (f *Finder) operator(run []Frame) string {
	var empty string
	for _, r := range run {
		m := operatorName.FindStringSubmatch(r.Symbol)
		switch {
		case m == nil:
		case emptyOperator.MatchString(m[2]):
			empty = m[1]
		default:
			return m[1]
		}
	}
	return empty
}
