package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// Colours of the categories, the same in every picture: from Paul Tol's muted scheme, which readers with the common
// colour-vision deficiencies can tell apart, and none of them that of a well-known phase.
var categoryColors = map[string]color.RGBA{
	"parameter":       {0x33, 0x22, 0x88, 0xFF},
	"optimizer state": {0x44, 0xAA, 0x99, 0xFF},
	"gradient":        {0x88, 0x22, 0x55, 0xFF},
	"activation":      {0x88, 0xCC, 0xEE, 0xFF},
	"input":           {0xDD, 0xCC, 0x77, 0xFF},
	"autograd detail": {0xAA, 0x44, 0x99, 0xFF},
	"temporary":       {0x99, 0x99, 0x33, 0xFF},
	"unknown":         {0xB4, 0xB4, 0xB4, 0xFF},
}

// stackOrder puts what stays below what comes and goes, and what theory tells below all else. Of unknown use are mostly
// workspaces that a library keeps.
var stackOrder = []string{"parameter", "optimizer state", "gradient", "unknown", "activation", "input", "autograd detail", "temporary"}

// kindColors are those of the driver's memory kinds; others get what is left.
var kindColors = map[string]color.RGBA{
	"device": {0x88, 0xCC, 0xEE, 0xFF}, "device static": {0x33, 0x22, 0x88, 0xFF}, "array": {0xDD, 0xCC, 0x77, 0xFF},
}

// What lies between the levels.
var (
	cacheGap   = color.RGBA{0xEC, 0xEE, 0xF0, 0xFF} // held by the allocator, by no tensor
	outsideGap = color.RGBA{0xF2, 0xDE, 0xD2, 0xFF} // handed out by the driver, not to the allocator
)

// stackNames are the ways to stack, for messages.
const stackNames = "category, phase, kind or none"

// pickStack says how the tensors are stacked: as the user wants, else by category where there are any tensors.
func (v *view) pickStack(rep *findings.Report, track *align.Track, o Options) error {
	ten := track.Tensors
	switch o.Stack {
	case "":
		if ten != nil && len(ten.Blocks) > 0 {
			v.stack = "category"
		}
	case "none":
	case "kind":
		v.stack = "kind"
	case "category", "phase":
		if ten == nil {
			return fmt.Errorf("plot: stack by %s of %q: its tensors are not known: give PyTorch's memory snapshot of the run with --snapshot, or use --stack kind",
				o.Stack, rep.Source.Path)
		}
		v.stack = o.Stack
	default:
		return fmt.Errorf("plot: unknown stack %q: use %s", o.Stack, stackNames)
	}
	if ten != nil && ten.From == tensor.BySnapshot && (v.stack == "category" || v.stack == "phase") {
		v.level = "allocated"
	}
	return nil
}

// use is the use of the level that the picture is about.
func (v *view) use(u *align.Use) *align.MemoryUse {
	if m := u.Level(v.level); m != nil {
		return m
	}
	return &u.Memory
}

// layer is one colour of a stack.
type layer struct {
	name  string
	color color.RGBA
}

// A source is blocks that stack up to a level. Where a block is live is told by positions, which rise with time: places in
// a snapshot's trace, or times. Many events share a stamp, so that times alone would not give the level to the byte.
type source struct {
	layers []layer // bottom first
	keys   []uint8 // layer of each block
	bytes  func(i int) int64
	span   func(i int) (start, end int64) // ns, as in tensor.Block
	live   func(i int) (born, died int64) // positions; the block is live at p where born <= p < died
	steps  func(f func(at, pos, level int64) bool)
	start  int64 // level before the first step
}

// atBirth is the position of what was live before everything.
const atBirth = math.MinInt64

// newSource prepares the stack of a picture; nil where nothing is to be stacked.
func (pic *picture) newSource() *source {
	ten := pic.track.Tensors
	if ten == nil && pic.view.stack != "kind" {
		return nil
	}
	switch pic.view.stack {
	case "category", "phase":
		s := &source{
			bytes: func(i int) int64 { return ten.Blocks[i].Counted },
			span:  func(i int) (start, end int64) { return ten.Blocks[i].Start, ten.Blocks[i].End },
		}
		if ten.Replay != nil && len(ten.Replay.Blocks) == len(ten.Blocks) {
			s.byTrace(ten)
		} else {
			s.byTime(len(ten.Blocks))
		}
		if pic.view.stack == "phase" {
			pic.byPhase(s, ten)
		} else {
			s.byName(len(ten.Blocks), stackOrder, func(i int) string { return ten.Blocks[i].Category }, categoryColors)
		}
		return s
	case "kind":
		var blocks []*align.Block
		for i := range pic.track.Blocks {
			if b := &pic.track.Blocks[i]; b.Kind == "device" {
				blocks = append(blocks, b)
			}
		}
		s := &source{
			bytes: func(i int) int64 { return blocks[i].Bytes },
			span:  func(i int) (start, end int64) { return blocks[i].Start, blocks[i].End },
		}
		s.byTime(len(blocks))
		s.byName(len(blocks), []string{"device static", "device", "array"}, func(i int) string { return blocks[i].MemKind }, kindColors)
		return s
	}
	return nil
}

// byTrace takes the order of a snapshot's trace.
func (s *source) byTrace(ten *tensor.Memory) {
	r := ten.Replay
	s.start = r.StartAllocated
	s.live = func(i int) (int64, int64) {
		b := &r.Blocks[i]
		born, died := int64(b.BirthEvent), int64(b.DeathEvent)
		if b.BirthEvent < 0 {
			born = atBirth
		}
		if b.DeathEvent < 0 {
			died = math.MaxInt64
			if b.Death != align.Never { // it was given back before the trace began
				died = atBirth
			}
		}
		return born, died
	}
	s.steps = func(f func(at, pos, level int64) bool) {
		for i := range r.Steps {
			x := &r.Steps[i]
			if !f(ten.ReportTime(x.Time), int64(x.Event), x.Allocated) {
				return
			}
		}
	}
}

// byTime takes n blocks in order of birth; of one stamp, allocations come before frees.
func (s *source) byTime(n int) {
	span := s.span
	const far = int64(1) << 61
	place := func(at int64) int64 { return 2 * min(max(at, -far), far) }
	s.live = func(i int) (int64, int64) {
		start, end := span(i)
		born, died := int64(atBirth), int64(math.MaxInt64)
		if start != align.Never {
			born = place(start)
		}
		if end != align.Never {
			died = place(end) + 1
		}
		return born, died
	}
	var deaths []int32
	first := 0 // blocks from here on are born in the report
	for i := range n {
		start, end := span(i)
		if start == align.Never {
			s.start += s.bytes(i)
			first = i + 1
		}
		if end != align.Never {
			deaths = append(deaths, int32(i))
		}
	}
	slices.SortFunc(deaths, func(a, b int32) int {
		_, x := span(int(a))
		_, y := span(int(b))
		return cmp.Compare(x, y)
	})
	s.steps = func(f func(at, pos, level int64) bool) {
		level, k := s.start, 0
		for i := first; i < n || k < len(deaths); {
			at, pos := int64(0), int64(0)
			birth, death := int64(math.MaxInt64), int64(math.MaxInt64)
			if i < n {
				birth, _ = span(i)
			}
			if k < len(deaths) {
				_, death = span(int(deaths[k]))
			}
			if birth <= death && i < n {
				at, pos = birth, place(birth)
				level += s.bytes(i)
				i++
			} else {
				at, pos = death, place(death)+1
				level -= s.bytes(int(deaths[k]))
				k++
			}
			if !f(at, pos, level) {
				return
			}
		}
	}
}

// byName gives each of n blocks the layer of its name: those of order first, others as they come.
func (s *source) byName(n int, order []string, name func(i int) string, colors map[string]color.RGBA) {
	index := map[string]uint8{}
	s.keys = make([]uint8, n)
	used := map[color.RGBA]bool{}
	next := 0
	add := func(name string) uint8 {
		if k, ok := index[name]; ok {
			return k
		}
		if len(s.layers) == math.MaxUint8 { // more kinds than there are
			return math.MaxUint8 - 1
		}
		c, ok := colors[name]
		if !ok {
			c = pick(&next, used)
		}
		index[name] = uint8(len(s.layers))
		s.layers = append(s.layers, layer{name, c})
		return index[name]
	}
	for _, o := range order {
		add(o)
	}
	for i := range n {
		s.keys[i] = add(name(i))
	}
}

// maxLayers is how many phases are told apart in a stack.
const maxLayers = 12

// byPhase gives each block the layer of the top-level phase, or of the range outside iterations, where it was born. The
// phases that hold the most bytes for the longest time have layers of their own.
func (pic *picture) byPhase(s *source, ten *tensor.Memory) {
	type name struct {
		group int // before recording, ranges, phases, none
		name  string
	}
	ids := map[name]int32{}
	var names []name
	var area []float64
	of := make([]int32, len(ten.Blocks))
	from, to := pic.view.from, pic.view.to
	for i := range ten.Blocks {
		b := &ten.Blocks[i]
		var n name
		switch {
		case b.Start == align.Never:
			n = name{0, "live before recording"}
		case b.Iteration >= 0:
			n = name{2, pic.palette.top[b.Phase]}
			if n.name == "" {
				n.name = align.OtherPhase
			}
		case b.Phase != "":
			n = name{1, b.Phase}
		default:
			n = name{3, "outside ranges"}
		}
		id, ok := ids[n]
		if !ok {
			id = int32(len(names))
			ids[n] = id
			names, area = append(names, n), append(area, 0)
		}
		of[i] = id
		start, end := max(b.Start, from), to
		if b.End != align.Never {
			end = min(end, b.End)
		}
		if end > start {
			area[id] += float64(b.Counted) * float64(end-start)
		}
	}
	order := make([]int32, len(names))
	for i := range order {
		order[i] = int32(i)
	}
	sort.SliceStable(order, func(a, b int) bool { return area[order[a]] > area[order[b]] })
	layers := min(len(order), maxLayers)
	kept := order[:layers]
	rank := map[string]int{}
	for i, p := range pic.palette.order {
		rank[p] = i
	}
	sort.SliceStable(kept, func(a, b int) bool {
		x, y := names[kept[a]], names[kept[b]]
		if x.group != y.group {
			return x.group < y.group
		}
		if x.group == 2 && rank[x.name] != rank[y.name] {
			return rank[x.name] < rank[y.name]
		}
		return kept[a] < kept[b]
	})
	key := make([]uint8, len(names))
	for i := range key {
		key[i] = uint8(layers)
	}
	for k, id := range kept {
		n := names[id]
		c := other
		switch n.group {
		case 0:
			c = color.RGBA{0xD0, 0xD0, 0xC8, 0xFF}
		case 1:
			c = pic.palette.ranges[n.name]
		case 2:
			c = pic.palette.color(n.name)
		case 3:
			c = color.RGBA{0x7A, 0x7A, 0x7A, 0xFF}
		}
		if c.A == 0 {
			c = other
		}
		key[id] = uint8(k)
		s.layers = append(s.layers, layer{clean(n.name), c})
	}
	if len(order) > layers {
		s.layers = append(s.layers, layer{fmt.Sprintf("%d others", len(order)-layers), color.RGBA{0xC8, 0xC8, 0xC8, 0xFF}})
	}
	s.keys = make([]uint8, len(of))
	for i, id := range of {
		s.keys[i] = key[id]
	}
}

// moment is what the level does within a pixel column.
type moment struct {
	pos       int64 // position of the highest level within
	low, high int64 // bytes
}

// stacked is a stack brought to pixel columns. Each shows the moment of its highest level, so that no peak is lost and the
// layers of a column add up to a level that was there.
type stacked struct {
	layers []layer
	sums   [][]int64 // by layer, then column: bytes of this layer and all below
	cols   []moment
	top    []int64 // bytes; highest of each layer by itself
	high   int64   // bytes; highest level in view
}

// stack brings the part of a source that a scale shows to n columns.
//
//  1. The steps of the level say for each column where it is highest. These positions rise from left to right.
//  2. A block counts in the columns whose position lies in its life: from one column on, to another. One pass over the
//     blocks adds it at the one and takes it away at the other.
//  3. Sums from left to right give each layer, sums over the layers its upper edge.
//
// Memory is that of columns and layers, however many blocks there are.
func (s *source) stack(ts timeScale, n int) *stacked {
	n = max(n, 1)
	out := &stacked{layers: s.layers, cols: make([]moment, n), top: make([]int64, len(s.layers))}
	from, to := ts.segments[0].from, ts.segments[len(ts.segments)-1].to
	level, pos := s.start, int64(atBirth)
	at := 0
	out.cols[0] = moment{pos, level, level}
	s.steps(func(t, p, l int64) bool {
		if t > to {
			return false
		}
		if t >= from {
			i := min(int(ts.frac(t)*float64(n)), n-1)
			for at < i {
				at++
				out.cols[at] = moment{pos, level, level}
			}
			c := &out.cols[at]
			if l > c.high {
				c.high, c.pos = l, p
			}
			c.low = min(c.low, l)
		} else {
			out.cols[0] = moment{p, l, l}
		}
		level, pos = l, p
		return true
	})
	for at < n-1 {
		at++
		out.cols[at] = moment{pos, level, level}
	}

	for range s.layers {
		out.sums = append(out.sums, make([]int64, n+1))
	}
	column := func(p int64) int { // the first whose position is not before p
		return sort.Search(n, func(i int) bool { return out.cols[i].pos >= p })
	}
	for i, k := range s.keys {
		born, died := s.live(i)
		a := column(born)
		if a == n {
			continue
		}
		b := n
		if died != math.MaxInt64 {
			b = column(died)
		}
		if b > a {
			size := s.bytes(i)
			out.sums[k][a] += size
			out.sums[k][b] -= size
		}
	}
	for k := range out.sums {
		sum := int64(0)
		for i := range n {
			sum += out.sums[k][i]
			out.sums[k][i] = sum
			out.top[k] = max(out.top[k], sum)
		}
	}
	for i := range n {
		for k := 1; k < len(out.sums); k++ {
			out.sums[k][i] += out.sums[k-1][i]
		}
		if k := len(out.sums); k > 0 {
			out.high = max(out.high, out.sums[k-1][i])
		}
	}
	return out
}

// dense says that the level goes up and down within most columns.
func (s *stacked) dense() bool {
	n := 0
	for _, c := range s.cols {
		if c.low < c.high-c.high/8 {
			n++
		}
	}
	return n > len(s.cols)*2/3
}

// draw fills the layers, each from the axis to its upper edge, the uppermost first: neighbours that only share an edge
// would show a seam.
func (s *stacked) draw(p *painter, a plotArea) {
	n := len(s.cols)
	dx := (a.x1 - a.x0) / vg.Length(n)
	edge := func(level func(i int) int64) []vg.Point {
		var pts []vg.Point
		for i := range n {
			pts = appendStep(pts, a.x0+dx*vg.Length(i), a.x0+dx*vg.Length(i+1), a.y(level(i)))
		}
		return pts
	}
	for k := len(s.layers) - 1; k >= 0; k-- {
		if s.top[k] == 0 {
			continue
		}
		upper := edge(func(i int) int64 { return s.sums[k][i] })
		p.polygon(s.layers[k].color, append(upper, vg.Point{X: a.x1, Y: a.y0}, vg.Point{X: a.x0, Y: a.y0}))
	}
	if len(s.layers) == 0 {
		return
	}
	top := s.sums[len(s.layers)-1]
	if s.dense() {
		p.line(p.pt(0.8), ink, []float64{2, 1.5}, edge(func(i int) int64 { return s.cols[i].low })...)
	}
	p.line(p.pt(0.7), ink, nil, edge(func(i int) int64 { return top[i] })...)
}

// flat says that the level does not change in view.
func (s *stacked) flat() bool {
	for _, c := range s.cols {
		if c.low != s.high || c.high != s.high {
			return false
		}
	}
	return true
}

// seen says which layers have a block that is live in a stretch of time.
func (s *source) seen(from, to int64) []bool {
	out := make([]bool, len(s.layers))
	for i, k := range s.keys {
		if !out[k] {
			start, end := s.span(i)
			out[k] = (start == align.Never || start <= to) && (end == align.Never || end > from) && s.bytes(i) > 0
		}
	}
	return out
}

// stackWindow is the time that the picture shows stacked.
func (pic *picture) stackWindow() (from, to int64) {
	v := pic.view
	if !v.timeline && v.big >= 0 {
		return v.its[v.big].Start, v.its[v.big].End
	}
	return v.from, v.to
}

// highest is the first column that reaches the highest level in view.
func (s *stacked) highest() int {
	for i, c := range s.cols {
		if c.high == s.high {
			return i
		}
	}
	return 0
}

// stackLegend has an entry for each layer with bytes in view, and its head.
func (pic *picture) stackLegend() (head string, entries []entry) {
	from, to := pic.stackWindow()
	seen := pic.source.seen(from, to)
	// What is too thin to be seen is not to be looked for.
	var s *stacked
	if to > from && pic.memory == nil {
		s = pic.source.stack(linear(from, to), pic.view.columns)
	}
	for k, l := range pic.source.layers {
		if !seen[k] {
			continue
		}
		label := l.name
		if s != nil && s.top[k] < s.high/300 {
			label += ", at most " + wording.Bytes(s.top[k])
		}
		entries = append(entries, entry{label, pic.swatch(l.color)})
	}
	inferred := ""
	if pic.inferredNames() {
		inferred = ", inferred"
	}
	switch pic.view.stack {
	case "phase":
		return "Tensors by phase of birth" + inferred + ":", entries
	case "kind":
		return "Device memory by kind:", entries
	}
	return "Tensors (categories inferred):", entries
}

// bornLegend adds to the phases' legend what else tensors were born in: their colours are the same.
func (pic *picture) bornLegend(head string, entries []entry) (string, []entry) {
	named := map[string]bool{}
	for _, e := range entries {
		named[e.label] = true
	}
	_, born := pic.stackLegend()
	for _, e := range born {
		if !named[e.label] {
			entries = append(entries, e)
		}
	}
	return strings.TrimSuffix(head, ":") + ", of tensors where they were born:", entries
}

// inferredNames says that the phases in view, or the iterations, were found in the GPU work.
func (pic *picture) inferredNames() bool {
	if len(pic.view.its) > 0 && pic.track.IterationsFrom.Inferred() {
		return true
	}
	for _, it := range pic.view.its {
		for i := range it.Phases {
			if it.Phases[i].Inferred {
				return true
			}
		}
	}
	return false
}

// gaps fills what lies between the stack and the levels over it; the stack is drawn over both.
func (pic *picture) gaps(lines []stairs, deviceAt, reservedAt int, a plotArea) {
	ground := func(i int, c color.RGBA) {
		if i >= 0 {
			_, high := lines[i].edges(a)
			pic.polygon(c, append(high, vg.Point{X: a.x1, Y: a.y0}, vg.Point{X: a.x0, Y: a.y0}))
		}
	}
	ground(deviceAt, outsideGap)
	ground(reservedAt, cacheGap)
}

// gapLegend names the gaps that can be seen.
func (pic *picture) gapLegend(lines []stairs, deviceAt, reservedAt int, top int64) []entry {
	if pic.source == nil {
		return nil
	}
	var entries []entry
	seen := func(bytes int64) bool { return bytes > top/250 }
	if pic.view.level != "" {
		if reservedAt >= 0 {
			entries = append(entries, entry{"unused cache", pic.swatch(cacheGap)})
		}
		if out := pic.track.Tensors.Outside; out != nil && seen(out.Peak) {
			entries = append(entries, entry{"outside PyTorch", pic.swatch(outsideGap)})
		}
		return entries
	}
	if deviceAt >= 0 && pic.view.stack != "kind" && seen(lines[deviceAt].high-pic.source.stack(pic.scale, len(lines[deviceAt].columns)).high) {
		entries = append(entries, entry{"static memory and arrays", pic.swatch(outsideGap)})
	}
	return entries
}

// timelineTitle says what the timeline shows, and how its bytes are counted.
func (pic *picture) timelineTitle() string {
	switch {
	case pic.source == nil:
		return "Level over time"
	case pic.view.level != "":
		return "Level over time: tensors as PyTorch counts them"
	case pic.view.stack == "kind":
		return "Level over time"
	}
	return "Level over time: tensors, each the driver's own block"
}

// mark puts a dot on a level, with a label.
func (pic *picture) mark(label string, x, y vg.Length, a plotArea) {
	pic.disc(vg.Point{X: x, Y: y}, pic.pt(3.3), white)
	pic.disc(vg.Point{X: x, Y: y}, pic.pt(2.5), ink)
	pic.callout(label, x, y, a)
}

// stackMark marks the highest level of the tensors in view, and the device level's.
func (pic *picture) stackMark(s *stacked, lines []stairs, deviceAt int, a plotArea) {
	dx := (a.x1 - a.x0) / vg.Length(len(s.cols))
	top, taken := vg.Length(-1), vg.Length(-1)
	if deviceAt >= 0 && lines[deviceAt].high > 0 {
		top = a.y(lines[deviceAt].high)
		pic.peakMark(lines[deviceAt], a)
		taken = min(top+pic.pt(5), a.y1-pic.pt(10)) // as callout has it
	}
	y := a.y(s.high)
	if s.high == 0 || top >= 0 && top-y < pic.pt(16) {
		return // the labels would lie on each other; the caption has both
	}
	label, x := pic.topLabel(pic.view.level, s.high, a)
	if x < 0 {
		x = a.x0 + dx*(vg.Length(s.highest())+0.5)
	}
	pic.markClear("allocated: "+label, "allocated: "+wording.Bytes(s.high), x, y, lines, taken, a)
}

// markClear is mark, with the label where it hides none of the lines, if there is such a place: beside the dot, else over
// the lines above it, with a leader. Where the label is too long for that, the brief one is tried. taken is where another
// label has its baseline; below 0 for none.
func (pic *picture) markClear(label, brief string, x, y vg.Length, lines []stairs, taken vg.Length, a plotArea) {
	if !pic.tryMark(label, x, y, lines, taken, a) && !pic.tryMark(brief, x, y, lines, taken, a) {
		pic.mark(brief, x, y, a)
	}
}

// tryMark is markClear for one label; it says whether it found a place.
func (pic *picture) tryMark(label string, x, y vg.Length, lines []stairs, taken vg.Length, a plotArea) bool {
	st := style{size: small, bold: true, color: ink}
	label = pic.fit(label, st, a.x1-a.x0-pic.pt(12))
	w := pic.width(label, st)
	type place struct{ x, y vg.Length }
	clear := func(p place) bool {
		if p.x < a.x0+pic.pt(2) || p.x+w > a.x1-pic.pt(2) || p.y+pic.pt(9) > a.y1 ||
			taken >= 0 && p.y > taken-pic.pt(12) && p.y < taken+pic.pt(12) {
			return false
		}
		for _, s := range lines {
			n := vg.Length(len(s.columns))
			from, to := int((p.x-pic.pt(4)-a.x0)/(a.x1-a.x0)*n), int((p.x+w+pic.pt(4)-a.x0)/(a.x1-a.x0)*n)
			level, _ := s.at(max(from-1, 0))
			for i := max(from, 0); i <= min(to, len(s.columns)-1); i++ {
				lo, hi := level, level
				if c := s.columns[i]; c.any {
					lo, hi, level = min(lo, c.low), max(hi, c.high), c.last
				}
				if a.y(hi) > p.y-pic.pt(4.5) && a.y(lo) < p.y+pic.pt(10.5) {
					return false
				}
			}
		}
		return true
	}
	// 1. Heights: that of the dot, then over each line.
	heights := []vg.Length{y + pic.pt(5)}
	for _, s := range lines {
		i := int((x - a.x0) / (a.x1 - a.x0) * vg.Length(len(s.columns)))
		if _, high := s.at(min(max(i, 0), len(s.columns)-1)); a.y(high) > y {
			heights = append(heights, a.y(high)+pic.pt(5))
		}
		heights = append(heights, max(a.y(s.high), y)+pic.pt(5))
	}
	slices.Sort(heights)
	// 2. At each height to the right of the dot, to its left, and over it.
	var places []place
	over := max(a.x0+pic.pt(4), min(x-w/2, a.x1-w-pic.pt(4)))
	for _, h := range heights {
		for _, lx := range []vg.Length{x + pic.pt(7), x - pic.pt(7) - w, over} {
			places = append(places, place{lx, h})
		}
	}
	// 3. There and a little farther off, just over what is highest along the label: a staircase has room beside it.
	for _, lx := range []vg.Length{x - pic.pt(7) - w, x + pic.pt(7), over, x - pic.pt(17) - w, x - pic.pt(37) - w, x + pic.pt(27)} {
		h := y
		for _, s := range lines {
			n := vg.Length(len(s.columns))
			from, to := int((lx-pic.pt(5)-a.x0)/(a.x1-a.x0)*n), int((lx+w+pic.pt(5)-a.x0)/(a.x1-a.x0)*n)
			for i := max(from, 0); i <= min(to, len(s.columns)-1); i++ {
				_, high := s.at(i)
				h = max(h, a.y(high))
			}
		}
		places = append(places, place{lx, h + pic.pt(5)})
	}
	for _, p := range places {
		lx, h := p.x, p.y
		if lx < x && lx+w > x && h < y+pic.pt(6) || !clear(p) { // over the dot there must be room for it
			continue
		}
		if h > y+pic.pt(6) {
			pic.line(pic.pt(0.7), ink, nil, vg.Point{X: x, Y: y}, vg.Point{X: min(max(x, lx), lx+w), Y: h + pic.pt(3)})
			pic.fill(lx-pic.pt(2), h-pic.pt(2.5), lx+w+pic.pt(2), h+pic.pt(8.5), white)
		}
		pic.disc(vg.Point{X: x, Y: y}, pic.pt(3.3), white)
		pic.disc(vg.Point{X: x, Y: y}, pic.pt(2.5), ink)
		pic.fill(lx-pic.pt(2), h-pic.pt(2), lx+w+pic.pt(2), h+pic.pt(8.5), white)
		pic.text(label, lx, h, st)
		return true
	}
	return false
}

// theoryLine is the line of what a model needs by arithmetic alone.
var (
	theoryLine   = color.RGBA{0x11, 0x11, 0x11, 0xFF}
	theoryDashes = []float64{1.2, 2.4}
)

// theoryLevel is what parameters, gradients and optimizer state come to; 0 where it is not asked for, or would lie on the
// axis of a panel up to top.
func (pic *picture) theoryLevel(top int64) int64 {
	th := pic.track.Theory
	if th == nil || pic.source == nil || pic.view.stack == "kind" {
		return 0
	}
	if sum := th.Parameter + th.Gradient + th.State; sum > top/50 && sum <= top {
		return sum
	}
	return 0
}

func (pic *picture) theoryLabel() string {
	th := pic.track.Theory
	return "theory, parameter to gradient: " + wording.Bytes(th.Parameter+th.Gradient+th.State)
}
