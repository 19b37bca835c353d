package align

import (
	"math/bits"
	"slices"
)

// A corrMap holds, for the correlation ids of one process, a small number each. Ids come mostly in rising order and
// neighbours mostly have the same number, so pages that were left behind are kept as runs: a hundred million ids take
// a few tens of megabytes.
type corrMap struct {
	pages map[int64]*corrPage
	last  *corrPage
	lastN int64
	none  *corrPage   // in a view, what stands for a page that is not there; nil where ids may be set
	dense []*corrPage // pages not yet packed, oldest first
	spare [][]int32   // of pages that were packed, for new ones
	from  []uint16    // scratch of pack
	runs  []int32     // likewise

	// The run of the last page that was asked for last: neighbours are asked for one after the other.
	first, end int64
	value      int32
}

const (
	corrBits  = 14 // ids a page, as a power of two
	corrSize  = 1 << corrBits
	corrDense = 8 // pages that stay unpacked
)

type corrPage struct {
	present [corrSize / 64]uint64
	vals    []int32 // corrSize values; nil when packed
	from    []uint16
	runs    []int32
}

// set gives an id its number, unless it has one.
func (m *corrMap) set(id int64, v int32) {
	n := id >> corrBits
	p := m.last
	if p == nil || m.lastN != n {
		p = m.page(n)
	}
	i := id & (corrSize - 1)
	if p.present[i>>6]>>(i&63)&1 == 1 {
		return
	}
	if p.vals == nil {
		p.unpack(m.values())
		m.keep(p)
	}
	p.present[i>>6] |= 1 << (i & 63)
	p.vals[i] = v
}

// get returns the number of an id.
func (m *corrMap) get(id int64) (int32, bool) {
	n := id >> corrBits
	p := m.last
	if p == nil || m.lastN != n {
		if p = m.pages[n]; p == nil {
			if p = m.none; p == nil {
				return 0, false
			}
		}
		m.last, m.lastN, m.end = p, n, 0
	}
	i := id & (corrSize - 1)
	if p.present[i>>6]>>(i&63)&1 == 0 {
		return 0, false
	}
	if p.vals != nil {
		return p.vals[i], true
	}
	if i >= m.first && i < m.end {
		return m.value, true
	}
	next, _ := slices.BinarySearch(p.from, uint16(i+1))
	m.first, m.end, m.value = int64(p.from[next-1]), corrSize, p.runs[next-1]
	if next < len(p.from) {
		m.end = int64(p.from[next])
	}
	return m.value, true
}

// reader returns a view for one goroutine: lookups remember the last page, so that a map must not be shared.
func (m *corrMap) reader() *corrMap { return &corrMap{pages: m.pages, none: &corrPage{}} }

func (m *corrMap) page(n int64) *corrPage {
	if m.pages == nil {
		m.pages = make(map[int64]*corrPage)
	}
	p := m.pages[n]
	if p == nil {
		p = &corrPage{vals: m.values()}
		m.pages[n] = p
		m.keep(p)
	}
	m.last, m.lastN, m.end = p, n, 0
	return p
}

// values are corrSize numbers, of any value: only those of present ids are ever read.
func (m *corrMap) values() []int32 {
	if n := len(m.spare); n > 0 {
		v := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return v
	}
	return make([]int32, corrSize)
}

func (m *corrMap) keep(p *corrPage) {
	m.dense = append(m.dense, p)
	if len(m.dense) > corrDense {
		m.pack(m.dense[0])
		m.dense = append(m.dense[:0], m.dense[1:]...)
	}
}

// pack turns a page into runs where that is smaller. Ids that are not present take their neighbour's number.
func (m *corrMap) pack(p *corrPage) {
	m.end = 0
	if p.vals == nil {
		return
	}
	from, runs := m.from[:0], m.runs[:0]
	for w, set := range p.present {
		for ; set != 0; set &= set - 1 {
			i := w<<6 | bits.TrailingZeros64(set)
			if v := p.vals[i]; len(runs) == 0 || runs[len(runs)-1] != v {
				from, runs = append(from, uint16(i)), append(runs, v)
			}
		}
	}
	m.from, m.runs = from, runs
	if len(runs) > corrSize/4 {
		return
	}
	p.from, p.runs = slices.Clone(from), slices.Clone(runs)
	m.spare = append(m.spare, p.vals)
	p.vals = nil
}

// finish packs what is left and gives back what only set needs.
func (m *corrMap) finish() {
	for _, p := range m.dense {
		m.pack(p)
	}
	m.dense, m.spare, m.from, m.runs = nil, nil, nil, nil
}

// unpack writes a page's runs to vals.
func (p *corrPage) unpack(vals []int32) {
	for k := range p.runs {
		to := corrSize
		if k+1 < len(p.from) {
			to = int(p.from[k+1])
		}
		for i := int(p.from[k]); i < to; i++ {
			vals[i] = p.runs[k]
		}
	}
	p.vals, p.from, p.runs = vals, nil, nil
}
