// Command nsysmem says which training iteration and which phase of a profiled program needs how much GPU memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"nsysmem/internal/wording"
	"nsysmem/render/plot"
)

// version is set by the linker for releases.
var version = "0.1.0"

// Exit codes. Scripts go by them, so that they mean the same in every command.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitLacking = 3 // the report lacks the data asked for
)

// A coded is an error with its exit code.
type coded struct {
	code int
	err  error
}

func (c coded) Error() string { return c.err.Error() }
func (c coded) Unwrap() error { return c.err }

// usage is an error of wrong use. Its text says what to write instead.
func usage(format string, args ...any) error {
	return coded{exitUsage, fmt.Errorf(format, args...)}
}

// lacking is an error of a report without the data asked for. Its text says how to record them.
func lacking(format string, args ...any) error {
	return coded{exitLacking, fmt.Errorf(format, args...)}
}

// collectAt is how much memory may grow, in percent of what is in use, before garbage is collected, unless GOGC says
// otherwise. Half of Go's own figure costs 5 % of the time of a summary, and takes the peak for a report of 10 GB from
// 1.1 to 0.8 GiB, for a workbook of 400,000 blocks from 600 to 450 MiB.
const collectAt = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	log.SetOutput(io.Discard) // libraries log what they then panic with, which is told as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// What was asked to stop and does not is ended by the second Ctrl-C.
	context.AfterFunc(ctx, stop)
	// A pipe that nobody reads any more is an error to clean up after, not the end of the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, in: os.Stdin, args: os.Args[1:]})
	stop()
	plot.End() // an interrupted picture may still be at work
	os.Exit(code)
}

// run is the whole program: it returns the exit code, and is the only place that decides it.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(&s)
	help := &sink{w: s.out}
	root.SetArgs(args)
	root.SetOut(help)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = help.err
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted: no file is left half written")
	case errors.Is(err, syscall.EPIPE):
		return exitFailed // the reader of a pipe has seen enough
	}
	tell(s.err, err)
	return exitCode(err)
}

// exitCode is the exit code of an error.
func exitCode(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitFailed
}

// tell writes an error on one line.
func tell(w io.Writer, err error) { line(w, bare{err}.Error()) }

// line writes a message for the user. Names of files and what reports hold may come from anywhere, so that every message
// is cleaned here, as a whole: whoever words it need not think of what would steer a terminal.
func line(w io.Writer, text string) {
	fmt.Fprintf(w, "nsysmem: %s\n", wording.Message(text))
}

// A bare error is one without the name of the package that it comes from, which tells a user nothing.
type bare struct{ err error }

func (b bare) Error() string {
	s := b.err.Error()
	for _, room := range []string{"align: ", "batch: ", "nsysdb: ", "plot: ", "torchmem: ", "workbook: "} {
		if rest, ok := strings.CutPrefix(s, room); ok {
			return rest
		}
	}
	return s
}

func (b bare) Unwrap() error { return b.err }

// A sink remembers the first error of a writer, for cobra's help does not look at it.
type sink struct {
	w   io.Writer
	err error
}

// Write writes to the writer of the sink.
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}
