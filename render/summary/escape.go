package summary

import (
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendJSONString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD; characters that steer a terminal
// or turn the direction of text are escaped, so that the output may be shown as it is.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = append(b, s[done:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			done = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[done:i]...)
			b = append(b, `\ufffd`...)
			i++
			done = i
			continue
		}
		if steers(r) && r <= 0xffff {
			b = append(b, s[done:i]...)
			b = append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			done = i + n
		}
		i += n
	}
	b = append(b, s[done:]...)
	return append(b, '"')
}

// appendShown appends JSON that encoding/json made, with what steers escaped as appendJSONString does. Such characters
// stand in strings alone.
func appendShown(b, json []byte) []byte {
	for len(json) > 0 {
		r, n := utf8.DecodeRune(json)
		if r >= 0x7f && r <= 0xffff && steers(r) {
			b = append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		} else {
			b = append(b, json[:n]...)
		}
		json = json[n:]
	}
	return b
}

// steers says whether a character does something to a terminal or to its neighbours rather than being seen: control
// characters, line and paragraph separators, and those that turn the direction of text.
func steers(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x200b:
		return r == 0x061c || r == 0xad
	case r == 0x200b, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// clean is s fit for one line of a terminal: what steers is shown as an escape, bytes that are not UTF-8 as U+FFFD.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, steers) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !steers(r) {
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
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[r>>4])
			b.WriteByte(hexDigits[r&15])
		default:
			b.WriteString(`\u`)
			for shift := 16; shift >= 0; shift -= 4 {
				if d := r >> shift & 15; d != 0 || shift < 16 {
					b.WriteByte(hexDigits[d])
				}
			}
		}
	}
	return b.String()
}
