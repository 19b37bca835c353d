package batch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"

	"nsysmem/align"
	"nsysmem/render/tables"
)

// A comparison is what the records of a batch come to. It holds a few figures for each run and phase; iterations are read
// from the records as they are needed, one run at a time.
type comparison struct {
	out  string
	runs []*recordHead // of the reports that are done, in the plan's order; without their phases
	refs []ref         // all tracks of those
	all  []bar         // every report's tracks, failed and missing ones too

	failed  []Failure
	missing []Input
	reports int

	phases []phase // in an order that keeps that of every run
	groups []group // ranks that belong together; of a batch without ranks, all runs
	ranked bool    // groups are of ranks

	kept  map[int][][]iteration // iterations of the first runs, by place in runs, as far as keepIterations goes
	room  int                   // iterations that may still be kept
	cache struct {              // those of one further run
		run int
		its [][]iteration
	}
}

// keepIterations bounds the iterations that are kept for all the tables that need them; those of further runs are read
// again for each. Tests lower it.
var keepIterations = 100_000

// A ref is a track of a run.
type ref struct {
	run, track int
	label      string
	first      int // place of its first iteration among those of all runs
	n          int // iterations
}

// A bar is a column of the picture.
type bar struct {
	label  string
	ref    int // place in refs; -1 where there is none
	failed bool
}

// A phase is one path over all runs.
type phase struct {
	path    string
	figures map[int]*tables.RunPhase // by place in refs
}

// compare reads all records of a plan.
func compare(out string, p *plan) (*comparison, error) {
	c := &comparison{out: out, reports: len(p.Reports), kept: make(map[int][][]iteration), room: keepIterations}
	c.cache.run = -1
	order := make(map[string]int)
	iterations := 0
	for i, r := range c.readAll(p) {
		in, err := &p.Reports[i], r.err
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !damaged(err) {
			return nil, err
		}
		switch {
		case err != nil || !r.rec.current(in, p.Version, p.Settings, p.Extras):
			c.missing = append(c.missing, *in)
			c.all = append(c.all, bar{label: in.Name, ref: -1, failed: true})
			continue
		case r.rec.Error != "":
			c.failed = append(c.failed, Failure{in.Name, in.Path, r.rec.Error})
			c.all = append(c.all, bar{label: in.Name, ref: -1, failed: true})
			continue
		}
		h := &r.rec.recordHead
		for k := range h.Tracks {
			t := &h.Tracks[k]
			at := ref{run: len(c.runs), track: k, label: h.label(k), first: iterations, n: t.Iterations}
			iterations += t.Iterations
			c.addPhases(t.Phases, len(c.refs), order)
			t.Phases = nil
			c.all = append(c.all, bar{label: at.label, ref: len(c.refs)})
			c.refs = append(c.refs, at)
		}
		if r.rec.Iterations != nil {
			c.keep(len(c.runs), r.rec.Iterations)
		}
		own := *h // the record's iterations go with it unless they are kept
		c.runs = append(c.runs, &own)
	}
	c.lastOther()
	c.group()
	return c, nil
}

// keep keeps a run's iterations if there is room for them.
func (c *comparison) keep(run int, its [][]iteration) bool {
	n := 0
	for _, t := range its {
		n += len(t)
	}
	if n > c.room {
		return false
	}
	c.room -= n
	c.kept[run] = its
	return true
}

// A reading is a record as it was read: its head, and its iterations if they are few.
type reading struct {
	rec *record
	err error
}

// readAll gives the records of a plan in its order, and reads a few ahead on all cores.
func (c *comparison) readAll(p *plan) iter.Seq2[int, reading] {
	return func(yield func(int, reading) bool) {
		ahead := 4 * runtime.GOMAXPROCS(0)
		coming := make(chan chan reading, ahead)
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			defer close(coming)
			for i := range p.Reports {
				one := make(chan reading, 1)
				select {
				case coming <- one: // no more than ahead are being read
				case <-stop:
					return
				}
				go func() {
					rec, err := readRecord(p.Reports[i].record(c.out), keepIterations/ahead)
					one <- reading{rec, err}
				}()
			}
		}()
		i := 0
		for one := range coming {
			if !yield(i, <-one) {
				return
			}
			i++
		}
	}
}

// damaged says whether a record was there but could not be understood, which is as good as none.
func damaged(err error) bool {
	var path *fs.PathError
	return !errors.As(err, &path)
}

// addPhases adds the phases of a track. A path that no run had before goes behind the one before it in this run.
func (c *comparison) addPhases(stats []align.PhaseStat, at int, known map[string]int) {
	last := -1
	for i := range stats {
		s := &stats[i]
		k, ok := known[s.Path]
		if !ok {
			k = last + 1
			c.phases = slices.Insert(c.phases, k, phase{path: s.Path, figures: make(map[int]*tables.RunPhase)})
			for j := k; j < len(c.phases); j++ {
				known[c.phases[j].path] = j
			}
		}
		last = k
		f := tables.NewRunPhase(s)
		c.phases[k].figures[at] = &f
	}
}

// lastOther moves the row for what no phase covers to the end.
func (c *comparison) lastOther() {
	i := slices.IndexFunc(c.phases, func(p phase) bool { return p.path == align.OtherPhase })
	if i >= 0 {
		other := c.phases[i]
		c.phases = append(slices.Delete(c.phases, i, i+1), other)
	}
}

func (c *comparison) track(r *ref) (*recordHead, *track) {
	h := c.runs[r.run]
	return h, &h.Tracks[r.track]
}

// iterations are those of a track. Those of its run stay at hand for the next call.
func (c *comparison) iterations(r *ref) ([]iteration, error) {
	if its, ok := c.kept[r.run]; ok {
		return its[r.track], nil
	}
	if c.cache.run != r.run {
		h := c.runs[r.run]
		rec, err := readRecord(h.record(c.out), math.MaxInt)
		if err != nil {
			return nil, err
		}
		if rec.Input != h.Input || len(rec.Iterations) != len(h.Tracks) || len(rec.Iterations[r.track]) != r.n {
			return nil, fmt.Errorf("batch: record of %q changed while all were compared: run nsysmem batch merge again", rec.Path)
		}
		if c.keep(r.run, rec.Iterations) {
			return rec.Iterations[r.track], nil
		}
		c.cache.run, c.cache.its = r.run, rec.Iterations
	}
	return c.cache.its[r.track], nil
}

// A group is tracks that are compared with each other by the number of their iterations.
type group struct {
	path    string // as of its members; empty where they are of no job
	name    string
	members []int // places in refs
	rows    []spreadRow
}

// group puts the ranks of one job together.
func (c *comparison) group() {
	at := make(map[string]int)
	for i := range c.refs {
		_, t := c.track(&c.refs[i])
		if t.Rank < 0 {
			continue
		}
		k, ok := at[t.Group]
		if !ok {
			k = len(c.groups)
			at[t.Group] = k
			c.groups = append(c.groups, group{path: t.Group})
		}
		c.groups[k].members = append(c.groups[k].members, i)
	}
	c.ranked = len(c.groups) > 0
	c.nameGroups()
	for i := range c.groups {
		slices.SortStableFunc(c.groups[i].members, func(a, b int) int {
			_, x := c.track(&c.refs[a])
			_, y := c.track(&c.refs[b])
			return cmp.Compare(x.Rank, y.Rank)
		})
	}
	if !c.ranked && len(c.refs) > 0 {
		g := group{name: "all runs"}
		for i := range c.refs {
			g.members = append(g.members, i)
		}
		c.groups = append(c.groups, g)
	}
}

// nameGroups names each job by its path, without the folders that all have.
func (c *comparison) nameGroups() {
	paths := make([]Input, len(c.groups))
	for i := range c.groups {
		paths[i].Path = c.groups[i].path
	}
	skip := commonFolders(paths)
	for i := range c.groups {
		parts := strings.Split(slashed(c.groups[i].path), "/")
		c.groups[i].name = strings.Join(parts[min(skip, len(parts)-1):], "/")
	}
}

// A spread is the least, median and greatest of a figure over the members of a group that have it.
type spread struct {
	n             int
	low, mid, top int64
	who           int // place in refs of the first that has the greatest
}

// A spreadRow is one iteration over the members of a group.
type spreadRow struct {
	key  iterationKey
	n    int // members that have the iteration
	have [tables.Spreads]spread
}

// An iterationKey tells iterations of a track apart: by their number, and where a program counts anew, by how often the
// number came before.
type iterationKey struct {
	before, index int
}

func (a iterationKey) compare(b iterationKey) int {
	return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.index, b.index))
}

// keys calls f for each iteration of a track with its key.
func keys(its []iteration, f func(k iterationKey, it *iteration)) {
	seen := make(map[int]int)
	for i := range its {
		it := &its[i]
		n := seen[it.Index]
		seen[it.Index] = n + 1
		f(iterationKey{n, it.Index}, it)
	}
}

// spreadBytes bounds what is held to find medians: where a group's iterations are more than that, its records are read
// once for each part of them. Tests lower it.
var spreadBytes = 48 << 20

// spreadGroups fills the rows of all groups.
func (c *comparison) spreadGroups() error {
	for i := range c.groups {
		if err := c.spreadGroup(&c.groups[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) spreadGroup(g *group) error {
	at := make(map[iterationKey]int)
	for _, m := range g.members {
		its, err := c.iterations(&c.refs[m])
		if err != nil {
			return err
		}
		keys(its, func(k iterationKey, _ *iteration) { at[k] = 0 })
	}
	g.rows = make([]spreadRow, 0, len(at))
	for k := range at {
		g.rows = append(g.rows, spreadRow{key: k})
	}
	slices.SortFunc(g.rows, func(a, b spreadRow) int { return a.key.compare(b.key) })
	for i := range g.rows {
		at[g.rows[i].key] = i
	}
	part := max(spreadBytes/(8*tables.Spreads*len(g.members)), 1)
	for from := 0; from < len(g.rows); from += part {
		if err := c.spreadPart(g, at, from, min(from+part, len(g.rows))); err != nil {
			return err
		}
	}
	return nil
}

// value is a figure of one member.
type value struct {
	v   int64
	who int32
}

func (c *comparison) spreadPart(g *group, at map[iterationKey]int, from, to int) error {
	values := make([][tables.Spreads][]value, to-from)
	for _, m := range g.members {
		r := &c.refs[m]
		its, err := c.iterations(r)
		if err != nil {
			return err
		}
		all := &c.runs[r.run].Collected
		keys(its, func(k iterationKey, it *iteration) {
			i := at[k]
			if i < from || i >= to {
				return
			}
			g.rows[i].n++
			has := all.Without(it.Lost)
			add := func(figure int, known bool, v int64) {
				if known {
					list := &values[i-from][figure]
					*list = append(*list, value{v, int32(m)})
				}
			}
			add(tables.PeakSpread, has.Memory, it.Memory.Peak)
			add(tables.NeedSpread, has.Memory, it.Memory.Need)
			add(tables.EndSpread, has.Memory, it.Memory.End)
			add(tables.KernelSpread, has.Kernels, it.GPU.KernelNS)
			add(tables.TimeSpread, !it.Truncated, it.End-it.Start)
		})
	}
	for i := range values {
		for k := range values[i] {
			g.rows[from+i].have[k] = newSpread(values[i][k])
		}
	}
	return nil
}

// newSpread sorts values; of two equal ones the earlier member counts. Of an even number the lower middle one is the
// median, so that it is one that was measured.
func newSpread(values []value) spread {
	if len(values) == 0 {
		return spread{who: -1}
	}
	sort.SliceStable(values, func(i, j int) bool { return values[i].v < values[j].v })
	top := values[len(values)-1].v
	first := sort.Search(len(values), func(i int) bool { return values[i].v >= top })
	return spread{len(values), values[0].v, values[(len(values)-1)/2].v, top, int(values[first].who)}
}
