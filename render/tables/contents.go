package tables

import "nsysmem/align"

// A Content is one kind of data that a report may hold.
type Content struct {
	Name      string // such as "device memory"
	Collected bool
	Rows      int64  // 0 where collected and nothing came
	How       string // how to record it; empty where it was collected
}

// Contents has a row for each kind of data.
var Contents = define([]Column[Content]{
	{Key: "name", Head: "what", Text: func(c Content) string { return c.Name }},
	{Key: "collected", Head: "collected", Unit: Flag, Int: func(c Content) int64 { return one(c.Collected) }},
	{Key: "rows", Head: "rows", Unit: Count, Int: func(c Content) int64 { return c.Rows }, Known: func(c Content) bool { return c.Collected }},
	optional(Column[Content]{Key: "how", Text: func(c Content) string { return c.How }}),
}, Views{
	Terminal: "name, collected, rows",
	JSON:     "name, collected, rows, how",
})[0]

// An ExportTable is a table of the export.
type ExportTable struct {
	Name    string
	Rows    int64
	Columns int
}

// ExportTables has a row for each.
var ExportTables = define([]Column[ExportTable]{
	{Key: "name", Head: "table", Text: func(t ExportTable) string { return t.Name }},
	{Key: "rows", Head: "rows", Unit: Count, Int: func(t ExportTable) int64 { return t.Rows }},
	{Key: "columns", Head: "columns", Unit: Count, Int: func(t ExportTable) int64 { return int64(t.Columns) }},
}, Views{
	Terminal: "name:0/16, rows, columns:1",
	JSON:     "name, rows, columns",
})[0]

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

// processCount is a count that is -1 where it was not collected.
func processCount(key, head string, get func(Process) int64) Column[Process] {
	return Column[Process]{Key: key, Head: head, Unit: Count, Int: get, Known: func(p Process) bool { return get(p) >= 0 }}
}

// Processes has a row for each process with CUDA work.
var Processes = define([]Column[Process]{
	{Key: "pid", Head: "pid", Unit: ID, Int: func(p Process) int64 { return p.PID }},
	optional(Column[Process]{Key: "name", Head: "name", Text: func(p Process) string { return p.Name }}),
	{Key: "rank", Head: "rank", Unit: ID, Int: func(p Process) int64 { return p.Rank }, Has: func(p Process) bool { return p.Rank >= 0 }},
	{Key: "devices", Head: "devices", List: func(p Process) []int64 { return p.Devices }},
	processCount("memory_events", "memory events", func(p Process) int64 { return p.MemoryEvents }),
	processCount("kernels", "kernels", func(p Process) int64 { return p.Kernels }),
	processCount("calls", "API calls", func(p Process) int64 { return p.Calls }),
}, Views{
	Terminal: "pid, name:1/8, rank:5, devices:3, memory_events, kernels:2, calls:4",
	JSON:     "pid, name, rank, devices, memory_events, kernels, calls",
})[0]

// A Device is a GPU of the machine.
type Device struct {
	ID          int64
	Name        string // empty where unknown
	UUID        string // empty where unknown
	Bus         string // PCI location; empty where unknown
	TotalMemory int64  // bytes; 0 where unknown
}

// Devices has a row for each GPU of the machine.
var Devices = define([]Column[Device]{
	{Key: "id", Head: "#", Unit: ID, Int: func(d Device) int64 { return d.ID }},
	optional(Column[Device]{Key: "name", Head: "name", Text: func(d Device) string { return d.Name }}),
	optional(Column[Device]{Key: "uuid", Head: "uuid", Text: func(d Device) string { return d.UUID }}),
	optional(Column[Device]{Key: "bus", Head: "bus", Text: func(d Device) string { return d.Bus }}),
	unknown(Column[Device]{Key: "total_bytes", Head: "memory", Unit: Bytes, Int: func(d Device) int64 { return d.TotalMemory }}),
}, Views{
	Terminal: "id, name:0/10, total_bytes:1, bus:2, uuid:3",
	JSON:     "id, name, uuid, bus, total_bytes",
})[0]

// chosen marks the families that are the iterations.
func chosen(f align.Family) string {
	if f.Chosen {
		return "▶"
	}
	return ""
}

// Families has a row for each family of ranges.
var Families = define([]Column[align.Family]{
	{Key: "mark", Text: chosen},
	{Key: "pattern", Head: "name", Text: func(f align.Family) string { return f.Pattern }},
	optional(Column[align.Family]{Key: "domain", Head: "domain", Text: func(f align.Family) string { return f.Domain }}),
	{Key: "pid", Head: "pid", Unit: ID, Int: func(f align.Family) int64 { return f.PID }},
	optional(Column[align.Family]{Key: "tid", Head: "tid", Unit: ID, Int: func(f align.Family) int64 { return f.TID }}),
	{Key: "count", Head: "count", Unit: Count, Int: func(f align.Family) int64 { return int64(f.Count) }},
	{Key: "total_ns", Head: "time", Unit: Time, Int: func(f align.Family) int64 { return f.Total }},
	{Key: "launches", Unit: Ratio, Real: func(f align.Family) float64 { return f.Launches }},
	{Key: "percent", Head: "launches", Unit: Percent, Real: func(f align.Family) float64 { return f.Launches * 100 }},
	{Key: "chosen", Unit: Flag, Int: func(f align.Family) int64 { return one(f.Chosen) }},
	optional(Column[align.Family]{Key: "why", Head: "why", Text: func(f align.Family) string { return f.Why }}),
}, Views{
	Terminal: "mark:1, pattern:0/14, count, domain:5/8, pid:4, tid:6, total_ns:3, percent:2, why:7/20",
	JSON:     "pattern, domain, tid, count, total_ns, launches, chosen, why",
})[0]
