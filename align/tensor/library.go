package tensor

import (
	"cmp"
	"slices"
	"strings"
)

// A Library is the blocks that one library asked for.
type Library struct {
	Name   string // as in caller.Caller.Library; empty where it is not known
	Static bool   // static memory of modules, which no call asks for: the CUDA context loads it
	Blocks int
	Bytes  int64 // allocated
	AtPeak int64 // bytes of those that are live when the sum of all is highest first
	Live   int64 // bytes of those that are live at the end
}

// Libraries sums blocks by who asked for them. The zero value is empty.
type Libraries struct{ ledger[libraryKey, Library] }

type libraryKey struct {
	name   string
	static bool
}

// Of is the sum of a library, or of static memory, to be added to. It is valid until the next call.
func (l *Libraries) Of(name string, static bool) *Library {
	if static {
		name = ""
	}
	return l.at(libraryKey{name, static}, Library{Name: name, Static: static})
}

// List is the sums, largest first, static memory last; never nil.
func (l *Libraries) List() []Library {
	list := append([]Library{}, l.sums...)
	slices.SortFunc(list, func(x, y Library) int {
		if x.Static != y.Static {
			if x.Static {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), strings.Compare(x.Name, y.Name))
	})
	return list
}
