package batch

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// extras are the outputs of a report that are made only where they are asked for.
type extras struct {
	Plot        bool `json:"plot"`
	Workbook    bool `json:"workbook"`
	Allocations bool `json:"allocations"`
}

// has says whether e has all that f has.
func (e extras) has(f extras) bool { return e.with(f) == e }

func (e extras) with(f extras) extras {
	return extras{e.Plot || f.Plot, e.Workbook || f.Workbook, e.Allocations || f.Allocations}
}

// extraOf says which extra an output is; of what is always made, none.
func extraOf(output string) extras {
	return extras{path.Ext(output) == ".png", path.Ext(output) == ".xlsx", strings.HasPrefix(output, "data/allocations/")}
}

// there are the extras of a result of which files are left. Whoever removed all files of one no longer wants it.
func (h *recordHead) there(out string) (e extras) {
	for _, f := range h.Outputs {
		if kind := extraOf(f.Path); !e.has(kind) {
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(f.Path))); err == nil {
				e = e.with(kind)
			}
		}
	}
	return e
}

// before is what is known of a report's earlier result, nil for nothing: its record, or, where a process ended while it
// was replacing that, the record that it put aside.
func before(in *Input, out string) *recordHead {
	h, err := readHead(in.record(out))
	if err != nil {
		if h, err = readHead(in.earlier(out)); err != nil {
			return nil
		}
	}
	return h
}

// keeping is o with the extras that an earlier result has too: a newer result replaces all of it.
func (o *Options) keeping(old *recordHead) *Options {
	if old == nil {
		return o
	}
	e, own := o.extras().with(old.there(o.Out)), *o
	own.Plot, own.Workbook, own.Allocations = e.Plot, e.Workbook, e.Allocations
	return &own
}
