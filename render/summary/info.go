package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/inventory"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// InfoSchema names the layout of WriteInfoJSON's output.
const InfoSchema = "nsysmem.info/1"

// infoFamilies is how many range families the text shows.
const infoFamilies = 20

// WriteInfo writes what a report holds for a terminal of so many columns (0 for 80). The error is the writer's.
func WriteInfo(w io.Writer, info *inventory.Report, width int, color bool) error {
	p := newPrinter(w, width, color)
	p.source(&info.Source)
	if info.Size > 0 {
		p.para("  ", "file of "+wording.Bytes(info.Size))
	}
	p.contents(info)
	if len(info.Settings) > 0 {
		p.head("Recorded with")
		for _, s := range info.Settings {
			p.para("  "+wording.Cut(wording.Terminal(s.Name), p.width/2)+"  ", s.Value)
		}
	}
	p.processes(info)
	p.devices(info)
	p.families(info)
	for i := range info.Snapshots {
		p.snapshot(&info.Snapshots[i])
	}
	for _, n := range info.Notes {
		p.blank()
		p.para("", n)
	}
	if len(info.Tables) > 0 {
		p.head("Tables")
		// The meanings of numbers are the same in every export.
		rows := slices.DeleteFunc(slices.Clone(info.Tables), func(t tables.ExportTable) bool { return strings.HasPrefix(t.Name, "ENUM_") })
		p.table(laidOut(tables.ExportTables.Columns(tables.Terminal), rows), nil)
		if enums := len(info.Tables) - len(rows); enums > 0 {
			p.para("  ", fmt.Sprintf("(%d ENUM_ tables are in --format json)", enums), dim)
		}
	}
	if len(info.Findings) > 0 {
		p.head("Findings")
		p.findings(info.Findings)
	}
	p.warnings(info.Warnings)
	return p.close()
}

// contents says what is there, and for what is not how to record it the next time.
func (p *printer) contents(info *inventory.Report) {
	if len(info.Contents) == 0 {
		return
	}
	p.head("Contents")
	p.table(laidOut(tables.Contents.Columns(tables.Terminal), info.Contents), nil)
	for _, c := range info.Contents {
		if !c.Collected && c.How != "" {
			p.para("  "+p.paint(yellow, wording.Terminal(c.Name)+": "), c.How)
		}
	}
}

// processes are those with CUDA work: a report may have a thousand others, of the whole machine.
func (p *printer) processes(info *inventory.Report) {
	p.head("Processes with CUDA work")
	if len(info.Processes) == 0 {
		p.line("  none")
		return
	}
	p.table(laidOut(tables.Processes.Columns(tables.Terminal), info.Processes), nil)
}

// devices are those of the machine, whether the program used them or not.
func (p *printer) devices(info *inventory.Report) {
	if len(info.Devices) == 0 {
		return
	}
	p.head("Devices of the machine")
	p.table(laidOut(tables.Devices.Columns(tables.Terminal), info.Devices), nil)
}

// families says what the iterations are found in, and what else --iteration could name.
func (p *printer) families(info *inventory.Report) {
	p.head("Iterations")
	if len(info.Iterations) == 0 {
		p.line("  none: no process with CUDA work")
	}
	for i := range info.Iterations {
		it := &info.Iterations[i]
		t := align.Track{IterationsFrom: it.IterationsFrom}
		p.para(fmt.Sprintf("  process %d, device %d: ", it.PID, it.Device), phrase.IterationsFrom(&t))
	}
	if len(info.Families) == 0 {
		return
	}
	p.head("Families of ranges (names that differ in digits alone)")
	shown := info.Families[:min(len(info.Families), infoFamilies)]
	p.table(laidOut(tables.Families.Columns(tables.Terminal), shown), nil)
	if n := len(info.Families) - len(shown); n > 0 {
		p.para("  ", fmt.Sprintf("(%d more families are in --format json)", n), dim)
	}
}

// WriteInfoJSON writes what a report holds as one JSON object in the layout InfoSchema; what is unknown is null. The
// error is the writer's.
func WriteInfoJSON(w io.Writer, info *inventory.Report) error {
	e := &encoder{output: output{w: w}}
	e.raw("{")
	e.textField("schema", InfoSchema)
	e.raw(",\n\"report\":")
	e.source(&info.Source)
	e.raw(",\n\"file_bytes\":")
	e.intOrNull(info.Size)
	e.raw(",\n\"contents\":")
	objects(e, "\n ", tables.Contents.Columns(tables.JSON), info.Contents)
	e.raw(",\n\"settings\":{")
	for i, s := range info.Settings {
		e.next(i, "")
		e.text(s.Name)
		e.raw(":")
		e.text(s.Value)
	}
	e.raw("},\n\"processes\":")
	objects(e, "\n ", tables.Processes.Columns(tables.JSON), info.Processes)
	e.raw(",\n\"devices\":")
	objects(e, "\n ", tables.Devices.Columns(tables.JSON), info.Devices)
	e.ranges(info)
	e.raw(",\n\"notes\":")
	e.array("\n ", len(info.Notes), func(i int) { e.text(info.Notes[i]) })
	e.raw(",\n\"tables\":")
	objects(e, "\n ", tables.ExportTables.Columns(tables.JSON), info.Tables)
	e.raw(",\n")
	e.snapshots(info.Snapshots)
	e.remarks(info.Findings, info.Warnings)
	e.raw("}\n")
	return e.close()
}

// ranges writes how the iterations were found, and all families of ranges.
func (e *encoder) ranges(info *inventory.Report) {
	e.raw(",\n\"iterations_from\":")
	e.array("\n ", len(info.Iterations), func(i int) {
		it := &info.Iterations[i]
		e.raw("{")
		e.intField("pid", it.PID)
		e.intField("device", it.Device)
		e.key("from")
		e.iterationsFrom(&align.Track{PID: it.PID, IterationsFrom: it.IterationsFrom}, nil)
		e.raw("}")
	})
	e.raw(",\n\"families\":")
	e.array("\n ", len(info.Families), func(i int) {
		e.raw("{")
		e.intField("pid", info.Families[i].PID)
		e.key("family")
		object(e, tables.Families.Columns(tables.JSON), info.Families[i])
		e.raw("}")
	})
}
