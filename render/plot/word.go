package plot

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"nsysmem/align"
)

// mostWord is the length in characters of a name that fits in titles and in front of a lane.
const mostWord = 20

// wordOf is what the program calls an iteration: "step" where they are "step 0", "step 1" and so on; "iteration" where
// their names have no number or are no plain words.
func wordOf(t *align.Track) string {
	const usual = "iteration"
	word := ""
	for i := range t.Iterations {
		it := &t.Iterations[i]
		w, ok := strings.CutSuffix(it.Name, fmt.Sprint(it.Index))
		if w = strings.TrimRight(w, " _-:#=/0"); !ok || w == "" || i > 0 && w != word {
			return usual
		}
		word = w
	}
	if word == "" || utf8.RuneCountInString(word) > mostWord {
		return usual
	}
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" _-.", r) {
			return usual
		}
	}
	return word
}

// named is one iteration in running text, such as "step 3".
func (pic *picture) named(it *align.Iteration) string { return pic.numbered(it.Index) }

func (pic *picture) numbered(index int) string { return fmt.Sprintf("%s %d", pic.word, index) }

// upper is s with a capital letter in front.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
