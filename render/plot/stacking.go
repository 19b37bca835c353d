package plot

import (
	"image/color"
	"math"

	"nsysmem/align"
)

// Colours of the categories, the same in every picture: from Paul Tol's muted scheme and, for the rarer ones, his light and
// medium-contrast ones, which readers with the common colour-vision deficiencies can tell apart; none of them is that of a
// well-known phase.
var categoryColors = map[string]color.RGBA{
	"parameter":       {0x33, 0x22, 0x88, 0xFF},
	"optimizer state": {0x44, 0xAA, 0x99, 0xFF},
	"gradient":        {0x88, 0x22, 0x55, 0xFF},
	"activation":      {0x88, 0xCC, 0xEE, 0xFF},
	"input":           {0xDD, 0xCC, 0x77, 0xFF},
	"autograd detail": {0xAA, 0x44, 0x99, 0xFF},
	"temporary":       {0x99, 0x99, 0x33, 0xFF},
	"weight copy":     {0x66, 0x99, 0xCC, 0xFF},
	"communication":   {0xEE, 0x88, 0x66, 0xFF},
	"workspace":       {0x7D, 0x78, 0x68, 0xFF},
	"graph pool":      {0xBB, 0xCC, 0x33, 0xFF},
	"unknown":         {0xB4, 0xB4, 0xB4, 0xFF},
}

// stackOrder puts what stays below what comes and goes, and what theory tells below all else.
var stackOrder = []string{"parameter", "optimizer state", "gradient", "weight copy", "workspace", "graph pool", "unknown", "communication",
	"activation", "input", "autograd detail", "temporary"}

// kindColors are those of the driver's memory kinds; others get what is left.
var kindColors = map[string]color.RGBA{
	"device": {0x88, 0xCC, 0xEE, 0xFF}, "device static": {0x33, 0x22, 0x88, 0xFF}, "array": {0xDD, 0xCC, 0x77, 0xFF},
}

// newStack is what a picture stacks; nil for nothing.
func newStack(track *align.Track, p *palette, v *view) *stack {
	ten := track.Tensors
	switch {
	case v.stack == "kind":
		return stackOfKinds(track)
	case ten == nil || !v.stacksTensors():
		return nil
	}
	s := &stack{blocks: make([]stackBlock, len(ten.Blocks))}
	for i := range ten.Blocks {
		b := &ten.Blocks[i]
		s.blocks[i] = stackBlock{bytes: b.Counted, start: b.Start, end: b.End}
	}
	if ten.Replay != nil && len(ten.Replay.Blocks) == len(ten.Blocks) {
		s.byTrace(ten)
	} else {
		s.byTime()
	}
	if v.stack == "phase" {
		s.byPhase(ten, p, v.from, v.to)
	} else {
		s.byName(stackOrder, func(i int) string { return ten.Blocks[i].Category }, categoryColors)
	}
	return s
}

// stackOfKinds stacks the driver's blocks by their kind of memory.
func stackOfKinds(track *align.Track) *stack {
	s := &stack{}
	var kinds []string
	for i := range track.Blocks {
		if b := &track.Blocks[i]; b.Kind == align.LevelDevice {
			s.blocks = append(s.blocks, stackBlock{bytes: b.Bytes, start: b.Start, end: b.End})
			kinds = append(kinds, b.MemKind)
		}
	}
	s.byTime()
	s.byName([]string{"device static", "device", "array"}, func(i int) string { return kinds[i] }, kindColors)
	return s
}

// byName gives each block the layer of its name: those of order first, others as they come.
func (s *stack) byName(order []string, name func(i int) string, colors map[string]color.RGBA) {
	index := map[string]uint8{}
	left := picker{used: map[color.RGBA]bool{}}
	add := func(name string) uint8 {
		if k, ok := index[name]; ok {
			return k
		}
		if len(s.layers) == math.MaxUint8 { // more kinds than there are
			return math.MaxUint8 - 1
		}
		c, ok := colors[name]
		if !ok {
			c = left.pick()
		}
		index[name] = uint8(len(s.layers))
		s.layers = append(s.layers, layer{name, c})
		return index[name]
	}
	for _, o := range order {
		add(o)
	}
	for i := range s.blocks {
		s.blocks[i].layer = add(name(i))
	}
}
