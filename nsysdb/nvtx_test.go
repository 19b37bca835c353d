package nsysdb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
)

const (
	procP = 5 << 24 // a globalPid
	procQ = 6 << 24
)

const nvtxTable = `CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, textId INTEGER,
 globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER);
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
`

func nvtx(t *testing.T, script string, way ...Option) *NVTX {
	t.Helper()
	n, err := open(t, build(t, script), way...).NVTX(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A name stands in text or in StringIds, both in one file; the same name is one name.
func TestNVTXNames(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		n := nvtx(t, nvtxTable+`INSERT INTO StringIds VALUES (5, 'forward'), (6, 'other'), (7, '');
INSERT INTO NVTX_EVENTS VALUES (1,2,59,'forward',NULL,83886081,NULL,0), (2,3,59,NULL,5,83886081,NULL,0), (3,4,59,NULL,99,83886081,NULL,0),
 (4,5,59,NULL,NULL,83886081,NULL,0), (5,6,59,'',6,83886081,NULL,0), (6,7,59,'both',5,83886081,NULL,0), (7,8,59,NULL,7,83886081,NULL,0),
 (8,9,59,'日本語 "x"',NULL,83886081,NULL,0);`, way...)
		var got []string
		for _, r := range n.Ranges {
			got = append(got, n.Names[r.Name])
		}
		if want := []string{"forward", "forward", "<string 99>", "<unnamed>", "other", "both", "<unnamed>", `日本語 "x"`}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if want := []string{"forward", "<string 99>", "<unnamed>", "other", "both", `日本語 "x"`}; !slices.Equal(n.Names, want) {
			t.Errorf("names %q", n.Names)
		}
	})
}

// Ends that are missing, zero or before the start leave a range open; a mark is no range.
func TestNVTXEnds(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		n := nvtx(t, nvtxTable+`INSERT INTO NVTX_EVENTS VALUES (5,NULL,75,'CCCL',NULL,83886081,NULL,1), (100,0,34,'mark',NULL,83886081,NULL,1),
 (100,NULL,59,'open',NULL,83886081,NULL,0), (100,0,59,'zero',NULL,83886081,NULL,0), (100,99,60,'back',NULL,83886081,83886082,0),
 (100,100,59,'point',NULL,83886081,NULL,0), (-100,0,59,'shifted',NULL,83886081,NULL,0), (7,8,33,'category',NULL,83886081,NULL,0),
 (7,8,76,'gone',NULL,83886081,NULL,1), (100,50,34,'mark',NULL,NULL,NULL,NULL);`, way...)
		want := []Range{
			{Start: 100, End: Null, TID: procP + 1},
			{Start: 100, End: Null, TID: procP + 1, Damaged: true},
			{Start: 100, End: Null, TID: procP + 1, Damaged: true},
			{Start: 100, End: 100, TID: procP + 1},
			{Start: -100, End: 0, TID: procP + 1},
		}
		names := []string{"open", "zero", "back", "point", "shifted"}
		if len(n.Ranges) != len(want) {
			t.Fatalf("ranges %+v", n.Ranges)
		}
		for i, r := range n.Ranges {
			if n.Names[r.Name] != names[i] {
				t.Errorf("range %d is %q", i, n.Names[r.Name])
			}
			r.Name = 0
			if r != want[i] {
				t.Errorf("range %s is %+v, want %+v", names[i], r, want[i])
			}
		}
		if !slices.Equal(n.Names, names) {
			t.Errorf("names %q: marks and categories are no ranges", n.Names)
		}
		if !maps.Equal(n.Domains, map[DomainID]string{{procP, 1}: "CCCL"}) {
			t.Errorf("domains %v", n.Domains)
		}
	})
}

// A domain's number means nothing outside its process; its name may be an id.
func TestNVTXDomains(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		n := nvtx(t, nvtxTable+`INSERT INTO StringIds VALUES (5, 'mylib');
INSERT INTO NVTX_EVENTS VALUES (1,NULL,75,'NCCL',NULL,83886081,NULL,1), (1,NULL,75,NULL,5,100663297,NULL,1), (1,NULL,75,NULL,8,100663298,NULL,2);`, way...)
		want := map[DomainID]string{{procP, 1}: "NCCL", {procQ, 1}: "mylib", {procQ, 2}: "<string 8>"}
		if !maps.Equal(n.Domains, want) || len(n.Names) != 0 {
			t.Errorf("domains %v, names %v", n.Domains, n.Names)
		}
	})
}

// An old table has few columns; the numbers of event types are the export's own.
func TestNVTXVersions(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		n := nvtx(t, `CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (1,2,7,'a',83886081), (1,2,59,'not a range here',83886081), (3,4,8,'b',83886081);
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (7,'NvtxPushPopRange','x'), (8,'NvtxStartEndRange','NvtxMark'), (59,'NvtxCategory','NvtxPushPopRange');`, way...)
		if !slices.Equal(n.Names, []string{"a", "b"}) || len(n.Ranges) != 2 {
			t.Errorf("got %+v", n)
		}
	})
	db := open(t, build(t, "CREATE TABLE NVTX_EVENTS (begin INTEGER)"))
	if _, err := db.NVTX(context.Background()); !errors.Is(err, errNoTable) || !db.HasNVTX() {
		t.Errorf("got %v", err)
	}
}

// Texts in another encoding, texts longer than a page, and more texts than shapes are kept.
func TestNVTXTexts(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"UTF-8", "UTF-16le"} {
		bothWays(t, func(t *testing.T, way ...Option) {
			n := nvtx(t, "PRAGMA encoding='"+encoding+"';"+nvtxTable+`INSERT INTO NVTX_EVENTS
WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM k WHERE i<2999) SELECT i, i+1, 59, printf('%*c', CASE WHEN i%100=3 THEN 9000+i ELSE i%90+1 END, 'é'), NULL, 83886081, NULL, 0 FROM k`, way...)
			if len(n.Ranges) != 3000 {
				t.Fatalf("%d ranges", len(n.Ranges))
			}
			for i, r := range n.Ranges {
				want := i%90 + 1
				if i%100 == 3 {
					want = 9000 + i
				}
				if got := []rune(n.Names[r.Name]); r.Start != int64(i) || len(got) != want || got[len(got)-1] != 'é' {
					t.Fatalf("range %d: %+v has %d characters, want %d", i, r, len(got), want)
				}
			}
		})
	}
}

func TestNVTXCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	bothWays(t, func(t *testing.T, way ...Option) {
		if _, err := open(t, "../testdata/cpp_mem.sqlite", way...).NVTX(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
