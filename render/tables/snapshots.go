package tables

import "fmt"

// A SnapshotDevice is one device of a PyTorch memory snapshot.
type SnapshotDevice struct {
	Device    int
	Entries   int   // of its trace
	From      int64 // ns since 1970; 0 where the trace has no times
	To        int64 // ns since 1970
	Blocks    int
	Segments  int    // held at the end
	Reserved  int64  // bytes of those
	Allocated int64  // bytes handed out at the end
	Peak      int64  // bytes; highest that was handed out
	Failures  int    // requests that could not be served
	Cut       bool   // blocks or segments were there before the trace began
	Trouble   string // why it cannot be replayed; empty where it can

	Match *SnapshotMatch // nil where it goes with no track
}

// A SnapshotMatch is the track of the report that a device of a snapshot goes with.
type SnapshotMatch struct {
	PID    int64
	Device int64
	Clock  string // how well the clocks go together
}

// goesWith names the track.
func (d SnapshotDevice) goesWith() string {
	if d.Match == nil {
		return "none"
	}
	return fmt.Sprintf("process %d, device %d", d.Match.PID, d.Match.Device)
}

// replayed is a figure of a device that people see where its trace can be replayed.
func replayed(c Column[SnapshotDevice]) Column[SnapshotDevice] {
	c.Known = func(d SnapshotDevice) bool { return d.Trouble == "" }
	return c
}

// SnapshotDevices has a row for each device of a snapshot.
var SnapshotDevices = define([]Column[SnapshotDevice]{
	{Key: "device", Head: "device", Unit: ID, Int: func(d SnapshotDevice) int64 { return int64(d.Device) }},
	{Key: "entries", Head: "entries", Unit: Count, Int: func(d SnapshotDevice) int64 { return int64(d.Entries) }},
	unknown(Column[SnapshotDevice]{Key: "from_utc_ns", Unit: Time, Int: func(d SnapshotDevice) int64 { return d.From }}),
	unknown(Column[SnapshotDevice]{Key: "to_utc_ns", Unit: Time, Int: func(d SnapshotDevice) int64 { return d.To }}),
	{Key: "over_ns", Head: "over", Unit: Time, Int: func(d SnapshotDevice) int64 { return d.To - d.From },
		Known: func(d SnapshotDevice) bool { return d.To > 0 }},
	replayed(Column[SnapshotDevice]{Key: "blocks", Head: "blocks", Unit: Count, Int: func(d SnapshotDevice) int64 { return int64(d.Blocks) }}),
	replayed(Column[SnapshotDevice]{Key: "segments", Head: "segments", Unit: Count, Int: func(d SnapshotDevice) int64 { return int64(d.Segments) }}),
	replayed(Column[SnapshotDevice]{Key: "reserved_bytes", Head: "reserved at end", Unit: Bytes, Int: func(d SnapshotDevice) int64 { return d.Reserved }}),
	replayed(Column[SnapshotDevice]{Key: "allocated_bytes", Head: "allocated at end", Unit: Bytes, Int: func(d SnapshotDevice) int64 { return d.Allocated }}),
	replayed(Column[SnapshotDevice]{Key: "allocated_peak_bytes", Head: "allocated peak", Unit: Bytes, Int: func(d SnapshotDevice) int64 { return d.Peak }}),
	replayed(Column[SnapshotDevice]{Key: "failed", Head: "failed", Unit: Count, Int: func(d SnapshotDevice) int64 { return int64(d.Failures) }}),
	{Key: "cut", Unit: Flag, Int: func(d SnapshotDevice) int64 { return one(d.Cut) }},
	optional(Column[SnapshotDevice]{Key: "trouble", Text: func(d SnapshotDevice) string { return d.Trouble }}),
	{Key: "match", Head: "goes with", Text: SnapshotDevice.goesWith},
}, Views{
	Terminal: "device, entries, over_ns:6, blocks:4, segments:3, reserved_bytes:5, allocated_bytes:7, allocated_peak_bytes:2, failed:8, match:1/12",
	JSON: "device, entries, from_utc_ns, to_utc_ns, blocks, segments, reserved_bytes, allocated_bytes, allocated_peak_bytes, failed, " +
		"cut, trouble",
})[0]
