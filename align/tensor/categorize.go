package tensor

import (
	"cmp"
	"slices"
	"strings"

	"nsysmem/torchmem/category"
)

// CategoryUse is the memory of one category, in requested bytes.
type CategoryUse struct {
	Name   string
	Max    int64 // bytes; highest over the steady iterations
	AtPeak int64 // bytes; at the allocated level's peak
}

// CategoryNames are the names of the categories, in the order in which they are shown.
var CategoryNames = []string{"parameter", "weight copy", "optimizer state", "gradient", "activation", "input", "communication",
	"workspace", "graph pool", "autograd detail", "temporary", "unknown"}

// ByStacks says that call stacks told categories, not the lives of blocks alone.
func (m *Memory) ByStacks() bool {
	return slices.ContainsFunc(m.Blocks, func(b Block) bool { return b.Rule != "" && !strings.HasPrefix(b.Rule, category.LifeAlone) })
}

// categorize fills the categories of the blocks, by their stacks where a snapshot has them, and the rules that told them; their highest sums over the steady iterations, and those at the peak.
func (m *Memory) categorize(p *Program, peakAt int64) {
	lives := livesOf(p, m.Blocks)
	var told []category.Told
	if m.Replay != nil {
		told = category.Traced(category.RecordingOf(m.Replay), lives, p.Iterations)
	} else {
		told = category.Of(lives, p.Iterations)
	}
	for i := range m.Blocks {
		m.Blocks[i].Category, m.Blocks[i].Rule = told[i].Kind.String(), told[i].Rule.String()
	}
	var most [category.NumKinds]int64
	for _, it := range p.Steady {
		for k, bytes := range category.Max(lives, told, it.From, it.To) {
			most[k] = max(most[k], bytes)
		}
	}
	at := category.At(lives, told, peakAt)
	for k := category.Kind(0); k < category.NumKinds; k++ {
		if most[k] > 0 || at[k] > 0 {
			m.Categories = append(m.Categories, CategoryUse{Name: k.String(), Max: most[k], AtPeak: at[k]})
		}
	}
	slices.SortFunc(m.Categories, func(x, y CategoryUse) int {
		return cmp.Compare(slices.Index(CategoryNames, x.Name), slices.Index(CategoryNames, y.Name))
	})
}

// livesOf makes what the search for categories wants to know of blocks.
func livesOf(p *Program, blocks []Block) []category.Life {
	lives := make([]category.Life, len(blocks))
	for i := range blocks {
		b := &blocks[i]
		lives[i] = category.Life{From: b.Start, To: b.End, Bytes: b.Bytes}
		if b.Start < p.Begin && (b.End == Never || b.End >= p.Begin) {
			// The snapshot's trace began before the report did: what happened then has no phase.
			lives[i].From = Never
		}
		if lives[i].From != Never {
			lives[i].Birth = p.Place(lives[i].From)
		}
	}
	// Deaths are looked up in time order, as births are, by a cursor that moves forward.
	order := make([]int32, len(lives))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(lives[i].To, lives[j].To) })
	for _, i := range order {
		if lives[i].To != Never {
			lives[i].Death = p.Place(lives[i].To)
		}
	}
	return lives
}
