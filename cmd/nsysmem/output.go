package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// output is where a command that makes files puts them.
type output struct {
	path  string // -o: a file, an existing folder, "-" for stdout, or empty
	force bool
	made  map[string]bool // files that this run has written: --force replaces what was there before, not these
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
	file, err := target(name)
	if err != nil {
		return writing(name, err)
	}
	info, err := os.Stat(file)
	switch {
	case o.made[file]:
		return fmt.Errorf("write %q: another report of this run has this name too: give the reports different names, or run once for each", name)
	case errors.Is(err, fs.ErrNotExist):
		if dir := filepath.Dir(file); !isFolder(dir) {
			return fmt.Errorf("write %q: no folder %q", name, dir)
		}
		return nil
	case err != nil:
		return writing(name, err)
	case info.IsDir():
		return fmt.Errorf("write %q: it is a folder", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("write %q: it is no regular file: give another name with -o, or - for stdout", name)
	case !o.force:
		return fmt.Errorf("write %q: the file exists: give another name with -o, or --force to replace it", name)
	}
	return nil
}

// target is the file that a name stands for. Symbolic links are followed, also to a file that is not there yet: the link
// stays, as when any program opens it to write, and renaming would put the file in its place.
func target(name string) (string, error) {
	for range 40 {
		info, err := os.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return name, nil // what is wrong with it, Stat says
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", errors.New("too many levels of symbolic links")
}

// isFolder says whether a path is a folder, a link to one too.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// write makes a file whole or not at all. The report itself is never replaced.
//
//  1. render fills a buffer, so that what cannot be drawn or written leaves no file. An interruption does not wait for it.
//  2. Stdout gets the buffer as it is, unless it is a terminal, which bytes of a picture would upset.
//  3. What lies at the name is looked at anew, since the work may have taken long.
//  4. The buffer goes to a temporary name beside the file, which is then renamed.
func (o *output) write(ctx context.Context, name, report string, stdout io.Writer, render func(io.Writer) error) error {
	var buf bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- render(&buf) }()
	select {
	case err := <-done:
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w: set TMPDIR to a folder with more room", err)
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
	case <-ctx.Done(): // a large workbook takes a while; what is made of it ends with the program
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if name == "-" {
		if _, is := terminal(stdout); is {
			return usage("-o -: stdout is a terminal: send it to a file or program, or name a file with -o")
		}
		_, err := stdout.Write(buf.Bytes())
		return err
	}
	if err := o.free(name); err != nil {
		return err
	}
	if same(name, report) {
		return fmt.Errorf("write %q: that is the report itself", name)
	}
	file, err := target(name)
	if err == nil {
		err = writeFile(file, buf.Bytes())
	}
	if err != nil {
		return writing(name, err)
	}
	if o.made == nil {
		o.made = make(map[string]bool)
	}
	o.made[file] = true
	return nil
}

// same says whether two names are one file, which links may hide.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// writeFile makes a file under a temporary name and renames it. A file that it replaces hands on its permissions; a new
// one gets what the user's umask leaves.
func writeFile(name string, data []byte) (err error) {
	f, err := tempFile(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if old, statErr := os.Stat(name); statErr == nil {
		if err = f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// tempFile makes a new file. That of os.CreateTemp could not be read by others whatever the umask says.
func tempFile(dir string) (f *os.File, err error) {
	for range 100 {
		name := filepath.Join(dir, fmt.Sprintf(".nsysmem-%d.tmp", rand.Uint64()))
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// writing is an error of writing a file.
func writing(name string, err error) error {
	return fmt.Errorf("write %q: %w: give another place with -o", name, cause(err))
}

// cause is what went wrong with a file: the system's own error names the temporary one.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
