package pickle

// A shelf holds the lists of a pickle, or its dicts. Most are empty, or become an object soon: their slots are reused.
type shelf[T any] struct {
	state []Value // of each: zero while empty, its slot, or the object that it became
	slots []T
	free  []int
}

// add makes an empty one and returns its number.
func (s *shelf[T]) add() int {
	s.state = append(s.state, 0)
	return len(s.state) - 1
}

// slot is the contents of number i; nil where it is empty or became an object.
func (s *shelf[T]) slot(i int) *T {
	if v := s.state[i]; v.tag() == tagSlot {
		return &s.slots[v.n()]
	}
	return nil
}

// open is the contents of number i, to be added to; nil where it became an object.
func (s *shelf[T]) open(i int) *T {
	if s.state[i] == 0 {
		if k := len(s.free); k > 0 {
			s.state[i] = mk(tagSlot, s.free[k-1])
			s.free = s.free[:k-1]
		} else {
			var empty T
			s.slots = append(s.slots, empty)
			s.state[i] = mk(tagSlot, len(s.slots)-1)
		}
	}
	return s.slot(i)
}

// become makes an object of number i, whose slot has been emptied.
func (s *shelf[T]) become(i int, v Value) {
	s.free = append(s.free, s.state[i].n())
	s.state[i] = v
}

// A List is the contents of a list or tuple: a range of objects while their numbers come one after another, else values.
type List struct {
	values []Value
	first  Value
	n      int // of the range; 0 when values hold the content
}

// Len is the number of items.
func (l *List) Len() int { return max(l.n, len(l.values)) }

// At is item i, counted from 0.
func (l *List) At(i int) Value {
	if l.n > 0 {
		return l.first + Value(i)
	}
	return l.values[i]
}

// Run is the first of the items where they are objects of one kind with numbers one after another; ok is false where they
// are not known to be.
func (l *List) Run() (first Value, ok bool) { return l.first, l.n > 0 }

// add appends a value.
func (l *List) add(v Value) {
	switch {
	case l.n > 0 && v == l.first+Value(l.n):
		l.n++
		return
	case l.n == 0 && len(l.values) == 0 && v.tag() >= tagObject:
		l.first, l.n = v, 1
		return
	}
	for i := range l.n {
		l.values = append(l.values, l.first+Value(i))
	}
	l.n = 0
	l.values = append(l.values, v)
}

// List is the contents of a list or tuple; ok is false for anything else, and for one that was replaced.
func (m *Machine) List(v Value) (l List, ok bool) {
	if v.tag() != tagList {
		return List{}, false
	}
	if slot := m.lists.slot(v.n()); slot != nil {
		return *slot, true
	}
	return List{}, m.lists.state[v.n()] == 0
}

// Replace puts an object in the place of a list that is not empty, wherever else the list is named.
func (m *Machine) Replace(list, object Value) {
	slot := m.lists.slot(list.n())
	slot.values, slot.n = slot.values[:0], 0
	m.lists.become(list.n(), object)
}

// Replaced is the object that a list was replaced by; the zero Value where there is none.
func (m *Machine) Replaced(list Value) Value {
	if list.tag() != tagList {
		return 0
	}
	if v := m.lists.state[list.n()]; v.tag() >= tagObject {
		return v
	}
	return 0
}

// fill adds items to a list.
func (m *Machine) fill(list Value, items []Value) error {
	switch {
	case list.tag() == tagOpaque: // a set
		return nil
	case list.tag() != tagList:
		return m.Errorf("items for a list, but there is none: damaged")
	case len(items) == 0:
		return nil
	}
	slot := m.lists.open(list.n())
	if slot == nil {
		return m.Errorf("a list changes after it was used: damaged")
	}
	before := cap(slot.values)
	for _, v := range items {
		v, err := m.settle(v)
		if err != nil {
			return err
		}
		slot.add(v)
	}
	m.refs += int64(cap(slot.values) - before)
	return nil
}

// extend adds items, which lie above it, to the list on top of the stack.
func (m *Machine) extend(items []Value) error {
	list, err := m.top()
	if err != nil {
		return err
	}
	return m.fill(list, items)
}

// pushList pushes a new list.
func (m *Machine) pushList(items []Value) error {
	list := mk(tagList, m.lists.add())
	err := m.fill(list, items)
	m.push(list)
	return err
}

func (m *Machine) emptyList() error { return m.pushList(nil) }
