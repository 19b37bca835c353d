package nsysdb

import (
	"regexp"
	"strings"
	"unicode"
)

const leftOut = "(left out)"

var (
	windowsProgram = regexp.MustCompile(`(?i)^.*?\.exe(?:$|[\s"'])`)
	systemProcess  = regexp.MustCompile(`^\[[\w .:/+-]*\]`)
)

// processName is the base name of a process's executable. What follows it is cut off: arguments may be secrets.
func processName(s string) string {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return ""
	case s[0] == '"' || s[0] == '\'':
		s, _, _ = strings.Cut(s[1:], s[:1])
	case windowsProgram.MatchString(s):
		s = strings.TrimRight(windowsProgram.FindString(s), " \t\r\n\"'") // a path on Windows may have spaces
	case systemProcess.MatchString(s):
		s, _, _ = strings.Cut(systemProcess.FindString(s), " -")
	default:
		if i := strings.IndexFunc(s, endsName); i >= 0 {
			s = s[:i]
		}
	}
	return oneLine(s[strings.LastIndexAny(s, `/\`)+1:], 80)
}

// endsName says whether a character parts a command from its arguments, whatever joined them, or a variable from its
// value.
func endsName(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`;,=|&<>"'`, r)
}

var (
	// What follows these words is left out, to the end: nobody knows where it ends.
	commandText = regexp.MustCompile(`(?i)(^|[\s"'(\[{])((?:command ?line|command|cmd|arguments?|launch\w*|execut\w*|environment(?: variables?)?|env|host|user|user ?name|key|token)["']?\s*[:=]|args|argv|cmdline|host ?name|authorization|bearer|passw\w*|secrets?|credentials?)(?:["']?[\s:=].*)$`)
	variable    = regexp.MustCompile(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]*)\s*:\s.*$`)
	assignment  = regexp.MustCompile(`\b([A-Za-z_]\w*)=(?:"[^"]*"?|'[^']*'?|\S+)`)
	quotation   = regexp.MustCompile("(^|[\\s([{:,])(?:\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|`[^`]*(?:`|$))")
	option      = regexp.MustCompile(`(^|\s)(--?[A-Za-z][\w-]*).+$`)
	word        = regexp.MustCompile(`\S+`)

	alternative = regexp.MustCompile(`^[A-Za-z]+/[A-Za-z]+[.,;:]?$`) // "CPU/GPU"
	library     = regexp.MustCompile(`^(?:lib[\w.+-]+\.so[.\d]*|\w+\.(?:dll|exe))[.,;:)]*$`)
	dotted      = regexp.MustCompile(`[\w-]\.[A-Za-z]|\d\.\d+\.\d+\.\d`)
	number      = regexp.MustCompile(`^[(\[]?v?[\d.,]+[a-zA-Z%]{0,3}[.,;:)\]]*$|^0x[0-9a-fA-F]+\W?$`)
	several     = regexp.MustCompile(`(?:\x00[.,;:)\]]*\s+)+\x00([.,;:)\]]*)`)
	known       = regexp.MustCompile(`(?i)^\W?(?:cu|cupti|sm_|compute_|x86|gpu|nvtx|nsys|err|libc)`)
)

// redact takes from a profiler's message what may tell of the user's machine and work: commands, environment variables,
// folders, hosts and users. It leaves out rather too much: what remains is the profiler's own words, those of the vocabulary.
func redact(s string) string {
	s = oneLine(s, 600)
	s = assignment.ReplaceAllString(s, "$1=\x00")
	s = variable.ReplaceAllString(s, "$1: \x00")
	s = commandText.ReplaceAllString(s, "$1$2 \x00")
	s = quotation.ReplaceAllString(s, "$1\x00")
	s = option.ReplaceAllString(s, "$1$2 \x00")
	s = word.ReplaceAllStringFunc(s, redactWord)
	s = word.ReplaceAllStringFunc(s, foreignWord)
	s = several.ReplaceAllString(s, "\x00$1")
	return strings.ReplaceAll(s, "\x00", leftOut)
}

// foreignWord leaves out a word that is none of the profiler's own. What stands before what was left out, such as the name
// of a variable, is a word of its own.
func foreignWord(w string) string {
	before, _, cut := strings.Cut(w, "\x00")
	if ours(before) {
		return w
	}
	if cut {
		return "\x00" + w[strings.IndexByte(w, 0)+1:]
	}
	return "\x00" + w[len(strings.TrimRight(w, ".,;:)?!]")):]
}

// redactWord leaves a word out that may be an address, a path, a version or a name of the user's. Of a path the last part
// stays: it is mostly a library's name.
func redactWord(w string) string {
	const gone = "\x00"
	if strings.Contains(w, gone) {
		return w
	}
	end := w[len(strings.TrimRight(w, ".,;:)")):]
	switch i := strings.LastIndexAny(w, `/\`); {
	case strings.Contains(w, "@"), strings.Contains(w, "://"), strings.Count(w, ":") > 1:
		return gone + end
	case i >= 0 && alternative.MatchString(w):
		return w
	case i >= 0 && strings.ContainsAny(strings.Trim(w[:i], "~"), `/\`):
		return "…/" + w[i+1:]
	case i >= 0:
		return gone + end
	case library.MatchString(w), number.MatchString(w), known.MatchString(w):
		if !dotted.MatchString(w) || library.MatchString(w) || strings.Count(w, ".") < 3 && number.MatchString(w) {
			return w
		}
		return gone + end
	case dotted.MatchString(w), len(w) >= 6 && strings.ContainsAny(w, "0123456789"):
		return gone + end
	}
	return w
}
