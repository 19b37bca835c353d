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
	"unicode/utf8"
)

// A plan lists what a batch is made of. Every share writes the same one; merging goes by it, far from the reports.
type plan struct {
	Schema   string  `json:"schema"`
	Version  string  `json:"version"`
	Settings string  `json:"settings"`
	Reports  []Input `json:"reports"`
}

const planSchema = "nsysmem.batch/1"

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
}

// MarshalJSON writes the input for the list of a batch.
func (in Input) MarshalJSON() ([]byte, error) {
	p := planInput{in.Name, in.Path, nil, in.Size, in.ModTime, in.Rank, in.Group, nil}
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
	*in = Input{p.Name, p.Path, p.Size, p.ModTime, p.Rank, p.Group}
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

// writePlan writes the plan unless it is there already. It tells where another was: a share may have seen other reports.
func writePlan(inputs []Input, o *Options) error {
	p := plan{planSchema, o.Version, o.settings(), inputs}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(&p); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	old, err := os.ReadFile(planPath(o.Out))
	if err == nil && bytes.Equal(old, buf.Bytes()) {
		return nil
	}
	if err == nil {
		o.warn("%s held a batch of other reports or settings; it is now one of %d reports", o.Out, len(inputs))
	}
	s, err := newStage(o.Out, planStage)
	if err != nil {
		return err
	}
	defer s.remove()
	err = s.file(planPath(o.Out), func(w io.Writer) error {
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
