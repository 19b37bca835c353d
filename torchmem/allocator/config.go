package allocator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nsysmem/torchmem/internal/sizes"
)

// A Config is a setting of PYTORCH_CUDA_ALLOC_CONF (PYTORCH_ALLOC_CONF in newer versions), as far as it has influence on
// what is reserved. ParseConfig makes one; the zero value is not one.
type Config struct {
	Text           string          // as it was given, without spaces; empty for the defaults
	MaxSplitSize   int64           // bytes; blocks this large are neither split nor given to smaller ones; 0 for no limit
	MaxRounding    int64           // bytes by which a block this large may exceed the request that gets it
	LargeSegment   int64           // bytes; segment for requests over 1 and under 10 MiB, and page of expandable segments
	Roundup        sizes.Divisions // as torchmem.Settings.RoundupPower2
	GCThreshold    float64         // share of the allowed memory beyond which old cached segments go; 0 for never
	MemoryFraction float64         // share of the device that the process may use; 0 where not set
	Expandable     bool
	WithoutEffect  []string // settings that were given and change nothing in the model, in order
	version        Version  // whose rules it was read by; zero for the newest
	twice          []string // settings that were given more than once
	checkWhole     bool     // there is a limit of the process, as MemoryFraction sets
}

// A setter takes the value of a setting.
type setter func(c *Config, name, value string) error

// The names of settings that ParseConfig itself asks for.
const (
	backendSetting  = "backend"
	roundingSetting = "max_non_split_rounding_mb"
	gcSetting       = "garbage_collection_threshold"
)

// setters are the settings that PyTorch 2.0 to 2.12 know, with the bounds that it checks. Those that the model does not
// follow, with nil, are about host memory, locks, address space or graph capture.
var setters = map[string]setter{
	"max_split_size_mb":           mebibytes(20, 1, func(c *Config) *int64 { return &c.MaxSplitSize }),
	roundingSetting:               mebibytes(20, 1, func(c *Config) *int64 { return &c.MaxRounding }),
	"large_segment_size_mb":       mebibytes(11, 2, func(c *Config) *int64 { return &c.LargeSegment }),
	gcSetting:                     (*Config).setGCThreshold,
	"per_process_memory_fraction": (*Config).setMemoryFraction,
	"expandable_segments":         (*Config).setExpandable,
	"roundup_power2_divisions":    (*Config).setRoundup,
	backendSetting:                setBackend,

	"expandable_segments_reserve":          nil,
	"expandable_segments_reserve_by_class": nil,
	"graph_capture_record_stream_reuse":    nil,
	"pinned_free_catch_all":                nil,
	"pinned_max_register_threads":          nil,
	"pinned_num_register_threads":          nil,
	"pinned_reserve_segment_size_mb":       nil,
	"pinned_use_background_threads":        nil,
	"pinned_use_cuda_host_register":        nil,
	"pinned_use_hip_host_register":         nil,
	"release_lock_on_cudamalloc":           nil,
	"release_lock_on_hipmalloc":            nil,
	"throw_on_cudamalloc_oom":              nil,
}

// errBackend says that a setting is of another allocator than the modelled one.
var errBackend = errors.New("not modelled")

// Meaning is the same text for settings that come to the same, however they are written.
func (c *Config) Meaning() string {
	m := *c
	m.Text, m.WithoutEffect, m.twice, m.version = "", nil, nil, Version{}
	return fmt.Sprintf("%+v", m)
}

// KnownSettings are the names of the settings that ParseConfig takes, sorted.
func KnownSettings() []string { return slices.Sorted(maps.Keys(setters)) }

// ParseConfig reads a setting spelled as in PYTORCH_CUDA_ALLOC_CONF, such as
// "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]". Bounds are those that PyTorch checks. Of a setting
// given twice the last counts, as in PyTorch. One that PyTorch does not know, and the backend cudaMallocAsync, which none of
// these rules apply to, are errors that list the known ones; a value that cannot be is an error that says which can.
func ParseConfig(text string) (*Config, error) { return ParseConfigFor(text, Version{}) }

// ParseConfigFor is ParseConfig by the rules of a version; the unknown one has those of the newest. A setting that the
// version does not know is an error.
func ParseConfigFor(text string, v Version) (*Config, error) {
	c, err := parseConfig(strings.Join(strings.Fields(text), ""), v)
	if err != nil {
		return nil, fmt.Errorf("torchmem: setting %q: %w", text, err)
	}
	return c, nil
}

func parseConfig(text string, v Version) (*Config, error) {
	c := &Config{Text: text, MaxRounding: sizes.MaxRounding, LargeSegment: sizes.LargeSegment, version: v}
	items, err := splitConfig(text)
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	native := "" // the last setting that the native allocator alone follows
	for _, item := range items {
		name, value, _ := strings.Cut(item, ":")
		if err := checkItem(name, value, v); err != nil {
			return nil, err
		}
		if _, again := given[name]; again && !slices.Contains(c.twice, name) {
			c.twice = append(c.twice, name)
		}
		given[name] = value
		if name != backendSetting {
			native = name
		}
		if set := setters[name]; set == nil && !slices.Contains(c.WithoutEffect, name) {
			c.WithoutEffect = append(c.WithoutEffect, name)
		} else if set != nil {
			if err := set(c, name, value); err != nil {
				return nil, err
			}
		}
	}
	switch async := given[backendSetting] == asyncBackend; {
	case async && native != "":
		return nil, listing("backend:%s contradicts %s, which only the native allocator follows: leave one out",
			asyncBackend, native)
	case async:
		return nil, fmt.Errorf("%w: %w", errBackend, listing("backend:%s is the driver's own allocator", asyncBackend))
	}
	if given[roundingSetting] != "" && c.MaxSplitSize == 0 {
		c.WithoutEffect = append(c.WithoutEffect, roundingSetting)
	}
	return c, nil
}

// checkItem says what is wrong with an item.
func checkItem(name, value string, v Version) error {
	_, known := setters[name]
	switch {
	case !known:
		return listing("%q is not known", name)
	case value == "":
		return fmt.Errorf("%s needs a value, as in %s:VALUE", name, name)
	case v.before(since[name]):
		return fmt.Errorf("PyTorch %v does not know %s, which came with %v", v, name, since[name])
	}
	return nil
}

// listing is an error that ends with the known settings.
func listing(format string, args ...any) error {
	return fmt.Errorf("%s: known are %s", fmt.Sprintf(format, args...), strings.Join(KnownSettings(), ", "))
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

// Notes are what should be said beside figures for this setting; nil for nothing.
func (c *Config) Notes() []string {
	var out []string
	if c.GCThreshold > 0 && c.MemoryFraction == 0 {
		// PyTorch collects only where the process has a limit of its own.
		out = append(out, gcSetting+" has no effect unless the process has a memory limit (set_per_process_memory_fraction)")
	}
	if c.Expandable && c.MaxSplitSize > 0 {
		out = append(out, "with expandable_segments, max_split_size_mb keeps small requests out of large free blocks but does not limit splitting")
	}
	for _, n := range c.twice {
		out = append(out, n+" is given twice: the last counts")
	}
	for _, n := range c.WithoutEffect {
		out = append(out, n+" does not change what is reserved")
	}
	return out
}
