package batch

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// device matches what Windows takes for a device, whatever the ending.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)`)

// maxName is the length in bytes of a run's name, which leaves room for endings in the 255 that a file's name may have.
const maxName = 150

// setNames names each run by its file. Runs whose files have one name get as many folders before it as tell them apart,
// joined by "_", and so do all others of these folders; what still clashes gets a number. Names follow from the list of
// paths alone.
func setNames(inputs []Input) {
	depth := make(map[string]int) // folders in the names of what lies in a folder
	folder := make([]string, len(inputs))
	for i := range inputs {
		folder[i] = filepath.Dir(inputs[i].Path)
	}
	taken := make(map[string][]int)
	for {
		clear(taken)
		for i := range inputs {
			in := &inputs[i]
			in.Name = nameOf(in.Path, depth[folder[i]])
			key := strings.ToLower(in.Name)
			taken[key] = append(taken[key], i)
		}
		deeper := make(map[string]bool)
		for i := range inputs {
			if len(taken[strings.ToLower(inputs[i].Name)]) > 1 && nameOf(inputs[i].Path, depth[folder[i]]+1) != inputs[i].Name {
				deeper[folder[i]] = true
			}
		}
		if len(deeper) == 0 {
			break
		}
		for f := range deeper {
			depth[f]++
		}
	}
	used := make(map[string]bool, len(inputs))
	for key := range taken {
		used[key] = true
	}
	for i := range inputs {
		in := &inputs[i]
		if same := taken[strings.ToLower(in.Name)]; len(same) > 1 && same[0] != i {
			in.Name = numbered(in.Name, used)
			used[strings.ToLower(in.Name)] = true
		}
	}
}

// keepNames gives reports the names that they have in a folder already, and keeps the others off the names of results
// that stay in it. All shares of a batch come to the same names, whether the first of them has written its plan or not:
// with the plan that follows from these names they follow again.
//
//  1. A report is known by its path, or, where nothing is at that path any more, by its file's name, size and time.
//  2. A new one keeps the name that it got in the list unless a result has it; then it gets more folders, or a number.
func (p *plan) keepNames(out string, inputs []Input) {
	name := p.knownNames(inputs)
	var fresh []*Input
	var known []Input
	for i := range inputs {
		in := &inputs[i]
		if own := name(in); own != "" {
			in.Name = own
			known = append(known, *in)
		} else {
			fresh = append(fresh, in)
		}
	}
	used := names(known)
	for _, in := range p.others(out, known) {
		used[strings.ToLower(in.Name)] = true
	}
	for _, in := range fresh {
		in.Name = unused(in, used)
		used[strings.ToLower(in.Name)] = true
	}
}

// knownNames is a function that gives the name by which a plan knows one of inputs; empty for a new one.
func (p *plan) knownNames(inputs []Input) func(*Input) string {
	type file struct {
		base       string
		size, time int64
	}
	fileOf := func(in *Input) file { return file{filepath.Base(in.Path), in.Size, in.ModTime} }
	listed := make(map[string]bool, len(inputs))
	for i := range inputs {
		listed[inputs[i].Path] = true
	}
	byPath, byFile := make(map[string]string), make(map[file][]string)
	for _, in := range slices.Concat(p.Reports, p.Others) {
		if _, ok := byPath[in.Path]; ok {
			continue
		}
		byPath[in.Path] = in.Name
		if !listed[in.Path] && in.Size >= 0 && !stillThere(&in) {
			byFile[fileOf(&in)] = append(byFile[fileOf(&in)], in.Name)
		}
	}
	// Of several files of one name, size and time nobody can tell which is which.
	same := make(map[file]int)
	for i := range inputs {
		if _, ok := byPath[inputs[i].Path]; !ok {
			same[fileOf(&inputs[i])]++
		}
	}
	return func(in *Input) string {
		if name, ok := byPath[in.Path]; ok {
			return name
		}
		if k := fileOf(in); len(byFile[k]) == 1 && same[k] == 1 {
			return byFile[k][0]
		}
		return ""
	}
}

// deepest is how many folders of its path a name may get before it gets a number instead.
const deepest = 64

// unused is a report's name, with more folders or a number where it is used, in small letters, already.
func unused(in *Input, used map[string]bool) string {
	name := in.Name
	for depth := 1; used[strings.ToLower(name)] && depth < deepest; depth++ {
		if next := nameOf(in.Path, depth); len(next) > len(in.Name) {
			name = next
		}
	}
	return numbered(name, used)
}

// numbered is a name that is not used yet: itself, or with the first number that is free.
func numbered(name string, used map[string]bool) string {
	own := name
	for n := 2; used[strings.ToLower(own)]; n++ {
		own = fmt.Sprintf("%s-%d", name, n)
	}
	return own
}

// stillThere says whether a report is still at the path by which it was known, so that one at another path is another.
func stillThere(in *Input) bool {
	info, err := os.Stat(in.Path)
	return err == nil && info.Size() == in.Size && info.ModTime().UnixNano() == in.ModTime
}

// nameOf makes a name of a path's last element, without its ending, and so many folders before it. Letters and digits of
// any script and "._+-" stay; all else would mean something to a shell, a spreadsheet or a reader of the data set.
func nameOf(path string, folders int) string {
	parts := strings.Split(slashed(path), "/")
	last := len(parts) - 1
	if isReport(path) {
		parts[last] = strings.TrimSuffix(parts[last], filepath.Ext(parts[last]))
	}
	name := strings.Join(parts[max(last-folders, 0):], "_")
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._+-", r) {
			return r
		}
		return '_'
	}, name)
	name = strings.TrimRight(strings.TrimLeft(name, ".-"), ".") // Windows drops a dot at the end
	if name == "" {
		name = "report"
	}
	if device.MatchString(name) {
		name = "_" + name
	}
	if len(name) > maxName {
		sum := crc32.ChecksumIEEE([]byte(name))
		name = strings.ToValidUTF8(name[:maxName-9], "") + fmt.Sprintf("-%08x", sum)
	}
	return name
}
