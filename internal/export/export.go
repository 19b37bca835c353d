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
		return nil, err
	}
	out := filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".sqlite")
	// A path that begins with a dash would be taken for an option.
	in, err := filepath.Abs(path)
	if err == nil {
		if exporting != nil {
			exporting()
		}
		var text []byte
		text, err = exec.CommandContext(ctx, nsys, "export", "--type", "sqlite", "--output", out, in).CombinedOutput()
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("export %q: nsys: %w: %s", path, err, lastLine(string(text)))
		}
	}
	var db *nsysdb.DB
	if err == nil {
		db, err = nsysdb.Open(out)
	}
	if err != nil {
		os.RemoveAll(dir)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return &Report{DB: db, temp: dir}, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
