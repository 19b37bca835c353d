package category

import (
	"cmp"
	"slices"
	"sort"

	"nsysmem/torchmem"
)

// A change is a birth or a death. Deaths come first at one time: memory that is handed on is not two blocks.
type change struct {
	at    int64 // ns
	bytes int64 // negative for a death
	kind  Kind
}

func sortChanges(all []change) {
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.bytes, b.bytes)) })
}

// counts says how many blocks of one size are live from each time on.
type counts struct {
	at    []int64 // ns, rising
	live  []int   // from at on
	later []int   // the highest of live from here to the end
}

// most is the highest count in [from, to]; to may be Never, the end.
func (n *counts) most(from, to int64) int {
	if n == nil {
		return 0
	}
	i := max(sort.Search(len(n.at), func(i int) bool { return n.at[i] > from })-1, 0)
	if to == torchmem.Never {
		return n.later[i]
	}
	most := 0
	for ; i < len(n.at) && n.at[i] <= to; i++ {
		most = max(most, n.live[i])
	}
	return most
}

// countsOf are the counts of the blocks of a kind, by size.
func (s *sorter) countsOf(kind Kind) map[int64]*counts {
	bySize := map[int64][]change{}
	for _, i := range s.all(kind) {
		b := &s.lives[i]
		bySize[b.Bytes] = append(bySize[b.Bytes], change{at: b.From, bytes: 1})
		if b.To != torchmem.Never {
			bySize[b.Bytes] = append(bySize[b.Bytes], change{at: b.To, bytes: -1})
		}
	}
	out := map[int64]*counts{}
	for size, all := range bySize {
		out[size] = count(all)
	}
	return out
}

// count adds up changes of one block each.
func count(all []change) *counts {
	sortChanges(all)
	n := &counts{}
	live := 0
	for _, x := range all {
		live += int(x.bytes)
		n.at = append(n.at, x.at)
		n.live = append(n.live, live)
	}
	n.later = slices.Clone(n.live)
	for i := len(n.later) - 2; i >= 0; i-- {
		n.later[i] = max(n.later[i], n.later[i+1])
	}
	return n
}

// Max is the highest sum of bytes of each kind in [from, to), ns: each kind at its own time. told is of lives.
func Max(lives []Life, told []Told, from, to int64) [NumKinds]int64 {
	var now [NumKinds]int64
	var all []change
	for i := range lives {
		b := &lives[i]
		born, died := b.From != torchmem.Never, b.To != torchmem.Never
		if died && b.To <= from || born && b.From >= to {
			continue
		}
		if born && b.From >= from {
			all = append(all, change{b.From, b.Bytes, told[i].Kind})
		} else {
			now[told[i].Kind] += b.Bytes
		}
		if died && b.To < to {
			all = append(all, change{b.To, -b.Bytes, told[i].Kind})
		}
	}
	sortChanges(all)
	most := now
	for _, x := range all {
		now[x.kind] += x.bytes
		most[x.kind] = max(most[x.kind], now[x.kind])
	}
	return most
}

// At is the sum of bytes of each kind that is live just after time t, ns.
func At(lives []Life, told []Told, t int64) [NumKinds]int64 {
	var sum [NumKinds]int64
	for i := range lives {
		b := &lives[i]
		if (b.From == torchmem.Never || b.From <= t) && (b.To == torchmem.Never || b.To > t) {
			sum[told[i].Kind] += b.Bytes
		}
	}
	return sum
}
