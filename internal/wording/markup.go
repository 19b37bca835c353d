package wording

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// markdownEscapes are the characters that GitHub's Markdown gives a meaning to. An @ would call the person of that name.
var markdownEscapes = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;",
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "#", `\#`, "|", `\|`, "~", `\~`)

// Markdown is s as plain text of Markdown on one line: nothing in it marks up, ends a cell or is HTML.
func Markdown(s string) string { return markdownEscapes.Replace(Terminal(s)) }

// AppendCSV appends s as a field of CSV (RFC 4180), in quotes where it needs them. A text that a spreadsheet would run as a
// formula gets a ' in front, such as "'=1+1".
func AppendCSV(b []byte, s string) []byte {
	guard := ""
	if s != "" && strings.IndexByte("=+-@\t\r\n", s[0]) >= 0 {
		guard = "'"
	}
	s = Terminal(s)
	if !strings.ContainsAny(s, `,"`) && strings.Trim(s, " ") == s {
		return append(append(b, guard...), s...)
	}
	b = append(append(b, '"'), guard...)
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// AppendJSON appends s as a JSON string. Characters that steer are escaped, so that the output may be shown as it is.
func AppendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0 // bytes of s that are in b
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++ // most text is this: it goes over in long pieces
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r == utf8.RuneError && n == 1 || escapedInJSON(r) {
			b = appendJSONEscape(append(b, s[done:i-n]...), r)
			done = i
		}
	}
	return append(append(b, s[done:]...), '"')
}

// AppendShownJSON appends JSON that encoding/json made, with what steers escaped as AppendJSON does. Such characters stand
// in strings alone; those of ASCII are escaped already.
func AppendShownJSON(b, json []byte) []byte {
	for len(json) > 0 {
		r, n := utf8.DecodeRune(json)
		if r >= 0x7f && escapedInJSON(r) {
			b = appendJSONEscape(b, r)
		} else {
			b = append(b, json[:n]...)
		}
		json = json[n:]
	}
	return b
}

// escapedInJSON leaves out the tags beyond U+FFFF, which take two escapes: no terminal known obeys them.
func escapedInJSON(r rune) bool { return r == '"' || r == '\\' || r <= 0xffff && Steers(r) }

func appendJSONEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
