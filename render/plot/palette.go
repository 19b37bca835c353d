package plot

import (
	"image/color"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/render/plot/internal/canvas"
)

// Colours of the levels and of what lies under them.
var (
	under  = color.RGBA{0xEF, 0xF1, 0xF3, 0xFF} // area under the device level
	stripA = color.RGBA{0xE6, 0xE6, 0xE6, 0xFF}
	stripB = color.RGBA{0xD2, 0xD2, 0xD2, 0xFF}
	failed = color.RGBA{0xC8, 0x00, 0x1E, 0xFF} // failed allocations; always with the shape of an x
	other  = color.RGBA{0xA8, 0xA8, 0xA8, 0xFF} // "(other)"
	card   = color.RGBA{0x8A, 0x1C, 0x4A, 0xFF} // the card's capacity
)

// wellKnown are the phases that nearly every training loop has. They look alike in every picture.
var wellKnown = map[string]color.RGBA{
	"data": canvas.Yellow, "dataloader": canvas.Yellow, "load": canvas.Yellow, "input": canvas.Yellow,
	"forward": canvas.Blue, "fwd": canvas.Blue,
	"backward": canvas.Orange, "bwd": canvas.Orange,
	"optimizer": canvas.Green, "optim": canvas.Green, "optimizer step": canvas.Green, "optimizer_step": canvas.Green,
}

// cycle is for all other phases, in order. The second half, from Paul Tol's muted scheme, stays distinct from the first.
var cycle = []color.RGBA{
	canvas.Purple, canvas.Sky, canvas.Vermillion, canvas.Blue, canvas.Orange, canvas.Green, canvas.Yellow,
	{0x33, 0x22, 0x88, 0xFF}, {0x88, 0x22, 0x55, 0xFF}, {0x44, 0xAA, 0x99, 0xFF}, {0x99, 0x99, 0x33, 0xFF},
	{0xAA, 0x44, 0x99, 0xFF}, {0x66, 0x11, 0x00, 0xFF},
}

// outside are the ranges outside iterations, such as model set-up, told apart from phases by having no hue.
var outside = []color.RGBA{{0x8C, 0x96, 0xA3, 0xFF}, {0xB4, 0xBC, 0xC6, 0xFF}, {0x6B, 0x74, 0x80, 0xFF},
	{0xA3, 0x9A, 0x8F, 0xFF}, {0xC8, 0xC0, 0xB6, 0xFF}}

// A picker hands out the colours of cycle.
type picker struct {
	next int
	used map[color.RGBA]bool
}

// pick takes the next colour that is not used, or the next at all when each is.
func (p *picker) pick() color.RGBA {
	for tried := 0; ; tried++ {
		c := cycle[p.next%len(cycle)]
		p.next++
		if !p.used[c] || tried == len(cycle) {
			p.used[c] = true
			return c
		}
	}
}

// A palette gives each phase path of a track its colour. It follows from the track alone, never from what part of it a
// picture shows, so that a phase looks alike in all pictures.
type palette struct {
	colors map[string]color.RGBA
	top    map[string]string // path → path of its top-level phase
	order  []string          // top-level paths, in order of first appearance, "(other)" last
	ranges map[string]color.RGBA
}

// newPalette picks the colours of the top-level phases, then those of nested ones, then those of ranges.
func newPalette(track *align.Track) *palette {
	p := &palette{colors: map[string]color.RGBA{}, top: map[string]string{}, ranges: map[string]color.RGBA{}}
	depth := map[string]int{}
	var outer, nested []string
	add := func(path string, d int) {
		if _, ok := depth[path]; ok {
			return
		}
		if depth[path] = d; d > 1 {
			nested = append(nested, path)
		} else {
			outer = append(outer, path)
		}
	}
	for i := range track.Phases {
		add(track.Phases[i].Path, track.Phases[i].Depth)
	}
	for i := range track.Iterations {
		for j := range track.Iterations[i].Phases {
			ph := &track.Iterations[i].Phases[j]
			add(ph.Path, ph.Depth)
		}
	}
	colors := picker{used: map[color.RGBA]bool{}}
	p.pickOuter(outer, &colors)
	p.pickNested(nested)
	p.pickRanges(track, &colors)
	return p
}

// pickOuter gives top-level phases their colours, well-known names first: no other phase may take theirs.
func (p *palette) pickOuter(paths []string, colors *picker) {
	for _, path := range paths {
		if c, ok := wellKnown[strings.ToLower(path)]; ok && !colors.used[c] {
			p.colors[path], colors.used[c] = c, true
		}
	}
	for _, path := range paths {
		if path == align.OtherPhase {
			continue
		}
		p.order = append(p.order, path)
		p.top[path] = path
		if _, ok := p.colors[path]; !ok {
			p.colors[path] = colors.pick()
		}
	}
	p.colors[align.OtherPhase] = other
	p.top[align.OtherPhase] = align.OtherPhase
	if slices.Contains(paths, align.OtherPhase) {
		p.order = append(p.order, align.OtherPhase)
	}
}

// Of a nested phase's colour, how much is white: the first sibling's, how much more the last one's, and that of an only
// child.
const (
	darkest  = 0.15
	lighter  = 0.6
	onlyTint = 0.3
)

// pickNested gives nested phases tints of their top-level phase. Siblings go from dark to light in order, so that a legend
// can be followed.
func (p *palette) pickNested(paths []string) {
	children, place := map[string]int{}, map[string]int{}
	for _, path := range paths {
		parent := p.parent(path)
		p.top[path] = p.top[parent]
		place[path] = children[parent]
		children[parent]++
	}
	for _, path := range paths {
		f := onlyTint
		if n := children[p.parent(path)]; n > 1 {
			f = darkest + lighter*float64(place[path])/float64(n-1)
		}
		p.colors[path] = canvas.Mix(p.color(p.top[path]), canvas.White, f)
	}
}

// pickRanges gives ranges outside iterations their colours. Without iterations the ranges are all there is to see.
func (p *palette) pickRanges(track *align.Track, colors *picker) {
	for i := range track.Ranges {
		name := track.Ranges[i].Name
		if _, ok := p.ranges[name]; ok {
			continue
		}
		if len(track.Iterations) > 0 {
			p.ranges[name] = outside[len(p.ranges)%len(outside)]
			continue
		}
		c, ok := wellKnown[strings.ToLower(name)]
		if !ok || colors.used[c] {
			c = colors.pick()
		}
		colors.used[c] = true
		p.ranges[name] = c
	}
}

// parent is the longest known path above path. Names may hold slashes themselves, so that the last one may not be it.
func (p *palette) parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			if _, ok := p.top[path[:i]]; ok {
				return path[:i]
			}
		}
	}
	return ""
}

// lastName is a phase's own name, without its parents'.
func (p *palette) lastName(path string) string {
	if parent := p.parent(path); parent != "" {
		return path[len(parent)+1:]
	}
	return path
}

// color is the colour of a phase path; grey where the track does not have it.
func (p *palette) color(path string) color.RGBA {
	if c, ok := p.colors[path]; ok {
		return c
	}
	return other
}
