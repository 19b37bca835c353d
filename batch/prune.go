package batch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Prune removes from a batch's folder the results of reports that its list does not name, and what is left from before of
// those that failed. It returns the number of reports whose files it removed. Results that are being made elsewhere are of
// the list and stay, and so does every file that no batch made.
//
//  1. The files that the records name are removed, then the records, so that a process that ends between is started again.
//  2. Partitions of the data set that no record knows of are removed.
//  3. The list forgets them.
func Prune(out string) (int, error) {
	p, err := readPlan(out)
	if err != nil {
		return 0, err
	}
	wanted := make(map[string]bool, len(p.Reports)) // by the exact name: a reader of the data set tells them apart by it
	for i := range p.Reports {
		wanted[p.Reports[i].Name] = true
	}
	failed, err := pruneFailed(out, p.Reports)
	if err != nil {
		return failed, err
	}
	others, err := pruneOthers(out, wanted)
	if err == nil {
		err = dropPartitions(out, wanted)
	}
	if err != nil {
		return failed + others, err
	}
	p.Others = nil
	return failed + others, p.write(out)
}

// pruneFailed removes what is left from before of reports that failed. Their records stay: they say why.
func pruneFailed(out string, reports []Input) (removed int, err error) {
	for i := range reports {
		in := &reports[i]
		h, err := readHead(in.record(out))
		if err != nil || h.Error == "" || len(h.Outputs) == 0 {
			continue
		}
		if err := removeOld(out, h.Outputs, nil); err != nil {
			return removed, fmt.Errorf("batch: %w", err)
		}
		h.Outputs = nil
		if err := rewrite(out, in, h); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// pruneOthers removes the results of reports that are not wanted, and their records last: they know of the files.
func pruneOthers(out string, wanted map[string]bool) (removed int, err error) {
	records, err := filepath.Glob(filepath.Join(escapeGlob(stateDir(out)), "*"))
	if err != nil {
		return 0, fmt.Errorf("batch: %w", err)
	}
	for _, path := range records {
		end := filepath.Ext(path)
		if end != recordEnd && end != earlierEnd || wanted[strings.TrimSuffix(filepath.Base(path), end)] {
			continue
		}
		if h, err := readHead(path); err == nil && len(h.Outputs) > 0 {
			if err := removeOld(out, h.Outputs, nil); err != nil {
				return removed, fmt.Errorf("batch: %w", err)
			}
			removed++
		}
		if err := removeFile(path); err != nil {
			return removed, fmt.Errorf("batch: %w", err)
		}
	}
	return removed, nil
}

// rewrite writes a record that has no tracks anew.
func rewrite(out string, in *Input, h *recordHead) error {
	s, err := newStage(out, in.Name)
	if err != nil {
		return err
	}
	defer s.remove()
	err = s.file(in.record(out), func(w io.Writer) error { return (&record{recordHead: *h}).write(w) })
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	return nil
}

// dropPartitions removes runs that are not wanted from the data set: their own file, and the folder where nothing else is
// in it.
func dropPartitions(out string, wanted map[string]bool) error {
	found, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Join(out, "data")), "*", partition+"*", "data.parquet"))
	if err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	for _, file := range found {
		dir := filepath.Dir(file)
		if wanted[strings.TrimPrefix(filepath.Base(dir), partition)] {
			continue
		}
		if err := removeFile(file); err != nil {
			return fmt.Errorf("batch: %w", err)
		}
		os.Remove(dir)
	}
	return nil
}
