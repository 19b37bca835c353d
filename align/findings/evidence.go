package findings

import (
	"cmp"
	"reflect"
	"slices"
)

// Evidence is the figures behind a finding: a struct, one type for each kind of finding, whose JSON tags are the names
// that scripts know them by. What is unknown stands in an embedded pointer that is nil.
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
	if m, ok := f.Evidence.(map[string]any); ok {
		for k, v := range m {
			if k != "pid" && k != "device" {
				out = append(out, Fact{k, v})
			}
		}
	} else if f.Evidence != nil {
		v := reflect.ValueOf(f.Evidence)
		for _, field := range reflect.VisibleFields(v.Type()) {
			key := field.Tag.Get("json")
			if key == "" {
				continue // embedded: its fields are visible themselves
			}
			if x, err := v.FieldByIndexErr(field.Index); err == nil { // else in an embedded nil
				out = append(out, Fact{key, x.Interface()})
			}
		}
	}
	slices.SortFunc(out, func(x, y Fact) int { return cmp.Compare(x.Key, y.Key) })
	return out
}
