package align

import (
	"cmp"
	"fmt"
	"slices"

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

// growth tells of a device level that rises over the steady iterations, and in which phase the blocks were born that stay.
func (a *analysis) growth(t *Track) {
	r, grows := riseOf(t, t.Total.Memory.Peak, func(it *Iteration) *MemoryUse { return &it.Memory })
	if !grows {
		return
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
		text += fmt.Sprintf(", most of it in %s", most[0].phase)
		evidence["phase"], evidence["phase_bytes"] = most[0].phase, most[0].bytes
	}
	advice := "look at the blocks in Live at end that were born in these iterations; with a caching allocator, a PyTorch memory snapshot tells growth of tensors from fragmentation"
	if t.Tensors != nil && t.Tensors.From == "snapshot" {
		advice = "the findings on tensors and on the cache say which of the two it is: tensors that are kept, or a cache that grows because its free blocks do not fit"
	}
	a.find(t, "growth", "warn", text, advice, evidence)
}

// growthAllocated tells of tensors that stay: under a caching allocator the driver's level may be flat all the while.
func (a *analysis) growthAllocated(t *Track) {
	ten := t.Tensors
	if ten == nil || ten.From != "snapshot" {
		return
	}
	peak := int64(0)
	for i := range t.Levels {
		if t.Levels[i].Kind == "allocated" {
			peak = t.Levels[i].Peak
		}
	}
	r, grows := riseOf(t, peak, func(it *Iteration) *MemoryUse {
		for i := range it.Other {
			if it.Other[i].Level == "allocated" {
				return &it.Other[i].MemoryUse
			}
		}
		return nil
	})
	if !grows {
		return
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
		return
	}
	text := fmt.Sprintf("tensors grow by %s from %s to %s, %s an iteration at the median", size(r.grown), r.since.Name, r.last.Name, size(r.median))
	phase, frame := most[0].phase, most[0].frame
	if phase != "" {
		text += ", most of it born in " + phase
	}
	if frame != "" {
		text += " at " + frame
	}
	text += fmt.Sprintf(" (%d blocks, %s)", most[0].blocks, size(most[0].bytes))
	a.find(t, "growth_allocated", "warn", text,
		"something keeps these tensors from one iteration to the next, such as a list of losses or outputs: keep loss.item() or a detached copy on the CPU instead; the sheet Tensors lists them without an end",
		map[string]any{"grown_bytes": r.grown, "median_bytes": r.median, "since": r.since.Index, "phase": phase, "frame": frame,
			"blocks": most[0].blocks, "phase_bytes": most[0].bytes})
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
// as much was free.
func (a *analysis) fragmentation(t *Track) {
	ten := t.Tensors
	if ten == nil || ten.From != "snapshot" {
		return
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
	for i := range t.Levels {
		switch t.Levels[i].Kind {
		case "allocated":
			allocated = t.Levels[i].Peak
		case "reserved":
			reserved = t.Levels[i].Peak
		}
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
	case misfits > 0 && reserved > 0 && wasteShare*(reserved-allocated) >= reserved:
		severity := "info"
		if late > 0 {
			severity = "warn"
		}
		a.find(t, "fragmentation", severity, fmt.Sprintf("the cache is fragmented: %s reserved at its peak where tensors need %s at theirs, and %d of %d segments were added though as many bytes as asked for lay free, %d of them in steady iterations; the widest gap: %s",
			size(reserved), size(allocated), misfits, len(ten.Growth), late, put(worst)), advice, evidence)
	}
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
