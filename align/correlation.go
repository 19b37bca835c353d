package align

// A corrMap holds, for the correlation ids of one process, a small number each. Ids come mostly in rising order and
// neighbours mostly have the same number, so pages that were left behind are kept as runs: a hundred million ids take
// a few tens of megabytes.
type corrMap struct {
	pages map[int64]*corrPage
	last  *corrPage
	lastN int64
	dense []*corrPage // pages not yet packed, oldest first
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
		p.unpack()
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
			return 0, false
		}
		m.last, m.lastN = p, n
	}
	i := id & (corrSize - 1)
	if p.present[i>>6]>>(i&63)&1 == 0 {
		return 0, false
	}
	if p.vals != nil {
		return p.vals[i], true
	}
	lo, hi := 0, len(p.from)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if int64(p.from[mid]) <= i {
			lo = mid
		} else {
			hi = mid
		}
	}
	return p.runs[lo], true
}

// reader returns a view for one goroutine: lookups remember the last page, so that a map must not be shared.
func (m *corrMap) reader() *corrMap { return &corrMap{pages: m.pages} }

func (m *corrMap) page(n int64) *corrPage {
	if m.pages == nil {
		m.pages = make(map[int64]*corrPage)
	}
	p := m.pages[n]
	if p == nil {
		p = &corrPage{vals: make([]int32, corrSize)}
		m.pages[n] = p
		m.keep(p)
	}
	m.last, m.lastN = p, n
	return p
}

func (m *corrMap) keep(p *corrPage) {
	m.dense = append(m.dense, p)
	if len(m.dense) > corrDense {
		m.dense[0].pack()
		m.dense = append(m.dense[:0], m.dense[1:]...)
	}
}

// pack turns the page into runs where that is smaller. Ids that are not present take their neighbour's number.
func (p *corrPage) pack() {
	if p.vals == nil {
		return
	}
	var from []uint16
	var runs []int32
	for i := range p.vals {
		if p.present[i>>6]>>(i&63)&1 == 0 {
			continue
		}
		if v := p.vals[i]; len(runs) == 0 || runs[len(runs)-1] != v {
			from, runs = append(from, uint16(i)), append(runs, v)
		}
	}
	if len(runs) > corrSize/4 {
		return
	}
	p.from, p.runs = append([]uint16(nil), from...), append([]int32(nil), runs...)
	p.vals = nil
}

func (p *corrPage) unpack() {
	p.vals = make([]int32, corrSize)
	for k := range p.runs {
		to := corrSize
		if k+1 < len(p.from) {
			to = int(p.from[k+1])
		}
		for i := int(p.from[k]); i < to; i++ {
			p.vals[i] = p.runs[k]
		}
	}
	p.from, p.runs = nil, nil
}
