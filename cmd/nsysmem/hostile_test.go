package main

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"

	"nsysmem/internal/fixture"
)

// sample is a copy of an export of testdata in a folder of its own.
func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", name+".sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.sqlite")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// change runs a statement on an export.
func change(t *testing.T, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// everything is every way to give a report out, with what checks that the output can be read.
var everything = []struct {
	args  []string
	check func([]byte) error
}{
	{[]string{"summary"}, checkText}, {[]string{"summary", "-f", "md"}, checkText}, {[]string{"info"}, checkText},
	{[]string{"summary", "-f", "json"}, checkJSON}, {[]string{"info", "-f", "json"}, checkJSON},
	{[]string{"summary", "-f", "csv"}, checkCSV}, {[]string{"report", "-o", "-"}, checkWorkbook},
	{[]string{"plot", "--size", "640x400", "-o", ".png"}, checkPNG}, {[]string{"plot", "--size", "640x400", "-o", ".svg"}, checkXML},
	{[]string{"plot", "--size", "640x400", "-o", ".pdf"}, checkPDF},
}

// outputs gives a report out in every way and checks what comes. It returns all bytes, those of packed parts unpacked.
func outputs(t *testing.T, path string) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, way := range everything {
		args := slices.Insert(slices.Clone(way.args), 1, path)
		file := ""
		if last := args[len(args)-1]; last[0] == '.' {
			file = filepath.Join(t.TempDir(), "out"+last)
			args[len(args)-1] = file
		}
		code, out, errs := command(t, args...)
		if code != exitDone {
			t.Errorf("%v: exit %d: %s", way.args, code, errs)
			continue
		}
		data := []byte(out)
		if file != "" {
			var err error
			if data, err = os.ReadFile(file); err != nil {
				t.Error(err)
			}
		}
		if err := way.check(data); err != nil {
			t.Errorf("%v: %v", way.args, err)
		}
		if err := checkText([]byte(errs)); err != nil {
			t.Errorf("%v: stderr: %v", way.args, err)
		}
		all.WriteString(errs)
		all.Write(data)
		if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
			for _, f := range z.File {
				r, err := f.Open()
				if err != nil {
					t.Error(err)
					continue
				}
				io.Copy(&all, r)
				r.Close()
			}
		}
	}
	return all.Bytes()
}

// checkText refuses what would steer a terminal.
func checkText(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	for _, r := range string(b) {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return fmt.Errorf("has %U", r)
		}
	}
	return nil
}

func checkJSON(b []byte) error {
	var v any
	return errors.Join(checkText(b), json.Unmarshal(b, &v))
}

func checkCSV(b []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	number := regexp.MustCompile(`^-?\d+$`)
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t", rune(cell[0])) && !number.MatchString(cell) {
				err = fmt.Errorf("cell %q would run as a formula", cell)
			}
		}
	}
	return errors.Join(checkText(b), err)
}

func checkXML(b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
			return fmt.Errorf("has an element <%s>", e.Name.Local)
		}
	}
}

func checkWorkbook(b []byte) error {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return err
		}
		part, err := io.ReadAll(r)
		r.Close()
		if err == nil {
			err = checkXML(part)
		}
		if err == nil && strings.HasPrefix(f.Name, "xl/worksheets/") && bytes.Contains(part, []byte("<f>")) {
			err = errors.New("has a formula")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func checkPNG(b []byte) error {
	_, err := png.Decode(bytes.NewReader(b))
	return err
}

func checkPDF(b []byte) error {
	if !bytes.HasPrefix(b, []byte("%PDF-")) || !bytes.HasSuffix(bytes.TrimSpace(b), []byte("%%EOF")) {
		return errors.New("is cut off")
	}
	return nil
}

var hostile = []string{`=HYPERLINK("http://x","y")`, "+1", "-x", "@a", "\t=1", "\x1b[31mred\x1b]0;t\x07", "a\x00b", "\u202eright to left\u2066",
	strings.Repeat("x", 10000), "</svg><script>alert(1)</script>", "日本語", "👩‍👩‍👧 🚀", "a\nb\r\nc", "", "   ", `<>&"'`, "`|\\", "%s%n", "\ufeff\u2028", "a/b", "(other)",
	"\xff\xfe\x80", "_x0041_", "[red]"}

// Whatever a program calls its ranges, every output can be read and none is run.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	// Of ranges and strings there are many: each name goes to some of them, and one report has them all.
	for of, statement := range map[string]string{
		"ranges":  "UPDATE NVTX_EVENTS SET text=CAST(? AS TEXT), textId=NULL WHERE rowid%24=?",
		"strings": "UPDATE StringIds SET value=CAST(? AS TEXT) WHERE id%24=?",
	} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			path := sample(t, "cpp_mem")
			for i, name := range hostile {
				change(t, path, statement, []byte(name), i)
			}
			outputs(t, path)
		})
	}
	// The iterations, the process and the device have one name each: a report for each name, which all three have. It is
	// a new copy each time, for the names of iterations tell them from other ranges.
	for i, name := range hostile {
		if i%5 != 0 && !fixture.Slow {
			continue
		}
		t.Run(fmt.Sprintf("name%d", i), func(t *testing.T) {
			t.Parallel()
			path := sample(t, "cpp_mem")
			for _, statement := range []string{
				"UPDATE NVTX_EVENTS SET text=CAST(? AS TEXT)||' '||rowid, textId=NULL WHERE domainId IN (0,1)" +
					" AND coalesce(text,(SELECT value FROM StringIds WHERE id=textId)) LIKE 'step%'",
				"UPDATE PROCESSES SET name=CAST(? AS TEXT)",
				"UPDATE TARGET_INFO_GPU SET name=CAST(? AS TEXT)",
			} {
				change(t, path, statement, []byte(name))
			}
			outputs(t, path)
		})
	}
}

// The report and its folder stay as they are, even where nothing may be written there.
func TestReportUntouched(t *testing.T) {
	t.Parallel()
	path := sample(t, "cnn_default")
	dir := filepath.Dir(path)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	look := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := string(data) + info.ModTime().String()
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			s += fmt.Sprint(e.Name(), info.Mode(), info.Size(), info.ModTime())
		}
		return s
	}
	before := look()
	outputs(t, path)
	if look() != before {
		t.Error("the folder of the report changed")
	}
}

// Nothing of the environment, of command lines, hosts and users is in any output.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	path := sample(t, "cpp_mem")
	for _, statement := range []string{
		"UPDATE PROCESSES SET name='/usr/bin/python3'||char(9)||'train.py --token S3CR3T'",
		"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'S3CR3T','Hostname',1,'S3CR3T'), (1,'x','EnvironmentVariables',1,'KEY=S3CR3T')",
		"INSERT INTO META_DATA_CAPTURE (name, value) VALUES ('PROCESS_0:ENVIRONMENT','S3CR3T'), ('PROCESS_0:COMMAND_LINE','S3CR3T'), ('DEVICE_DISPLAY_NAME','S3CR3T')",
		"UPDATE META_DATA_EXPORT SET value='/home/S3CR3T/x' WHERE name LIKE 'EXPORT_PARAM%PATH%' OR name IN ('EXPORT_HOST','EXPORT_USER')",
		"UPDATE DIAGNOSTIC_EVENT SET severity=2, text='Launching: python3 --key S3CR3T' WHERE rowid%3=0",
		"UPDATE DIAGNOSTIC_EVENT SET severity=3, text='No link to S3CR3T@S3CR3T.example.com' WHERE rowid%3=1",
		"UPDATE DIAGNOSTIC_EVENT SET severity=3, text='export TOKEN=\"S3CR3T and S3CR3T\"' WHERE rowid%3=2",
	} {
		change(t, path, statement)
	}
	all := outputs(t, path)
	if !bytes.Contains(all, []byte("the profiler said")) || !bytes.Contains(all, []byte("python3")) {
		t.Error("the messages and the process are not in any output")
	}
	if i := bytes.Index(all, []byte("S3CR3T")); i >= 0 {
		t.Errorf("told: %q", all[max(0, i-80):min(len(all), i+40)])
	}

	// The same of a batch: its records, data set, workbooks and pictures.
	out := filepath.Join(t.TempDir(), "out")
	if code, said := batchRun(path, "-o", out, "--plot", "--workbook", "--allocations"); code != exitDone || strings.Contains(said, "S3CR3T") {
		t.Fatalf("batch: exit %d: %s", code, said)
	}
	tables, messages := 0, false
	for name, data := range tree(t, out) {
		text := data
		switch filepath.Ext(name) {
		case ".xlsx":
			text = unpacked(t, data)
		case ".parquet":
			tables++
			text = tableText(t, data)
			if strings.Contains(filepath.ToSlash(name), "/runs/") && !bytes.Contains(text, []byte("python3")) {
				t.Errorf("%s does not name the process: %q", name, text)
			}
		}
		messages = messages || bytes.Contains(text, []byte("the profiler said"))
		if i := bytes.Index(text, []byte("S3CR3T")); i >= 0 {
			t.Errorf("%s tells: %q", name, text[max(0, i-80):min(len(text), i+40)])
		}
	}
	if tables != 4 || !messages {
		t.Errorf("%d tables, messages %t", tables, messages)
	}
}

// unpacked is all that is in a zip archive.
func unpacked(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(&all, r)
		r.Close()
	}
	return all.Bytes()
}

// tableText is each value of a Parquet file, one a line.
func tableText(t *testing.T, data []byte) []byte {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	fmt.Fprintln(&all, f.Metadata())
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				for _, v := range r {
					fmt.Fprintln(&all, v)
				}
			}
			if err != nil || n == 0 {
				break
			}
		}
		rows.Close()
	}
	return all.Bytes()
}

// Figures that no recording can have leave the others right.
func TestImpossibleFigures(t *testing.T) {
	t.Parallel()
	path := sample(t, "cpp_mem")
	_, want, _ := command(t, "summary", path, "-f", "csv")
	for _, statement := range []string{
		"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY rowid DESC LIMIT 2",
		"UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET bytes=1<<62, memoryOperationType=0, address=-5 WHERE rowid=(SELECT max(rowid) FROM CUDA_GPU_MEMORY_USAGE_EVENTS)",
		"UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET start=9223372036854775807, memoryOperationType=0 WHERE rowid=(SELECT max(rowid)-1 FROM CUDA_GPU_MEMORY_USAGE_EVENTS)",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY rowid DESC LIMIT 1",
		"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start=-9223372036854775807, end=9223372036854775807 WHERE rowid=(SELECT max(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL)",
	} {
		change(t, path, statement)
	}
	outputs(t, path)
	if _, got, _ := command(t, "summary", path, "-f", "csv"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, text, _ := command(t, "summary", path); !strings.Contains(text, "[damaged") {
		t.Errorf("no warning of damaged events:\n%s", text)
	}
}
