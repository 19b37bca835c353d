package nsysdb

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const small = `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, correlationId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 7), (3, 4, NULL);`

// Each kind of file that cannot be read has a kind of error and a message of its own, and none of them is changed.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	export := content(t, build(t, small))
	real := content(t, "../testdata/cpp_mem.sqlite")
	other := content(t, build(t, "CREATE TABLE notes (id INTEGER)"))
	zeros := make([]byte, len(export))
	for _, c := range []struct {
		name    string
		content []byte // nil for no file
		kind    error
		says    string
	}{
		{"typo.sqlite", nil, errNotFound, "not found"},
		{"missing.nsys-rep", nil, errNotFound, "not found"},
		{"empty.sqlite", []byte{}, errEmpty, "empty"},
		{"text.sqlite", []byte("start,end\n1,2\n"), errNotSQLite, "nsys export --type sqlite"},
		{"packed.sqlite", []byte("\x1f\x8b\x08\x00 and so on"), errNotSQLite, "gzip"},
		{"half.sqlite", real[:len(real)/2], errDamaged, "cut short: it has"},
		{"lastpage.sqlite", real[:len(real)-1], errDamaged, "cut short"},
		{"head.sqlite", export[:60], errDamaged, "ends within its header"},
		{"magic.sqlite", export[:5], errDamaged, "ends within its header"},
		{"zeros.sqlite", zeros, errDamaged, "begins with zeros"},
		{"notes.sqlite", other, errNotExport, "not an export of Nsight Systems"},
		{"run 1.nsys-rep", []byte("whatever a report begins with"), ErrNsysRep, `nsys export --type sqlite -o "run 1.sqlite" "`},
		{"old.qdrep", []byte("whatever a report begins with"), ErrNsysRep, "-o old.sqlite"},
		{"cut.qdstrm", []byte("whatever a report begins with"), ErrNsysRep, "never finished"},
		{"none.nsys-rep", []byte{}, ErrNsysRep, "nsys export"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, c.name)
			if c.content != nil {
				write(t, path, c.content)
			}
			before := listing(t, dir)
			db, err := Open(path)
			if db != nil || !errors.Is(err, c.kind) {
				t.Fatalf("got %v, want %v", err, c.kind)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), fmt.Sprintf("nsysdb: open %q: ", path)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("message %q, want one line that says %q", err, c.says)
			}
			if !maps.Equal(before, listing(t, dir)) {
				t.Error("the folder changed")
			}
		})
	}
}

func TestOpenDirectory(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.TempDir()); !errors.Is(err, errDirectory) {
		t.Errorf("got %v", err)
	}
	if runtime.GOOS != "windows" {
		if _, err := Open(os.DevNull); !errors.Is(err, errNotRegular) {
			t.Errorf("got %v", err)
		}
	}
}

func TestOpenNoPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user may read every file")
	}
	path := build(t, small)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, errPermission) {
		t.Errorf("got %v", err)
	}
}

// A file whose header says more pages than it has is refused; one whose header was written by a program that left the
// number alone is not.
func TestOpenStalePageCount(t *testing.T) {
	t.Parallel()
	path := build(t, small)
	b := content(t, path)
	b[29] = 0xff
	b[95]++ // the number was not written with the last change
	write(t, path, b)
	if got := rows(t, open(t, path), Scan{Table: API, Columns: []Column{Start}}); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

// Reading leaves the report and its folder byte for byte as they were, whatever its name, and even where the folder
// may not be written to.
func TestOpenWritesNothing(t *testing.T) {
	t.Parallel()
	export := content(t, build(t, small))
	names := []string{"plain.sqlite", "with space.sqlite", "100%25.sqlite", "a#b.sqlite", "日本語.sqlite", "a&b=c.sqlite", "é;'.db"}
	if runtime.GOOS != "windows" {
		names = append(names, "what?mode=rwc.sqlite", `back\slash.sqlite`, "bad\xffutf8.sqlite", ":memory:")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, export, 0o444); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o555); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o755)
			before := listing(t, dir)
			db := open(t, path)
			want := [][]int64{{1, 2, 7}, {3, 4, Null}}
			for _, sorted := range []bool{false, true} {
				scan := Scan{Table: API, Columns: []Column{Start, End, CorrelationID}, Sorted: sorted}
				if got := rows(t, db, scan); !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("got %v", got)
				}
			}
			if _, err := db.Tables(); err != nil {
				t.Error(err)
			}
			db.Close()
			if !maps.Equal(before, listing(t, dir)) {
				t.Error("the folder changed")
			}
		})
	}
}

func TestPathURI(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/a b/c.sqlite":      "file:///a%20b/c.sqlite",
		"C:/Users/x%/r.db":   "file:///C:/Users/x%25/r.db",
		"//server/share/r":   "file:////server/share/r",
		"/q?mode=rw#x&y=é":   "file:///q%3Fmode%3Drw%23x%26y%3D%C3%A9",
		`/back\slash.sqlite`: "file:///back%5Cslash.sqlite",
	} {
		if got := pathURI(in); got != want {
			t.Errorf("pathURI(%q) = %q, want %q", in, got, want)
		}
	}
}

// What was committed to a file in write-ahead mode but not merged is not read, and that is told; so is a journal.
func TestOpenJournals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sqlite")
	live, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Exec("PRAGMA journal_mode=WAL;" + small + "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, 8)"); err != nil {
		t.Fatal(err)
	}
	// A copy, as the connection above takes its log away when it closes.
	copied := t.TempDir()
	for name, content := range listing(t, dir) {
		if strings.HasSuffix(name, "-shm") {
			continue
		}
		write(t, filepath.Join(copied, name), []byte(content))
	}
	live.Close()
	before := listing(t, copied)
	if before["x.sqlite-wal"] == "" {
		t.Fatal("the fixture has no log")
	}
	db := open(t, filepath.Join(copied, "x.sqlite"))
	if got := codes(db.Warnings()); !slices.Equal(got, []string{"unmerged-wal"}) {
		t.Errorf("warnings %v", got)
	}
	if got := rows(t, db, Scan{Table: API, Columns: []Column{Start}}); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	db.Close()
	if !maps.Equal(before, listing(t, copied)) {
		t.Error("the folder changed")
	}

	path = build(t, small)
	write(t, path+"-journal", []byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 and so on"))
	db = open(t, path)
	if got := codes(db.Warnings()); !slices.Equal(got, []string{"hot-journal"}) {
		t.Errorf("warnings %v", got)
	}
	db.Close()
	if _, err := os.Stat(path + "-journal"); err != nil {
		t.Error("the journal is gone")
	}
	write(t, path+"-journal", make([]byte, 512))
	if got := open(t, path).Warnings(); len(got) != 0 {
		t.Errorf("a journal that is done with: %v", got)
	}
}

// TestMain also plays the other process of TestOpenLocked.
func TestMain(m *testing.M) {
	if path := os.Getenv("NSYSDB_TEST_HOLD"); path != "" {
		db, err := sql.Open("sqlite", path)
		if err == nil {
			db.SetMaxOpenConns(1)
			_, err = db.Exec("BEGIN EXCLUSIVE; INSERT INTO StringIds VALUES (1, 'x')")
		}
		fmt.Println("held", err)
		bufio.NewReader(os.Stdin).ReadString('\n')
		db.Exec("ROLLBACK")
		db.Close()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// While another process writes, Open waits, but not for ever.
func TestOpenLocked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not tell of locks without taking them")
	}
	path := build(t, small)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NSYSDB_TEST_HOLD="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "held <nil>\n" {
		t.Fatal(line)
	}
	const short = 200 * time.Millisecond
	began := time.Now()
	_, err = openWithin(path, short)
	if !errors.Is(err, errLocked) || !strings.Contains(err.Error(), "local disk") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took < short || took > 5*time.Second {
		t.Errorf("waited %v", took)
	}
	time.AfterFunc(100*time.Millisecond, func() { stdin.Close() })
	db, err := openWithin(path, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	db.Close()
}

// A file that is written to while it is read gives an error that says so, rather than one of damage.
func TestScanOfChangingFile(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		path := build(t, small)
		db := open(t, path, way...)
		if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		err := db.Scan(context.Background(), Scan{Table: API, Columns: []Column{Start}}, func(*Batch) error { return nil })
		if !errors.Is(err, errChanged) {
			t.Errorf("got %v", err)
		}
	})
}
