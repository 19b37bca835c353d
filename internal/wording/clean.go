package wording

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Each output of text from a report has one function. They agree on which characters are trouble (character.go), not on
// what becomes of them, for the outputs differ in what they obey and in what they can show:
//
//	Terminal   obeys control characters and turns of direction; an escape such as \x1b shows that they are there
//	Markdown   is Terminal, and nothing in it marks up, ends a cell, is HTML or calls a person
//	AppendCSV  is Terminal, for CSV goes to a terminal too, and no field is a formula of a spreadsheet
//	AppendJSON has escapes of its own, which keep the text exact for the program that reads it
//	Cell       of a sheet obeys nothing, and line breaks may stand in it; but XML has no form for other controls
//	Picture    is drawn, one line of it: XML's limits again, and what has no shape would be a box
//	Message    is one line for a person, beside the name of a file: what is no print is left out rather than explained
//
// Bytes that are not UTF-8 become U+FFFD in all of them.

// Terminal is s fit for one line of a terminal: what steers is shown as an escape, such as `\n`, `\x1b` or `\u202e`.
func Terminal(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, Steers) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !Steers(r) {
			b.WriteRune(r)
			continue
		}
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// MaxCell is the number of UTF-16 units that a cell of a sheet may hold.
const MaxCell = 32767

// Cell is s fit for a cell of a sheet: what XML has no form for is U+FFFD, and what is longer than MaxCell ends with "…".
func Cell(s string) string {
	plain := len(s) <= MaxCell
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	units := 0
	var b strings.Builder
	for _, r := range s {
		if control(r) && r != '\t' && r != '\n' || noCharacter(r) {
			r = utf8.RuneError
		}
		if units += utf16.RuneLen(r); units > MaxCell-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Picture is s fit to be drawn on one line: white space of all kinds is a space, what SVG forbids is U+FFFD, and what has no
// shape is gone, for it would turn the text around it or be drawn as a box.
func Picture(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case control(r), noCharacter(r):
			return utf8.RuneError
		case hidden(r), Steers(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Message is s fit for a line of progress, a warning or an error: nothing in it moves the cursor, breaks the line or turns
// its direction. What is not to be printed is a space, or gone where it had no width.
func Message(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r) || r == utf8.RuneError:
			return r
		case hidden(r):
			return -1
		}
		return ' '
	}, s)
}
