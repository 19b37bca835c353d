package wording

import "unicode"

// Names in a report are what a program, a file or a library called itself; anything may stand in them. These are the
// kinds of characters that no output may simply pass on. Each output then does with them what it can show (see clean.go).

// Steers says whether a character does something to a terminal or to its neighbours rather than being seen: control
// characters, line and paragraph separators, and those that turn the direction of text or hide in it. The joiners U+200C
// and U+200D are none of them: Persian, Hindi and emoji are written with them.
func Steers(r rune) bool {
	switch {
	case r < 0x7f: // most of all text: it is asked for every character of every name
		return r < ' '
	case control(r):
		return true
	case r < 0x200b:
		return r == 0x061c || r == 0xad // Arabic letter mark, soft hyphen
	case r == 0x200b, r == 0x200e, r == 0x200f: // zero-width space, direction marks
		return true
	case r >= 0x2028 && r <= 0x202e: // separators of lines and paragraphs, embeddings and overrides of direction
		return true
	case r >= 0x2060 && r <= 0x206f, r == 0xfeff: // word joiner, isolates of direction, byte order mark
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f: // annotations between lines, tags
		return true
	}
	return false
}

// control says whether r is a control character of ASCII or of Latin-1: escape sequences start with them.
func control(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// hidden says whether r has no shape and is seen only by what it does to its neighbours: all that format text, whether
// they steer it or join it.
func hidden(r rune) bool { return unicode.Is(unicode.Cf, r) }

// noCharacter says whether r is one of the two that XML, and so a sheet or an SVG picture, has no form for even though they
// are neither control characters nor surrogates.
func noCharacter(r rune) bool { return r == 0xfffe || r == 0xffff }
