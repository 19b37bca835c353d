package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nsysmem/align"
	"nsysmem/torchmem"
)

// noSnapshot, given to --snapshot, leaves out what lies beside a report. A file of that name is ./none.
const noSnapshot = "none"

// checkSnapshots says what is wrong with the values of --snapshot, and drops empty ones.
func (c *common) checkSnapshots() error {
	c.snapshots = slices.DeleteFunc(c.snapshots, func(s string) bool { return s == "" })
	if len(c.snapshots) > 1 && slices.Contains(c.snapshots, noSnapshot) {
		return usage("--snapshot %s: it goes with no other --snapshot; for a file of that name say ./%s", noSnapshot, noSnapshot)
	}
	return nil
}

// snapshotFiles are the snapshots of a report: those that --snapshot names or, without it, those that lie beside the report.
func (c *common) snapshotFiles(report string) (files []string, found bool) {
	switch {
	case len(c.snapshots) == 0:
		return c.beside.snapshots(report), true
	case c.snapshots[0] == noSnapshot:
		return nil, false
	}
	return c.snapshots, false
}

// hasSnapshots says that there is a snapshot of a report, whether it can be read or not.
func (c *common) hasSnapshots(report string) bool {
	files, _ := c.snapshotFiles(report)
	return len(files) > 0
}

// readSnapshots reads the snapshots of a report.
func (c *common) readSnapshots(ctx context.Context, report string, opts *align.Options) (err error) {
	files, found := c.snapshotFiles(report)
	opts.Snapshots, err = readSnapshots(ctx, distinct(files), found)
	return err
}

// readSnapshots reads snapshots. Of those that were asked for, one that cannot be read is an error; of those that were found
// beside a report it is something for a warning.
func readSnapshots(ctx context.Context, files []string, found bool) ([]align.Snapshot, error) {
	var out []align.Snapshot
	for _, file := range files {
		sn := align.Snapshot{Name: snapshotName(file, files), Optional: found}
		data, err := readSnapshot(ctx, file, found)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			sn.Data = data
		case found:
			sn.Trouble = err.Error()
		default:
			return nil, fmt.Errorf("snapshot %q: %w", file, err)
		}
		out = append(out, sn)
	}
	return out, nil
}

// readSnapshot reads a snapshot. Nothing in it is run: see torchmem. Whoever names a pipe knows what writes to it; one that
// was found is left alone.
func readSnapshot(ctx context.Context, file string, found bool) (*torchmem.Snapshot, error) {
	if isFolder(file) {
		return nil, errors.New("it is a folder: name the file in it")
	}
	if info, err := os.Stat(file); found && err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is no file that could be read to its end")
	}
	// A file may be a pipe that nobody writes to: whoever waits for it can go.
	type result struct {
		snap *torchmem.Snapshot
		err  error
	}
	done := make(chan result, 1)
	go func() {
		snap, err := openSnapshot(file)
		done <- result{snap, err}
	}()
	select {
	case r := <-done:
		return r.snap, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// distinct leaves out what is the same file as one before it.
func distinct(files []string) []string {
	var out []string
	var seen []os.FileInfo
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
				continue
			}
			seen = append(seen, info)
		}
		out = append(out, file)
	}
	return out
}

// snapshotName is what outputs call a snapshot: its base name or, where several have that, its path as it was given.
func snapshotName(file string, among []string) string {
	base := filepath.Base(file)
	if n := slices.IndexFunc(among, func(other string) bool { return other != file && filepath.Base(other) == base }); n >= 0 {
		return file
	}
	return base
}

// neighbours finds snapshots that lie beside reports. It lists a folder once, since a batch may have thousands of reports in
// one. It is safe for several goroutines at once.
type neighbours struct {
	mu      sync.Mutex
	folders map[string][]string // names in a folder, sorted
}

// snapshotEnd is what follows the name of a report in that of a snapshot beside it: which rank's, then how it is written.
var snapshotEnd = regexp.MustCompile(`^(?:\.rank([0-9]{1,9}))?(\.snapshot)?\.pickle(\.gz|\.zip)?$`)

// snapshots are the files beside a report whose names say that they are its snapshots, such as run.snapshot.pickle,
// run.pickle or run.rank3.snapshot.pickle.gz of run.sqlite: one without rank, then one a rank. Of several ways to write one
// snapshot the first in this order counts: with ".snapshot" before without, then plain, .gz and .zip. A folder that cannot
// be listed has none.
func (n *neighbours) snapshots(report string) []string {
	dir, base := filepath.Split(report)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	names := n.list(dir)
	var all []neighbour
	from, _ := slices.BinarySearch(names, stem+".")
	for _, name := range names[from:] {
		if !strings.HasPrefix(name, stem+".") {
			break
		}
		if f, ok := neighbourOf(name, stem, names); ok && name != base {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y neighbour) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.order, y.order), strings.Compare(x.name, y.name))
	})
	var out []string
	for i, f := range all {
		if i == 0 || f.rank != all[i-1].rank {
			out = append(out, dir+f.name)
		}
	}
	return out
}

// A neighbour is a file that may be a snapshot of a report.
type neighbour struct {
	name  string
	rank  int // -1 for none
	order int // of the ways to write one snapshot
}

// neighbourOf reads the name of a file that begins as a report's does. What belongs to a report of a rank, such as
// run.rank3.sqlite, is that report's and not the one's without a rank.
func neighbourOf(name, stem string, names []string) (f neighbour, ok bool) {
	m := snapshotEnd.FindStringSubmatch(name[len(stem):])
	if m == nil {
		return f, false
	}
	f = neighbour{name: name, rank: -1, order: slices.Index(compressed, m[3])}
	if m[2] == "" {
		f.order += len(compressed)
	}
	if m[1] != "" {
		f.rank, _ = strconv.Atoi(m[1]) // of at most nine digits
		return f, !hasReport(names, stem+".rank"+m[1])
	}
	return f, true
}

// compressed are the ends of names that tell how a snapshot is compressed.
var compressed = []string{"", ".gz", ".zip"}

// hasReport says that a sorted list of names has a report of a stem.
func hasReport(names []string, stem string) bool {
	return slices.ContainsFunc([]string{".sqlite", ".nsys-rep", ".qdrep"}, func(end string) bool {
		_, there := slices.BinarySearch(names, stem+end)
		return there
	})
}

// list are the names in a folder, sorted.
func (n *neighbours) list(dir string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if names, ok := n.folders[dir]; ok {
		return names
	}
	var names []string
	if f, err := os.Open(cmp.Or(dir, ".")); err == nil {
		names, _ = f.Readdirnames(-1)
		f.Close()
	}
	slices.Sort(names)
	if n.folders == nil {
		n.folders = make(map[string][]string)
	}
	n.folders[dir] = names
	return names
}
