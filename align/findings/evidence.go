package findings

import (
	"cmp"
	"reflect"
	"slices"
)

// Evidence is the figures behind a finding: a struct, one type for each kind of finding, whose JSON tags are the names
// by which scripts know the figures. Those that are known only at times stand in an embedded pointer that may be nil.
type Evidence any

// A Fact is one figure behind a finding.
type Fact struct {
	Key   string
	Value any
}

// Facts are the figures behind a finding, with the track's process and device among them, in the order of their keys.
func (f *Finding) Facts() []Fact {
	var out []Fact
	if f.Track != nil {
		out = append(out, Fact{"pid", f.Track.PID}, Fact{"device", f.Track.Device})
	}
	if f.Evidence != nil {
		v := reflect.ValueOf(f.Evidence)
		for _, field := range reflect.VisibleFields(v.Type()) {
			key := field.Tag.Get("json")
			if key == "" {
				continue // embedded: its own fields are visible ones themselves
			}
			if x, err := v.FieldByIndexErr(field.Index); err == nil { // else of an embedded nil
				out = append(out, Fact{key, x.Interface()})
			}
		}
	}
	slices.SortFunc(out, func(x, y Fact) int { return cmp.Compare(x.Key, y.Key) })
	return out
}
