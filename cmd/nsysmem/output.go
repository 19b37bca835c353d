package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// output is where a command that makes files puts them.
type output struct {
	path  string // -o: a file, an existing folder, "-" for stdout, or empty
	force bool
}

// name is the file for a report: what -o says, else the report's own name with the ending, in the folder of -o or the
// working directory. part tells several files of one report apart.
func (o *output) name(report, part, ending string, several bool) (string, error) {
	base := strings.TrimSuffix(filepath.Base(report), filepath.Ext(report))
	if base == "" || base == "." {
		base = "report"
	}
	own := base + part + ending
	if o.path == "" {
		return own, nil
	}
	if info, err := os.Stat(o.path); err == nil && info.IsDir() {
		return filepath.Join(o.path, own), nil
	}
	if strings.HasSuffix(o.path, "/") || os.IsPathSeparator(o.path[len(o.path)-1]) {
		return "", usage("-o %q: no such folder", o.path)
	}
	if several {
		return "", usage("-o %q: several reports need a folder that exists", o.path)
	}
	if o.path == "-" {
		if part != "" {
			return "", usage("-o -: the report gives several files: choose with --process and --device")
		}
		return "-", nil
	}
	ext := filepath.Ext(o.path)
	return strings.TrimSuffix(o.path, ext) + part + ext, nil
}

// free says that a file may be written, before the work is done.
func (o *output) free(name string) error {
	if name == "-" {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if dir := filepath.Dir(name); !isFolder(dir) {
			return fmt.Errorf("write %q: no folder %q", name, dir)
		}
		return nil
	case err != nil:
		return fmt.Errorf("write %q: %w", name, err)
	case info.IsDir():
		return fmt.Errorf("write %q: it is a folder", name)
	case !o.force:
		return fmt.Errorf("write %q: the file exists: give another name with -o, or --force to replace it", name)
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// write makes a file whole or not at all: render fills a buffer first, which goes to a temporary name beside the file
// and is renamed. The report itself is never replaced.
func (o *output) write(name, report string, stdout io.Writer, render func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := render(&buf); err != nil {
		return err
	}
	if name == "-" {
		_, err := stdout.Write(buf.Bytes())
		return err
	}
	if err := o.free(name); err != nil {
		return err
	}
	if same(name, report) {
		return fmt.Errorf("write %q: that is the report itself", name)
	}
	return writeFile(name, buf.Bytes())
}

func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func writeFile(name string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".nsysmem-*.tmp")
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %q: %w", name, err)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
