package plot

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"nsysmem/align"
)

// names say where in a run something is, in the words of the program.
type names struct {
	track *align.Track
	word  string                   // what the program calls an iteration
	spans [][]*align.Span          // calls of phases, by place in Track.Iterations
	place map[*align.Iteration]int // in Track.Iterations
}

// newNames sorts the calls of phases by iteration: each panel, and each sentence on a time, asks for those of one.
func newNames(track *align.Track) names {
	n := names{track: track, word: wordOf(track), place: map[*align.Iteration]int{}}
	n.spans = make([][]*align.Span, len(track.Iterations))
	for i := range track.Iterations {
		n.place[&track.Iterations[i]] = i
	}
	for i := range track.Spans {
		if s := &track.Spans[i]; s.Iteration >= 0 && s.Iteration < len(n.spans) {
			n.spans[s.Iteration] = append(n.spans[s.Iteration], s)
		}
	}
	return n
}

// mostWord is the length in characters of a name that fits in titles and in front of a lane.
const mostWord = 20

// usualWord is what an iteration is called where the program has no word for it.
const usualWord = "iteration"

// wordOf is what the program calls an iteration: "step" where they are "step 0", "step 1" and so on; "iteration" where
// their names have no number or are no plain words.
func wordOf(t *align.Track) string {
	word := ""
	for i := range t.Iterations {
		it := &t.Iterations[i]
		w, ok := strings.CutSuffix(it.Name, fmt.Sprint(it.Index))
		if w = strings.TrimRight(w, " _-:#=/0"); !ok || w == "" || i > 0 && w != word {
			return usualWord
		}
		word = w
	}
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-.", r) }
	if word == "" || utf8.RuneCountInString(word) > mostWord || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return usualWord
	}
	return word
}

// named is one iteration in running text, such as "step 3".
func (n *names) named(it *align.Iteration) string { return n.numbered(it.Index) }

// numbered is named for an iteration of which only the number is known.
func (n *names) numbered(index int) string { return fmt.Sprintf("%s %d", n.word, index) }

// in says where something is that has an iteration, below 0 for none, and a phase, or a range outside iterations; empty
// where it has neither.
func (n *names) in(iteration int, phase, outer string) string {
	switch it := n.track.IterationAt(iteration); {
	case it != nil && phase != "":
		return "in " + n.named(it) + ", phase " + short(phase)
	case it != nil:
		return "in " + n.named(it)
	case outer != "":
		return "in range " + short(outer)
	}
	return ""
}

// where says in which iteration and phase a time lies, the innermost phase that is known.
func (n *names) where(t int64) string {
	its := n.track.Iterations
	i := sort.Search(len(its), func(i int) bool { return its[i].Start > t }) - 1
	if i >= 0 && t < its[i].End {
		return n.in(i, n.innermost(&its[i], t), "")
	}
	if s := n.in(-1, "", n.outerRange(t)); s != "" {
		return s
	}
	switch {
	case len(its) == 0:
		return ""
	case i < 0:
		return "before " + n.named(&its[0])
	case i == len(its)-1:
		return "after " + n.named(&its[i])
	}
	return fmt.Sprintf("between %s and %d", n.named(&its[i]), its[i+1].Index)
}

// outerRange is the range outside iterations that holds a time: of several the one that began last.
func (n *names) outerRange(t int64) string {
	name, start := "", int64(0)
	for i := range n.track.Ranges {
		r := &n.track.Ranges[i]
		if r.Calls <= 1 && r.Start <= t && t < r.End && (name == "" || r.Start >= start) {
			name, start = r.Name, r.Start
		}
	}
	return name
}

// innermost is the deepest phase of an iteration that holds a time: one of its calls, or, between them, the stretch from
// the first to the last of them. It is empty for none.
func (n *names) innermost(it *align.Iteration, t int64) string {
	if path := deepest(n.spans[n.place[it]], t); path != "" {
		return path
	}
	return deepest(phasesOf(it), t)
}

// deepest is the path of the deepest of spans that hold a time; empty for none.
func deepest(spans []*align.Span, t int64) string {
	path, depth := "", 0
	for _, s := range spans {
		if s.Start <= t && t < s.End && s.Depth > depth {
			path, depth = s.Path, s.Depth
		}
	}
	return path
}

// spansOf are the calls of the phases of an iteration, or its phases where the calls are not known.
func (n *names) spansOf(it *align.Iteration) []*align.Span {
	if spans := n.spans[n.place[it]]; len(spans) > 0 {
		return spans
	}
	return phasesOf(it)
}

// phasesOf are the phases of an iteration as if each were one call.
func phasesOf(it *align.Iteration) []*align.Span {
	var spans []*align.Span
	for i := range it.Phases {
		if ph := &it.Phases[i]; ph.Path != align.OtherPhase {
			spans = append(spans, &align.Span{Path: ph.Path, Depth: ph.Depth, Start: ph.Start, End: ph.End, Inferred: ph.Inferred})
		}
	}
	return spans
}
