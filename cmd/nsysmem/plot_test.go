package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	plainReport = "../../testdata/cpp_mem.sqlite"
	cnnReport   = "../../testdata/cnn_default.sqlite"
	cnnSnapshot = "../../testdata/cnn_default.snapshot.pickle"
)

// words is the text of an SVG picture, each piece on a line.
func words(t *testing.T, svg []byte) string {
	t.Helper()
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if tok == nil {
			if len(svg) == 0 {
				t.Fatal("no picture:", err)
			}
			return b.String()
		}
		if s, ok := tok.(xml.CharData); ok {
			b.Write(s)
			b.WriteByte('\n')
		}
	}
}

// TestPlotFlags: each flag changes the picture as it says.
func TestPlotFlags(t *testing.T) {
	t.Parallel()
	snap := []string{cnnReport, "--snapshot", cnnSnapshot}
	with := func(base []string, more ...string) []string { return append(append([]string{}, base...), more...) }
	for _, c := range []struct {
		args []string
		says []string
		not  []string
	}{
		{snap, []string{"Tensors (categories inferred):", "parameter", "reserved by PyTorch", "squeezed up to"}, []string{"whole run"}},
		{with(snap, "--stack", "category"), []string{"Tensors (categories inferred):", "optimizer state"}, nil},
		{with(snap, "--stack", "phase"), []string{"of tensors where they were born:", "by phase of birth"}, []string{"categories inferred"}},
		{with(snap, "--stack", "kind"), []string{"Device memory by kind:"}, []string{"categories inferred"}},
		{with(snap, "--stack", "none"), []string{"Level over time"}, []string{"categories inferred", "Device memory by kind:"}},
		{[]string{plainReport, "--stack", "kind"}, []string{"Device memory by kind:", "device static"}, nil},
		{with(snap, "--linear"), []string{"time (s) in the report"}, []string{"squeezed"}},
		{with(snap, "--view", "segments"), []string{"segments and blocks of PyTorch's allocator", "the peak of what tensors hold"}, []string{"Each iteration"}},
		{with(snap, "--view", "segments", "--at", "reserved"), []string{"When PyTorch reserved the most"}, nil},
		{with(snap, "--view", "segments", "--at", "9.6s", "--stack", "phase"), []string{"allocator at 9.600 s", "Tensors by phase of birth"}, nil},
		{[]string{plainReport, "--iterations", "3-8"}, []string{"Peak of the whole run, in view", "Shown: 3–5; there is no 6–8."}, nil},
		{[]string{plainReport, "--view", "timeline", "--from", "501ms", "--to", "502ms"}, []string{"not in view", "highest in view", "in step 1, phase backward"}, []string{"Each iteration"}},
	} {
		file := filepath.Join(t.TempDir(), "p.svg")
		code, out, errs := command(t, append([]string{"plot", "-o", file}, c.args...)...)
		if code != exitDone || out != "" {
			t.Errorf("%q: exit %d, %q, %q", c.args, code, out, errs)
			continue
		}
		svg, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		text := words(t, svg)
		for _, s := range c.says {
			if !strings.Contains(text, s) {
				t.Errorf("%q: the picture does not say %q", c.args, s)
			}
		}
		for _, s := range c.not {
			if strings.Contains(text, s) {
				t.Errorf("%q: the picture says %q", c.args, s)
			}
		}
	}
}

// TestPlotStdout: - is stdout, and there PNG.
func TestPlotStdout(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, "plot", plainReport, "-o", "-", "--size", "400x300")
	if code != exitDone || !strings.HasPrefix(out, "\x89PNG") || strings.Contains(errs, "wrote") {
		t.Errorf("exit %d, %d bytes, %q", code, len(out), errs)
	}
	code, out, errs = command(t, "plot", plainReport, "-o", "-", "--size", "400x300", "--iterations", "3-8")
	if code != exitDone || len(out) == 0 || !strings.Contains(errs, "there is no 6–8") {
		t.Errorf("iterations that there are not: exit %d, %q", code, errs)
	}
	_, help, _ := command(t, "plot", "--help")
	for _, s := range []string{"- for stdout", "default 1600x1000"} {
		if !strings.Contains(help, s) {
			t.Errorf("help does not say %q", s)
		}
	}
}

func TestPlotRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{plainReport, "--stack", "phases"}, exitUsage, "category, phase, kind or none"},
		{[]string{cnnReport, "--snapshot", "none", "--stack", "category"}, exitLacking, "--snapshot"},
		{[]string{cnnReport, "--snapshot", "none", "--view", "segments"}, exitUsage, "none lies beside"},
		{[]string{plainReport, "--view", "segments"}, exitUsage, "--snapshot"},
		{[]string{plainReport, "--view", "blocks"}, exitUsage, "all or segments"},
		{[]string{plainReport, "--at", "peak"}, exitUsage, "--view segments"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--at", "noon"}, exitUsage, "peak, reserved or oom"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--at", "oom"}, exitLacking, "the snapshot has none"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--at", "1h"}, exitUsage, "no time"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--at", "9999s"}, exitLacking, "the snapshot's trace runs from 6.799 s to 13.459 s"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--at", "1s"}, exitLacking, "the snapshot's trace runs from 6.799 s to 13.459 s"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--stack", "kind"}, exitUsage, "category or phase"},
		{[]string{cnnReport, "--snapshot", cnnSnapshot, "--view", "segments", "--from", "1s"}, exitUsage, "--at"},
		{[]string{plainReport, "--iterations", "8-3"}, exitUsage, "first"},
		{[]string{plainReport, "--iterations", "7-9"}, exitLacking, "the report has 0 to 5"},
		{[]string{plainReport, "--from", "2s", "--to", "1s"}, exitUsage, "not after"},
		{[]string{plainReport, "--size", "big"}, exitUsage, "1600x1000"},
	} {
		file := filepath.Join(t.TempDir(), "p.png")
		code, out, errs := command(t, append([]string{"plot", "-o", file}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%q: exit %d, %q, %q", c.args, code, out, errs)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%q: a picture was written", c.args)
		}
	}
}

// A snapshot's levels are no events of the report.
func TestInfoCountsTheReport(t *testing.T) {
	t.Parallel()
	events := regexp.MustCompile(`"memory_events":\d+`)
	_, plain, _ := command(t, "info", cnnReport, "--snapshot", "none", "-q", "-f", "json")
	code, with, errs := command(t, "info", cnnReport, "--snapshot", cnnSnapshot, "-q", "-f", "json")
	want := events.FindString(plain)
	if code != exitDone || want == "" || events.FindString(with) != want {
		t.Errorf("exit %d, %s with a snapshot, %s without: %s", code, events.FindString(with), want, errs)
	}
}
