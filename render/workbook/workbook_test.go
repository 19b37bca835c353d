package workbook

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/fixture"
	"nsysmem/internal/wording"
	"nsysmem/render/internal/sample"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

var (
	update = flag.Bool("update", false, "write the golden files anew")
	keep   = flag.String("keep", "", "folder to keep the workbooks of the real exports in")
)

func write(t testing.TB, rep *findings.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, rep, Options{TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// open reopens a workbook, after checking what Excel demands of its parts.
func open(t testing.TB, data []byte) *excelize.File {
	t.Helper()
	checkParts(t, data)
	f, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func rows(t testing.TB, f *excelize.File, sheet string) [][]string {
	t.Helper()
	out, err := f.GetRows(sheet, excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// column is the raw values of a table's column, by its head.
func columnOf(t testing.TB, table [][]string, head string) []string {
	t.Helper()
	i := slices.Index(table[0], head)
	if i < 0 {
		t.Fatalf("no column %q in %q", head, table[0])
	}
	var out []string
	for _, r := range table[1:] {
		v := ""
		if i < len(r) {
			v = r[i]
		}
		out = append(out, v)
	}
	return out
}

var sheetNames = []string{"Overview", "Iterations", "Phases", "Iteration × Phase", "Phase rows", "Allocations", "Live at peak",
	"Live at end", "Kernels by phase", "Copies by phase", "CUDA API by phase", "Failed allocations", "Warnings"}

// order is the order of a worksheet's elements that Excel demands.
var order = []string{"sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "autoFilter", "mergeCells", "conditionalFormatting",
	"hyperlinks", "printOptions", "pageMargins", "pageSetup", "headerFooter", "rowBreaks", "colBreaks", "drawing", "tableParts", "extLst"}

type xmlTable struct {
	ID      int    `xml:"id,attr"`
	Name    string `xml:"displayName,attr"`
	Ref     string `xml:"ref,attr"`
	Columns []struct {
		Name string `xml:"name,attr"`
	} `xml:"tableColumns>tableColumn"`
	AutoFilter struct {
		Ref string `xml:"ref,attr"`
	} `xml:"autoFilter"`
}

// checkParts checks that every part is well-formed XML, that worksheets have their elements in order and no formula, and
// that tables agree with their sheets and with each other.
func checkParts(t testing.TB, data []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if z.File[0].Name != contentTypes {
		t.Errorf("first entry is %s", z.File[0].Name)
	}
	names, ids := map[string]bool{}, map[int]bool{}
	for _, e := range z.File {
		r, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(part))
		depth, last := 0, -1
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			switch tok := tok.(type) {
			case xml.StartElement:
				if strings.HasPrefix(e.Name, "xl/worksheets/sheet") {
					if depth == 1 {
						i := slices.Index(order, tok.Name.Local)
						if i < 0 || i < last {
							t.Errorf("%s: element %s out of order", e.Name, tok.Name.Local)
						}
						last = i
					}
					if tok.Name.Local == "f" {
						t.Errorf("%s: a formula", e.Name)
					}
				}
				depth++
			case xml.EndElement:
				depth--
			}
		}
		if strings.HasPrefix(e.Name, "xl/worksheets/sheet") {
			checkDimension(t, e.Name, part)
		}
		if strings.HasPrefix(e.Name, "xl/tables/") {
			var tab xmlTable
			if err := xml.Unmarshal(part, &tab); err != nil {
				t.Fatal(err)
			}
			if names[strings.ToLower(tab.Name)] || ids[tab.ID] || !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(tab.Name) {
				t.Errorf("table %d %q: name or number twice, or no valid name", tab.ID, tab.Name)
			}
			names[strings.ToLower(tab.Name)], ids[tab.ID] = true, true
			if tab.AutoFilter.Ref != tab.Ref {
				t.Errorf("table %s: filter over %s of %s", tab.Name, tab.AutoFilter.Ref, tab.Ref)
			}
			heads := map[string]bool{}
			for _, c := range tab.Columns {
				if heads[strings.ToLower(c.Name)] || c.Name == "" || len([]rune(c.Name)) > 255 {
					t.Errorf("table %s: column %q twice, empty or too long", tab.Name, c.Name)
				}
				heads[strings.ToLower(c.Name)] = true
			}
		}
	}
}

// checkTables checks each table against the cells below it.
func checkTables(t testing.TB, f *excelize.File) {
	t.Helper()
	for _, sheet := range f.GetSheetList() {
		tables, err := f.GetTables(sheet)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := f.GetMergeCells(sheet)
		if err != nil {
			t.Fatal(err)
		}
		all := rows(t, f, sheet)
		if sheet != overviewSheet && len(tables) != 1 {
			t.Errorf("sheet %q has %d tables", sheet, len(tables))
		}
		for _, tab := range tables {
			from, to, _ := strings.Cut(tab.Range, ":")
			c0, r0, _ := excelize.CellNameToCoordinates(from)
			c1, r1, _ := excelize.CellNameToCoordinates(to)
			if r1 <= r0 {
				t.Errorf("table %s has no row: %s", tab.Name, tab.Range)
			}
			if sheet != overviewSheet && r1 != len(all) {
				t.Errorf("table %s ends in row %d of %d", tab.Name, r1, len(all))
			}
			for c := c0; c <= c1; c++ {
				if all[r0-1][c-1] == "" {
					t.Errorf("table %s: empty head", tab.Name)
				}
			}
			for _, m := range merged {
				_, m0, _ := excelize.CellNameToCoordinates(m.GetStartAxis())
				if m0 >= r0 && m0 <= r1 {
					t.Errorf("table %s lies over merged cells", tab.Name)
				}
			}
		}
		if sheet == overviewSheet {
			continue
		}
		if p, err := f.GetPanes(sheet); err != nil || !p.Freeze || p.YSplit != 1 {
			t.Errorf("sheet %q: head is not frozen: %+v, %v", sheet, p, err)
		}
	}
}

// dump writes the cells of all sheets as text.
func dump(t testing.TB, f *excelize.File) []byte {
	var b bytes.Buffer
	for _, sheet := range f.GetSheetList() {
		fmt.Fprintf(&b, "== %s\n", sheet)
		for _, r := range rows(t, f, sheet) {
			fmt.Fprintf(&b, "%s\n", strings.TrimRight(strings.Join(r, "\t"), "\t"))
		}
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	f := open(t, write(t, sample.Report(4)))
	checkTables(t, f)
	if got := f.GetSheetList(); !slices.Equal(got, sheetNames) {
		t.Errorf("sheets %q", got)
	}
	sample.Golden(t, *update, "sample.txt", dump(t, f))
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	first := write(t, sample.Report(5))
	for range 5 {
		if !bytes.Equal(write(t, sample.Report(5)), first) {
			t.Fatal("the same report gives other bytes")
		}
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	f := open(t, write(t, sample.Report(3)))
	p, err := f.GetDocProps()
	if err != nil {
		t.Fatal(err)
	}
	if p.Creator != "nsysmem" || p.LastModifiedBy != "nsysmem" || p.Created != "2025-10-09T08:53:20Z" {
		t.Errorf("properties %+v", p)
	}
}

// TestNumbers checks that the cells hold exact values under what their formats show.
func TestNumbers(t *testing.T) {
	t.Parallel()
	rep := sample.Report(4)
	rep.Tracks[0].Iterations[1].Memory.Peak = 150_109_880_321
	rep.Tracks[0].Iterations[1].GPU.KernelNS = 1_234_567_891
	f := open(t, write(t, rep))
	its := rows(t, f, "Iterations")
	if got := columnOf(t, its, "Peak (bytes)")[1]; got != "150109880321" {
		t.Errorf("bytes %q", got)
	}
	mib, err := strconv.ParseFloat(columnOf(t, its, "Peak (MiB)")[1], 64)
	if err != nil || int64(math.Round(mib*(1<<20))) != 150_109_880_321 {
		t.Errorf("MiB %v, %v", mib, err)
	}
	if got := columnOf(t, its, "Kernel time (ms)")[1]; got != "1234.567891" {
		t.Errorf("ms %q", got)
	}
	if got, err := f.GetCellValue("Iterations", "M3"); err != nil || got != "300.00" {
		t.Errorf("need is shown as %q, %v", got, err)
	}
	if got := columnOf(t, rows(t, f, "Allocations"), "Address")[1]; got != "0xffff800000000000" {
		t.Errorf("address %q", got)
	}
	if c, err := f.GetCellType("Iterations", "K3"); err != nil || c == excelize.CellTypeInlineString || c == excelize.CellTypeSharedString {
		t.Errorf("peak is stored as %v, %v", c, err)
	}
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	rep := sample.Report(len(sample.Hostile) + 1)
	sample.Hurt(rep)
	long := strings.Repeat("長", 40_000)
	last := len(rep.Tracks[0].Iterations) - 1
	rep.Tracks[0].Iterations[last].Name = long
	rep.Tracks[0].Iterations[0].Phases[0].Path = "_x0041_"
	rep.Tracks[0].Iterations[1].Phases[0].Path = "FORWARD"
	rep.Tracks[0].Iterations[2].Phases[0].Path = "forward"
	rep.Tracks[0].Iterations[3].Phases[0].Path = strings.Repeat("p", 400)
	rep.Tracks[0].Process = `=cmd|' /C calc'!A0`
	f := open(t, write(t, rep))
	checkTables(t, f)
	names := columnOf(t, rows(t, f, "Iterations"), "Name")
	for i, name := range sample.Hostile {
		if got := names[i]; got != wording.Cell(name) {
			t.Errorf("name %q is the cell %q", name, got)
		}
		cell := "D" + strconv.Itoa(i+2)
		if kind, err := f.GetCellType("Iterations", cell); err != nil || kind != excelize.CellTypeInlineString {
			t.Errorf("%s is stored as %v, %v", cell, kind, err)
		}
		if formula, err := f.GetCellFormula("Iterations", cell); err != nil || formula != "" {
			t.Errorf("%s has the formula %q, %v", cell, formula, err)
		}
	}
	if got := []rune(names[last]); len(got) != wording.MaxCell || string(got[:10]) != long[:30] {
		t.Errorf("a name of 40,000 characters became %d", len(got))
	}
}

func TestNotCollected(t *testing.T) {
	t.Parallel()
	rep := sample.Report(3)
	rep.Collected = align.Collected{NVTX: true}
	for _, tr := range rep.Tracks {
		tr.Blocks, tr.LiveAtEnd, tr.LiveAtPeak, tr.Kernels, tr.Copies, tr.Calls, tr.Failed = nil, nil, nil, nil, nil, nil, nil
	}
	f := open(t, write(t, rep))
	checkTables(t, f)
	its := rows(t, f, "Iterations")
	for _, head := range []string{"Start (MiB)", "Peak (MiB)", "Net (MiB)", "Failed allocs", "Kernels", "Kernel time (ms)", "To device (MiB)", "API sync time (ms)",
		"Peak (bytes)", "Peak phase"} {
		for i, v := range columnOf(t, its, head) {
			if v != "" {
				t.Errorf("%s of iteration %d is %q, want an empty cell", head, i, v)
			}
		}
	}
	for sheet, want := range map[string]string{"Allocations": "--cuda-memory-usage=true", "Kernels by phase": "-t cuda", "Iteration × Phase": "device memory not collected",
		"Failed allocations": "CUDA API calls not collected"} {
		if got := rows(t, f, sheet)[1][0]; !strings.HasPrefix(got, "n/a") || !strings.Contains(got, want) {
			t.Errorf("%s says %q", sheet, got)
		}
	}
	if got := string(dump(t, f)); !strings.Contains(got, "Device memory\tn/a: not collected") {
		t.Error("the overview does not say that memory was not collected")
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	f := open(t, write(t, &findings.Report{Report: &align.Report{Collected: align.Collected{Memory: true, NVTX: true, Kernels: true, API: true, Copies: true}}}))
	checkTables(t, f)
	if got := rows(t, f, "Allocations")[1][0]; got != "none in the recorded time" {
		t.Errorf("Allocations says %q", got)
	}
}

func TestRowLimit(t *testing.T) {
	defer func(n int) { maxRows = n }(maxRows)
	maxRows = 11
	rep := sample.Report(12) // 25 blocks and 5 of the other track: 30 rows, three sheets of 10
	f := open(t, write(t, rep))
	checkTables(t, f)
	var addresses []string
	for _, sheet := range []string{"Allocations", "Allocations (2)", "Allocations (3)"} {
		all := rows(t, f, sheet)
		if len(all) != 11 {
			t.Errorf("%s has %d rows", sheet, len(all))
		}
		addresses = append(addresses, columnOf(t, all, "Address")...)
	}
	if i, err := f.GetSheetIndex("Allocations (4)"); err != nil || i != -1 {
		t.Errorf("a fourth sheet: %d, %v", i, err)
	}
	n := 0
	for _, tr := range rep.Tracks {
		for _, b := range tr.Blocks {
			if want := fmt.Sprintf("%#x", b.Address); addresses[n] != want {
				t.Errorf("row %d has the address %s, want %s", n, addresses[n], want)
			}
			n++
		}
	}
	if n != len(addresses) {
		t.Errorf("%d rows for %d blocks", len(addresses), n)
	}
}

func TestManyPhases(t *testing.T) {
	t.Parallel()
	rep := sample.Report(2)
	it := &rep.Tracks[0].Iterations[0]
	for i := range 300 {
		p := it.Phases[0]
		p.Path = fmt.Sprintf("phase%d", i)
		p.Memory.Need = int64(i)
		it.Phases = slices.Insert(it.Phases, len(it.Phases)-1, p)
	}
	g, n := tables.Matrix(rep.Report)
	var paths []string
	for _, h := range g.Heads {
		if path, ok := strings.CutPrefix(h.Text, "Peak (MiB) "); ok {
			paths = append(paths, path)
		}
	}
	if n != 100 || len(paths) != n || paths[0] != "forward" || slices.Contains(paths, "phase0") || !slices.Contains(paths, "phase299") {
		t.Errorf("%d phases: %q", n, paths)
	}
	checkTables(t, open(t, write(t, rep)))
}

// TestExports compares the workbooks of real exports with the reports they were made of: a few that have everything in
// them, or all.
func TestExports(t *testing.T) {
	t.Parallel()
	few := []string{"cnn_default.sqlite", "cpp_mem.sqlite", "cnn_2022.sqlite"}
	if fixture.Slow || *keep != "" {
		few = nil
	}
	for name, rep := range sample.Exports(t, few...) {
		t.Run(name, func(t *testing.T) {
			data := write(t, rep)
			if *keep != "" {
				if err := os.WriteFile(filepath.Join(*keep, strings.TrimSuffix(name, ".sqlite")+".xlsx"), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			f := open(t, data)
			checkTables(t, f)
			same := func(sheet, head string, n int, value func(tr *align.Track, i int) int64, count func(tr *align.Track) int) {
				t.Helper()
				if n == 0 {
					return
				}
				got := columnOf(t, rows(t, f, sheet), head)
				k := 0
				for _, tr := range rep.Tracks {
					for i := range count(tr) {
						if want := strconv.FormatInt(value(tr, i), 10); got[k] != want {
							t.Fatalf("%s: %s in row %d is %s, want %s", sheet, head, k, got[k], want)
						}
						k++
					}
				}
				if k != len(got) {
					t.Errorf("%s has %d rows, want %d", sheet, len(got), k)
				}
			}
			its := func(tr *align.Track) int { return len(tr.Iterations) }
			lines := make(map[*align.Track][]align.Block) // static memory has a line for each phase, as TestStaticFolded checks
			for _, tr := range rep.Tracks {
				lines[tr] = tables.StaticFolded(tr.Blocks)
			}
			blocks := func(tr *align.Track) int { return len(lines[tr]) }
			kernels := func(tr *align.Track) int { return len(tr.Kernels) }
			n, _ := tables.Across(rep.Report, its)
			if rep.Collected.Memory {
				same("Iterations", "Peak (bytes)", n, func(tr *align.Track, i int) int64 { return tr.Iterations[i].Memory.Peak }, its)
				same("Iterations", "Net (bytes)", n, func(tr *align.Track, i int) int64 { return tr.Iterations[i].Memory.Net }, its)
			}
			n, _ = tables.Across(rep.Report, blocks)
			same("Allocations", "Bytes", n, func(tr *align.Track, i int) int64 { return lines[tr][i].Bytes }, blocks)
			n, _ = tables.Across(rep.Report, kernels)
			same("Kernels by phase", "Total (ns)", n, func(tr *align.Track, i int) int64 { return tr.Kernels[i].NS }, kernels)
			n, _ = tables.Across(rep.Report, func(tr *align.Track) int { return len(tr.Failed) })
			if got := len(rows(t, f, "Failed allocations")) - 1; n > 0 && got != n {
				t.Errorf("%d failed allocations, want %d", got, n)
			}
			if len(phrase.Missing(rep.Collected)) > 0 && !strings.Contains(string(dump(t, f)), "n/a: not collected") {
				t.Error("nothing says what was not collected")
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteError(t *testing.T) {
	t.Parallel()
	if err := Write(full{}, sample.Report(2), Options{}); err == nil {
		t.Error("no error from a full disk")
	}
}

// BenchmarkAllocations writes a workbook of 418,000 blocks.
func BenchmarkAllocations(b *testing.B) {
	rep := sample.Report(800)
	t := rep.Tracks[0]
	few := t.Blocks
	t.Blocks = make([]align.Block, 418_000)
	for i := range t.Blocks {
		t.Blocks[i] = few[i%len(few)]
		t.Blocks[i].Address += uint64(i) << 9
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, rep, Options{TempDir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestInferredPhases: the sheet of what was compared is there where it was, with a row for each phase, and else is not.
func TestInferredPhases(t *testing.T) {
	t.Parallel()
	rep := sample.Compared(t)
	f := open(t, write(t, rep))
	got := rows(t, f, "Inferred phases")
	if want := len(rep.Tracks[0].Inferred.Memory); len(got)-1 != want || want == 0 {
		t.Errorf("%d rows, want %d", len(got)-1, want)
	}
	found, annotated := columnOf(t, got, "Need (bytes)"), columnOf(t, got, "Need annotated (bytes)")
	for i := range found {
		if m := &rep.Tracks[0].Inferred.Memory[i]; m.Same() && found[i] != annotated[i] || found[i] != strconv.FormatInt(m.Found.Need, 10) {
			t.Errorf("row %d: %s and %s, want %d", i, found[i], annotated[i], m.Found.Need)
		}
	}
	if i, _ := open(t, write(t, sample.Report(3))).GetSheetIndex("Inferred phases"); i >= 0 {
		t.Error("the sheet is there without a comparison")
	}
}
