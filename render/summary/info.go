package summary

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// Info is what a report holds, for a user who asks why something is missing or what could be asked of it. It can be
// filled for every report that opens, those without any GPU work too.
type Info struct {
	Source     align.Source
	Size       int64        // bytes of the file; 0 where unknown
	Contents   []Content    // what nsysmem reads, collected or not
	Tables     []InfoTable  // every table of the export
	Settings   []Setting    // of the recording
	Processes  []Process    // with CUDA work only
	Devices    []Device     // of the machine
	Iterations []Iterations // one for each track
	Families   []align.Family
	Snapshot   *SnapshotInfo // nil where none was given
	Notes      []string      // such as how well inferred phases agree with annotated ones
	Findings   []findings.Finding
	Warnings   []findings.Warning // those of the profiler itself too
}

// A Content is one kind of data that a report may hold.
type Content struct {
	Name      string // such as "device memory"
	Collected bool
	Rows      int64  // 0 where collected and nothing came
	How       string // how to record it; empty where it was collected
}

// An InfoTable is a table of the export.
type InfoTable struct {
	Name    string
	Rows    int64
	Columns int
}

// A Setting is a capture setting and its value.
type Setting struct {
	Name  string
	Value string
}

// A Process is a process with CUDA work. Its counts are -1 where that was not collected.
type Process struct {
	PID          int64
	Name         string // empty where unknown
	Rank         int64  // of MPI; -1 for none
	Devices      []int64
	Kernels      int64
	MemoryEvents int64
	Calls        int64 // CUDA API
}

// A Device is a GPU of the machine.
type Device struct {
	ID          int64
	Name        string // empty where unknown
	UUID        string // empty where unknown
	Bus         string // PCI location; empty where unknown
	TotalMemory int64  // bytes; 0 where unknown
}

// Iterations says how the iterations of one track were found.
type Iterations struct {
	PID    int64
	Device int64
	align.IterationsFrom
}

// InfoSchema names the layout of WriteInfoJSON's output.
const InfoSchema = "nsysmem.info/1"

// infoFamilies is how many range families the text shows.
const infoFamilies = 20

// WriteInfo writes what a report holds for a terminal of so many columns (0 for 80). The error is the writer's.
func WriteInfo(w io.Writer, info *Info, width int, color bool) error {
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
	if info.Snapshot != nil {
		p.snapshot(info.Snapshot)
	}
	for _, n := range info.Notes {
		p.blank()
		p.para("", n)
	}
	if len(info.Tables) > 0 {
		p.head("Tables")
		tab := &textTable{}
		name := tab.add(column{head: "table", left: true, min: 16})
		rows := tab.add(column{head: "rows"})
		cols := tab.add(column{head: "columns", rank: 1})
		enums := 0
		for _, t := range info.Tables {
			// The meanings of numbers, the same in every export.
			if strings.HasPrefix(t.Name, "ENUM_") {
				enums++
				continue
			}
			name.cells = append(name.cells, wording.Terminal(t.Name))
			rows.cells = append(rows.cells, wording.Count(t.Rows))
			cols.cells = append(cols.cells, strconv.Itoa(t.Columns))
		}
		p.table(tab, nil)
		if enums > 0 {
			p.para("  ", fmt.Sprintf("(%d ENUM_ tables are in --format json)", enums), dim)
		}
	}
	if len(info.Findings) > 0 {
		p.head("Findings")
		p.findings(info.Findings)
	}
	p.warnings(info.Warnings)
	return p.out.close()
}

func (p *printer) contents(info *Info) {
	if len(info.Contents) == 0 {
		return
	}
	p.head("Contents")
	tab := &textTable{}
	name := tab.add(column{head: "what", left: true})
	state := tab.add(column{head: "collected", left: true})
	rows := tab.add(column{head: "rows"})
	for _, c := range info.Contents {
		name.cells = append(name.cells, wording.Terminal(c.Name))
		if c.Collected {
			state.cells = append(state.cells, "yes")
			rows.cells = append(rows.cells, wording.Count(c.Rows))
		} else {
			state.cells = append(state.cells, "no")
			rows.cells = append(rows.cells, "n/a")
		}
	}
	p.table(tab, nil)
	for _, c := range info.Contents {
		if !c.Collected && c.How != "" {
			p.para("  "+p.paint(yellow, wording.Terminal(c.Name)+": "), c.How)
		}
	}
}

func (p *printer) processes(info *Info) {
	p.head("Processes with CUDA work")
	if len(info.Processes) == 0 {
		p.line("  none")
		return
	}
	tab := &textTable{}
	pid := tab.add(column{head: "pid"})
	name := tab.add(column{head: "name", left: true, rank: 1, min: 8})
	rank := tab.add(column{head: "rank", rank: 5})
	devices := tab.add(column{head: "devices", left: true, rank: 3})
	memory := tab.add(column{head: "memory events"})
	kernels := tab.add(column{head: "kernels", rank: 2})
	calls := tab.add(column{head: "API calls", rank: 4})
	for _, r := range info.Processes {
		pid.cells = append(pid.cells, strconv.FormatInt(r.PID, 10))
		name.cells = append(name.cells, wording.Terminal(r.Name))
		s := ""
		if r.Rank >= 0 {
			s = strconv.FormatInt(r.Rank, 10)
		}
		rank.cells = append(rank.cells, s)
		var ds []string
		for _, d := range r.Devices {
			ds = append(ds, strconv.FormatInt(d, 10))
		}
		devices.cells = append(devices.cells, strings.Join(ds, ", "))
		memory.cells = append(memory.cells, known(r.MemoryEvents >= 0, wording.Count(r.MemoryEvents)))
		kernels.cells = append(kernels.cells, known(r.Kernels >= 0, wording.Count(r.Kernels)))
		calls.cells = append(calls.cells, known(r.Calls >= 0, wording.Count(r.Calls)))
	}
	p.table(tab, nil)
}

func (p *printer) devices(info *Info) {
	if len(info.Devices) == 0 {
		return
	}
	p.head("Devices of the machine")
	tab := &textTable{}
	id := tab.add(column{head: "#"})
	name := tab.add(column{head: "name", left: true, min: 10})
	total := tab.add(column{head: "memory", rank: 1})
	bus := tab.add(column{head: "bus", left: true, rank: 2})
	uuid := tab.add(column{head: "uuid", left: true, rank: 3})
	for _, d := range info.Devices {
		id.cells = append(id.cells, strconv.FormatInt(d.ID, 10))
		name.cells = append(name.cells, wording.Terminal(d.Name))
		total.cells = append(total.cells, known(d.TotalMemory > 0, wording.Bytes(d.TotalMemory)))
		bus.cells = append(bus.cells, wording.Terminal(d.Bus))
		uuid.cells = append(uuid.cells, wording.Terminal(d.UUID))
	}
	p.table(tab, nil)
}

func (p *printer) families(info *Info) {
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
	tab := &textTable{}
	mark := tab.add(column{head: "", left: true, rank: 1})
	pattern := tab.add(column{head: "name", left: true, min: 14})
	count := tab.add(column{head: "count"})
	domain := tab.add(column{head: "domain", left: true, rank: 5, min: 8})
	pid := tab.add(column{head: "pid", rank: 4})
	tid := tab.add(column{head: "tid", rank: 6})
	total := tab.add(column{head: "time", rank: 3})
	launches := tab.add(column{head: "launches", rank: 2})
	why := tab.add(column{head: "why", left: true, rank: 7, min: 20})
	for i := range info.Families[:min(len(info.Families), infoFamilies)] {
		f := &info.Families[i]
		s := ""
		if f.Chosen {
			s = "▶"
		}
		mark.cells = append(mark.cells, s)
		pattern.cells = append(pattern.cells, wording.Terminal(f.Pattern))
		count.cells = append(count.cells, strconv.Itoa(f.Count))
		domain.cells = append(domain.cells, wording.Terminal(f.Domain))
		pid.cells = append(pid.cells, strconv.FormatInt(f.PID, 10))
		tid.cells = append(tid.cells, strconv.FormatInt(f.TID, 10))
		total.cells = append(total.cells, wording.Duration(f.Total))
		launches.cells = append(launches.cells, strconv.FormatFloat(f.Launches*100, 'f', 1, 64)+" %")
		why.cells = append(why.cells, wording.Terminal(f.Why))
	}
	p.table(tab, nil)
	if n := len(info.Families) - infoFamilies; n > 0 {
		p.para("  ", fmt.Sprintf("(%d more families are in --format json)", n), dim)
	}
}

// WriteInfoJSON writes what a report holds as one JSON object in the layout InfoSchema; what is unknown is null. The
// error is the writer's.
func WriteInfoJSON(w io.Writer, info *Info) error {
	e := &encoder{out: output{w: w}}
	e.raw("{")
	e.textField("schema", InfoSchema)
	e.raw(",\n\"report\":")
	e.source(&info.Source)
	e.raw(",\n\"file_bytes\":")
	e.intOrNull(info.Size)
	e.raw(",\n\"contents\":[")
	for i, c := range info.Contents {
		e.next(i, "\n ")
		e.raw("{")
		e.textField("name", c.Name)
		e.boolField("collected", c.Collected)
		e.countField("rows", c.Rows, c.Collected)
		e.textFieldOrNull("how", c.How)
		e.raw("}")
	}
	e.raw("],\n\"settings\":{")
	for i, s := range info.Settings {
		e.next(i, "")
		e.text(s.Name)
		e.raw(":")
		e.text(s.Value)
	}
	e.raw("},\n\"processes\":[")
	for i := range info.Processes {
		p := &info.Processes[i]
		e.next(i, "\n ")
		e.raw("{")
		e.intField("pid", p.PID)
		e.textFieldOrNull("name", p.Name)
		e.countField("rank", p.Rank, p.Rank >= 0)
		e.raw(`,"devices":[`)
		for j, d := range p.Devices {
			e.next(j, "")
			e.int(d)
		}
		e.raw("]")
		e.countField("memory_events", p.MemoryEvents, p.MemoryEvents >= 0)
		e.countField("kernels", p.Kernels, p.Kernels >= 0)
		e.countField("calls", p.Calls, p.Calls >= 0)
		e.raw("}")
	}
	e.raw("],\n\"devices\":[")
	for i, d := range info.Devices {
		e.next(i, "\n ")
		e.raw("{")
		e.intField("id", d.ID)
		e.textFieldOrNull("name", d.Name)
		e.textFieldOrNull("uuid", d.UUID)
		e.textFieldOrNull("bus", d.Bus)
		e.intFieldOrNull("total_bytes", d.TotalMemory)
		e.raw("}")
	}
	e.raw("],\n\"iterations_from\":[")
	for i := range info.Iterations {
		it := &info.Iterations[i]
		e.next(i, "\n ")
		e.raw("{")
		e.intField("pid", it.PID)
		e.intField("device", it.Device)
		e.key("from")
		e.iterationsFrom(&align.Track{PID: it.PID, IterationsFrom: it.IterationsFrom}, nil)
		e.raw("}")
	}
	e.raw("],\n\"families\":[")
	for i := range info.Families {
		e.next(i, "\n ")
		e.raw("{")
		e.intField("pid", info.Families[i].PID)
		e.key("family")
		e.family(&info.Families[i])
		e.raw("}")
	}
	e.raw("],\n\"notes\":[")
	for i, n := range info.Notes {
		e.next(i, "\n ")
		e.text(n)
	}
	e.raw("],\n\"tables\":[")
	for i, t := range info.Tables {
		e.next(i, "\n ")
		e.raw("{")
		e.textField("name", t.Name)
		e.intField("rows", t.Rows)
		e.intField("columns", int64(t.Columns))
		e.raw("}")
	}
	e.raw("],\n")
	e.snapshot(info.Snapshot)
	e.remarks(info.Findings, info.Warnings)
	e.raw("}\n")
	return e.out.close()
}
