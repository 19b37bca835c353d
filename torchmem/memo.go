package torchmem

// A memo is what the pickle stored under numbers: mostly 0, 1, 2 and so on, in pieces that never move.
type memo struct {
	chunks [][]ref
	far    map[uint32]ref
	n      int // the pickle's own count of values stored, for MEMOIZE
}

const memoChunk = 1 << 13

func (m *memo) bytes() int64 { return int64(len(m.chunks))*memoChunk*8 + int64(len(m.far))*40 }

func (m *memo) set(i uint32, r ref) {
	c := int(i / memoChunk)
	if c >= len(m.chunks) && int(i) < len(m.chunks)*memoChunk+memoFar {
		for len(m.chunks) <= c {
			m.chunks = append(m.chunks, make([]ref, memoChunk))
		}
	}
	if c < len(m.chunks) {
		if m.chunks[c][i%memoChunk] == 0 {
			m.n++
		}
		m.chunks[c][i%memoChunk] = r
		return
	}
	if m.far == nil {
		m.far = map[uint32]ref{}
	}
	if _, ok := m.far[i]; !ok {
		m.n++
	}
	m.far[i] = r
}

func (m *memo) get(i uint32) ref {
	if c := int(i / memoChunk); c < len(m.chunks) {
		if r := m.chunks[c][i%memoChunk]; r != 0 {
			return r
		}
	}
	return m.far[i]
}
