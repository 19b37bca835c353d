package align

import (
	"math/rand"
	"testing"
)

// TestLiveTable compares the table with a plain map while blocks come and go, at addresses that lie close together, far
// apart, and where searches run into each other.
func TestLiveTable(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(r *rand.Rand) int64{
		"aligned": func(r *rand.Rand) int64 { return 0x7f0000000000 + r.Int63n(700)<<21 },
		"dense":   func(r *rand.Rand) int64 { return r.Int63n(900) },
		"any":     func(r *rand.Rand) int64 { return int64(r.Uint64()) >> r.Intn(64) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			var table liveTable[liveBlock]
			plain := make(map[int64]liveBlock)
			for i := range 100_000 {
				a := address(r)
				_, in := plain[a]
				switch {
				case r.Intn(100) < 52:
					b := liveBlock{start: int64(i), bytes: r.Int63()}
					table.put(a, b)
					plain[a] = b
				case in:
					table.remove(a)
					delete(plain, a)
				}
				probe := address(r)
				got := table.get(probe)
				want, in := plain[probe]
				if (got != nil) != in || in && *got != want {
					t.Fatalf("after %d steps: get(%#x) = %v, want %v, %v", i+1, probe, got, want, in)
				}
			}
			n := 0
			table.all(func(a int64, b *liveBlock) {
				n++
				if *b != plain[a] {
					t.Errorf("all gives %+v at %#x, want %+v", *b, a, plain[a])
				}
			})
			if n != len(plain) || n != table.n || n == 0 {
				t.Errorf("all gives %d blocks, the table counts %d, want %d", n, table.n, len(plain))
			}
		})
	}
}
