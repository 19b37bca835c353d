package pickle

// dict is the contents of a dict.
type dict struct {
	pairs []Value // keys and values in turn
	has   uint64  // which of the known keys, so that a dict of other things is not searched each time it is taken
}

// Fields are the known keys of a dict in hand, with their values.
type Fields struct {
	has    uint64
	values [64]Value
}

// Has says that the dict has the key.
func (f *Fields) Has(key int) bool { return f.has&(1<<key) != 0 }

// Get is the value of the key; the zero Value where the dict does not have it.
func (f *Fields) Get(key int) Value {
	if f.Has(key) {
		return f.values[key]
	}
	return 0
}

// Pairs are the keys and values in turn of a dict that no shape fits, valid until the machine runs on; nil for anything
// else.
func (m *Machine) Pairs(v Value) []Value {
	if v.tag() != tagDict {
		return nil
	}
	if slot := m.dicts.slot(v.n()); slot != nil {
		return slot.pairs
	}
	return nil
}

// Lookup is what a dict that no shape fits has under a key; the zero Value for nothing. Of one with more keys than anyone
// writes only the first count: a file may name it many times.
func (m *Machine) Lookup(v Value, key string) Value {
	p := m.Pairs(v)
	p = p[:min(len(p), 2*maxSearch)]
	for i := 0; i < len(p); i += 2 {
		if p[i].tag() == tagText && m.texts[p[i].n()] == key {
			return p[i+1]
		}
	}
	return 0
}

// settle turns a dict that something takes into what it is. Other values stay as they are.
func (m *Machine) settle(v Value) (Value, error) {
	if v.tag() != tagDict {
		return v, nil
	}
	slot := m.dicts.slot(v.n())
	if slot == nil {
		if became := m.dicts.state[v.n()]; became != 0 {
			return became, nil
		}
		return v, nil
	}
	for i := range m.opt.Shapes {
		s := &m.opt.Shapes[i]
		if slot.has&s.Keys != s.Keys {
			continue
		}
		out, err := s.Build(m.fieldsOf(slot))
		if err != nil {
			return 0, err
		}
		*slot = dict{pairs: slot.pairs[:0]}
		m.dicts.become(v.n(), out)
		return out, nil
	}
	return v, nil
}

func (m *Machine) fieldsOf(d *dict) *Fields {
	f := &m.fields
	f.has = d.has
	for i := 0; i < len(d.pairs); i += 2 {
		if k := m.keyNo(d.pairs[i]); k >= 0 {
			f.values[k] = d.pairs[i+1]
		}
	}
	return f
}

// keyNo is the number of a known key; -1 for anything else.
func (m *Machine) keyNo(v Value) int {
	if n := v.n(); v.tag() == tagText && n < len(m.opt.Keys) {
		return n
	}
	return -1
}

// fillDict adds keys and values, in turn, to a dict.
func (m *Machine) fillDict(d Value, items []Value) error {
	switch {
	case len(items)%2 != 0:
		return m.Errorf("a dict has a key without a value: damaged")
	case d.tag() != tagDict:
		return m.Errorf("items for a dict, but there is none: damaged")
	case len(items) == 0:
		return nil
	}
	slot := m.dicts.open(d.n())
	if slot == nil {
		return m.Errorf("a dict changes after it was used: damaged")
	}
	before := cap(slot.pairs)
	for i := 0; i < len(items); i += 2 {
		v, err := m.settle(items[i+1])
		if err != nil {
			return err
		}
		if k := m.keyNo(items[i]); k >= 0 {
			slot.has |= 1 << k
		}
		slot.pairs = append(slot.pairs, items[i], v)
	}
	m.refs += int64(cap(slot.pairs) - before)
	return nil
}

// set adds keys and values, which lie above it, to the dict on top of the stack.
func (m *Machine) set(items []Value) error {
	d, err := m.top()
	if err != nil {
		return err
	}
	return m.fillDict(d, items)
}

// pushDict pushes a new dict.
func (m *Machine) pushDict(items []Value) error {
	d := mk(tagDict, m.dicts.add())
	err := m.fillDict(d, items)
	m.push(d)
	return err
}

func (m *Machine) emptyDict() error { return m.pushDict(nil) }
