package pickle

// A memo is what the pickle stored under numbers: mostly 0, 1, 2 and so on, in pieces that never move.
type memo struct {
	chunks [][]Value
	far    map[uint32]Value // numbers far beyond the filled part, which the file may merely claim
	n      int              // values stored, for MEMOIZE
}

const (
	memoChunk = 1 << 13 // values of a piece
	memoFar   = 1 << 16 // how far beyond the pieces a number may lie to get one
)

// bytes is about what the memo takes up; 40 is what an entry of a map takes.
func (m *memo) bytes() int64 { return int64(len(m.chunks))*memoChunk*8 + int64(len(m.far))*40 }

func (m *memo) set(i uint32, v Value) {
	if m.get(i) == 0 {
		m.n++
	}
	c := int(i / memoChunk)
	if int(i) >= len(m.chunks)*memoChunk+memoFar {
		if m.far == nil {
			m.far = make(map[uint32]Value)
		}
		m.far[i] = v
		return
	}
	for len(m.chunks) <= c {
		m.chunks = append(m.chunks, make([]Value, memoChunk))
	}
	m.chunks[c][i%memoChunk] = v
}

// get is the value stored under a number; zero where there is none.
func (m *memo) get(i uint32) Value {
	if c := int(i / memoChunk); c < len(m.chunks) {
		if v := m.chunks[c][i%memoChunk]; v != 0 {
			return v
		}
	}
	if m.far == nil {
		return 0
	}
	return m.far[i]
}
