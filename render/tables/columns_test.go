package tables

import (
	"flag"
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/align/whatif"
	"nsysmem/render/internal/sample"
)

var update = flag.Bool("update", false, "write the golden files")

// rows is how many rows of a table are written, each filled in another way, before one that is filled with nothing.
const rows = 4

// outputNames name the outputs in golden files.
var outputNames = [outputs]string{"terminal", "markdown", "csv", "json", "workbook", "batch workbook", "parquet"}

// checkTable compares what every output shows of some rows with a golden file. Every field of the rows has a value of its
// own, so that columns which read each other's fields are told apart:
//
//	key | head | cell as people read it | the cell's value in each row
func checkTable[R any](t *testing.T, name string, table Table[R], row func(f *filler) R) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		var all []R
		for n := range rows + 1 {
			all = append(all, row(&filler{row: n, zero: n == rows}))
		}
		var b strings.Builder
		for o := range outputs {
			cols := table.Columns(o)
			if len(cols) > 0 {
				fmt.Fprintf(&b, "== %s\n", outputNames[o])
			}
			for i := range cols {
				fmt.Fprintf(&b, "%s | %s | %s |", cols[i].Key, cols[i].Head, read(cols[i].Cell(all[0])))
				for _, r := range all {
					b.WriteString(" " + value(cols[i].Cell(r)))
				}
				b.WriteString("\n")
			}
		}
		sample.Golden(t, *update, name+".golden", []byte(b.String()))
	})
}

func read(c Cell) string {
	if c.Mean {
		return strconv.FormatFloat(c.Real, 'g', -1, 64)
	}
	return c.Read()
}

// value is a cell to the last digit.
func value(c Cell) string {
	switch {
	case c.Void:
		return "void"
	case !c.Known:
		return "unknown"
	case c.Text != "" || c.Unit == Words || c.Unit == Long || c.Unit == Term:
		return strconv.Quote(c.Text)
	case c.Real != 0:
		return strconv.FormatFloat(c.Real, 'g', -1, 64)
	}
	return strconv.FormatInt(c.Int, 10)
}

// A filler gives every field of a row a value of its own, which depends on its name alone, so that a new field changes no
// other. Flags are told apart over the rows.
type filler struct {
	row  int
	zero bool // fields stay 0 and empty
}

// levelKinds are the levels of every list of such.
var levelKinds = []align.LevelKind{align.LevelDevice, align.LevelAllocated, align.LevelReserved, align.LevelManaged, align.LevelPinned, align.LevelPageable}

// fill fills what p points to.
func (f *filler) fill(p any) {
	v := reflect.ValueOf(p).Elem()
	f.value(v, v.Type().Name(), 0)
}

// filled is a new value.
func filled[T any](f *filler) *T {
	v := new(T)
	f.fill(v)
	return v
}

// value fills what is at a path of field names. place is a field's place in its struct.
func (f *filler) value(v reflect.Value, path string, place int) {
	if !v.CanSet() || strings.Count(path, ".") > 7 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.value(v.Field(i), path+"."+v.Type().Field(i).Name, i)
		}
	case reflect.Pointer:
		// What the simulator of an allocator holds is no cell of any table.
		if strings.Contains(v.Type().Elem().PkgPath(), "torchmem") {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem(), path, place)
	case reflect.Slice:
		f.list(v, path)
	case reflect.Array:
		for i := range v.Len() {
			f.value(v.Index(i), path+"."+strconv.Itoa(i), place)
		}
	default:
		if !f.zero {
			f.leaf(v, path, place)
		}
	}
}

// list makes two items, or as many as there are levels.
func (f *filler) list(v reflect.Value, path string) {
	kind := -1
	if e := v.Type().Elem(); e.Kind() == reflect.Struct {
		for i := range e.NumField() {
			if e.Field(i).Type == reflect.TypeFor[align.LevelKind]() {
				kind = i
			}
		}
	}
	n := 2
	if kind >= 0 {
		n = len(levelKinds)
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.value(v.Index(i), path+"."+strconv.Itoa(i), 0)
		if kind >= 0 {
			v.Index(i).Field(kind).SetString(string(levelKinds[i]))
		}
	}
}

func (f *filler) leaf(v reflect.Value, path string, place int) {
	h := fnv.New32a()
	h.Write([]byte(path))
	n, row := int64(100_000+h.Sum32()%900_000), int64(f.row)
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool((place+2*strings.Count(path, "."))>>f.row&1 != 0)
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d-%d", strings.ToLower(name), n, row))
	case reflect.Float64:
		v.SetFloat(float64(n)/1e3 + float64(row)/8)
	case reflect.Int:
		switch name { // places in the track's iterations
		case "Iteration":
			v.SetInt(0)
		case "EndIteration":
			v.SetInt(1)
		default:
			v.SetInt(n + row)
		}
	case reflect.Int64:
		v.SetInt(n*10_007 + row)
	case reflect.Uint64:
		v.SetUint(uint64(n*10_007 + row))
	case reflect.Int32:
		v.SetInt(n + row)
	case reflect.Uint32:
		v.SetUint(uint64(n + row))
	}
}

// collected says that everything was.
func collected(c *align.Collected) {
	*c = align.Collected{Memory: true, NVTX: true, Kernels: true, API: true, Copies: true}
}

// aReport is a report of one track.
func aReport(f *filler) (*align.Report, *align.Track) {
	rep := &align.Report{}
	f.fill(&rep.Source)
	t := filled[align.Track](f)
	if f.zero {
		*t = align.Track{Tensors: t.Tensors}
	} else {
		collected(&rep.Collected)
		t.IterationsFrom.How = [rows]align.Origin{align.OriginRanges, align.OriginKernels, align.OriginPattern, align.OriginNone}[f.row]
	}
	rep.Tracks = []*align.Track{t}
	return rep, t
}

// aRow is a row of a track.
func aRow[T any](f *filler) *Row[T] {
	rep, t := aReport(f)
	return &Row[T]{Report: rep, Track: t, Item: filled[T](f)}
}

// aStep is an iteration, or its first phase.
func aStep(phase bool) func(f *filler) *Step {
	return func(f *filler) *Step {
		rep, t := aReport(f)
		it := filled[align.Iteration](f)
		if !phase {
			return StepOf(rep, t, it, nil)
		}
		if len(it.Phases) == 0 {
			it.Phases = []align.Phase{{}}
		}
		return StepOf(rep, t, it, &it.Phases[0])
	}
}

// aComparison is a comparison of two settings, with a report in the first rows alone.
func aComparison(f *filler) *whatif.Comparison {
	w := filled[whatif.Comparison](f)
	_, w.Track = aReport(f)
	if f.row >= rows/2 {
		w.Track = nil
	}
	return w
}

func TestColumns(t *testing.T) {
	checkTable(t, "Iterations", Iterations, aStep(false))
	checkTable(t, "PhaseRows", PhaseRows, aStep(true))
	checkTable(t, "TensorLevels", TensorLevels, aStep(false))
	checkTable(t, "TensorPhaseRows", TensorPhaseRows, aStep(true))
	checkTable(t, "TensorPhases", TensorPhases, aRow)
	checkTable(t, "Phases", Phases, aRow)
	checkTable(t, "PhasePeaks", PhasePeaks, aRow)
	checkTable(t, "PhaseMemory", PhaseMemory, aRow)
	checkTable(t, "PhaseMedians", PhaseMedians, aRow)
	checkTable(t, "Levels", Levels, func(f *filler) *levelRow {
		r := aRow[LevelLine](f)
		r.Item.level, r.Item.peakInside = filled[align.Level](f), fmt.Sprint("inside ", f.row)
		return r
	})
	checkTable(t, "Ranges", Ranges, aRow)
	checkTable(t, "Failures", Failures, aRow)
	block := func(f *filler) *blockRow {
		r := aRow[align.Block](f)
		lives(f, &r.Item.Start, &r.Item.End)
		return r
	}
	checkTable(t, "Allocations", Allocations, block)
	checkTable(t, "LiveBlocks", LiveBlocks, block)
	checkTable(t, "Kernels", Kernels, aRow)
	checkTable(t, "Copies", Copies, aRow)
	checkTable(t, "Calls", Calls, aRow)
	checkTable(t, "Tracks", Tracks, func(f *filler) *trackRow {
		r := aRow[align.Track](f)
		r.Track = r.Item
		return r
	})
	checkTable(t, "Categories", Categories, aRow)
	checkTable(t, "Theory", Theory, aRow)
	checkTable(t, "HolderTable", HolderTable, aRow)
	checkTable(t, "Holdings", Holdings, aRow)
	checkTable(t, "Caches", Caches, aRow)
	checkTable(t, "Takers", Takers, aRow)
	checkTable(t, "Libraries", Libraries, aRow)
	checkTable(t, "Tensors", Tensors, func(f *filler) *tensorRow {
		r := aRow[tensor.Block](f)
		lives(f, &r.Item.Start, &r.Item.End)
		return r
	})
}

// lives makes blocks that were there before, stay, or both.
func lives(f *filler, start, end *int64) {
	if f.row == 1 || f.row == 3 {
		*start = align.Never
	}
	if f.row == 2 || f.row == 3 {
		*end = align.Never
	}
}

func TestBatchColumns(t *testing.T) {
	run := func(f *filler) *Run {
		r := filled[Run](f)
		_, r.Track = aReport(f)
		r.Warnings = r.Warnings[:1]
		return r
	}
	checkTable(t, "Runs", Runs, run)
	checkTable(t, "RunPhases", RunPhases, func(f *filler) runPhaseRow { return runPhaseRow{run(f), filled[RunPhase](f)} })
	spread := func(f *filler) *SpreadRow { return filled[SpreadRow](f) }
	checkTable(t, "IterationSpreads", IterationSpreads, spread)
	checkTable(t, "PhaseSpreads", PhaseSpreads, spread)
	checkTable(t, "FailedReports", FailedReports, func(f *filler) Failed { return *filled[Failed](f) })
}

func TestInfoColumns(t *testing.T) {
	checkTable(t, "Contents", Contents, func(f *filler) Content { return *filled[Content](f) })
	checkTable(t, "ExportTables", ExportTables, func(f *filler) ExportTable { return *filled[ExportTable](f) })
	checkTable(t, "Processes", Processes, func(f *filler) Process { return *filled[Process](f) })
	checkTable(t, "Devices", Devices, func(f *filler) Device { return *filled[Device](f) })
	checkTable(t, "Families", Families, func(f *filler) align.Family { return *filled[align.Family](f) })
	checkTable(t, "SnapshotDevices", SnapshotDevices, func(f *filler) SnapshotDevice {
		d := *filled[SnapshotDevice](f)
		if f.row == 0 {
			d.Trouble = ""
		}
		return d
	})
}

func TestWhatIfColumns(t *testing.T) {
	setting := func(f *filler) *Setting {
		w := aComparison(f)
		w.Settings[1].Limited.Failures[0].Iteration = 1
		return &Setting{w, 1}
	}
	checkTable(t, "Settings", Settings, setting)
	checkTable(t, "Stops", Stops, setting)
	checkTable(t, "Differing", Differing, setting)
	moment := func(f *filler) *Moment {
		return &Moment{aComparison(f), filled[whatif.Moment](f), filled[whatif.Failure](f), filled[whatif.Apart](f)}
	}
	checkTable(t, "Moments", Moments, moment)
	checkTable(t, "FailedRequests", FailedRequests, moment)
	checkTable(t, "Differences", Differences, moment)
	checkTable(t, "settingSteps", settingSteps, func(f *filler) *SettingStep {
		w := filled[whatif.Comparison](f)
		if _, w.Track = aReport(f); f.zero {
			w.Track.Iterations = make([]align.Iteration, 2)
		}
		return &SettingStep{w, 1}
	})
}
