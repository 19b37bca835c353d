package summary

import (
	"fmt"

	"nsysmem/internal/wording"
	"nsysmem/render/inventory"
	"nsysmem/render/tables"
)

// snapshot says what the snapshot holds, and below the table what is doubtful of each device.
func (p *printer) snapshot(s *inventory.Snapshot) {
	p.head("PyTorch memory snapshot")
	size := ""
	if s.Size > 0 {
		size = ", " + wording.Bytes(s.Size)
	}
	p.para("  ", s.File+size)
	if s.Settings != "" {
		p.para("  allocator settings: ", s.Settings)
	}
	if s.Annotations > 0 {
		p.para("  ", wording.Count(s.Annotations)+" marks that PyTorch left itself, such as optimizer steps")
	}
	if len(s.Devices) > 0 {
		p.table(laidOut(tables.SnapshotDevices.Columns(tables.Terminal), s.Devices), nil)
	}
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
		p.para("  "+p.paint(red, "! "), "left out: "+s.Trouble)
	}
}

// snapshots writes the member "snapshots" and, for programs that know of one alone, the first of them as "snapshot"; neither
// where there is none.
func (e *encoder) snapshots(list []inventory.Snapshot) {
	if len(list) == 0 {
		return
	}
	e.html = true
	e.raw("\"snapshot\":")
	e.snapshot(&list[0])
	e.raw(",\n\"snapshots\":")
	e.array("\n ", len(list), func(i int) { e.snapshot(&list[i]) })
	e.raw(",\n")
	e.html = false
}

func (e *encoder) snapshot(s *inventory.Snapshot) {
	e.raw("{")
	e.textField("file", s.File)
	e.intFieldOrNull("file_bytes", s.Size)
	e.textFieldOrNull("allocator_conf", s.Settings)
	e.intField("annotations", int64(s.Annotations))
	e.key("devices")
	e.array("", len(s.Devices), func(i int) {
		d := s.Devices[i]
		e.raw("{")
		members(e, tables.SnapshotDevices.Columns(tables.JSON), d)
		e.key("match")
		if m := d.Match; m != nil {
			e.raw("{")
			e.intField("pid", m.PID)
			e.intField("device", m.Device)
			e.textField("clock", m.Clock)
			e.raw("}")
		} else {
			e.raw("null")
		}
		e.raw("}")
	})
	e.textFieldOrNull("trouble", s.Trouble)
	e.raw("}")
}
