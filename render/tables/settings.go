package tables

import (
	"slices"
	"strings"

	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// A Setting is one setting of PyTorch's allocator among those that are compared.
type Setting struct {
	WhatIf *whatif.Comparison
	Place  int // in WhatIf.Settings
}

// SettingRows are the rows of all settings of a comparison.
func SettingRows(w *whatif.Comparison) []*Setting {
	out := make([]*Setting, len(w.Settings))
	for i := range out {
		out[i] = &Setting{w, i}
	}
	return out
}

func (s *Setting) get() *whatif.Setting { return &s.WhatIf.Settings[s.Place] }

// isLimited says that it was tried on a card of a given size.
func (s *Setting) isLimited() bool { return s.get().Limited != nil }

// is says whether the program ran with it, and whether it is PyTorch's own.
func (s *Setting) is() string {
	var words []string
	if s.get().IsRecorded {
		words = append(words, "recorded")
	}
	if s.get().IsDefault {
		words = append(words, "default")
	}
	return strings.Join(words, ", ")
}

// spread is how far the peak may be from what is said; empty where that is one figure.
func (s *Setting) spread() string {
	r := s.get().ReservedRange
	if r[0] == r[1] {
		return ""
	}
	return wording.Bytes(r[0]) + " to " + wording.Bytes(r[1])
}

// notes are what is to be said of the setting, and with the base of all of them.
func (s *Setting) notes() string {
	notes := s.get().Notes
	if s.Place == s.WhatIf.Base() {
		notes = slices.Concat(s.WhatIf.Notes, notes, s.WhatIf.CannotKnow)
	}
	return strings.Join(notes, "; ")
}

func (s *Setting) peak() *Moment { return &Moment{WhatIf: s.WhatIf, Moment: &s.get().Peak} }

// stop is the request at which the program stops; nil where it runs through.
func (s *Setting) stop() *Moment {
	if s.get().Failed() == 0 || len(s.get().Limited.Failures) == 0 {
		return nil
	}
	return FailedRequest(s.WhatIf, &s.get().Limited.Failures[0])
}

func (s *Setting) first() *Moment { return Difference(s.WhatIf, s.get().First) }

func (s *Setting) most() *Moment { return Difference(s.WhatIf, s.get().Most) }

// roomy is a figure of a setting on a card with room enough.
func roomy(key, head string, u Unit, get func(*whatif.Setting) int64) Column[*Setting] {
	return Column[*Setting]{Key: key, Head: head, Unit: u, Over: "with room enough", Int: func(s *Setting) int64 { return get(s.get()) }}
}

// whatIfTrack are the columns that say whose settings or iterations a row is about. Without a report the process is unknown,
// and the device that of the snapshot.
func whatIfTrack[R any](of func(R) *whatif.Comparison) []Column[R] {
	return []Column[R]{
		{Key: "pid", Head: "process", Unit: ID, Int: func(r R) int64 { return of(r).Track.PID }, Known: func(r R) bool { return of(r).Track != nil }},
		{Key: "track_device", Head: "device", Unit: ID, Int: func(r R) int64 {
			if w := of(r); w.Track != nil {
				return w.Track.Device
			}
			return int64(of(r).Device)
		}},
	}
}

// settings is the catalogue of settings.
var settings = slices.Concat(
	whatIfTrack(func(s *Setting) *whatif.Comparison { return s.WhatIf }),
	[]Column[*Setting]{
		{Key: "snapshot", Text: func(s *Setting) string { return s.WhatIf.Snapshot }},
		{Key: "device", Unit: ID, Int: func(s *Setting) int64 { return int64(s.WhatIf.Device) }},
		{Key: "number", Head: "#", Unit: ID, Int: func(s *Setting) int64 { return int64(s.Place + 1) }},
		{Key: "conf", Text: func(s *Setting) string { return s.get().Conf }},
		{Key: "setting", Head: "setting", Text: func(s *Setting) string { return phrase.Conf(s.get().Conf) }},
		{Key: "setting_is", Head: "setting", Text: func(s *Setting) string { return phrase.Setting(s.get()) }},
		{Key: "is", Head: "is", Text: (*Setting).is},
		{Key: "recorded", Unit: Flag, Int: func(s *Setting) int64 { return one(s.get().IsRecorded) }},
		{Key: "default", Unit: Flag, Int: func(s *Setting) int64 { return one(s.get().IsDefault) }},
		barred(roomy("peak_reserved_bytes", "peak reserved", Bytes, func(s *whatif.Setting) int64 { return s.PeakReserved })),
		{Key: "peak_reserved_range_bytes", List: func(s *Setting) []int64 { return s.get().ReservedRange[:] }},
		{Key: "range", Head: "range", Over: "with room enough", Text: (*Setting).spread},
		roomy("peak_reserved_low_bytes", "lowest", Bytes, func(s *whatif.Setting) int64 { return s.ReservedRange[0] }),
		roomy("peak_reserved_high_bytes", "highest", Bytes, func(s *whatif.Setting) int64 { return s.ReservedRange[1] }),
		roomy("peak_allocated_bytes", "peak allocated", Bytes, func(s *whatif.Setting) int64 { return s.PeakAllocated }),
		roomy("cache_at_allocated_peak_bytes", "cache at tensor peak", Bytes, func(s *whatif.Setting) int64 { return s.CacheAtPeak }),
		roomy("largest_gap_bytes", "largest gap", Bytes, func(s *whatif.Setting) int64 { return s.LargestGap }),
		roomy("segments", "segments", Count, func(s *whatif.Setting) int64 { return int64(s.Segments) }),
		roomy("cuda_mallocs", "cudaMallocs", Count, func(s *whatif.Setting) int64 { return int64(s.CUDAMallocs) }),
		{Key: "capacity_bytes", Head: "capacity", Unit: Bytes, Int: func(s *Setting) int64 { return s.WhatIf.Capacity }, Has: (*Setting).isLimited},
		{Key: "failed", Head: "failed", Unit: Count, Over: "on the card", Int: func(s *Setting) int64 { return int64(s.get().Failed()) }, Has: (*Setting).isLimited},
		{Key: "failed_requests", Unit: Count, Int: func(s *Setting) int64 { return int64(s.get().Failed()) }},
		{Key: "cache_released", Unit: Count, Int: func(s *Setting) int64 { return int64(s.get().Limited.Retries) }, Has: (*Setting).isLimited},
		{Key: "smallest_capacity_bytes", Head: "smallest card", Unit: Bytes, Bar: true, Int: func(s *Setting) int64 { return s.get().SmallestCard }},
		{Key: "notes", Head: "notes", Text: (*Setting).notes},
	},
	momentColumns("peak_", (*Setting).peak, "iteration", "phase", "frame", "moment"),
	momentColumns("fails_", (*Setting).stop, "iteration", "phase", "frame", "moment", "place",
		"request_bytes", "free_cache_bytes", "largest_free_bytes"),
	momentColumns("first_", (*Setting).first, "place", "by_bytes"),
	momentColumns("most_", (*Setting).most, "place", "by_bytes"))

// Settings has a row for each setting, Stops one for each under which the program stops, Differing one for each that differs
// from the base.
var (
	settingTables = define(settings, Views{
		Terminal: "number, setting_is, peak_reserved_bytes, range:5, peak_allocated_bytes:7, cache_at_allocated_peak_bytes:4, " +
			"largest_gap_bytes:6, segments:9, cuda_mallocs:8, failed:2, smallest_capacity_bytes:1",
		CSV: "snapshot, device, conf, recorded, default, peak_reserved_bytes, peak_reserved_low_bytes, peak_reserved_high_bytes, " +
			"peak_allocated_bytes, largest_gap_bytes, segments, cuda_mallocs, capacity_bytes, failed=failed_requests, cache_released, " +
			"smallest_capacity_bytes, peak_iteration, peak_phase, peak_frame, fails_iteration, fails_phase, fails_frame, " +
			"fails_request_bytes, fails_free_cache_bytes, fails_largest_free_bytes, cache_at_allocated_peak_bytes",
		JSON: "conf, recorded, default, peak_reserved_bytes, peak_reserved_range_bytes, peak_allocated_bytes, " +
			"cache_at_allocated_peak_bytes, largest_gap_bytes, segments, cuda_mallocs, failed_requests, smallest_capacity_bytes",
		Workbook: "pid, track_device, number=Rank, setting, is, peak_reserved_bytes, peak_reserved_low_bytes, peak_reserved_high_bytes, " +
			"peak_allocated_bytes, cache_at_allocated_peak_bytes=Cache at the peak of tensors, largest_gap_bytes, segments, " +
			"cuda_mallocs=cudaMalloc calls, smallest_capacity_bytes, capacity_bytes, failed=Failed requests there, " +
			"fails_moment=Fails in, peak_moment=Peak in, first_place=Differs first in, first_by_bytes==by (MiB), " +
			"most_place=Differs most in, most_by_bytes==by (MiB) at most, peak_reserved_bytes!, smallest_capacity_bytes!, notes~",
	}, Views{
		Terminal: "number, fails_place:0/20=stops in, fails_request_bytes, fails_free_cache_bytes:1, fails_largest_free_bytes:2",
	}, Views{
		Terminal: "number, first_place:0/20=first in, first_by_bytes:2, most_place:1/20=most in, most_by_bytes:1",
	})
	Settings  = settingTables[0]
	Stops     = settingTables[1]
	Differing = settingTables[2]
)

// SettingGrid is the table of the settings of some comparisons.
func SettingGrid(list []*whatif.Comparison) Grid {
	var all []*Setting
	for _, w := range list {
		all = append(all, SettingRows(w)...)
	}
	return Rows(Settings.Columns(Workbook), all)
}
