package batch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A stage is a folder in which files are made before they get their names. It lies in the batch's own folder, so that
// renaming is one step of the file system.
type stage struct {
	out   string
	dir   string
	files []staged
}

type staged struct {
	open        *os.File // nil once synced
	temp, final string
}

// stageMark parts the name of what is made from the random part of a stage's folder. No run's name has it.
const stageMark = "~"

// Stages of what every share makes. No run's name begins with a dot.
const (
	planStage  = ".plan"
	mergeStage = ".merge"
)

// newStage makes a stage for what has the given name, and removes those that an earlier process left behind. Of a
// report's own there is one at a time; of what every share makes, only old ones were left behind.
func newStage(out, name string) (*stage, error) {
	parent := filepath.Join(stateDir(out), "making")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("batch: folder %q cannot be written: %w", out, cause(err))
	}
	age := time.Duration(0)
	if name == planStage || name == mergeStage {
		age = time.Hour
	}
	removeStages(out, name, age)
	dir, err := os.MkdirTemp(parent, name+stageMark)
	if err != nil {
		return nil, fmt.Errorf("batch: folder %q cannot be written: %w", out, cause(err))
	}
	return &stage{out: out, dir: dir}, nil
}

// removeStages removes the stages of a name that are older than an age. What cannot be removed costs no more than room.
func removeStages(out, name string, age time.Duration) {
	left, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Join(stateDir(out), "making")), name+stageMark+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		if info, err := os.Stat(dir); age == 0 || err == nil && time.Since(info.ModTime()) > age {
			os.RemoveAll(dir)
		}
	}
}

func escapeGlob(s string) string {
	if filepath.Separator == '\\' {
		return s // no escapes there, and no such characters but "["
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// file makes one file, which place gives its final name.
func (s *stage) file(final string, write func(io.Writer) error) (err error) {
	temp := filepath.Join(s.dir, fmt.Sprintf("%d%s", len(s.files), filepath.Ext(final)))
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err == nil {
		s.files = append(s.files, staged{f, temp, final})
		w := &fileWriter{f: f}
		if err = write(w); w.err != nil {
			err = w.err
		} else if err != nil && !errors.Is(err, syscall.ENOSPC) { // temporary files of what is written may not fit either
			return fmt.Errorf("write %q: %w", final, err)
		}
	}
	if err != nil {
		return &unwritable{final, cause(err)}
	}
	return nil
}

// unwritable is an error of the batch's folder, which every other report would meet too.
type unwritable struct {
	file string
	err  error
}

func (u *unwritable) Error() string { return fmt.Sprintf("write %q: %v", u.file, u.err) }
func (u *unwritable) Unwrap() error { return u.err }

// A fileWriter remembers why a file could not be written, whatever those who write to it make of that.
type fileWriter struct {
	f   *os.File
	err error
}

// Write writes to the file.
func (w *fileWriter) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
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

// sync brings all files to the disk and closes them, so that after a power cut none of them is empty under its final name.
// They go at once: most of the time is spent waiting.
func (s *stage) sync() error {
	errs := make([]error, len(s.files))
	var all sync.WaitGroup
	for i := range s.files {
		all.Go(func() {
			f := &s.files[i]
			errs[i] = errors.Join(f.open.Sync(), f.open.Close())
			f.open = nil
			if errs[i] != nil {
				errs[i] = fmt.Errorf("write %q: %w", f.final, errs[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// drop forgets the files made so far.
func (s *stage) drop() {
	for _, f := range s.files {
		if f.open != nil {
			f.open.Close()
		}
		os.Remove(f.temp)
	}
	s.files = nil
}

// outputs are the files made so far.
func (s *stage) outputs() ([]file, error) {
	var all []file
	for _, f := range s.files {
		info, err := os.Stat(f.temp)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(s.out, f.final)
		if err != nil {
			return nil, err
		}
		all = append(all, file{filepath.ToSlash(rel), info.Size()})
	}
	return all, nil
}

// place gives files their names, in the order in which they were made.
func place(files []staged) error {
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.final), 0o755); err != nil {
			return err
		}
		if err := os.Rename(f.temp, f.final); err != nil {
			return fmt.Errorf("write %q: %w", f.final, cause(err))
		}
	}
	return nil
}

// finish syncs all files and gives them their names.
func (s *stage) finish() error {
	if err := s.sync(); err != nil {
		return err
	}
	return place(s.files)
}

// whose is err, or what it comes from where the stage is no longer there: somebody else does the same report, and took
// the stage for one that was left behind.
func (s *stage) whose(err error) error {
	if err == nil {
		return nil
	}
	if _, gone := os.Stat(s.dir); errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("batch: folder %q: another batch is at work in it, on the same reports: let it end, or give each a folder or a share of its own", s.out)
	}
	return err
}

func (s *stage) remove() {
	s.drop()
	os.RemoveAll(s.dir)
}
