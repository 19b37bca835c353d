package torchmem_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"nsysmem/torchmem"
)

// zipped is an archive of files, all with the same content.
func zipped(t *testing.T, content string, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCompressed reads snapshots that are compressed, and says what is wrong with what is none.
func TestCompressed(t *testing.T) {
	t.Parallel()
	plain := pickleOf(4, snapshotOf([]any{segmentOf(0x7f0000000000, 4<<20, 1<<20, 4<<20, "active_allocated")}))
	packed, archive := gzipped(t, plain), zipped(t, plain, "run.pickle")
	encrypted := bytes.Clone(archive)
	encrypted[6] |= 1
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1
	for _, c := range []struct {
		name string
		data []byte
		want string // part of the error; empty for a snapshot
	}{
		{"plain", []byte(plain), ""},
		{"gzip", packed, ""},
		{"zip", archive, ""},
		{"zip with a folder and what macOS adds", zipped(t, plain, "run/", "run/run.pickle", "__MACOSX/run/._run.pickle"), ""},
		{"gzip cut short", packed[:len(packed)-12], "gzip file is damaged or cut short"},
		{"gzip of something else", gzipped(t, "no pickle"), "pickle"},
		{"gzip within gzip", gzipped(t, string(packed)), "compressed"},
		{"zip cut short", archive[:len(archive)-30], "damaged zip archive"},
		{"empty zip", zipped(t, plain, "run/"), "holds 0 files"},
		{"torch.save", zipped(t, plain, "archive/data.pkl", "archive/version"), "not torch.save"},
		{"two in a zip", zipped(t, plain, "a.pickle", "b.pickle"), "holds 2 files"},
		{"encrypted zip", encrypted, "encrypted"},
	} {
		snap, err := torchmem.Read(bytes.NewReader(c.data), torchmem.Options{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && (len(snap.Segments) != 1 || snap.Segments[0].Size != 4<<20):
			t.Errorf("%s: %+v", c.name, snap.Segments)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := torchmem.Read(io.MultiReader(bytes.NewReader(archive)), torchmem.Options{}); err == nil || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("zip through a pipe: %v", err)
	}
	if snap, err := torchmem.Read(io.MultiReader(bytes.NewReader(packed)), torchmem.Options{}); err != nil || len(snap.Segments) != 1 {
		t.Errorf("gzip through a pipe: %v", err)
	}
}
