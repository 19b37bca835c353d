// Package sizes holds the sizes that PyTorch's caching allocator works with, for what reads its traces and what models
// it. Source: PyTorch's notes on CUDA semantics (memory management), its CUDACachingAllocator, and every recorded
// snapshot, in which no segment or block differs from them. Sizes are int64 bytes.
package sizes

import (
	"math/bits"
	"strconv"
)

// What requests are rounded to, and what the driver is asked for. PyTorch's own names stand in brackets.
const (
	MiB = 1 << 20

	MinBlock     = 512      // requests are rounded up to a multiple of this (kMinBlockSize)
	SmallMax     = 1 * MiB  // rounded requests up to this come from the small pool; larger rests are split off in the large one (kSmallSize)
	SmallSegment = 2 * MiB  // segments of the small pool (kSmallBuffer)
	LargeSegment = 20 * MiB // segments for requests of the large pool under LargeOwn (kLargeBuffer)
	LargeOwn     = 10 * MiB // from this on a request gets a segment of its own size (kMinLargeAlloc)
	LargeRound   = 2 * MiB  // of which that is a multiple (kRoundLarge)
	MaxRounding  = 20 * MiB // default of max_non_split_rounding_mb
)

// Max is the largest size that is believed, and MaxSum the largest sum of all sizes: ten million blocks of 100 GiB each.
// No level, and none of a simulation, which rounds up, can then overflow.
const (
	Max    = 1 << 48
	MaxSum = 1 << 60
)

// Intervals is how many intervals roundup_power2_divisions has: from 1 MiB, from 2 MiB, … from 32 GiB on. Sizes outside
// count to the first or last.
const Intervals = 16

// Divisions are the numbers of steps between two powers of two that requests are rounded up to, by interval; 0 and 1 both
// mean that requests are not rounded that way.
type Divisions = [Intervals]int64

// IntervalOf is the interval that begins at a size in MiB, written as text; -1 for what is no power of two within them.
func IntervalOf(mib string) int {
	v, err := strconv.ParseUint(mib, 10, 64)
	if err != nil || bits.OnesCount64(v) != 1 || bits.Len64(v) > Intervals {
		return -1
	}
	return bits.Len64(v) - 1
}

// Round is the size that the allocator sets aside for a request. With divisions for its interval, a request is rounded up
// to the next of that many equal steps between two powers of two; one under 512 bytes a step is not.
func Round(request int64, divisions *Divisions) int64 {
	if request < MinBlock {
		return MinBlock
	}
	log := bits.Len64(uint64(request)) - 1
	div := divisions[min(max(log-20, 0), Intervals-1)]
	if div <= 1 || request <= MinBlock*div {
		return Up(request, MinBlock)
	}
	low := int64(1) << log
	if request == low {
		return request
	}
	step := low >> (bits.Len64(uint64(div)) - 1)
	if step == 0 {
		return low << 1
	}
	return Up(request, step)
}

// Segment is what the driver is asked for when a rounded request finds no block; large is the size of a segment for
// requests of the large pool under LargeOwn.
func Segment(rounded, large int64) int64 {
	switch {
	case rounded <= SmallMax:
		return SmallSegment
	case rounded < LargeOwn:
		return large
	default:
		return Up(rounded, LargeRound)
	}
}

// Up is the next multiple of a step, for sizes and addresses.
func Up[T int64 | uint64](n, step T) T { return (n + step - 1) / step * step }
