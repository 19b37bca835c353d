// Package export opens reports of Nsight Systems, and has nsys export those that were not exported yet.
package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nsysmem/nsysdb"
)

// A Report is a report that was opened, and exported first where it had to be.
type Report struct {
	*nsysdb.DB
	temp string // folder of the export; empty for none
}

// Close gives back what the report holds and removes the export that was made for it.
func (r *Report) Close() {
	r.DB.Close()
	if r.temp != "" {
		os.RemoveAll(r.temp)
	}
}

// Open opens an export. A report that is not exported yet is exported by the nsys on PATH, to a folder within temp (empty
// for the system's) that Close removes; exporting, which may be nil, is called before. Without nsys the error is
// nsysdb's, which says how to export by hand.
func Open(ctx context.Context, path, temp string, exporting func()) (*Report, error) {
	db, err := nsysdb.Open(path)
	if err == nil {
		return &Report{DB: db}, nil
	}
	if !errors.Is(err, nsysdb.ErrNsysRep) {
		return nil, err
	}
	nsys, look := exec.LookPath("nsys")
	if look != nil {
		return nil, err
	}
	return run(ctx, nsys, path, temp, exporting)
}

func run(ctx context.Context, nsys, path, temp string, exporting func()) (*Report, error) {
	dir, err := os.MkdirTemp(temp, "nsysmem-")
	if err != nil {
		return nil, fmt.Errorf("export %q: no temporary folder: %w: set TMPDIR to a folder with room", path, err)
	}
	db, err := export(ctx, nsys, path, dir, exporting)
	if err != nil {
		os.RemoveAll(dir)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return &Report{DB: db, temp: dir}, nil
}

// grace is how long what nsys started may hold its output open after nsys itself has ended.
const grace = 2 * time.Second

func export(ctx context.Context, nsys, path, dir string, exporting func()) (*nsysdb.DB, error) {
	// A path that begins with a dash would be taken for an option.
	in, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("export %q: %w", path, err)
	}
	if exporting != nil {
		exporting()
	}
	// The name is always the same: nsys replaces some characters in names by what they stand for.
	out := filepath.Join(dir, "report.sqlite")
	var said tail
	cmd := exec.CommandContext(ctx, nsys, "export", "--type", "sqlite", "--output", out, in)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = grace
	ownGroup(cmd)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("export %q: nsys: %w%s: export it by hand, on the machine that recorded it or with a newer nsys", path, err, said.lastLine())
	}
	if _, err := os.Stat(out); err != nil {
		return nil, fmt.Errorf("export %q: nsys made no file%s: export it by hand with nsys export --type sqlite", path, said.lastLine())
	}
	db, err := nsysdb.Open(out)
	var e *nsysdb.Error
	if errors.As(err, &e) {
		// The user knows the report, not the file in the temporary folder.
		return nil, fmt.Errorf("export %q: what nsys wrote cannot be read: %s", path, e.Text)
	}
	return db, err
}

// A tail keeps the end of what is written to it: a program may say more than memory holds.
type tail struct{ b []byte }

const tailSize = 4096 // bytes

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-tailSize):]...)
	if len(t.b) > 2*tailSize {
		t.b = append(t.b[:0], t.b[len(t.b)-tailSize:]...)
	}
	return len(p), nil
}

// lastLine is the last line with anything on it, after a colon; empty for none.
func (t *tail) lastLine() string {
	s := strings.TrimSpace(string(t.b))
	if s = strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:]); s == "" {
		return ""
	}
	const limit = 300
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return ": " + s
}
