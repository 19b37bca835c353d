package allocator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// A Version is a version of PyTorch, whose rules hold. The zero value is unknown.
type Version struct{ Major, Minor int }

// String is as in "2.8"; empty for the unknown one.
func (v Version) String() string {
	if v == (Version{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// before says that v is known and older.
func (v Version) before(w Version) bool {
	return v != Version{} && (v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor)
}

// Versions whose rules differ.
var (
	oldest    = Version{2, 0}
	beyondNew = Version{2, 9} // ">" of roundup_power2_divisions leaves the last interval that was named as it is
)

// since is which version knows a setting first, where that is not the oldest.
var since = map[string]Version{
	"expandable_segments":         {2, 1},
	roundingSetting:               {2, 6},
	"large_segment_size_mb":       beyondNew,
	"per_process_memory_fraction": beyondNew,
}

// ParseVersion reads a version such as "2.8" or "2.11.0+cu130". Versions before 2.0 are an error.
func ParseVersion(text string) (Version, error) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		v := Version{major, minor}
		if err1 == nil && err2 == nil && minor >= 0 && major < 1000 && minor < 1000 && !v.before(oldest) {
			return v, nil
		}
	}
	return Version{}, fmt.Errorf("torchmem: %q is no version of PyTorch from %v on, such as 2.8", text, oldest)
}

// VersionOf is the version that a snapshot's settings tell, of those whose rules differ; sure is false where an older or
// newer one may have written them.
//
//  1. Since 2.9 they name graph_capture_record_stream_reuse.
//  2. Where the text has a ">", the divisions beside it tell by which rule it was read.
//  3. Before 2.1 there are none.
func VersionOf(s *torchmem.Settings) (v Version, sure bool) {
	older := Version{2, 8}
	switch {
	case !s.Known:
		return Version{}, false
	case s.GraphReuse:
		return beyondNew, true
	case !strings.Contains(s.Conf, ">"):
		return older, false
	}
	for _, v := range [2]Version{older, beyondNew} {
		if c, err := ParseConfigFor(s.Conf, v); err == nil && sameDivisions(&c.Roundup, &s.RoundupPower2) {
			return v, true
		}
	}
	return older, false
}

// DependsOnVersion says that a setting means one thing up to 2.8 and another later, or is not known before a version.
func DependsOnVersion(text string) bool {
	older, err := ParseConfigFor(text, Version{2, 0})
	newer, err2 := ParseConfigFor(text, beyondNew)
	return (err == nil) != (err2 == nil) || err == nil && !sameDivisions(&older.Roundup, &newer.Roundup)
}

// RecordedConfig is the setting that a snapshot was recorded under, by the rules of a version. The values that were in force
// then are believed over the text, which may be older or read by other rules; what they do not tell is that of the text, or
// the default where the text has something that is not known. doubt says where the two differ; empty for nowhere. The error
// is that of a backend that is not modelled.
func RecordedConfig(s *torchmem.Settings, v Version) (c *Config, doubt string, err error) {
	c, err = ParseConfigFor(s.Conf, v)
	if errors.Is(err, errBackend) {
		return nil, "", err
	}
	if err != nil {
		doubt = fmt.Sprintf("of the recorded setting only the values that the snapshot has beside it are modelled: %v", err)
		c, _ = ParseConfigFor("", v)
		c.Text, c.MaxSplitSize, c.GCThreshold, c.Expandable, c.Roundup = s.Conf, s.MaxSplitSize, s.GCThreshold, s.Expandable, s.RoundupPower2
		return c, doubt, nil
	}
	if !s.Known {
		return c, "", nil
	}
	var differ []string
	if c.MaxSplitSize != s.MaxSplitSize {
		differ = append(differ, "max_split_size")
	}
	if c.GCThreshold != s.GCThreshold {
		differ = append(differ, gcSetting)
	}
	if c.Expandable != s.Expandable {
		differ = append(differ, "expandable_segments")
	}
	if !sameDivisions(&c.Roundup, &s.RoundupPower2) {
		differ = append(differ, "roundup_power2_divisions")
	}
	c.MaxSplitSize, c.GCThreshold, c.Expandable, c.Roundup = s.MaxSplitSize, s.GCThreshold, s.Expandable, s.RoundupPower2
	if len(differ) > 0 {
		doubt = fmt.Sprintf("the snapshot's own values of %s are not those of its text %q: the values are believed",
			strings.Join(differ, ", "), s.Conf)
	}
	return c, doubt, nil
}

// sameDivisions compares divisions; 0 and 1 both mean none.
func sameDivisions(a, b *sizes.Divisions) bool {
	for i := range a {
		if max(a[i], 1) != max(b[i], 1) {
			return false
		}
	}
	return true
}
