package plot

import (
	"image/color"
	"strings"

	"nsysmem/align"
)

// Colours of the frame and of the levels. Series are told apart by dashes too, for those who see no colour at all.
var (
	white  = color.RGBA{0xFF, 0xFF, 0xFF, 0xFF}
	ink    = color.RGBA{0x22, 0x22, 0x22, 0xFF} // text and the device level
	faint  = color.RGBA{0x5C, 0x5C, 0x5C, 0xFF} // secondary text
	frame  = color.RGBA{0x9A, 0x9A, 0x9A, 0xFF}
	grid   = color.RGBA{0xE4, 0xE4, 0xE4, 0xFF}
	under  = color.RGBA{0xEF, 0xF1, 0xF3, 0xFF} // area under the device level
	stripA = color.RGBA{0xE6, 0xE6, 0xE6, 0xFF}
	stripB = color.RGBA{0xD2, 0xD2, 0xD2, 0xFF}
	failed = color.RGBA{0xC8, 0x00, 0x1E, 0xFF} // failed allocations; always with the shape of an x
	other  = color.RGBA{0xA8, 0xA8, 0xA8, 0xFF} // "(other)"
	card   = color.RGBA{0x8A, 0x1C, 0x4A, 0xFF} // the card's capacity
)

// Okabe and Ito's colours, which readers with any of the common colour-vision deficiencies can tell apart, less black.
var (
	orange     = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	sky        = color.RGBA{0x56, 0xB4, 0xE9, 0xFF}
	green      = color.RGBA{0x00, 0x9E, 0x73, 0xFF}
	yellow     = color.RGBA{0xE6, 0xD5, 0x2E, 0xFF}
	blue       = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	vermillion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	purple     = color.RGBA{0xCC, 0x79, 0xA7, 0xFF}
)

// wellKnown are the phases that nearly every training loop has. They look alike in every picture.
var wellKnown = map[string]color.RGBA{
	"data": yellow, "dataloader": yellow, "load": yellow, "input": yellow,
	"forward": blue, "fwd": blue,
	"backward": orange, "bwd": orange,
	"optimizer": green, "optim": green, "optimizer step": green, "optimizer_step": green,
}

// cycle is for all other phases, in order. The second half, from Paul Tol's muted scheme, stays distinct from the first.
var cycle = []color.RGBA{
	purple, sky, vermillion, blue, orange, green, yellow,
	{0x33, 0x22, 0x88, 0xFF}, {0x88, 0x22, 0x55, 0xFF}, {0x44, 0xAA, 0x99, 0xFF}, {0x99, 0x99, 0x33, 0xFF},
	{0xAA, 0x44, 0x99, 0xFF}, {0x66, 0x11, 0x00, 0xFF},
}

// outside are the ranges outside iterations, such as model set-up, told apart from phases by having no hue.
var outside = []color.RGBA{{0x8C, 0x96, 0xA3, 0xFF}, {0xB4, 0xBC, 0xC6, 0xFF}, {0x6B, 0x74, 0x80, 0xFF},
	{0xA3, 0x9A, 0x8F, 0xFF}, {0xC8, 0xC0, 0xB6, 0xFF}}

// palette gives each phase path of a track its colour. It follows from the track alone, never from what part of it a
// picture shows, so that a phase looks alike in all pictures.
type palette struct {
	colors map[string]color.RGBA
	top    map[string]string // path → path of its top-level phase
	order  []string          // top-level paths, in order of first appearance, "(other)" last
	ranges map[string]color.RGBA
}

func newPalette(track *align.Track) *palette {
	p := &palette{colors: map[string]color.RGBA{}, top: map[string]string{}, ranges: map[string]color.RGBA{}}
	depth := map[string]int{}
	var paths []string
	add := func(path string, d int) {
		if _, ok := depth[path]; !ok {
			depth[path] = d
			paths = append(paths, path)
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

	used := map[color.RGBA]bool{}
	for _, path := range paths { // well-known names first: no other phase may take their colour
		if c, ok := wellKnown[strings.ToLower(path)]; ok && depth[path] <= 1 && !used[c] {
			p.colors[path], used[c] = c, true
		}
	}
	next := 0
	for _, path := range paths {
		if depth[path] > 1 || path == align.OtherPhase {
			continue
		}
		p.order = append(p.order, path)
		p.top[path] = path
		if _, ok := p.colors[path]; !ok {
			p.colors[path] = pick(&next, used)
		}
	}
	p.colors[align.OtherPhase] = other
	p.top[align.OtherPhase] = align.OtherPhase
	if _, ok := depth[align.OtherPhase]; ok {
		p.order = append(p.order, align.OtherPhase)
	}

	children, place := map[string]int{}, map[string]int{}
	for _, path := range paths {
		if depth[path] <= 1 {
			continue
		}
		parent := p.parent(path)
		p.top[path] = p.top[parent]
		place[path] = children[parent]
		children[parent]++
	}
	for _, path := range paths {
		if depth[path] <= 1 {
			continue
		}
		// Siblings go from dark to light in order, so that a legend can be followed; all keep their top-level phase's hue.
		top, f := p.top[path], 0.3
		if n := children[p.parent(path)]; n > 1 {
			f = 0.15 + 0.6*float64(place[path])/float64(n-1)
		}
		base, ok := p.colors[top]
		if !ok {
			base = other
		}
		p.colors[path] = mix(base, white, f)
	}

	for i := range track.Ranges {
		name := track.Ranges[i].Name
		if _, ok := p.ranges[name]; ok {
			continue
		}
		if len(track.Iterations) > 0 {
			p.ranges[name] = outside[len(p.ranges)%len(outside)]
			continue
		}
		// Without iterations the ranges are all there is to see.
		c, ok := wellKnown[strings.ToLower(name)]
		if !ok || used[c] {
			c = pick(&next, used)
		}
		used[c] = true
		p.ranges[name] = c
	}
	return p
}

// pick takes the next colour that is not used, or the next at all when each is.
func pick(next *int, used map[color.RGBA]bool) color.RGBA {
	for range cycle {
		c := cycle[*next%len(cycle)]
		*next++
		if !used[c] {
			used[c] = true
			return c
		}
	}
	c := cycle[*next%len(cycle)]
	*next++
	return c
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

// color is the colour of a phase path; grey where the track does not have it.
func (p *palette) color(path string) color.RGBA {
	if c, ok := p.colors[path]; ok {
		return c
	}
	return other
}

// mix is f of b in a.
func mix(a, b color.RGBA, f float64) color.RGBA {
	m := func(x, y uint8) uint8 { return uint8(float64(x)*(1-f) + float64(y)*f + 0.5) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 0xFF}
}

// readable is black or white, whichever can be read on c.
func readable(c color.RGBA) color.RGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) < 130 {
		return white
	}
	return ink
}
