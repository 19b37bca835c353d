// Command nsysmem says which training iteration and which phase of a profiled program needs how much GPU memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// version is set by the linker for releases.
var version = "0.1.0"

// Exit codes.
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

func usage(format string, args ...any) error {
	return coded{exitUsage, fmt.Errorf(format, args...)}
}

func lacking(format string, args ...any) error {
	return coded{exitLacking, fmt.Errorf(format, args...)}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, in: os.Stdin, args: os.Args[1:]})
	stop()
	os.Exit(code)
}

// run is the whole program: it returns the exit code, and is the only place that decides it.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(&s)
	root.SetArgs(args)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted: nothing was written")
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitFailed
	}
	fmt.Fprintf(s.err, "nsysmem: %s\n", oneLine(err.Error()))
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitFailed
}

// oneLine keeps what a file or its name says from moving the cursor or breaking the line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
