package plot

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// A segmentMap is the allocator's segments and blocks at one time, with their sums.
type segmentMap struct {
	at       int64 // ns
	what     string
	segments []tensor.MapSegment
	failure  *tensor.Holding // the request that failed then; nil for none

	reserved, live, pending, free, stuck int64 // bytes; stuck are free ones that cannot go back to the driver
	expandable, fixed                    bool  // there are segments of this sort
	blocks, freeBlocks                   int
	largest                              tensor.MapBlock // the largest free block
	streams                              int
	layers                               []bool // of the stack, those in the map
}

// checkMoment says why there is no map at the moment that the user asks for; nil where there is one.
func checkMoment(rep *findings.Report, track *align.Track, o Options) error {
	ten, path := track.Tensors, rep.Source.Path
	if ten == nil || ten.Replay == nil {
		return fmt.Errorf("plot: segments of %q: they are not known: give PyTorch's memory snapshot of the run with --snapshot", path)
	}
	first, last := ten.ReportTime(ten.Replay.From), ten.ReportTime(ten.Replay.To)
	switch o.At {
	case "", "peak", "reserved":
	case "oom":
		if len(ten.Failures) == 0 {
			return fmt.Errorf("plot: failed requests of %q: the snapshot has none: use --at peak (%s), --at reserved, or a time from %s to %s",
				path, wording.Seconds(ten.Peak.Time), wording.Seconds(first), wording.Seconds(last))
		}
	case "time":
		// Times are written to the millisecond, and what is written must be taken.
		if o.AtTime < first-msec || o.AtTime > last+msec {
			return fmt.Errorf("plot: segments of %q at %s: the snapshot's trace runs from %s to %s: use a time within, or --at peak (%s)",
				path, wording.Seconds(o.AtTime), wording.Seconds(first), wording.Seconds(last), wording.Seconds(ten.Peak.Time))
		}
	default:
		return fmt.Errorf("plot: segments at %q: use peak, reserved, oom or a time", o.At)
	}
	return nil
}

// msec is a millisecond in ns.
const msec = 1_000_000

// newSegmentMap is the map at the moment that the user asks for, which checkMoment found to be there.
func newSegmentMap(ten *tensor.Memory, o Options, s *stack) *segmentMap {
	m := &segmentMap{}
	switch o.At {
	case "", "peak":
		m.segments, m.at = ten.MapAtPeak(false)
		m.what = "at the peak of what tensors hold"
	case "reserved":
		m.segments, m.at = ten.MapAtPeak(true)
		m.what = "when PyTorch reserved the most"
	case "oom":
		m.segments, m.failure = ten.MapAtFailure(0), &ten.Failures[0]
		m.at, m.what = m.failure.Time, "just before the request that failed"
		if n := len(ten.Failures); n > 1 {
			m.what = fmt.Sprintf("just before the first of %d requests that failed", n)
		}
	case "time":
		m.at = min(max(o.AtTime, ten.ReportTime(ten.Replay.From)), ten.ReportTime(ten.Replay.To))
		m.segments = ten.MapAt(m.at)
	}
	m.count(s)
	slices.SortStableFunc(m.segments, func(a, b tensor.MapSegment) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Addr, b.Addr))
	})
	return m
}

// count sums up what the segments hold.
func (m *segmentMap) count(s *stack) {
	m.layers = make([]bool, len(s.layers))
	streams := map[uint64]bool{}
	for i := range m.segments {
		seg := &m.segments[i]
		streams[seg.Stream] = true
		m.reserved += seg.Size
		m.expandable, m.fixed = m.expandable || seg.Expandable, m.fixed || !seg.Expandable
		free, whole, live := int64(0), int64(0), false
		for _, b := range seg.Blocks {
			switch b.State {
			case tensor.BlockFree:
				free += b.Size
				whole += wholePages(seg, &b)
				m.freeBlocks++
				if b.Size > m.largest.Size {
					m.largest = b
				}
				continue
			case tensor.BlockPending:
				m.pending += b.Size
			case tensor.BlockLive:
				m.live += b.Size
				if k, ok := s.layerOf(b.Block); ok {
					m.layers[k] = true
				}
			}
			m.blocks++
			live = true
		}
		m.free += free
		if live {
			m.stuck += free - whole
		}
	}
	m.streams = len(streams)
}

// Pages of expandable segments, which the allocator maps and gives back one by one, in bytes: those of its small pool and
// of its large one (c10/cuda/CUDACachingAllocator, kSmallBuffer and kLargeBuffer).
const (
	smallPage = 2 << 20
	largePage = 20 << 20
)

// wholePages are the bytes of a free block that go back to the driver though its segment is in use: of an expandable
// segment, the pages that lie in the block as a whole; of another, none.
func wholePages(s *tensor.MapSegment, b *tensor.MapBlock) int64 {
	if !s.Expandable {
		return 0
	}
	page := int64(largePage)
	if s.Small {
		page = smallPage
	}
	from := int64(b.Addr - s.Addr) // a mapped stretch begins with a page
	first, end := (from+page-1)/page*page, (from+b.Size)/page*page
	return max(end-first, 0)
}

// stuckText says which of the free bytes the driver cannot get back.
func (m *segmentMap) stuckText() string {
	beside := "share a page with live blocks"
	switch {
	case m.stuck == 0:
		return ""
	case !m.expandable:
		return fmt.Sprintf(" Of the free bytes, %s lie beside live blocks, so that they cannot go back to the driver.", wording.Bytes(m.stuck))
	case m.fixed:
		beside = "share a segment, or a page of an expandable one, with live blocks"
	}
	s := fmt.Sprintf(" Of the free bytes, %s %s and cannot go back to the driver", wording.Bytes(m.stuck), beside)
	if rest := m.free - m.stuck; rest > 0 {
		s += fmt.Sprintf("; %s are whole pages, which can", wording.Bytes(rest))
	}
	return s + " (expandable segments: pages of 20 MiB, in the small pool of 2 MiB)."
}

// caption says when this is, what there is, and how far free memory is from being of use.
func (m *segmentMap) caption(n *names, conf string) []string {
	when := wording.Seconds(m.at)
	if w := n.where(m.at); w != "" {
		when += ", " + w
	}
	head := "At "
	if m.what != "" {
		head = upper(m.what) + ": "
	}
	out := []string{sentence(head + when), m.heldText()}
	if m.failure != nil {
		out = append(out, failureText(m.failure))
	}
	if conf != "" {
		out = append(out, "Allocator settings: "+brief(conf, 200)+".")
	}
	return out
}

// heldText says what is reserved, allocated and free.
func (m *segmentMap) heldText() string {
	s := fmt.Sprintf("Reserved: %s in %s; allocated: %s in %s; free in the cache: %s", wording.Bytes(m.reserved), counted(len(m.segments), "segment"),
		wording.Bytes(m.live), counted(m.blocks, "block"), wording.Bytes(m.free))
	if m.reserved > 0 && m.free > 0 {
		s += fmt.Sprintf(" (%s) in %s", percent(m.free, m.reserved), counted(m.freeBlocks, "block"))
	}
	if m.pending > 0 {
		s += fmt.Sprintf("; %s given back but still in use by a stream", wording.Bytes(m.pending))
	}
	s += "."
	if m.free > 0 {
		s += fmt.Sprintf(" Largest free block: %s.", wording.Bytes(m.largest.Size)) + m.stuckText()
	}
	return s
}

// failureText says what a request that failed asked for, and what there was.
func failureText(f *tensor.Holding) string {
	s := "Failed: a request for " + wording.Bytes(f.Request)
	if c := f.Cache; c != nil {
		s += fmt.Sprintf("; the largest free block of its stream and pool has %s, the cache %s in all", wording.Bytes(c.LargestFree), wording.Bytes(c.Free))
		if c.DeviceFree > 0 {
			s += fmt.Sprintf(", and the card had %s left", wording.Bytes(c.DeviceFree))
		}
	}
	return s + "."
}

// counted writes a number and its noun. Maps may have thousands of blocks, so that numbers have their thousands apart.
func counted(n int, name string) string { return wording.Count(n) + " " + wording.Noun(n, name) }
