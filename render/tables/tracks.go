package tables

import (
	"slices"

	"nsysmem/align"
)

type trackRow = Row[align.Track]

// kernelShare is the share of a track's kernels that went one way.
func kernelShare(key, head string, part func(*align.Attribution) int64) Column[*trackRow] {
	return Column[*trackRow]{Key: key, Head: head, Unit: Percent,
		Real: func(r *trackRow) float64 {
			return float64(part(&r.Item.Attribution)) / float64(r.Item.Attribution.Kernels) * 100
		},
		Known: func(r *trackRow) bool { return r.Report.Collected.Kernels && r.Item.Attribution.Kernels > 0 }}
}

// Tracks has a row for each process and device: its iterations, and which way its kernels went.
var Tracks = define(slices.Concat(trackColumns[align.Track](), []Column[*trackRow]{
	{Key: "process", Head: "process name", Text: func(r *trackRow) string { return r.Item.Process }},
	{Key: "iterations", Head: "iterations", Unit: Count, Int: func(r *trackRow) int64 { return int64(len(r.Item.Iterations)) }},
	{Key: "how", Head: "found by", Text: func(r *trackRow) string { return string(r.Item.IterationsFrom.How) }},
	{Key: "pattern", Head: "pattern", Text: func(r *trackRow) string { return r.Item.IterationsFrom.Pattern }},
	{Key: "confidence", Head: "confidence", Unit: Ratio, Real: func(r *trackRow) float64 { return r.Item.IterationsFrom.Confidence }},
	{Key: "kernels", Head: "kernels", Unit: Count, Int: func(r *trackRow) int64 { return r.Item.Attribution.Kernels },
		Known: func(r *trackRow) bool { return r.Report.Collected.Kernels }},
	kernelShare("same_thread", "range on own thread", func(a *align.Attribution) int64 { return a.SameThread }),
	kernelShare("other_thread", "range on iterations' thread", func(a *align.Attribution) int64 { return a.OtherThread }),
	kernelShare("none", "no range", func(a *align.Attribution) int64 { return a.None }),
	kernelShare("no_launch", "no launch", func(a *align.Attribution) int64 { return a.NoLaunch }),
	{Key: "device_total_bytes", Head: "device memory", Unit: Bytes, Int: func(r *trackRow) int64 { return r.Item.DeviceTotal },
		Known: func(r *trackRow) bool { return r.Item.DeviceTotal > 0 }},
}), Views{
	Workbook: "pid, device, process~, iterations, how, pattern~, confidence, kernels, same_thread, other_thread, none, no_launch, device_total_bytes",
})[0]

// TrackGrid is the table of a report's tracks.
func TrackGrid(rep *align.Report) Grid {
	return trackRows(rep, Tracks.Columns(Workbook), func(t *align.Track) []*trackRow {
		return []*trackRow{{Report: rep, Track: t, Item: t}}
	})
}
