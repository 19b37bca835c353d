package allocator

import (
	"strings"
	"testing"

	"nsysmem/torchmem/internal/sizes"
)

func TestParseConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]func(*Config) bool{
		"":                     func(c *Config) bool { return c.MaxSplitSize == 0 && c.MaxRounding == 20*sizes.MiB && !c.Expandable },
		"max_split_size_mb:64": func(c *Config) bool { return c.MaxSplitSize == 64*sizes.MiB },
		" max_split_size_mb : 64 , max_non_split_rounding_mb:30": func(c *Config) bool {
			return c.MaxSplitSize == 64*sizes.MiB && c.MaxRounding == 30*sizes.MiB && c.Text == "max_split_size_mb:64,max_non_split_rounding_mb:30"
		},
		"expandable_segments:True,expandable_segments:False": func(c *Config) bool { return !c.Expandable && len(c.Notes()) == 1 },
		"expandable_segments:True":                           func(c *Config) bool { return c.Expandable },
		"expandable_segments:False":                          func(c *Config) bool { return !c.Expandable },
		"roundup_power2_divisions:4":                         func(c *Config) bool { return c.Roundup[0] == 4 && c.Roundup[15] == 4 },
		"garbage_collection_threshold:0.6":                   func(c *Config) bool { return c.GCThreshold == 0.6 && len(c.Notes()) == 1 },
		"backend:native":                                     func(c *Config) bool { return !c.Expandable },
		"pinned_use_background_threads:True":                 func(c *Config) bool { return len(c.Notes()) == 1 },
		"large_segment_size_mb:64":                           func(c *Config) bool { return c.LargeSegment == 64*sizes.MiB },
		"per_process_memory_fraction:0.5":                    func(c *Config) bool { return c.MemoryFraction == 0.5 },
		"roundup_power2_divisions:[>:2]":                     func(c *Config) bool { return c.Roundup[0] == 2 && c.Roundup[15] == 2 },
		"roundup_power2_divisions:[256:1,>:0]":               func(c *Config) bool { return c.Roundup[8] == 1 && c.Roundup[9] == 0 },
		// The divisions that PyTorch's own tests name for this list.
		"roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1],max_split_size_mb:40": func(c *Config) bool {
			return c.Roundup[5] == 8 && c.Roundup[6] == 8 && c.Roundup[7] == 2 && c.Roundup[8] == 4 && c.Roundup[9] == 2 &&
				c.Roundup[10] == 4 && c.Roundup[11] == 1 && c.Roundup[15] == 1 && c.MaxSplitSize == 40*sizes.MiB
		},
	} {
		c, err := ParseConfig(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if !want(c) {
			t.Errorf("%q: %+v", text, *c)
		}
	}
}

func TestParseConfigRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"max_split_size":                                   "known are backend",
		"max_split_mb:64":                                  "max_split_size_mb",
		"max_split_size_mb":                                "needs a value",
		"max_split_size_mb:19":                             "at least 20",
		"max_split_size_mb:x":                              "number of MiB, at least 20, not x",
		"max_split_size_mb:99999999999999999999":           "number of MiB",
		"expandable_segments:true":                         "True or False",
		"garbage_collection_threshold:1":                   "between 0 and 1",
		"garbage_collection_threshold:NaN":                 "between 0 and 1",
		"per_process_memory_fraction:2":                    "up to 1",
		"large_segment_size_mb:21":                         "multiple of 2",
		"backend:cudaMallocAsync":                          "not modelled",
		"backend:other":                                    "native or cudaMallocAsync",
		"backend:cudaMallocAsync,expandable_segments:True": "contradicts expandable_segments",
		"roundup_power2_divisions:3":                       "no power of two",
		"roundup_power2_divisions:[256:3]":                 "no power of two",
		"roundup_power2_divisions:[100:2]":                 "no power of two",
		"roundup_power2_divisions:[512:2,256:4]":           "sizes rise",
		"roundup_power2_divisions:[>:2,256:4]":             "stands last",
		"roundup_power2_divisions:[256:2":                  "not closed",
		"roundup_power2_divisions:256:2]":                  "do not match",
		"roundup_power2_divisions:[]":                      "a list such as",
		"roundup_power2_divisions:[256]":                   "SIZE:NUMBER",
		"max_split_size_mb:64;expandable_segments:True":    "number of MiB",
		",,": "not known",
	} {
		_, err := ParseConfig(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", text, err, want)
		}
	}
}

func TestRoundSize(t *testing.T) {
	t.Parallel()
	none := &sizes.Divisions{}
	var four sizes.Divisions
	for i := range four {
		four[i] = 4
	}
	for _, c := range []struct {
		request, want int64
		div           *sizes.Divisions
	}{
		{0, 512, none}, {1, 512, none}, {512, 512, none}, {513, 1024, none}, {1 << 20, 1 << 20, none}, {1<<20 + 1, 1<<20 + 512, none},
		{1200, 1536, &four}, // too small for divisions of 512 bytes and more
		{5000, 5120, &four}, {1 << 30, 1 << 30, &four}, {1<<30 + 1, 5 << 28, &four}, {1<<31 - 1, 1 << 31, &four}, {452984832, 448 << 20, &four},
	} {
		if got := sizes.Round(c.request, c.div); got != c.want {
			t.Errorf("%d with %d divisions: %d, want %d", c.request, c.div[0], got, c.want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{"", "max_split_size_mb:64", "roundup_power2_divisions:[256:1,512:2,>:4],expandable_segments:True",
		"garbage_collection_threshold:0.6", "[[", "]", ":", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseConfig(s)
		if err != nil {
			return
		}
		again, err := ParseConfig(c.Text)
		if err != nil || again.Text != c.Text || again.Roundup != c.Roundup || again.MaxSplitSize != c.MaxSplitSize {
			t.Errorf("%q came to %q, and that to %+v, %v", s, c.Text, again, err)
		}
	})
}
