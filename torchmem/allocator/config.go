package allocator

import (
	"fmt"
	"math/bits"
	"sort"
	"strconv"
	"strings"

	"nsysmem/torchmem/internal/sizes"
)

// A Config is a setting of PYTORCH_CUDA_ALLOC_CONF (PYTORCH_ALLOC_CONF in newer versions), as far as it has influence on
// what is reserved. ParseConfig makes one; the zero value is not one.
type Config struct {
	Text            string          // as it was given, without spaces; empty for the defaults
	MaxSplitSize    int64           // bytes; blocks this large are neither split nor given to smaller requests; 0 for no limit
	MaxRounding     int64           // bytes by which a block this large may exceed the request that gets it
	LargeSegment    int64           // bytes; segment for requests over 1 and under 10 MiB, and the step in which expandable segments grow
	Roundup         sizes.Divisions // as torchmem.Settings.RoundupPower2
	GCThreshold     float64         // share of the allowed memory beyond which old cached segments go; 0 for never
	MemoryFraction  float64         // share of the device that the process may use; 0 where not set
	Expandable      bool
	WithoutEffect   []string // settings that were given and change nothing in the model, in order
	withoutFraction bool
}

// configKeys are the settings that PyTorch 2.0 to 2.12 know, and whether the model follows them. Those that it does not
// follow are about host memory, locks, address space or graph capture.
var configKeys = map[string]bool{
	"max_split_size_mb": true, "max_non_split_rounding_mb": true, "garbage_collection_threshold": true,
	"roundup_power2_divisions": true, "expandable_segments": true, "large_segment_size_mb": true,
	"per_process_memory_fraction": true, "backend": true,
	"release_lock_on_cudamalloc": false, "release_lock_on_hipmalloc": false, "pinned_use_cuda_host_register": false,
	"pinned_use_hip_host_register": false, "pinned_num_register_threads": false,
	"pinned_use_background_threads": false, "pinned_reserve_segment_size_mb": false,
	"pinned_max_register_threads": false, "pinned_free_catch_all": false, "graph_capture_record_stream_reuse": false,
	"throw_on_cudamalloc_oom": false, "expandable_segments_reserve": false,
	"expandable_segments_reserve_by_class": false,
}

// KnownSettings are the names of the settings that ParseConfig takes, sorted.
func KnownSettings() []string {
	var out []string
	for k := range configKeys {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// ParseConfig reads a setting spelled as in PYTORCH_CUDA_ALLOC_CONF, such as
// "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]". Bounds are those that PyTorch checks. A setting
// given twice, one that PyTorch does not know, and the backend cudaMallocAsync, which none of these rules apply to, are
// errors that list the known ones; a value that cannot be is an error that says which can.
func ParseConfig(text string) (*Config, error) {
	c := &Config{MaxRounding: sizes.MaxRounding, LargeSegment: sizes.LargeSegment}
	c.Text = strings.Join(strings.Fields(text), "")
	items, err := splitConfig(c.Text)
	if err != nil {
		return nil, fmt.Errorf("torchmem: setting %q: %w", text, err)
	}
	seen := map[string]bool{}
	async, native := false, ""
	for _, it := range items {
		name, value, ok := strings.Cut(it, ":")
		follows, known := configKeys[name]
		switch {
		case !known:
			return nil, fmt.Errorf("torchmem: setting %q: %q is not known: known are %s", text, name, strings.Join(KnownSettings(), ", "))
		case !ok || value == "":
			return nil, fmt.Errorf("torchmem: setting %q: %s needs a value, as in %s:VALUE", text, name, name)
		case seen[name]:
			return nil, fmt.Errorf("torchmem: setting %q: %s is given twice: leave one out: known are %s", text, name, strings.Join(KnownSettings(), ", "))
		}
		seen[name] = true
		if !follows {
			c.WithoutEffect = append(c.WithoutEffect, name)
			native = name
			continue
		}
		if name == "backend" {
			switch value {
			case "native":
			case "cudaMallocAsync":
				async = true
			default:
				return nil, fmt.Errorf("torchmem: setting %q: backend is native or cudaMallocAsync, not %s", text, value)
			}
			continue
		}
		native = name
		if err := c.set(name, value); err != nil {
			return nil, fmt.Errorf("torchmem: setting %q: %w", text, err)
		}
	}
	if async && native != "" {
		return nil, fmt.Errorf("torchmem: setting %q: backend:cudaMallocAsync contradicts %s, which only the native allocator follows: leave one out: known are %s", text, native, strings.Join(KnownSettings(), ", "))
	}
	if async {
		return nil, fmt.Errorf("torchmem: setting %q: backend:cudaMallocAsync is the driver's own allocator, which is not modelled: known are %s", text, strings.Join(KnownSettings(), ", "))
	}
	if c.GCThreshold > 0 && c.MemoryFraction == 0 {
		// PyTorch collects only where the process has a limit of its own.
		c.withoutFraction = true
	}
	if seen["max_non_split_rounding_mb"] && c.MaxSplitSize == 0 {
		c.WithoutEffect = append(c.WithoutEffect, "max_non_split_rounding_mb")
	}
	return c, nil
}

// splitConfig cuts a setting at the commas outside brackets.
func splitConfig(s string) ([]string, error) {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
		if depth < 0 || depth > 1 {
			return nil, fmt.Errorf("brackets do not match")
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("a bracket is not closed")
	}
	if s[from:] != "" {
		out = append(out, s[from:])
	}
	return out, nil
}

func (c *Config) set(name, value string) error {
	mib := func(least int64) (int64, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least || n > sizes.Max/sizes.MiB {
			return 0, fmt.Errorf("%s is a whole number of MiB, at least %d, not %s", name, least, value)
		}
		return n * sizes.MiB, nil
	}
	var err error
	switch name {
	case "max_split_size_mb":
		c.MaxSplitSize, err = mib(20)
	case "max_non_split_rounding_mb":
		c.MaxRounding, err = mib(20)
	case "large_segment_size_mb":
		if c.LargeSegment, err = mib(11); err == nil && c.LargeSegment%sizes.LargeRound != 0 {
			err = fmt.Errorf("%s is a multiple of 2 MiB, not %s", name, value)
		}
	case "garbage_collection_threshold":
		c.GCThreshold, err = strconv.ParseFloat(value, 64)
		if err != nil || !(c.GCThreshold > 0 && c.GCThreshold < 1) {
			err = fmt.Errorf("%s is a number between 0 and 1, not %s", name, value)
		}
	case "per_process_memory_fraction":
		c.MemoryFraction, err = strconv.ParseFloat(value, 64)
		if err != nil || !(c.MemoryFraction > 0 && c.MemoryFraction <= 1) {
			err = fmt.Errorf("%s is a number over 0 and up to 1, not %s", name, value)
		}
	case "expandable_segments":
		if value != "True" && value != "False" {
			return fmt.Errorf("%s is True or False, not %s", name, value)
		}
		c.Expandable = value == "True"
	case "roundup_power2_divisions":
		return c.setRoundup(value)
	}
	return err
}

// setRoundup takes one number for all sizes, or a list of size in MiB and number: sizes up to the first interval get the
// first number, one after ">" holds for all intervals beyond the last that was named, and intervals that are left out in
// between have none (observed in the settings that snapshots record; before PyTorch 2.9 ">" took the last named interval
// along).
func (c *Config) setRoundup(value string) error {
	const name = "roundup_power2_divisions"
	number := func(s string, zero bool) (int64, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == 0 && !zero || bits.OnesCount64(n) > 1 {
			return 0, fmt.Errorf("%s: %q is no power of two", name, s)
		}
		return int64(n), nil
	}
	if !strings.HasPrefix(value, "[") {
		n, err := number(value, false)
		for i := range c.Roundup {
			c.Roundup[i] = n
		}
		return err
	}
	if !strings.HasSuffix(value, "]") || len(value) < 3 {
		return fmt.Errorf("%s is a number, or a list such as [256:1,512:2,>:4]", name)
	}
	last := -1
	for i, it := range strings.Split(value[1:len(value)-1], ",") {
		size, div, ok := strings.Cut(it, ":")
		if !ok {
			return fmt.Errorf("%s: %q is not SIZE:NUMBER", name, it)
		}
		n, err := number(div, true)
		if err != nil {
			return err
		}
		if size == ">" {
			for k := last + 1; k < sizes.Intervals; k++ {
				c.Roundup[k] = n
			}
			last = sizes.Intervals
			continue
		}
		if last == sizes.Intervals {
			return fmt.Errorf("%s: \">\" stands last", name)
		}
		mib, err := number(size, false)
		if err != nil {
			return err
		}
		k := min(bits.Len64(uint64(mib))-1, sizes.Intervals-1)
		if k <= last {
			return fmt.Errorf("%s: sizes rise from one to the next, %s does not", name, size)
		}
		if i == 0 {
			for j := range k {
				c.Roundup[j] = n
			}
		}
		c.Roundup[k] = n
		last = k
	}
	return nil
}

// Notes are what should be said beside figures for this setting; nil for nothing.
func (c *Config) Notes() []string {
	var out []string
	if c.withoutFraction {
		out = append(out, "garbage_collection_threshold has no effect unless the process has a memory limit (set_per_process_memory_fraction)")
	}
	if c.Expandable && c.MaxSplitSize > 0 {
		out = append(out, "with expandable_segments, max_split_size_mb keeps small requests out of large free blocks but does not limit splitting")
	}
	for _, n := range c.WithoutEffect {
		out = append(out, n+" does not change what is reserved")
	}
	return out
}
