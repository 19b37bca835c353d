package tensor

import "nsysmem/torchmem"

// FromSnapshot says what tensors hold, from the device of a snapshot that belongs to the track. utc is the report's
// time 0 in ns since 1970.
//
//  1. Each block that the allocator handed out is placed in the program by the times of its birth and death.
//  2. Categories are found by where blocks are born and die.
//  3. Who holds memory at the peak, and the cache at its own, at failures and at each segment that was added, are
//     read off the replayed trace, which knows the order of entries with one stamp.
//  4. What the driver handed out and is in no segment lies outside PyTorch.
func FromSnapshot(match *Match, utc int64, p *Program, d Driver) *Memory {
	r, clock := match.Replay, match.Clock
	m := &Memory{From: BySnapshot, Conf: r.Settings.Conf, Replay: r, Shift: utc + clock.Offset, Clock: &clock}
	m.Blocks = m.blocks(p)
	whole := r.Whole()
	peakAt := m.ReportTime(r.From)
	if whole.AllocatedPeakEvent >= 0 {
		peakAt = m.ReportTime(r.Trace().At(int(whole.AllocatedPeakEvent)).Time)
	}
	m.categorize(p, peakAt)
	m.Peak = m.holdAt(p, int(whole.AllocatedPeakEvent), peakAt)
	for i := range m.Categories {
		m.Categories[i].AtPeak = 0
		for _, s := range m.Peak.ByCategory {
			if s.Name == m.Categories[i].Name {
				m.Categories[i].AtPeak = s.Bytes
			}
		}
	}
	m.private, m.pools = r.PrivateFree(), r.PrivateSegments()
	for i := range r.Growth {
		m.Growth = append(m.Growth, m.cache(p, &r.Growth[i]))
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		h, c := m.holdAt(p, int(f.Event)-1, m.ReportTime(f.Time)), m.cache(p, f)
		h.Request, h.Cache = f.Request, &c
		m.Failures = append(m.Failures, h)
	}
	m.AtReserved = m.cacheAt(p, int(whole.ReservedPeakEvent), whole.ReservedPeak)
	m.Outside = m.outside(d)
	m.Stayed = stayedOf(p.Steady, m.Blocks)
	return m
}

// blocks places the blocks of the replay in the program. Births and deaths are looked up one after the other, so that
// each goes forward in time.
func (m *Memory) blocks(p *Program) []Block {
	r := m.Replay
	out := make([]Block, len(r.Blocks))
	frames := make(map[torchmem.StackID]string)
	for i := range r.Blocks {
		b, n := &r.Blocks[i], &out[i]
		*n = Block{Start: m.ReportTime(b.Birth), End: m.ReportTime(b.Death), Address: b.Addr, Bytes: b.Requested,
			Counted: b.Counted, Stream: b.Stream, Stack: b.Stack, Iteration: -1, EndIteration: -1}
		if n.Start != Never {
			n.Iteration, n.Phase = p.Where(n.Start)
		}
		n.Lifetime = p.Lifetime(n.Start, n.End)
		f, ok := frames[b.Stack]
		if !ok {
			f = Frame(r.Stack(b.Stack))
			frames[b.Stack] = f
		}
		n.Frame = f
		if b.BirthEvent >= 0 {
			n.Module = r.Snapshot().Text(r.Trace().At(int(b.BirthEvent)).Note)
		}
	}
	for i := range out {
		if n := &out[i]; n.End != Never {
			n.EndIteration, n.EndPhase = p.Where(n.End)
		}
	}
	return out
}

// FromDriver takes the driver's blocks for tensors, for a program that runs without a caching allocator; peakAt is when
// the device level is highest first, in ns. Static memory is no tensor; libraries' workspaces are among them.
func FromDriver(p *Program, d Driver, peakAt int64) *Memory {
	m := &Memory{From: ByDriver}
	for i, r := range d.Blocks() {
		if r.Static {
			continue
		}
		b := Block{Start: r.Start, End: r.End, Address: r.Address, Bytes: r.Bytes, Counted: r.Bytes, Stream: r.Stream,
			Lifetime: p.Lifetime(r.Start, r.End)}
		_, b.Iteration, b.Phase = d.Born(i)
		b.EndIteration, b.EndPhase = d.Died(i)
		m.Blocks = append(m.Blocks, b)
	}
	m.categorize(p, peakAt)
	m.Peak = hold(m.Blocks, peakAt)
	m.Peak.Iteration, m.Peak.Phase = p.Where(peakAt)
	return m
}
