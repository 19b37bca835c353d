package batch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Endings of reports.
const (
	exported    = ".sqlite"
	notExported = ".nsys-rep"
)

// Find lists the reports that args name, in natural order: files, folders, which are walked, patterns such as
// "runs/*/r?.sqlite", and lists "@FILE" with one of these a line. Of folders and patterns it takes what ends in .sqlite
// and, with nsys on PATH, in .nsys-rep unless its export lies beside it. A file that is named is taken whatever it is, and
// even where it is missing: that is then its failure and costs the batch nothing else.
func Find(args []string, o *Options) ([]Input, error) {
	f := &finder{seen: make(map[string]bool)}
	f.out, _ = filepath.Abs(o.Out)
	for _, arg := range args {
		if err := f.arg(arg, o); err != nil {
			return nil, err
		}
	}
	f.dropExported()
	if _, err := exec.LookPath("nsys"); err != nil {
		f.dropNotExported(o)
	}
	if len(f.found) == 0 {
		return nil, fmt.Errorf("batch: no report in %s: name files, folders, patterns or @lists of %s files", strings.Join(args, " "), exported)
	}
	slices.SortStableFunc(f.found, func(a, b found) int { return naturalPath(a.path, b.path) })
	inputs := make([]Input, len(f.found))
	for i, r := range f.found {
		in := &inputs[i]
		in.Path, in.Size = r.path, -1
		if info, err := os.Stat(r.path); err == nil {
			in.Size, in.ModTime = info.Size(), info.ModTime().UnixNano()
		}
		if o.Beside != nil {
			in.Beside = stateOf(o.Beside(r.path))
		}
	}
	setNames(inputs)
	if p, err := readPlan(o.Out); err == nil {
		p.keepNames(o.Out, inputs)
	}
	setRanks(inputs, o.RankPattern)
	return inputs, nil
}

// stateOf tells one state of some files from another: by size and time, and by who may read them. Names are quoted, as a
// list of reports is JSON, which has no room for all of them.
func stateOf(files []string) string {
	var all []string
	for _, name := range files {
		s := fmt.Sprintf("%q", filepath.Base(name))
		if info, err := os.Stat(name); err == nil {
			s += fmt.Sprintf(" %d %d %s", info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

type found struct {
	path  string
	named bool // by itself, not found in a folder or by a pattern
}

type finder struct {
	out   string // absolute
	found []found
	seen  map[string]bool // absolute paths
}

func (f *finder) arg(arg string, o *Options) error {
	if list, ok := strings.CutPrefix(arg, "@"); ok {
		return f.list(list, o)
	}
	return f.one(arg, o)
}

func (f *finder) list(name string, o *Options) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("batch: list of reports: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		// What Windows' own tools write may be UTF-16, or begin with a mark of UTF-8.
		if strings.IndexByte(line, 0) >= 0 || first && (strings.HasPrefix(line, "\xff\xfe") || strings.HasPrefix(line, "\xfe\xff")) {
			return fmt.Errorf("batch: list of reports %q: it is no text, or UTF-16: save it as UTF-8", name)
		}
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := f.one(line, o); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("batch: list of reports %q: %w", name, err)
	}
	return nil
}

func (f *finder) one(arg string, o *Options) error {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		f.walk(arg)
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, "*?["):
		matches, err := filepath.Glob(arg)
		if err != nil {
			return fmt.Errorf("batch: pattern %q: %w", arg, err)
		}
		if len(matches) == 0 {
			o.warn("%s: nothing matches", arg)
		}
		for _, m := range matches {
			if info, err := os.Stat(m); err == nil && info.IsDir() {
				f.walk(m)
			} else if isReport(m) {
				f.add(m, false)
			}
		}
	default:
		f.add(arg, true)
	}
	return nil
}

// walk takes the reports below a folder. What cannot be read is taken as a report, so that it stands among the failures.
func (f *finder) walk(root string) {
	// The walk does not follow a link, but a folder that the user names may be one.
	if link, err := os.Readlink(root); err == nil && link != "" {
		root += string(filepath.Separator)
	}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			f.add(path, true)
			return nil
		}
		if d.IsDir() {
			if abs, err := filepath.Abs(path); err == nil && abs == f.out && path != root {
				return fs.SkipDir
			}
			return nil
		}
		if isReport(path) && !strings.HasPrefix(d.Name(), ".") {
			if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
				f.add(path, false)
			}
		}
		return nil
	})
}

func isReport(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == exported || ext == notExported
}

func (f *finder) add(path string, named bool) {
	path = filepath.Clean(path)
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	if !f.seen[abs] {
		f.seen[abs] = true
		f.found = append(f.found, found{path, named})
	}
}

// dropExported drops reports whose export lies beside them.
func (f *finder) dropExported() {
	stem := func(p string) string { return strings.TrimSuffix(p, filepath.Ext(p)) }
	have := make(map[string]bool)
	for _, r := range f.found {
		if strings.EqualFold(filepath.Ext(r.path), exported) {
			have[stem(r.path)] = true
		}
	}
	f.found = slices.DeleteFunc(f.found, func(r found) bool {
		return !r.named && strings.EqualFold(filepath.Ext(r.path), notExported) && have[stem(r.path)]
	})
}

// dropNotExported drops reports that only nsys could export.
func (f *finder) dropNotExported(o *Options) {
	before := len(f.found)
	f.found = slices.DeleteFunc(f.found, func(r found) bool {
		return !r.named && strings.EqualFold(filepath.Ext(r.path), notExported)
	})
	if n := before - len(f.found); n > 0 {
		o.warn("%d %s reports left out: nsys, which exports them, is not on PATH", n, notExported)
	}
}

// usualRanks find the rank in usual names of reports: rank3, rank_3, rank-3; else r3, r_3 as a word.
var usualRanks = []*regexp.Regexp{
	regexp.MustCompile(`(?i)rank[_-]?(\d+)`),
	regexp.MustCompile(`(?:^|[^A-Za-z0-9])[rR][_-]?(\d+)(?:[^A-Za-z0-9]|$)`),
}

// setRanks finds the rank of each report in its path. Folders that all reports lie in say nothing about one of them.
func setRanks(inputs []Input, pattern *regexp.Regexp) {
	skip := commonFolders(inputs)
	for i := range inputs {
		in := &inputs[i]
		in.Rank = -1
		parts := strings.Split(slashed(in.Path), "/")
		last := len(parts) - 1
		first := min(skip, last)
		parts[last] = strings.TrimSuffix(parts[last], filepath.Ext(parts[last]))
		if pattern != nil {
			in.rank(parts, first, last+1, pattern)
			continue
		}
	search:
		for _, usual := range usualRanks {
			for k := last; k >= first; k-- { // the file's own name before its folders'
				if in.rank(parts, k, k+1, usual) {
					break search
				}
			}
		}
	}
}

// rank takes the rank that a pattern finds in the elements from and below to of a path, the last one. The group keeps the
// whole path, so that it is the same whatever else is in the batch.
func (in *Input) rank(parts []string, from, to int, pattern *regexp.Regexp) bool {
	text := strings.Join(parts[from:to], "/")
	all := pattern.FindAllStringSubmatchIndex(text, -1)
	for k := len(all) - 1; k >= 0; k-- {
		m := all[k]
		at, end := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			at, end = m[2], m[3]
		}
		if n, ok := number(text[at:end]); ok {
			group := append(append([]string(nil), parts[:from]...), text[:at]+"#"+text[end:])
			in.Rank, in.Group = n, strings.Join(append(group, parts[to:]...), "/")
			return true
		}
	}
	return false
}

// number reads a rank: the digits of s, which may stand in other text.
func number(s string) (n int64, ok bool) {
	at := strings.IndexAny(s, "0123456789")
	if at < 0 {
		return 0, false
	}
	s = s[at:]
	for _, c := range []byte(s[:digits(s)]) {
		if n = n*10 + int64(c-'0'); n > 1<<40 {
			return 0, false
		}
	}
	return n, true
}

// commonFolders is the number of leading folders that all paths share.
func commonFolders(inputs []Input) int {
	var common []string
	for i := range inputs {
		parts := strings.Split(slashed(inputs[i].Path), "/")
		parts = parts[:len(parts)-1]
		if i == 0 {
			common = parts
			continue
		}
		n := 0
		for n < len(common) && n < len(parts) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	return len(common)
}

func slashed(path string) string { return filepath.ToSlash(path) }

// bySize orders reports by size, the largest first, then by name: the order in which they are shared out and done.
func bySize(a, b Input) int {
	return cmp.Or(cmp.Compare(b.Size, a.Size), natural(a.Name, b.Name))
}
