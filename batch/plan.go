package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// A plan lists what a batch is made of. Every share writes the same one; merging goes by it, far from the reports.
type plan struct {
	Schema   string  `json:"schema"`
	Version  string  `json:"version"`
	Settings string  `json:"settings"`
	Given    string  `json:"given,omitempty"` // what the user gave of the settings
	Extras   extras  `json:"extras"`
	Reports  []Input `json:"reports"`
	Others   []Input `json:"others,omitempty"` // of earlier plans, those whose results are in the folder
}

const planSchema = "nsysmem.batch/2"

// planInput is an Input as JSON has it. A path need not be UTF-8, which JSON demands.
type planInput struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Bytes   []byte `json:"path_bytes,omitempty"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
	Rank    int64  `json:"rank"`
	Group   string `json:"group,omitempty"`
	GroupB  []byte `json:"group_bytes,omitempty"`
	Beside  string `json:"beside,omitempty"`
}

// MarshalJSON writes the input for the list of a batch.
func (in Input) MarshalJSON() ([]byte, error) {
	p := planInput{in.Name, in.Path, nil, in.Size, in.ModTime, in.Rank, in.Group, nil, in.Beside}
	if !utf8.ValidString(in.Path) {
		p.Bytes = []byte(in.Path)
	}
	if !utf8.ValidString(in.Group) {
		p.GroupB = []byte(in.Group)
	}
	return json.Marshal(&p)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (in *Input) UnmarshalJSON(data []byte) error {
	var p planInput
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*in = Input{p.Name, p.Path, p.Size, p.ModTime, p.Rank, p.Group, p.Beside}
	if p.Bytes != nil {
		in.Path = string(p.Bytes)
	}
	if p.GroupB != nil {
		in.Group = string(p.GroupB)
	}
	return nil
}

func planPath(out string) string { return filepath.Join(stateDir(out), "plan.json") }

// errNoPlan is returned where a folder holds no batch.
var errNoPlan = errors.New("no batch was begun in it")

func readPlan(out string) (*plan, error) {
	data, err := os.ReadFile(planPath(out))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("batch: folder %q: %w: run nsysmem batch RUNS -o %s first", out, errNoPlan, out)
	}
	if err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	p := &plan{}
	if err := json.Unmarshal(data, p); err != nil || p.Schema != planSchema {
		return nil, fmt.Errorf("batch: read %q: not the list of a batch of this version: run nsysmem batch RUNS -o %s again", planPath(out), out)
	}
	return p, nil
}

// ErrSettings says that a folder has results with other settings.
var ErrSettings = errors.New("its results were made with other settings")

// writePlan writes the plan unless it is there already, and tells what is different in it: a share may have seen other
// reports. A plan with other settings is replaced only where that was asked for.
func writePlan(inputs []Input, o *Options) error {
	p := &plan{Schema: planSchema, Version: o.Version, Settings: o.settings(), Given: o.Given, Extras: o.extras(), Reports: inputs}
	old, err := readPlan(o.Out)
	if err != nil {
		return p.write(o.Out) // none, or of a version whose results are no results to this one
	}
	p.Others = old.others(o.Out, inputs)
	if old.Settings != p.Settings && !o.Redo && old.results(o.Out) {
		said := func(given string) string {
			if given == "" {
				return "the defaults"
			}
			return given
		}
		return fmt.Errorf("batch: folder %q: %w (%s, now %s): name another folder with -o, or replace them with --redo",
			o.Out, ErrSettings, said(old.Given), said(p.Given))
	}
	added, gone := difference(inputs, old.Reports), difference(old.Reports, inputs)
	switch {
	case gone > 0:
		o.warn("%s: the list of reports has changed: %d new, %d no longer in it, whose results stay", o.Out, added, gone)
	case added > 0:
		o.warn("%s: the list of reports has changed: %d new", o.Out, added)
	}
	if old.Version != p.Version {
		o.warn("%s: it was made by another version of nsysmem: all its reports are done again", o.Out)
	}
	return p.write(o.Out)
}

// difference is the number of a that are not in b, by name.
func difference(a, b []Input) (n int) {
	have := names(b)
	for i := range a {
		if !have[strings.ToLower(a[i].Name)] {
			n++
		}
	}
	return n
}

// names are the names of some reports, in small letters.
func names(inputs []Input) map[string]bool {
	have := make(map[string]bool, len(inputs))
	for i := range inputs {
		have[strings.ToLower(inputs[i].Name)] = true
	}
	return have
}

// others are the reports of this plan and those before it that have results and are not among inputs, by name.
func (p *plan) others(out string, inputs []Input) []Input {
	have := names(inputs)
	var all []Input
	for _, list := range [][]Input{p.Reports, p.Others} {
		for i := range list {
			in := &list[i]
			if key := strings.ToLower(in.Name); !have[key] {
				have[key] = true
				if h := before(in, out); h != nil && len(h.Outputs) > 0 {
					all = append(all, *in)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Input) int { return natural(a.Name, b.Name) })
	return all
}

// results says whether any report of a plan has a result with the plan's settings.
func (p *plan) results(out string) bool {
	for i := range p.Reports {
		if h := before(&p.Reports[i], out); h != nil && h.Settings == p.Settings && len(h.Outputs) > 0 {
			return true
		}
	}
	return false
}

// write writes a plan unless it is there already.
func (p *plan) write(out string) error {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	old, err := os.ReadFile(planPath(out))
	if err == nil && bytes.Equal(old, buf.Bytes()) {
		return nil
	}
	s, err := newStage(out, planStage)
	if err != nil {
		return err
	}
	defer s.remove()
	err = s.file(planPath(out), func(w io.Writer) error {
		_, err := w.Write(buf.Bytes())
		return err
	})
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	return nil
}
