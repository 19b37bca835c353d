package workbook

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"nsysmem/render/internal/sample"
	"nsysmem/render/tables"
)

// xmlSheet is what a worksheet says of its size, and the cells that it has.
type xmlSheet struct {
	Dimension struct {
		Ref string `xml:"ref,attr"`
	} `xml:"dimension"`
	Rows []struct {
		Cells []struct {
			Ref string `xml:"r,attr"`
		} `xml:"c"`
	} `xml:"sheetData>row"`
	Merged []struct {
		Ref string `xml:"ref,attr"`
	} `xml:"mergeCells>mergeCell"`
}

// checkDimension checks that a worksheet states the area of its cells, no more and no less.
func checkDimension(t testing.TB, name string, part []byte) {
	t.Helper()
	var s xmlSheet
	if err := xml.Unmarshal(part, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	col, row := 1, 1
	cell := func(ref string) {
		c, r, err := excelize.CellNameToCoordinates(ref)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		col, row = max(col, c), max(row, r)
	}
	for _, r := range s.Rows {
		for _, c := range r.Cells {
			cell(c.Ref)
		}
	}
	for _, m := range s.Merged { // readers make cells of them
		_, to, _ := strings.Cut(m.Ref, ":")
		c, r := col, row
		if cell(to); col != c || row != r {
			t.Errorf("%s: merged %s lies beyond the cells", name, m.Ref)
		}
	}
	last, _ := excelize.CoordinatesToCellName(col, row)
	if want := "A1:" + last; s.Dimension.Ref != want && (last != "A1" || s.Dimension.Ref != last) {
		t.Errorf("%s states %q, has %q", name, s.Dimension.Ref, want)
	}
}

// dimensions are those that the sheets of a workbook state, in order.
func dimensions(t *testing.T, data []byte) []string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := 1; ; i++ {
		r, err := z.Open("xl/worksheets/sheet" + strconv.Itoa(i) + ".xml")
		if err != nil {
			return out
		}
		part, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		var s xmlSheet
		if err := xml.Unmarshal(part, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s.Dimension.Ref)
	}
}

// TestDimension has tables with and without rows, and a sheet of one cell, each with a dimension of its own.
func TestDimension(t *testing.T) {
	t.Parallel()
	some := tables.LevelGrid(sample.Report(2).Report)
	none := some
	none.Rows = 0
	k := &Book{Title: "t", Facts: []Fact{{"key", "text"}}, Tables: []Table{{Sheet: "Some", Name: "some", Grid: some}, {Sheet: "None", Name: "none", None: "nothing", Grid: none}}}
	var b bytes.Buffer
	if err := WriteBook(&b, k, Options{TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	checkParts(t, b.Bytes())
	last, _ := excelize.ColumnNumberToName(len(some.Heads))
	want := fmt.Sprintf("A1:N3 A1:%s%d A1:%s2", last, 1+some.Rows, last)
	if got := strings.Join(dimensions(t, b.Bytes()), " "); got != want || some.Rows < 3 {
		t.Errorf("dimensions %q, want %q", got, want)
	}
	b.Reset()
	if err := WriteBook(&b, &Book{Title: "t"}, Options{TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(dimensions(t, b.Bytes()), " "); got != "A1" {
		t.Errorf("a sheet of one cell states %q", got)
	}
}
