package batch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Serve does reports one after the other in a process of its own: it reads them from r, as the batch that started the
// process sends them, and writes what came of each to w. It ends when r does, in the middle of a report too: what is made
// of that is removed, and what makes it is stopped. Of o it uses what a report's result depends on.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	var warned []string
	o.Warn = func(s string) { warned = append(warned, s) }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reports := make(chan Input)
	go func() {
		defer close(reports)
		for in := gob.NewDecoder(r); ; {
			var next Input
			if err := in.Decode(&next); err != nil {
				cancel(err)
				return
			}
			reports <- next
		}
	}()
	out := gob.NewEncoder(w)
	for next := range reports {
		warned = nil
		said := make(chan answer, 1)
		go func() {
			var a answer
			reason, err := do(ctx, next, &o)
			if reason != nil {
				a.Reason = reason.Error()
			}
			if err != nil {
				a.Err = err.Error()
			}
			a.Warned = warned
			said <- a
		}()
		var a answer
		select {
		case a = <-said:
		case <-ctx.Done():
			select {
			case <-said:
			case <-time.After(grace):
			}
			return ended(ctx)
		}
		if err := out.Encode(&a); err != nil {
			return fmt.Errorf("batch: %w", err)
		}
	}
	return ended(ctx)
}

// ended is why a process ends that does reports; nil where no more came.
func ended(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("batch: %w", err)
	}
	return nil
}

// grace is how long a process may take to stop and clean up before it is ended.
const grace = 500 * time.Millisecond

// An answer is what came of a report.
type answer struct {
	Reason string // why the report failed; empty where it did not
	Err    string // why the batch cannot go on
	Warned []string
}

// A worker does reports in another process, which it starts for the first one and anew where it has ended.
type worker struct {
	o     *Options
	cores int
	ahead func() (Input, bool) // the report that will be asked for next, where that is known
	sent  bool                 // the process has the next report already

	cmd  *exec.Cmd
	in   io.WriteCloser
	enc  *gob.Encoder
	dec  *gob.Decoder
	said *head
}

// do is do in the other process. A process that ends in the middle of a report is that report's failure.
func (w *worker) do(ctx context.Context, in Input) (reason, err error) {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return nil, fmt.Errorf("batch: start a process for reports: %w", err)
		}
	}
	// A process that is to stop has to end what it started itself, such as nsys; but it may be in the middle of a long
	// read. Whatever it has made so far has no final name.
	process, pipe := w.cmd.Process, w.in
	defer context.AfterFunc(ctx, func() {
		pipe.Close()
		time.AfterFunc(2*grace, func() { process.Kill() })
	})()
	var a answer
	if !w.sent {
		err = w.enc.Encode(&in)
	}
	w.sent = false
	if err == nil {
		// The process need not wait for this one to be given time. Where it has ended, the answer's failure tells.
		if next, ok := w.ahead(); ok {
			w.sent = w.enc.Encode(&next) == nil
		}
		err = w.dec.Decode(&a)
	}
	if err != nil {
		ended := w.end()
		if ctx.Err() != nil {
			removeStages(w.o.Out, in.Name, 0) // of a process that was ended
			return nil, ctx.Err()
		}
		reason = fmt.Errorf("%q: the process that read it ended: %s", in.Path, ended)
		return fail(in, w.o, reason)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, s := range a.Warned {
		w.o.warn("%s", s)
	}
	if a.Reason != "" {
		reason = errors.New(a.Reason)
	}
	if a.Err != "" {
		err = errors.New(a.Err)
	}
	return reason, err
}

func (w *worker) start() (err error) {
	cmd := w.o.Worker(w.cores)
	w.said = &head{}
	cmd.Stderr = w.said
	if w.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.enc, w.dec = cmd, gob.NewEncoder(w.in), gob.NewDecoder(out)
	return nil
}

// end waits for the process, and says how it ended and what it said first.
func (w *worker) end() string {
	w.in.Close()
	err := w.cmd.Wait()
	w.cmd, w.sent = nil, false
	how := "no answer"
	if err != nil {
		how = err.Error()
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(w.said.text()), "\n"); line != "" {
		how += ": " + line
	}
	return how
}

func (w *worker) close() {
	if w.cmd != nil {
		w.end()
	}
}

// A head keeps the beginning of what is written to it.
type head struct {
	mu sync.Mutex
	b  []byte
}

const headSize = 1 << 10

// Write keeps what there is room for.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := headSize - len(h.b); room > 0 {
		h.b = append(h.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (h *head) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}
