package summary

import (
	"fmt"
	"strconv"

	"nsysmem/internal/wording"
)

// A SnapshotInfo is what a PyTorch memory snapshot holds, and how well it goes with the report.
type SnapshotInfo struct {
	File        string
	Size        int64  // bytes of the file; 0 where unknown
	Settings    string // as SettingsText says them
	Annotations int    // marks that PyTorch itself left
	Devices     []SnapshotDevice
	Trouble     string // why it does not go with the report; empty where it does
}

// A SnapshotDevice is one device of a snapshot.
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
	Clock  string // as ClockText says it
}

func (p *printer) snapshot(s *SnapshotInfo) {
	p.head("PyTorch memory snapshot")
	size := ""
	if s.Size > 0 {
		size = ", " + wording.Bytes(s.Size)
	}
	p.para("  ", s.File+size)
	p.para("  allocator settings: ", s.Settings)
	if s.Annotations > 0 {
		p.para("  ", wording.Count(s.Annotations)+" marks that PyTorch left itself, such as optimizer steps")
	}
	tab := &textTable{}
	device := tab.add(column{head: "device"})
	entries := tab.add(column{head: "entries"})
	over := tab.add(column{head: "over", rank: 6})
	blocks := tab.add(column{head: "blocks", rank: 4})
	segments := tab.add(column{head: "segments", rank: 3})
	reserved := tab.add(column{head: "reserved at end", rank: 5})
	allocated := tab.add(column{head: "allocated at end", rank: 7})
	peak := tab.add(column{head: "allocated peak", rank: 2})
	failed := tab.add(column{head: "failed", rank: 8})
	match := tab.add(column{head: "goes with", left: true, min: 12, rank: 1})
	for i := range s.Devices {
		d := &s.Devices[i]
		device.cells = append(device.cells, strconv.Itoa(d.Device))
		entries.cells = append(entries.cells, wording.Count(d.Entries))
		over.cells = append(over.cells, known(d.To > 0, wording.Duration(d.To-d.From)))
		ok := d.Trouble == ""
		blocks.cells = append(blocks.cells, known(ok, wording.Count(d.Blocks)))
		segments.cells = append(segments.cells, known(ok, wording.Count(d.Segments)))
		reserved.cells = append(reserved.cells, known(ok, wording.Bytes(d.Reserved)))
		allocated.cells = append(allocated.cells, known(ok, wording.Bytes(d.Allocated)))
		peak.cells = append(peak.cells, known(ok, wording.Bytes(d.Peak)))
		failed.cells = append(failed.cells, known(ok, wording.Count(d.Failures)))
		m := "none"
		if d.Match != nil {
			m = fmt.Sprintf("process %d, device %d", d.Match.PID, d.Match.Device)
		}
		match.cells = append(match.cells, m)
	}
	p.table(tab, nil)
	for i := range s.Devices {
		d := &s.Devices[i]
		who := fmt.Sprintf("  device %d: ", d.Device)
		if d.Trouble != "" {
			p.para(p.paint(yellow, who), d.Trouble)
		}
		if d.Cut {
			p.para(who, "recording began after the program did, or its oldest entries were dropped (max_entries): what was there before has no birth")
		}
		if d.Match != nil {
			p.para(who, "clock: "+d.Match.Clock)
		}
	}
	if s.Trouble != "" {
		p.para("  "+p.paint(red, "! "), "it does not go with this report: "+s.Trouble)
	}
}

func (e *encoder) snapshot(s *SnapshotInfo) {
	if s == nil {
		return
	}
	type match struct {
		PID    int64  `json:"pid"`
		Device int64  `json:"device"`
		Clock  string `json:"clock"`
	}
	type device struct {
		Device    int     `json:"device"`
		Entries   int     `json:"entries"`
		From      *int64  `json:"from_utc_ns"`
		To        *int64  `json:"to_utc_ns"`
		Blocks    int     `json:"blocks"`
		Segments  int     `json:"segments"`
		Reserved  int64   `json:"reserved_bytes"`
		Allocated int64   `json:"allocated_bytes"`
		Peak      int64   `json:"allocated_peak_bytes"`
		Failures  int     `json:"failed"`
		Cut       bool    `json:"cut"`
		Trouble   *string `json:"trouble"`
		Match     *match  `json:"match"`
	}
	out := struct {
		File        string   `json:"file"`
		Size        *int64   `json:"file_bytes"`
		Settings    *string  `json:"allocator_conf"`
		Annotations int      `json:"annotations"`
		Devices     []device `json:"devices"`
		Trouble     *string  `json:"trouble"`
	}{s.File, nonZero(s.Size), nonEmpty(s.Settings), s.Annotations, []device{}, nonEmpty(s.Trouble)}
	for i := range s.Devices {
		d := &s.Devices[i]
		n := device{d.Device, d.Entries, nonZero(d.From), nonZero(d.To), d.Blocks, d.Segments, d.Reserved, d.Allocated, d.Peak, d.Failures, d.Cut, nonEmpty(d.Trouble), nil}
		if m := d.Match; m != nil {
			n.Match = &match{m.PID, m.Device, m.Clock}
		}
		out.Devices = append(out.Devices, n)
	}
	e.raw("\"snapshot\":")
	e.value(out)
	e.raw(",\n")
}
