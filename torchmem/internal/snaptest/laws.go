package snaptest

import (
	"testing"

	"nsysmem/torchmem"
)

// CheckMap tells when blocks do not cover their segments without gaps.
func CheckMap(t testing.TB, m []torchmem.MapSegment) {
	t.Helper()
	end := uint64(0)
	for i, g := range m {
		if i > 0 && g.Addr < end {
			t.Errorf("segment %#x begins within the one before", g.Addr)
		}
		at := g.Addr
		for k, b := range g.Blocks {
			if b.Addr != at || b.Size <= 0 {
				t.Errorf("segment %#x: block %d at %#x of %d bytes, expected at %#x", g.Addr, k, b.Addr, b.Size, at)
				return
			}
			at += uint64(b.Size)
		}
		if at != g.Addr+uint64(g.Size) {
			t.Errorf("segment %#x: blocks end at %#x, the segment at %#x", g.Addr, at, g.Addr+uint64(g.Size))
		}
		end = at
	}
}
