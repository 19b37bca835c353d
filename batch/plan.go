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
)

// A plan lists what a batch is made of. Every share writes the same one; merging goes by it, far from the reports.
type plan struct {
	Schema   string  `json:"schema"`
	Version  string  `json:"version"`
	Settings string  `json:"settings"`
	Reports  []Input `json:"reports"`
}

const planSchema = "nsysmem.batch/1"

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
		err = s.place()
	}
	if err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	return nil
}
