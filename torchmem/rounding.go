package torchmem

import (
	"math/bits"
	"strconv"
)

// Sizes of PyTorch's caching allocator. Source: PyTorch's notes on CUDA semantics (memory management), its published
// allocator, and every recorded snapshot, in which no segment or block differs from them.
const (
	MiB = 1 << 20

	minBlock    = 512      // requests are rounded up to a multiple of this
	smallMax    = 1 * MiB  // rounded requests up to this come from the small pool; larger rests are split off in the large one
	smallSeg    = 2 * MiB  // segments of the small pool
	largeSeg    = 20 * MiB // segments for requests of the large pool under largeOwn
	largeOwn    = 10 * MiB // from this on a request gets a segment of its own size
	largeRound  = 2 * MiB  // of which that is a multiple
	maxRounding = 20 * MiB // default of max_non_split_rounding_mb

	// Intervals of roundup_power2_divisions: 1 MiB, 2 MiB, … 32 GiB; sizes outside count to the first or last.
	roundupIntervals = 16
)

// roundupIndexOf is the interval of a size in MiB as text; -1 for what is no power of two within them.
func roundupIndexOf(mib string) int {
	v, err := strconv.ParseUint(mib, 10, 64)
	if err != nil || v == 0 || v&(v-1) != 0 || bits.Len64(v) > roundupIntervals {
		return -1
	}
	return bits.Len64(v) - 1
}

// roundSize is the size that the allocator sets aside for a request. With divisions for its interval, a request is
// rounded up to the next of that many equal steps between two powers of two; one under 512 bytes a step is not.
func roundSize(request int64, divisions *[roundupIntervals]int64) int64 {
	if request < minBlock {
		return minBlock
	}
	log := bits.Len64(uint64(request)) - 1
	div := divisions[min(max(log-20, 0), roundupIntervals-1)]
	if div > 1 && request > minBlock*div {
		low := int64(1) << log
		if request == low {
			return request
		}
		step := low >> (bits.Len64(uint64(div)) - 1)
		if step == 0 {
			return low << 1
		}
		return (request + step - 1) / step * step
	}
	return (request + minBlock - 1) / minBlock * minBlock
}

// segmentSize is what the driver is asked for when a rounded request finds no block.
func segmentSize(rounded int64) int64 {
	switch {
	case rounded <= smallMax:
		return smallSeg
	case rounded < largeOwn:
		return largeSeg
	default:
		return (rounded + largeRound - 1) / largeRound * largeRound
	}
}
