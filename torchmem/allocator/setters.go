package allocator

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"nsysmem/torchmem/internal/sizes"
)

// asyncBackend is the value of backend for the allocator of the driver.
const asyncBackend = "cudaMallocAsync"

func setBackend(_ *Config, name, value string) error {
	if value != "native" && value != asyncBackend {
		return fmt.Errorf("%s is native or %s, not %s", name, asyncBackend, value)
	}
	return nil
}

// mebibytes sets a size given in MiB, of at least so many and a multiple of so many.
func mebibytes(least, multiple int64, field func(*Config) *int64) setter {
	return func(c *Config, name, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least || n > sizes.Max/sizes.MiB {
			return fmt.Errorf("%s is a whole number of MiB, at least %d, not %s", name, least, value)
		}
		if n%multiple != 0 {
			return fmt.Errorf("%s is a multiple of %d MiB, not %s", name, multiple, value)
		}
		*field(c) = n * sizes.MiB
		return nil
	}
}

func (c *Config) setGCThreshold(name, value string) (err error) {
	c.GCThreshold, err = strconv.ParseFloat(value, 64)
	if err != nil || !(c.GCThreshold > 0 && c.GCThreshold < 1) { // NaN is neither
		return fmt.Errorf("%s is a number between 0 and 1, not %s", name, value)
	}
	return nil
}

func (c *Config) setMemoryFraction(name, value string) (err error) {
	c.MemoryFraction, err = strconv.ParseFloat(value, 64)
	if err != nil || !(c.MemoryFraction > 0 && c.MemoryFraction <= 1) {
		return fmt.Errorf("%s is a number over 0 and up to 1, not %s", name, value)
	}
	return nil
}

func (c *Config) setExpandable(name, value string) error {
	if value != "True" && value != "False" {
		return fmt.Errorf("%s is True or False, not %s", name, value)
	}
	c.Expandable = value == "True"
	return nil
}

// setRoundup takes one number for all sizes, or a list of size in MiB and number: sizes up to the first interval get the
// first number, one after ">" holds for all intervals beyond the last that was named, and intervals that are left out in
// between have none (observed in the settings that snapshots record). Up to PyTorch 2.8 ">" takes the last interval that was
// named along.
func (c *Config) setRoundup(name, value string) error {
	list, isList := strings.CutPrefix(value, "[")
	if !isList {
		n, err := powerOfTwo(name, value)
		for i := range c.Roundup {
			c.Roundup[i] = n
		}
		return err
	}
	list, closed := strings.CutSuffix(list, "]")
	if !closed || list == "" {
		return fmt.Errorf("%s is a number, or a list such as [256:1,512:2,>:4]", name)
	}
	next := 0 // the first interval that is still to be named
	for i, item := range strings.Split(list, ",") {
		k, n, err := roundupItem(name, item, next)
		if err != nil {
			return err
		}
		from, to := k, k+1
		switch {
		case k == beyond:
			from, to = next, sizes.Intervals
			if c.version.before(beyondNew) {
				from = max(next-1, 0)
			}
		case i == 0:
			from = 0
		}
		for j := from; j < to; j++ {
			c.Roundup[j] = n
		}
		next = to
		if k == beyond {
			next = beyond
		}
	}
	return nil
}

// beyond is the place of an item after ">": no interval comes after it.
const beyond = sizes.Intervals + 1

// roundupItem reads an item such as 256:1: its interval, or beyond, and the divisions.
func roundupItem(name, item string, next int) (interval int, divisions int64, err error) {
	size, div, ok := strings.Cut(item, ":")
	if !ok {
		return 0, 0, fmt.Errorf("%s: %q is not SIZE:NUMBER", name, item)
	}
	if n, err := strconv.ParseUint(div, 10, 32); err != nil || n > 0 { // 0 for none
		if divisions, err = powerOfTwo(name, div); err != nil {
			return 0, 0, err
		}
	}
	if size == ">" {
		return beyond, divisions, nil
	}
	if next == beyond {
		return 0, 0, fmt.Errorf("%s: \">\" stands last", name)
	}
	mib, err := powerOfTwo(name, size)
	if err != nil {
		return 0, 0, err
	}
	interval = min(bits.Len64(uint64(mib)), sizes.Intervals) - 1
	if interval < next {
		return 0, 0, fmt.Errorf("%s: sizes rise from one to the next, %s does not", name, size)
	}
	return interval, divisions, nil
}

// powerOfTwo reads a number of 32 bits.
func powerOfTwo(name, text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || bits.OnesCount64(n) != 1 {
		return 0, fmt.Errorf("%s: %q is no power of two", name, text)
	}
	return int64(n), nil
}
