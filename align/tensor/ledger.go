package tensor

// A ledger keeps one sum for each key, in the order in which the keys came. The zero value is empty.
type ledger[K comparable, V any] struct {
	place map[K]int
	sums  []V
}

// at is the sum of a key, to be added to; that of a new key is first. It is valid until the next call.
func (l *ledger[K, V]) at(key K, first V) *V {
	i, ok := l.place[key]
	if !ok {
		if l.place == nil {
			l.place = make(map[K]int)
		}
		i = len(l.sums)
		l.place[key] = i
		l.sums = append(l.sums, first)
	}
	return &l.sums[i]
}
