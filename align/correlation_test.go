package align

import (
	"math/rand"
	"testing"
)

// TestCorrMap compares the map with a plain one over ids that rise, jump between pages, come twice and come back to
// pages that were packed meanwhile.
func TestCorrMap(t *testing.T) {
	t.Parallel()
	shapes := map[string]func(r *rand.Rand, i int) int64{
		"rising":   func(_ *rand.Rand, i int) int64 { return int64(i + 1) },
		"gaps":     func(r *rand.Rand, i int) int64 { return int64(i)*7 + int64(r.Intn(7)) + 1 },
		"anywhere": func(r *rand.Rand, _ int) int64 { return r.Int63n(40*corrSize) + 1 },
		"pages":    func(r *rand.Rand, _ int) int64 { return r.Int63n(60)*corrSize + r.Int63n(3)*(corrSize/2-1) + 1 },
		"far":      func(r *rand.Rand, _ int) int64 { return r.Int63n(1<<62) + 1 },
		"falling":  func(_ *rand.Rand, i int) int64 { return int64(27*corrSize - i) },
	}
	values := map[string]func(r *rand.Rand, i int) int32{
		"runs":    func(_ *rand.Rand, i int) int32 { return int32(i / 900) },
		"one":     func(*rand.Rand, int) int32 { return 7 },
		"numbers": func(r *rand.Rand, _ int) int32 { return r.Int31() - 1<<30 },
	}
	for shape, id := range shapes {
		for value, val := range values {
			t.Run(shape+" "+value, func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewSource(int64(len(shape) * len(value))))
				n := 400_000
				switch shape {
				case "far", "anywhere", "pages":
					n = 3000 // nearly each id packs a page and unpacks another
				case "gaps":
					n = 60_000
				}
				var m corrMap
				plain := make(map[int64]int32)
				var ids []int64
				check := func(m *corrMap, k int64) {
					t.Helper()
					got, ok := m.get(k)
					if want, in := plain[k]; ok != in || got != want {
						t.Fatalf("get(%d) = %d, %v, want %d, %v", k, got, ok, want, in)
					}
				}
				for i := range n {
					k, v := id(r, i), val(r, i)
					if r.Intn(50) == 0 && len(ids) > 0 { // an id that was there before keeps its number
						k = ids[r.Intn(len(ids))]
					}
					if _, in := plain[k]; !in {
						plain[k] = v
					}
					m.set(k, v)
					ids = append(ids, k)
					if i%97 == 0 {
						check(&m, ids[r.Intn(len(ids))])
						check(&m, id(r, r.Intn(n)))
					}
				}
				if len(m.pages) <= 20 {
					t.Fatalf("%d pages, want over 20", len(m.pages))
				}
				a, b := m.reader(), m.reader()
				for k := range plain {
					if k%3 > 0 && shape == "rising" {
						continue
					}
					check(a, k)
					check(b, k+1)
					check(a, k-1)
				}
			})
		}
	}
}

// TestCorrMapPacks makes sure that pages left behind with few runs do not keep a value for each id.
func TestCorrMapPacks(t *testing.T) {
	t.Parallel()
	var m corrMap
	for k := int64(1); k < 40*corrSize; k++ {
		m.set(k, int32(k/5000))
	}
	dense := 0
	for _, p := range m.pages {
		if p.vals != nil {
			dense++
		}
	}
	if dense > corrDense+1 {
		t.Errorf("%d of %d pages stay unpacked, want at most %d", dense, len(m.pages), corrDense+1)
	}
}
