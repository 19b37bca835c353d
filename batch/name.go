package batch

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
	"unicode"
)

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
			for n := 2; ; n++ {
				name := fmt.Sprintf("%s-%d", in.Name, n)
				if !used[strings.ToLower(name)] {
					used[strings.ToLower(name)] = true
					in.Name = name
					break
				}
			}
		}
	}
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
	name = strings.TrimLeft(name, ".-")
	if name == "" {
		name = "report"
	}
	if len(name) > maxName {
		sum := crc32.ChecksumIEEE([]byte(name))
		name = strings.ToValidUTF8(name[:maxName-9], "") + fmt.Sprintf("-%08x", sum)
	}
	return name
}
