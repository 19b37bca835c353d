package batch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile are words that shells, sbatch, YAML or Kubernetes would make something else of.
var hostile = []string{"plain", "two words", "", "$(touch injected)", "`touch injected`", "'; touch injected; '", `"; touch injected; "`, "a'b\"c", `back\slash`, `\\`,
	"*", "~", "!x", "&", "|", ">injected", "#comment", "a #b", "-dash", "--jobs=99", "END_OF_JOB", "%j", "50%%", "$HOME", "$$", "$$(x)", "$(JOB_COMPLETIONS)", "tab\there", "\v", "\x7f",
	"名前", "\u0085\u009b", "\u2028", "\ufeffx", "\U000e0001", "{a: b}", "- x", "null", "@x"}

// TestSlurmWords runs the script with a sbatch that keeps what it is given, and then what it was given.
func TestSlurmWords(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	show := filepath.Join(dir, "it's a $(command)")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(show, "#!/bin/sh\nprintf '%s\\0' \"$@\" > \"$TEST_SHOWN\"\n")
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(bin, "sbatch"), "#!/bin/sh\nn=$(ls \"$TEST_JOBS\" | wc -l)\ncat > \"$TEST_JOBS/$n\"\necho \"$n;cluster\"\n")
	jobs := filepath.Join(dir, "jobs")
	work := filepath.Join(dir, "work 'n' $(touch injected)")
	for _, d := range []string{jobs, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shown := filepath.Join(dir, "shown")
	env := append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "TEST_JOBS="+jobs, "TEST_SHOWN="+shown)
	runs := func(script string) {
		t.Helper()
		cmd := exec.Command(sh)
		cmd.Stdin, cmd.Dir, cmd.Env = strings.NewReader(script), work, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, script)
		}
	}
	for _, out := range []string{"out", "-out", "50%a ' $(touch injected) `touch injected` #x"} {
		os.RemoveAll(jobs)
		if err := os.Mkdir(jobs, 0o755); err != nil {
			t.Fatal(err)
		}
		s := Slurm{Command: []string{show}, Args: append([]string{"--"}, hostile...), Out: out, Dir: work, Tasks: 3, CPUs: 1, Name: "a \"job\" #1"}
		text, err := s.Script()
		if err != nil {
			t.Fatal(err)
		}
		runs(text)
		if _, err := os.Stat(filepath.Join(work, out, "logs")); err != nil {
			t.Error(err)
		}
		for i, want := range [][]string{append([]string{"batch", "--"}, hostile...), {"batch", "merge", "--", out}} {
			job, err := os.ReadFile(filepath.Join(jobs, string(rune('0'+i))))
			if err != nil {
				t.Fatal(err)
			}
			runs(string(job))
			got, err := os.ReadFile(shown)
			if err != nil {
				t.Fatal(err)
			}
			if words := strings.Split(strings.TrimSuffix(string(got), "\x00"), "\x00"); !slices.Equal(words, want) {
				t.Errorf("job %d runs %q, want %q", i, words, want)
			}
			// In names of logs, % begins what sbatch puts in.
			if want := strings.ReplaceAll(out, "%", "%%") + "/logs/"; !strings.Contains(string(job), want) {
				t.Errorf("job %d has no log %q:\n%s", i, want, job)
			}
		}
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d.Name() == "injected" {
			t.Errorf("%s was made", path)
		}
		return nil
	})
	for _, s := range []Slurm{{Out: "a\nb"}, {Out: "o", Dir: "a\nb"}, {Out: "o", Args: []string{"a\rb"}}, {Out: "o", Options: []string{"--x\nrm"}}, {Out: `a\b`}} {
		s.Tasks, s.CPUs = 1, 1
		if text, err := s.Script(); err == nil {
			t.Errorf("%+v: a script:\n%s", s, text)
		}
	}
}

// TestKubernetesWords reads the words back as YAML and Kubernetes do.
func TestKubernetesWords(t *testing.T) {
	t.Parallel()
	k := Kubernetes{Image: "i", Claim: "c", Mount: "/data", Command: []string{"$(x)"}, Args: hostile, Out: "-out$$", Name: "n", Memory: "1Gi", Tasks: 2, CPUs: 1}
	text, err := k.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	var words [][]string
	for line := range strings.Lines(text) {
		for _, r := range line {
			if r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0x2028 {
				t.Fatalf("%q is in the manifest: %q", r, line)
			}
		}
		for _, field := range []string{"command: ", "args: "} {
			if list, ok := strings.CutPrefix(strings.TrimSpace(line), field); ok {
				var w []string
				if err := json.Unmarshal([]byte(list), &w); err != nil {
					t.Fatalf("%v: %s", err, list)
				}
				for i := range w {
					w[i] = expand(t, w[i])
				}
				words = append(words, w)
			}
		}
	}
	want := [][]string{{"$(x)"}, append([]string{"batch"}, hostile...), {"$(x)"}, {"batch", "merge", "--wait=24h", "--", "-out$$"}}
	if !slices.EqualFunc(words, want, slices.Equal[[]string]) {
		t.Errorf("got %q\nwant %q", words, want)
	}
	k.Args = []string{"caf\xe9"}
	if _, err := k.Manifests(); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a path that is not UTF-8: %v", err)
	}
}

// expand puts variables in as Kubernetes documents it: "$(NAME)" is one, "$$" a "$", any other "$" itself.
func expand(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$' && i+1 < len(s) && s[i+1] == '$':
			i++
		case s[i] == '$' && i+1 < len(s) && s[i+1] == '(':
			t.Errorf("a variable would be put into %q", s)
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
