package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"nsysmem/internal/fixture"
)

// command runs nsysmem and returns its exit code and what it wrote.
func command(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, streams{out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestWhatIf(t *testing.T) {
	t.Parallel()
	snap, report := fixture.Unpack(t, "../..", "unet_grow.snapshot.pickle"), fixture.Unpack(t, "../..", "unet_grow.sqlite")
	picture := filepath.Join(t.TempDir(), "settings.png")
	code, out, errs := command(t, "whatif", snap, "--report", report, "--conf", "expandable_segments:True", "--conf", "roundup_power2_divisions:[64:8,256:4,>:1]",
		"--capacity", "4.6GiB", "--format", "json", "-o", picture)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var got struct {
		Schema   string
		Settings []struct {
			Conf       string
			Peak       int64 `json:"peak_reserved_bytes"`
			Failed     int   `json:"failed_requests"`
			AtCapacity struct {
				Failures []struct {
					Iteration *int
					Phase     string
					Request   int64 `json:"request_bytes"`
					Free      int64 `json:"free_cache_bytes"`
				}
			} `json:"at_capacity"`
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "nsysmem.whatif/1" || len(got.Settings) != 3 || got.Settings[0].Conf != "" || got.Settings[0].Peak != 6723469312 || got.Settings[1].Peak != 4815060992 ||
		got.Settings[0].Failed == 0 || got.Settings[1].Failed != 0 {
		t.Errorf("%+v", got)
	}
	if f := got.Settings[0].AtCapacity.Failures[0]; f.Iteration == nil || *f.Iteration != 8 || f.Phase != "backward" || f.Free <= f.Request {
		t.Errorf("%+v", f)
	}
	if data, err := os.ReadFile(picture); err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
		t.Error("no picture", err)
	}
	if code, _, errs := command(t, "whatif", snap, "-o", picture); code != exitFailed || !strings.Contains(errs, "exists") {
		t.Errorf("over an old picture: exit %d: %s", code, errs)
	}
	code, out, errs = command(t, "whatif", snap, "--sweep", "--format", "csv")
	if code != exitDone || strings.Count(out, "\n") < 20 || errs != "" {
		t.Errorf("exit %d, %d lines: %s", code, strings.Count(out, "\n"), errs)
	}
	if code, out, _ = command(t, "whatif", snap, "--sweep"); code != exitDone || !strings.Contains(out, "Settings, best first") || !strings.Contains(out, "cannot know") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestWhatIfRefuses(t *testing.T) {
	t.Parallel()
	snap, report := "../../testdata/cnn_default.snapshot.pickle", "../../testdata/cnn_default.sqlite"
	recording, nothing := filepath.Join(t.TempDir(), "run.nsys-rep"), filepath.Join(t.TempDir(), "x")
	for _, path := range []string{recording, nothing} {
		if err := os.WriteFile(path, []byte("whatever a report begins with"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known := []string{"max_split_size_mb", "expandable_segments", "roundup_power2_divisions", "garbage_collection_threshold"}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, exitUsage, []string{"give one snapshot"}},
		{[]string{snap, snap}, exitUsage, []string{"give one snapshot"}},
		{[]string{snap, "--conf", "max_split:64"}, exitUsage, append(known, `"max_split" is not known`)},
		{[]string{snap, "--conf", "expandable_segments:yes"}, exitUsage, []string{`nsysmem: --conf: setting "expandable_segments:yes"`, "True or False, not yes"}},
		{[]string{snap, "--conf", "backend:cudaMallocAsync,max_split_size_mb:64"}, exitUsage, append(known, "contradicts")},
		{[]string{snap, "--conf", "max_split_size_mb:10"}, exitUsage, []string{`nsysmem: --conf: setting "max_split_size_mb:10": max_split_size_mb is a whole number of MiB, at least 20, not 10`}},
		{[]string{snap, "--capacity", "24G"}, exitUsage, []string{"GiB"}},
		{[]string{snap, "--capacity", "-1GiB"}, exitUsage, []string{"no size"}},
		{[]string{snap, "--capacity", "1"}, exitUsage, []string{"no unit"}},
		{[]string{snap, "--capacity", "4.6"}, exitUsage, []string{"no unit: write 4.6GiB"}},
		{[]string{snap, "--capacity", "0.1MiB"}, exitUsage, []string{"between"}},
		{[]string{snap, "--capacity", ""}, exitUsage, []string{"--capacity: say how much"}},
		{[]string{snap, "--device", "-1"}, exitUsage, []string{"numbered from 0"}},
		{[]string{snap, "--dpi", "5"}, exitUsage, []string{"--dpi", "10 to 2400"}},
		{[]string{snap, "--size", "99999x99999"}, exitUsage, []string{"--size", "at most"}},
		{[]string{snap, "--format", "md"}, exitUsage, []string{"json"}},
		{[]string{snap, "-o", "x.txt"}, exitUsage, []string{".png"}},
		{[]string{snap, "--infer", "always"}, exitUsage, []string{"auto"}},
		{[]string{snap, "--device", "7"}, exitFailed, []string{"no device 7"}},
		{[]string{report}, exitFailed, []string{"nsysmem: snapshot \"" + report + "\": it is a report, not a memory snapshot", "--report"}},
		{[]string{recording}, exitFailed, []string{"it is a report, not a memory snapshot", "--report"}},
		{[]string{nothing}, exitFailed, []string{"nsysmem: snapshot \"" + nothing + "\": not a pickle"}},
		{[]string{snap, "--report", snap}, exitFailed, []string{"it is a memory snapshot of PyTorch, not a report", "whatif SNAPSHOT --report"}},
		{[]string{snap, "--device", "7"}, exitFailed, []string{"nsysmem: snapshot \""}},
		{[]string{"no such file"}, exitFailed, []string{"no such file"}},
		{[]string{snap, "--report", report, "--capacity", "64MiB"}, exitFailed, []string{"outside PyTorch"}},
		{[]string{snap, "--report", "../../testdata/cnn_none.sqlite"}, exitFailed, []string{"another run"}},
	} {
		code, out, errs := command(t, append([]string{"whatif"}, c.args...)...)
		if code != c.code || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, %q, %q", c.args, code, out, errs)
		}
		for _, s := range c.says {
			if !strings.Contains(errs, s) {
				t.Errorf("%q: %q does not say %q", c.args, errs, s)
			}
		}
	}
}

// Users read no names of packages.
func TestBare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`nsysdb: open "x": is empty`: `open "x": is empty`, `snapshot "x": align: no`: `snapshot "x": align: no`, "plot: draw png: bad": "draw png: bad", "plot:x": "plot:x"} {
		cause := errors.New(text)
		if got := (bare{cause}); got.Error() != want || !errors.Is(got, cause) {
			t.Errorf("%q became %q", text, got.Error())
		}
	}
	if _, _, errs := command(t, "summary", "no such file"); !strings.HasPrefix(errs, `nsysmem: open "no such file": `) {
		t.Errorf("%q", errs)
	}
}

func TestParseBytes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{"24GiB": 24 << 30, "80 GB": 80e9, "1048576": 1 << 20, "1.5gib": 3 << 29, " 512MiB ": 512 << 20, "2TiB": 2 << 40} {
		if got, err := parseBytes(s); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "GiB", "24G", "1e9", "999999TiB", "0", "24 GiB GiB"} {
		if got, err := parseBytes(s); err == nil {
			t.Errorf("%q is %d", s, got)
		}
	}
}

func TestReportWhatIf(t *testing.T) {
	t.Parallel()
	snap, report := fixture.Unpack(t, "../..", "unet_grow.snapshot.pickle"), fixture.Unpack(t, "../..", "unet_grow.sqlite")
	book := filepath.Join(t.TempDir(), "b.xlsx")
	if code, _, errs := command(t, "report", report, "--snapshot", snap, "--whatif", "-o", book); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	f, err := excelize.OpenFile(book)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := f.GetRows("What if")
	if err != nil || len(rows) < 20 {
		t.Errorf("%d rows: %v", len(rows), err)
	}
	if code, _, errs := command(t, "report", report, "--whatif", "-o", book+"2.xlsx"); code != exitUsage || !strings.Contains(errs, "--snapshot") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
