package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

// Where a block was born, in the order in which they stack up.
const (
	beforeRecording = iota
	inRange         // outside iterations
	inIteration
	nowhere
)

// Colours of births that are neither in a phase nor in a range.
var (
	beforeColor  = color.RGBA{0xD0, 0xD0, 0xC8, 0xFF}
	nowhereColor = color.RGBA{0x7A, 0x7A, 0x7A, 0xFF}
	othersColor  = color.RGBA{0xC8, 0xC8, 0xC8, 0xFF}
)

// A birth is where blocks were born.
type birth struct {
	group int // one of the constants above
	name  string
}

// birthOf is where a block was born: the top-level phase, or the range outside iterations.
func birthOf(b *tensor.Block, p *palette) birth {
	switch {
	case b.Start == align.Never:
		return birth{beforeRecording, "live before recording"}
	case b.Iteration >= 0:
		return birth{inIteration, cmp.Or(p.top[b.Phase], align.OtherPhase)}
	case b.Phase != "":
		return birth{inRange, b.Phase}
	}
	return birth{nowhere, "outside ranges"}
}

// layerColor is that of a birth's layer.
func (b birth) layerColor(p *palette) color.RGBA {
	switch b.group {
	case beforeRecording:
		return beforeColor
	case inRange:
		if c, ok := p.ranges[b.name]; ok {
			return c
		}
		return other
	case inIteration:
		return p.color(b.name)
	}
	return nowhereColor
}

// maxLayers is how many births are told apart in a stack.
const maxLayers = 12

// byPhase gives each block the layer of where it was born.
//
//  1. Each birth gets the area of its blocks from from to to: bytes times time.
//  2. Those with the largest areas have layers of their own, in the order in which they stack up.
//  3. All others share the uppermost layer.
func (s *stack) byPhase(ten *tensor.Memory, p *palette, from, to int64) {
	ids := map[birth]int{}
	var births []birth
	var area []float64
	of := make([]int, len(ten.Blocks))
	for i := range ten.Blocks {
		b := &ten.Blocks[i]
		at := birthOf(b, p)
		id, ok := ids[at]
		if !ok {
			id = len(births)
			ids[at] = id
			births, area = append(births, at), append(area, 0)
		}
		of[i] = id
		end := to
		if b.End != align.Never {
			end = min(to, b.End)
		}
		area[id] += float64(b.Counted) * float64(max(end-max(b.Start, from), 0))
	}
	kept := largest(births, area, p)
	key := slices.Repeat([]uint8{uint8(len(kept))}, len(births))
	for k, id := range kept {
		key[id] = uint8(k)
		s.layers = append(s.layers, layer{clean(births[id].name), births[id].layerColor(p)})
	}
	if left := len(births) - len(kept); left > 0 {
		s.layers = append(s.layers, layer{fmt.Sprintf("%d others", left), othersColor})
	}
	for i, id := range of {
		s.blocks[i].layer = key[id]
	}
}

// largest are the births with the largest areas, in the order in which they stack up: by group, phases in their own order.
func largest(births []birth, area []float64, p *palette) []int {
	ids := make([]int, len(births))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(area[b], area[a]) })
	ids = ids[:min(len(ids), maxLayers)]
	rank := map[birth]int{} // 0 for all but phases
	for i, path := range p.order {
		rank[birth{inIteration, path}] = i
	}
	slices.SortFunc(ids, func(a, b int) int {
		x, y := births[a], births[b]
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(rank[x], rank[y]), cmp.Compare(a, b))
	})
	return ids
}
