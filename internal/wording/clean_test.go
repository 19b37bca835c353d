package wording

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// hurtful are names that some output would obey, and what each makes of them.
var hurtful = []struct {
	name                                            string
	terminal, cell, picture, message, markdown, csv string
}{
	{"layer 0", "layer 0", "layer 0", "layer 0", "layer 0", "layer 0", "layer 0"},
	{"日本語 é", "日本語 é", "日本語 é", "日本語 é", "日本語 é", "日本語 é", "日本語 é"},
	{"a\tb\nc\rd", `a\tb\nc\rd`, "a\tb\nc\ufffdd", "a b c d", "a b c d", `a\\tb\\nc\\rd`, `a\tb\nc\rd`},
	{"\x1b[31m\x00", `\x1b[31m\x00`, "\ufffd[31m\ufffd", "\ufffd[31m\ufffd", " [31m ", `\\x1b\[31m\\x00`, `\x1b[31m\x00`},
	{"\x7f\u0085\u009b", `\x7f\x85\x9b`, "\ufffd\ufffd\ufffd", "\ufffd \ufffd", "   ", `\\x7f\\x85\\x9b`, `\x7f\x85\x9b`},
	{"x\u202ey\u2066", `x\u202ey\u2066`, "x\u202ey\u2066", "xy", "xy", `x\\u202ey\\u2066`, `x\u202ey\u2066`},
	{"x\u2028y\u200bz", `x\u2028y\u200bz`, "x\u2028y\u200bz", "x yz", "x yz", `x\\u2028y\\u200bz`, `x\u2028y\u200bz`},
	{"می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم", "میخواهم", "میخواهم", "می\u200cخواهم", "می\u200cخواهم"},
	{"\U000e0041\ufffe", "\\ue0041\ufffe", "\U000e0041\ufffd", "\ufffd", " ", "\\\\ue0041\ufffe", "\\ue0041\ufffe"},
	{"bad\xff\xfe", "bad\ufffd\ufffd", "bad\ufffd\ufffd", "bad\ufffd", "bad\ufffd\ufffd", "bad\ufffd\ufffd", "bad\ufffd\ufffd"},
	{"=1+1", "=1+1", "=1+1", "=1+1", "=1+1", "=1+1", "'=1+1"},
	{"@a,\"b\"", "@a,\"b\"", "@a,\"b\"", "@a,\"b\"", "@a,\"b\"", "&#64;a,\"b\"", `"'@a,""b"""`},
	{"\n-", `\n-`, "\n-", " -", " -", `\\n-`, `'\n-`},
	{" padded", " padded", " padded", " padded", " padded", " padded", `" padded"`},
	{"a|b`c`<b>*d*", "a|b`c`<b>*d*", "a|b`c`<b>*d*", "a|b`c`<b>*d*", "a|b`c`<b>*d*", "a\\|b\\`c\\`&lt;b&gt;\\*d\\*", "a|b`c`<b>*d*"},
	{`_{[#~&\`, `_{[#~&\`, `_{[#~&\`, `_{[#~&\`, `_{[#~&\`, `\_\{\[\#\~&amp;\\`, `_{[#~&\`},
	{"}]", "}]", "}]", "}]", "}]", `\}\]`, "}]"},
}

func TestClean(t *testing.T) {
	for _, h := range hurtful {
		for _, c := range []struct{ target, got, want string }{
			{"Terminal", Terminal(h.name), h.terminal}, {"Cell", Cell(h.name), h.cell}, {"Picture", Picture(h.name), h.picture},
			{"Message", Message(h.name), h.message}, {"Markdown", Markdown(h.name), h.markdown},
			{"AppendCSV", string(AppendCSV([]byte("a,"), h.name))[2:], h.csv},
		} {
			if c.got != c.want {
				t.Errorf("%s(%q) = %q, want %q", c.target, h.name, c.got, c.want)
			}
		}
	}
}

// TestSteersNot checks of every character that no terminal is steered by it.
func TestSteersNot(t *testing.T) {
	for r := range rune(utf8.MaxRune + 1) {
		for target, s := range map[string]string{"Terminal": Terminal(string(r)), "Message": Message(string(r)), "Picture": Picture(string(r))} {
			if strings.IndexFunc(s, Steers) >= 0 {
				t.Fatalf("%s lets %U through", target, r)
			}
		}
	}
}

func TestCell(t *testing.T) {
	if got := []rune(Cell(strings.Repeat("😀", 20_000))); len(got) != MaxCell/2+1 || got[len(got)-1] != '…' {
		t.Errorf("20,000 characters outside the first plane became %d", len(got))
	}
	if got := Cell(strings.Repeat("x", MaxCell+1)); len(got) != MaxCell-1+len("…") || !strings.HasSuffix(got, "x…") {
		t.Errorf("a text that is too long became %d bytes", len(got))
	}
	if s := strings.Repeat("x", MaxCell); Cell(s) != s {
		t.Error("a text that just fits is cut")
	}
	// What is clean stays as it is.
	for _, s := range []string{"a\x01b\xff", "\u202e\t\n\ufffe",
		strings.Repeat("😀", 20_000), strings.Repeat("é", MaxCell), strings.Repeat("x", MaxCell+1)} {
		if once := Cell(s); Cell(once) != once {
			t.Errorf("%.20q changes when it is cleaned twice", s)
		}
	}
}

func TestJSON(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "layer 0": `"layer 0"`, `a"b\c`: `"a\"b\\c"`, "\n\r\t": `"\n\r\t"`, "\x00\x1b\x7f": `"\u0000\u001b\u007f"`,
		"x\u202ey": `"x\u202ey"`, "日\ufeff": `"日\ufeff"`, "\xffz": `"\ufffdz"`, "\ufffd": "\"\ufffd\"", "\U000e0041": "\"\U000e0041\"",
	} {
		if got := string(AppendJSON(nil, s)); got != want {
			t.Errorf("AppendJSON(%q) = %s, want %s", s, got, want)
		}
	}
	made, err := json.Marshal("\x1b[m\"\u202e\u009b日")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(AppendShownJSON([]byte("x"), made)), `x"\u001b[m\"\u202e\u009b日"`; got != want {
		t.Errorf("AppendShownJSON(%s) = %s, want %s", made, got, want)
	}
}

func FuzzJSON(f *testing.F) {
	for _, h := range hurtful {
		f.Add(h.name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendJSON(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}
