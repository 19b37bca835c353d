package torchmem_test

import (
	"bytes"
	"io"
	"testing"

	"nsysmem/torchmem"
)

// BenchmarkRead reads a snapshot of 200,000 entries with call stacks.
func BenchmarkRead(b *testing.B) {
	file, err := io.ReadAll(newSynthetic(200_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := torchmem.Read(bytes.NewReader(file), torchmem.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay replays it.
func BenchmarkReplay(b *testing.B) {
	s, err := torchmem.Read(newSynthetic(200_000), torchmem.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Replay(0); err != nil {
			b.Fatal(err)
		}
	}
}
