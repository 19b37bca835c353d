package plot

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// clean makes a name from a report fit to be drawn.
func clean(s string) string { return wording.Picture(s) }

// baseName is the last part of a path of this or another system.
func baseName(p string) string { return path.Base(strings.ReplaceAll(p, `\`, "/")) }

// short is a name fit for running text.
func short(name string) string {
	const most = 60
	name = clean(name)
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

// brief is a sentence cut to at most n characters, between words where there are any.
func brief(s string, n int) string {
	s = clean(s)
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	cut := string(r[:n-2])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 && r[n-2] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " .,;:–(") + " …"
}

// briefClause is brief, but ends with a whole clause where one ends late enough.
func briefClause(s string, n int) string {
	cut := brief(s, n)
	if cut == clean(s) {
		return cut
	}
	if i := strings.LastIndexAny(cut, ",;:"); i > len(cut)/2 && strings.HasPrefix(cut[i+1:], " ") {
		cut = cut[:i] + " …"
	}
	return cut
}

// sentence ends s with a full stop unless it has an end.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if r, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(".?!…", r) {
		return s
	}
	return s + "."
}

// upper is s with a capital letter in front.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// percent writes part of whole with one decimal.
func percent(part, whole int64) string {
	f := float64(part) / float64(whole) * 100
	if f < 0.1 {
		return "under 0.1 %"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " %"
}

// A run is whole numbers that follow each other, first and last included.
type numberRun struct{ first, last int }

// numberRuns are the runs of numbers in order.
func numberRuns(n []int) []numberRun {
	var runs []numberRun
	for _, x := range n {
		if k := len(runs); k > 0 && runs[k-1].last == x-1 {
			runs[k-1].last = x
			continue
		}
		runs = append(runs, numberRun{x, x})
	}
	return runs
}

// String writes a run, such as "7" or "0–2".
func (r numberRun) String() string {
	if r.first == r.last {
		return strconv.Itoa(r.first)
	}
	return strconv.Itoa(r.first) + "–" + strconv.Itoa(r.last)
}

// list writes numbers in order as runs, such as "0–2, 7"; two that follow each other are written both. Long lists are cut.
func list(n []int) string {
	const most = 6
	var parts []string
	for _, r := range numberRuns(n) {
		if r.last == r.first+1 {
			parts = append(parts, strconv.Itoa(r.first), strconv.Itoa(r.last))
			continue
		}
		parts = append(parts, r.String())
	}
	if len(parts) > most {
		parts = append(parts[:most-1], "…", parts[len(parts)-1])
	}
	return strings.Join(parts, ", ")
}

// missingText are the iterations from want[0] to want[1] that there are not, as text; empty for none.
func missingText(want [2]int, its []*align.Iteration) string {
	const most = 4
	var parts []string
	next := want[0]
	gap := func(end int) {
		if end > next {
			parts = append(parts, numberRun{next, end - 1}.String())
		}
		next = max(next, end+1)
	}
	for _, n := range slices.Sorted(slices.Values(indexes(its))) {
		gap(n)
	}
	gap(want[1] + 1)
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return strings.Join(parts, ", ")
}

// indexes are the numbers of iterations.
func indexes(its []*align.Iteration) []int {
	out := make([]int, len(its))
	for i, it := range its {
		out[i] = it.Index
	}
	return out
}
