package align

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nsysmem/nsysdb"
)

// A rise is how a level grows over the steady iterations.
type rise struct {
	first, since, last *Iteration // since is the first that adds something
	grown              int64      // bytes; end of the last less start of the first
	median             int64      // bytes an iteration
}

// riseOf measures a level over the steady iterations. It grows where more than half of them add something, what lies
// between two iterations counting for the later one, and where all of it is more than a trifle of the level's peak.
func riseOf(t *Track, peak int64, use func(*Iteration) *MemoryUse) (r rise, grows bool) {
	n, rises, end := 0, 0, int64(0)
	var adds []int64
	for i := range t.Iterations {
		it := &t.Iterations[i]
		u := use(it)
		if !it.Steady() || u == nil {
			continue
		}
		if n == 0 {
			r.first, end = it, u.Start
		}
		add := u.End - end
		if add > 0 {
			rises++
			if r.since == nil {
				r.since = it
			}
		}
		adds = append(adds, add)
		r.last, end, n = it, u.End, n+1
	}
	if n < 3 || rises*2 <= n {
		return r, false
	}
	r.grown, r.median = end-use(r.first).Start, median(adds)
	return r, r.grown > peak/warmupShare
}

// A keep is what blocks born in one phase at one line hold more at the end of a rise than at its start.
type keep struct {
	phase, frame string
	blocks       int
	bytes        int64
}

// A keeper sums keeps. What every iteration takes and the next one replaces is there at both times and cancels out.
type keeper struct {
	from, to int64
	index    map[[2]string]int
	out      []keep
}

func newKeeper(r *rise) *keeper {
	return &keeper{from: r.first.Start, to: r.last.End, index: make(map[[2]string]int)}
}

// add counts a block. Its place is asked for only where it matters.
func (k *keeper) add(start, end, bytes int64, place func() (phase, frame string)) {
	live := func(at int64) int { // just before a time
		if (start == Never || start < at) && (end == Never || end >= at) {
			return 1
		}
		return 0
	}
	n := live(k.to) - live(k.from)
	if n == 0 {
		return
	}
	phase, frame := place()
	i, ok := k.index[[2]string{phase, frame}]
	if !ok {
		i = len(k.out)
		k.index[[2]string{phase, frame}] = i
		k.out = append(k.out, keep{phase: phase, frame: frame})
	}
	k.out[i].blocks += n
	k.out[i].bytes += int64(n) * bytes
}

// most are the places that hold more blocks and more bytes than before, the largest first.
func (k *keeper) most() []keep {
	k.out = slices.DeleteFunc(k.out, func(x keep) bool { return x.blocks <= 0 || x.bytes <= 0 })
	slices.SortFunc(k.out, func(x, y keep) int {
		return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.phase, y.phase), cmp.Compare(x.frame, y.frame))
	})
	return k.out
}

// growth tells of a device level that rises over the steady iterations, in which phases the blocks were born that stay,
// and, with a snapshot, how much of it tensors need. It gives back the place of the finding; -1 for none.
func (a *analysis) growth(t *Track) int {
	r, grows := riseOf(t, t.Total.Memory.Peak, func(it *Iteration) *MemoryUse { return &it.Memory })
	if !grows {
		return -1
	}
	k := newKeeper(&r)
	for _, raw := range a.allTracks() {
		if raw.proc.pid != t.PID || raw.device != t.Device {
			continue
		}
		for i := range raw.blocks {
			b := &raw.blocks[i]
			if b.kind != nsysdb.KindDevice && b.kind != nsysdb.KindArray {
				continue
			}
			k.add(b.start, b.end, b.bytes, func() (string, string) {
				_, path := a.where(raw.proc, b.born)
				return path, ""
			})
		}
	}
	text := fmt.Sprintf("the device level grows by %s from %s to %s, %s an iteration at the median", size(r.grown), r.since.Name, r.last.Name, size(r.median))
	evidence := map[string]any{"grown_bytes": r.grown, "median_bytes": r.median, "since": r.since.Index, "phase": "", "phase_bytes": int64(0)}
	if most := k.most(); len(most) > 0 && most[0].phase != "" {
		evidence["phase"], evidence["phase_bytes"] = most[0].phase, most[0].bytes
		for i, x := range most[:min(len(most), growthPhases)] {
			lead := ", %s in %s"
			if i == 0 {
				lead = ": %s in blocks born in %s"
			}
			text += fmt.Sprintf(lead, size(x.bytes), cmp.Or(x.phase, "no range"))
		}
	}
	if n, ok := needOf(t, &r); ok {
		text += n.text(&r)
		evidence["allocated_peak_from_bytes"], evidence["allocated_peak_to_bytes"] = n.from, n.to
		evidence["need_bytes"], evidence["cache_bytes"], evidence["outside_bytes"] = n.need, n.cache, n.outside
	}
	a.find(t, "growth", "warn", text, "", evidence)
	return len(a.rep.Findings) - 1
}

// growthPhases is how many phases the finding names in which blocks were born that stay.
const growthPhases = 3

// growthAdvice says what to do about a device level that grows. It speaks of other findings on the track only where there
// are such.
func growthAdvice(t *Track, evidence map[string]any, kept, pieces bool) string {
	if t.Tensors == nil || t.Tensors.From != "snapshot" {
		where := ""
		if phase, _ := evidence["phase"].(string); phase != "" {
			where = ", Phase " + phase
		}
		return "in the sheet Allocations, filter for these iterations" + where + " and look for blocks that are freed in no or a later iteration; with a caching allocator, a PyTorch memory snapshot tells growth of tensors from fragmentation"
	}
	var parts []string
	if kept {
		parts = append(parts, "tensors are kept from one iteration to the next: the finding on them says which")
	} else if need, ok := evidence["need_bytes"].(int64); ok && need > 0 {
		parts = append(parts, "look for what gets larger from step to step, such as images or sequences: the peak of the largest is what the card must hold")
	}
	if cache, ok := evidence["cache_bytes"].(int64); pieces {
		parts = append(parts, "the finding on the cache says what lies in pieces and which settings to try")
	} else if ok && cache > 0 {
		parts = append(parts, "nsysmem whatif says what the cache would hold under other settings")
	}
	grown, _ := evidence["grown_bytes"].(int64)
	if outside, ok := evidence["outside_bytes"].(int64); ok && tells(outside, grown) {
		parts = append(parts, "the table Memory outside PyTorch says which calls took that part")
	}
	return strings.Join(parts, "; ")
}

// growthAllocated tells of tensors that stay: under a caching allocator the driver's level may be flat all the while. It
// says whether there are such.
func (a *analysis) growthAllocated(t *Track) bool {
	ten := t.Tensors
	if ten == nil || ten.From != "snapshot" {
		return false
	}
	peak := int64(0)
	if l := t.Level(LevelAllocated); l != nil {
		peak = l.Peak
	}
	r, grows := riseOf(t, peak, func(it *Iteration) *MemoryUse { return it.Level(LevelAllocated) })
	if !grows {
		return false
	}
	k := newKeeper(&r)
	for i := range ten.Blocks {
		b := &ten.Blocks[i]
		k.add(b.Start, b.End, b.Counted, func() (string, string) { return b.Phase, b.Frame })
	}
	most, sum := k.most(), int64(0)
	for _, x := range most {
		sum += x.bytes
	}
	// Tensors that merely get larger, with the length of a sequence say, are no leak.
	if 2*sum < r.grown {
		return false
	}
	text := fmt.Sprintf("tensors grow by %s from %s to %s, %s an iteration at the median", size(r.grown), r.since.Name, r.last.Name, size(r.median))
	phase, frame := most[0].phase, most[0].frame
	if phase != "" {
		text += ", most of it born in " + phase
	}
	if frame != "" {
		text += " at " + frame
	}
	text += fmt.Sprintf(" (%s, %s)", plural(most[0].blocks, "block"), size(most[0].bytes))
	a.find(t, "growth_allocated", "warn", text,
		"something keeps these tensors from one iteration to the next, such as a list of losses or outputs: keep loss.item() or a detached copy on the CPU instead; "+keptFilter(ten.Blocks, phase, frame),
		map[string]any{"grown_bytes": r.grown, "median_bytes": r.median, "since": r.since.Index, "phase": phase, "frame": frame,
			"blocks": most[0].blocks, "phase_bytes": most[0].bytes})
	return true
}

// keptFilter says how to find kept blocks in the workbook. An end does not tell them: a list goes when the loop is over.
func keptFilter(blocks []TensorBlock, phase, frame string) string {
	n, bytes, unknown := 0, int64(0), 0
	for i := range blocks {
		if b := &blocks[i]; b.Phase == phase && b.Frame == frame && b.Lifetime > 1 {
			n, bytes = n+1, bytes+b.Bytes
			if b.Category == "unknown" {
				unknown++
			}
		}
	}
	s := "in the sheet Tensors, filter for a Lifetime of more than 1 iteration"
	if phase != "" {
		s += ", born in phase " + phase
	} else {
		s += ", born in no phase"
	}
	if frame == "" {
		frame = NoFrame
	}
	s += fmt.Sprintf(", Frame %s: %s of %s together, those of the last iterations not among them", frame, plural(n, "block"), size(bytes))
	if 2*unknown > n {
		s += "; their category is unknown, as is that of whatever is kept from one iteration to the next and is neither parameter, gradient nor optimizer state"
	}
	return s
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

const (
	// splitAbove is the largest request of the small pool. Its free blocks serve no larger one, so that a small request
	// beside free bytes of the large pool says nothing.
	splitAbove = 1 << 20

	// wasteShare is the part of the reserved peak over the allocated one from which on misfits are worth a finding.
	wasteShare = 4
)

// Misfit says that the cache had as many bytes free as were asked for, and still no block that would do: they lay in
// pieces, or in the blocks of another stream.
func (c *Cache) Misfit() bool {
	return c.Request > splitAbove && c.Free >= c.Request && c.LargestFree < c.Request
}

// fragmentation tells of free bytes that did not help: at requests that failed, and at segments that were added although
// as much was free. It says whether there was that.
func (a *analysis) fragmentation(t *Track) bool {
	ten := t.Tensors
	if ten == nil || ten.From != "snapshot" {
		return false
	}
	const advice = "nsysmem whatif tries other settings of the allocator on this snapshot; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is the first to try"
	failed, late, misfits := 0, 0, 0
	var worst, last *Cache
	for i := range ten.Failures {
		if c := ten.Failures[i].Cache; c != nil && c.Misfit() {
			failed, last = failed+1, c
		}
	}
	for i := range ten.Growth {
		c := &ten.Growth[i]
		if !c.Misfit() {
			continue
		}
		misfits++
		if c.Iteration >= 0 && t.Iterations[c.Iteration].Steady() {
			late++
		}
		if worst == nil || c.Free-c.Request > worst.Free-worst.Request {
			worst = c
		}
	}
	var allocated, reserved int64
	if l := t.Level(LevelAllocated); l != nil {
		allocated = l.Peak
	}
	if l := t.Level(LevelReserved); l != nil {
		reserved = l.Peak
	}
	evidence := map[string]any{"failed": failed, "misfits": misfits, "steady_misfits": late, "segments": len(ten.Growth),
		"allocated_peak_bytes": allocated, "reserved_peak_bytes": reserved}
	put := func(c *Cache) string {
		evidence["request_bytes"], evidence["free_bytes"], evidence["largest_free_bytes"], evidence["at_ns"] = c.Request, c.Free, c.LargestFree, c.Time
		return fmt.Sprintf("%s asked for in %s, %s free, largest free block %s", size(c.Request), t.spot(c.Iteration, c.Phase), size(c.Free), size(c.LargestFree))
	}
	switch {
	case failed > 0:
		a.find(t, "fragmentation", "error", fmt.Sprintf("%d requests failed though as many bytes lay free in the cache, the last one: %s", failed, put(last)), advice, evidence)
		return true
	case misfits > 0 && reserved > 0 && wasteShare*(reserved-allocated) >= reserved:
		severity := "info"
		if late > 0 {
			severity = "warn"
		}
		a.find(t, "fragmentation", severity, fmt.Sprintf("the cache is fragmented: %s reserved at its peak where tensors need %s at theirs, and %d of %d segments were added though as many bytes as asked for lay free, %d of them in steady iterations; the widest gap: %s",
			size(reserved), size(allocated), misfits, len(ten.Growth), late, put(worst)), advice, evidence)
		return true
	}
	return false
}

// spot names an iteration and a phase in a sentence.
func (t *Track) spot(iteration int, phase string) string {
	switch {
	case iteration >= 0 && iteration < len(t.Iterations) && phase != "":
		return t.Iterations[iteration].Name + ", " + phase
	case iteration >= 0 && iteration < len(t.Iterations):
		return t.Iterations[iteration].Name
	case phase != "":
		return phase
	}
	return "no range"
}
