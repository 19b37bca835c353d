package wording

import (
	"strconv"
	"strings"
)

// Count writes n with its thousands apart, such as "1,792,400".
func Count[N int | int64](n N) string {
	s, first := strconv.FormatInt(int64(n), 10), 0
	if n < 0 {
		first = 1 // the sign is no digit
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// SignedCount is Count with a sign before rises too, such as "+1,792". Zero has none.
func SignedCount[N int | int64](n N) string {
	if n > 0 {
		return "+" + Count(n)
	}
	return Count(n)
}

// Share writes part of whole in percent, such as "12.5 %". It says 0 and 100 only where that is exact: "<0.1 %" of a card is
// still something that can be looked for. Of a whole of nothing there is no share: "n/a".
func Share(part, whole int64) string {
	switch {
	case whole == 0:
		return "n/a"
	case part == 0:
		return "0 %"
	case part == whole:
		return "100 %"
	}
	p := float64(part) / float64(whole) * 100
	switch {
	case p >= 0 && p < 0.05:
		return "<0.1 %"
	case p >= 99.95 && p <= 100:
		return ">99.9 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// Plural writes n and a noun that takes an s, such as "1 block" and "2000 blocks". The number is for a sentence, without
// thousands apart.
func Plural[N int | int64](n N, noun string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Noun(n, noun)
}

// Noun is a noun that takes an s as it stands behind n, such as "block" behind 1 and "blocks" behind 0.
func Noun[N int | int64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// And lists words in a sentence: "a", "a and b", "a, b and c".
func And(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}

// Capital is s with a capital first letter, for words of ours: "peak at" is "Peak at". Others than a to z stay.
func Capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
