package nsysdb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The newest schema that this program was tried with.
const (
	knownMajor = 3
	knownMinor = 20
)

// readMeta fills db.meta. What the export does not have stays empty.
func (db *DB) readMeta() error {
	m := &Meta{}
	db.meta = m
	for _, read := range []func(*Meta) error{
		db.readExport, db.readCapture, db.readTimes, db.readSystem,
		db.readGPUs, db.readProcesses, db.readDiagnostics, db.readRanks,
	} {
		if err := read(m); err != nil {
			return err
		}
	}
	return nil
}

// Of messages: the longest that is looked at, in bytes, and how many different ones are kept. The profiler's own have some
// hundred bytes, and are some dozens.
const (
	maxText     = 1 << 12
	maxMessages = 1000
)

// each reads some columns of a small table, giving NULL for columns that it lacks, and for a text that is too long: SQLite
// knows its length without reading it. It does nothing where there is no such table or it lacks the first column.
func (db *DB) each(base string, cols []string, row func(*stmt)) error {
	t, _, err := db.schema.find(base)
	if err != nil || t.col(cols[0]) < 0 {
		return err
	}
	list := make([]string, len(cols))
	for i, name := range cols {
		list[i] = "NULL"
		if at := t.col(name); at >= 0 {
			list[i] = ident(t.columns[at].name)
			if name == "text" {
				list[i] = fmt.Sprintf("CASE WHEN octet_length(%s) <= %d THEN %[1]s END", list[i], maxText)
			}
		}
	}
	return db.schema.c.query("SELECT "+strings.Join(list, ",")+" FROM "+ident(t.name), row)
}

// settings reads those pairs of a name-and-value table that are wanted. Others hold host names and paths, and are
// skipped.
func (db *DB) settings(table string, want func(name, value string)) error {
	return db.each(table, []string{"name", "value"}, func(r *stmt) { want(r.string(0), r.string(1)) })
}

// readExport reads who exported the report and how its times were moved. The table has another name in exports of 2022.
func (db *DB) readExport(m *Meta) error {
	var param, config int64
	for _, table := range []string{"META_DATA_EXPORT", "EXPORT_META_DATA"} {
		err := db.settings(table, func(name, value string) {
			switch name {
			case "EXPORT_PRODUCT_VERSION":
				m.NsysVersion = value
			case "EXPORT_SCHEMA_VERSION":
				m.SchemaVersion = value
			case "EXPORT_PARAM_TIME_SHIFT":
				param, _ = strconv.ParseInt(value, 10, 64)
			case "EXPORT_CONFIG_TIME_SHIFT":
				config, _ = strconv.ParseInt(value, 10, 64)
			case "EXPORT_PARAM_TIME_NORMALIZE":
				m.TimeNormalized = strings.EqualFold(value, "true")
			}
		})
		if err != nil {
			return err
		}
	}
	if m.TimeShift = param; param == 0 {
		m.TimeShift = config
	}
	if within(m.TimeShift, maxTime) == Null {
		m.TimeShift = 0
	}
	if newer(m.SchemaVersion) {
		text := fmt.Sprintf("the export's schema is %s, newer than %d.%d, the newest known here: "+
			"what moved or changed its meaning may be missed", m.SchemaVersion, knownMajor, knownMinor)
		db.warnings = append(db.warnings, Warning{"newer-schema", text})
	}
	return nil
}

// newer says whether a schema has a higher major version than is known. Minor versions only add.
func newer(schema string) bool {
	major, err := strconv.Atoi(strings.SplitN(schema, ".", 2)[0])
	return err == nil && major > knownMajor
}

// readCapture reads what was to be recorded, which tells "none came" from "not recorded".
func (db *DB) readCapture(m *Meta) error {
	collects := map[string]*Setting{
		"COLLECT_GPU_MEMORY_USAGE": &m.CollectMemory,
		"COLLECT_CUDA_TRACE":       &m.CollectCUDA,
		"COLLECT_NVTX_TRACE":       &m.CollectNVTX,
	}
	return db.settings("META_DATA_CAPTURE", func(name, value string) {
		// Each traced process has its own settings, PROCESS_0:…; one that collects is enough.
		if _, own, ok := strings.Cut(name, ":"); ok && strings.HasPrefix(name, "PROCESS_") {
			name = own
		}
		s := collects[name]
		switch {
		case name == "CUDA_GRAPH_TRACE_OPTIONS:MODE":
			m.GraphMode = value
		case s == nil:
		case strings.EqualFold(value, "true"):
			*s = On
		case strings.EqualFold(value, "false") && *s == NotSaid:
			*s = Off
		}
	})
}

// readSystem reads three of the many properties; the others name hosts, users and environment variables.
func (db *DB) readSystem(m *Meta) error {
	return db.settings("TARGET_INFO_SYSTEM_ENV", func(name, value string) {
		switch name {
		case "OsDescription":
			m.OS = oneLine(value, 120)
		case "NvDriverVersion":
			m.Driver = driverVersion(value)
		case "CudaDriverVersion":
			m.CUDADriver = cudaVersion(value)
		}
	})
}

// driverVersion writes 58015904 as 580.159.04; whatever is not eight digits stays as it is.
func driverVersion(s string) string {
	if _, err := strconv.Atoi(s); err != nil || len(s) != 8 {
		return oneLine(s, 40)
	}
	return s[:3] + "." + s[3:6] + "." + s[6:]
}

// cudaVersion writes 13000 as 13.0: a thousand times the major version and ten times the minor one.
func cudaVersion(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1000 {
		return oneLine(s, 40)
	}
	return fmt.Sprintf("%d.%d", n/1000, n%1000/10)
}

// readGPUs reads the devices, and under which number each process knows them: CUDA_VISIBLE_DEVICES renumbers.
func (db *DB) readGPUs(m *Meta) error {
	err := db.each("TARGET_INFO_GPU", []string{"id", "name", "uuid", "busLocation", "totalMemory"}, func(r *stmt) {
		g := GPU{ID: r.int(0), Name: r.string(1), UUID: r.string(2), BusLocation: r.string(3), TotalMemory: r.int(4)}
		if g.TotalMemory < 0 || g.TotalMemory > maxBytes {
			g.TotalMemory = 0
		}
		m.GPUs = append(m.GPUs, g)
	})
	if err != nil {
		return err
	}
	return db.each("TARGET_INFO_CUDA_DEVICE", []string{"cudaId", "gpuId", "pid"}, func(r *stmt) {
		cuda, gpu, pid := r.int(0), r.int(1), r.int(2)
		if cuda == Null || pid == Null {
			return
		}
		for i := range m.GPUs {
			if m.GPUs[i].ID != gpu {
				continue
			}
			if m.GPUs[i].CUDAIDs == nil {
				m.GPUs[i].CUDAIDs = map[int64]int64{}
			}
			m.GPUs[i].CUDAIDs[pid] = cuda
		}
	})
}

// readProcesses reads the names of processes and threads; those of threads are ids of strings.
func (db *DB) readProcesses(m *Meta) error {
	err := db.each("PROCESSES", []string{"globalPid", "pid", "name"}, func(r *stmt) {
		p := ProcessInfo{GlobalPID: r.int(0), PID: r.int(1), Name: processName(r.string(2))}
		if p.GlobalPID == Null {
			return
		}
		if p.PID == Null {
			p.PID = PID(p.GlobalPID)
		}
		m.Processes = append(m.Processes, p)
	})
	if err != nil {
		return err
	}
	var ids []int64
	err = db.each("ThreadNames", []string{"globalTid", "nameId"}, func(r *stmt) {
		if tid, id := r.int(0), r.int(1); tid != Null && id != Null {
			m.Threads = append(m.Threads, ThreadInfo{GlobalTID: tid})
			ids = append(ids, id)
		}
	})
	if err != nil {
		return err
	}
	names, err := db.strs.lookup(ids)
	for i, id := range ids {
		m.Threads[i].Name = oneLine(names[id], 80)
	}
	return err
}

// readDiagnostics reads warnings and errors, each message of a process once with its number; messages of lesser weight tell
// of every step, with paths and commands. Damage may give more than can be of use: further ones are left out.
func (db *DB) readDiagnostics(m *Meta) error {
	rows, err := db.schema.enumRows("ENUM_DIAGNOSTIC_SEVERITY_LEVEL")
	if err != nil {
		return err
	}
	severities := map[int64]string{2: "warning", 3: "error"}
	if len(rows) > 0 {
		clear(severities)
	}
	for _, r := range rows {
		severities[r.id] = strings.TrimSuffix(strings.ToLower(r.name), "level")
	}
	type key struct {
		severity int64
		text     string // as it stands there: to leave words out takes longer than to compare
		process  int64
	}
	seen := make(map[key]int) // place in m.Diagnostics
	return db.each("DIAGNOSTIC_EVENT", []string{"text", "severity", "globalPid"}, func(r *stmt) {
		severity := severities[r.int(1)]
		if !slices.Contains([]string{"warning", "error", "fatal"}, severity) {
			return
		}
		k := key{r.int(1), r.string(0), r.int(2)}
		i, ok := seen[k]
		switch {
		case ok:
		case len(m.Diagnostics) == maxMessages:
			return
		default:
			i = len(m.Diagnostics)
			seen[k] = i
			m.Diagnostics = append(m.Diagnostics, Diagnostic{Severity: severity, Text: redact(k.text), GlobalPID: max(k.process, 0)})
		}
		m.Diagnostics[i].Count++
	})
}

// readRanks reads which rank of MPI each process was.
func (db *DB) readRanks(m *Meta) error {
	return db.each("MPI_RANKS", []string{"globalPid", "rank"}, func(r *stmt) {
		pid, rank := r.int(0), r.int(1)
		if pid == Null || rank == Null {
			return
		}
		if m.MPIRanks == nil {
			m.MPIRanks = map[int64]int64{}
		}
		m.MPIRanks[pid] = rank
	})
}

// oneLine makes white space and control characters single spaces, and cuts long text.
func oneLine(s string, limit int) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(s, "�"), func(r rune) bool { return r <= ' ' || r == 0x7f })
	s = strings.Join(words, " ")
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return s
}
