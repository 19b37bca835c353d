package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/export"
	"nsysmem/nsysdb"
	"nsysmem/render/plot"
	"nsysmem/render/summary"
	"nsysmem/render/workbook"
)

// do makes the result of one report. reason is why the report failed; err is why the batch cannot go on.
//
//  1. The files and the record are made in a stage.
//  2. The record of an earlier result is put aside: from here until step 5 there is no result, but what there was is known.
//  3. The files get their names.
//  4. Files of the earlier result that the new one lacks are removed.
//  5. The record gets its name, and the earlier one is removed.
//
// A process that ends between any two steps leaves a report that is done again. The result has what the earlier one had,
// so that all of it is of one state of the report. Of a report that fails the earlier files stay: they may be all that is
// left of it.
func do(ctx context.Context, in Input, o *Options) (reason, err error) {
	s, err := newStage(o.Out, in.Name)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	old := before(&in, o.Out)
	rec, reason := attempt(ctx, in, o.keeping(old), s)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var full *unwritable
	if errors.As(reason, &full) {
		return nil, s.whose(fmt.Errorf("batch: %w", full))
	}
	told, err := finish(in, o, s, old, rec, reason)
	return told, s.whose(err)
}

// fail makes the result of a report that failed for a reason.
func fail(in Input, o *Options, reason error) (told, err error) {
	s, err := newStage(o.Out, in.Name)
	if err != nil {
		return reason, err
	}
	defer s.remove()
	told, err = finish(in, o, s, before(&in, o.Out), nil, reason)
	return told, s.whose(err)
}

// finish takes the steps of do that follow the first. told is the reason with what becomes of an earlier result.
func finish(in Input, o *Options, s *stage, old *recordHead, rec *record, reason error) (told, err error) {
	if reason != nil {
		s.drop()
		rec = &record{recordHead: recordHead{Input: in}}
		if old != nil && len(old.Outputs) > 0 {
			reason = fmt.Errorf("%w (its files in the batch's folder are from before)", reason)
			rec.Outputs = old.Outputs
		}
		rec.Error = reason.Error()
	}
	rec.Version, rec.Settings, rec.Extras = o.Version, o.settings(), o.keeping(old).extras()
	if reason == nil {
		if rec.Outputs, err = s.outputs(); err != nil {
			return reason, fmt.Errorf("batch: %w", err)
		}
	}
	return reason, replace(in, o, s, old, rec)
}

// replace puts a record and the files of a stage in the place of an earlier result.
func replace(in Input, o *Options, s *stage, old *recordHead, rec *record) error {
	name, aside := in.record(o.Out), in.earlier(o.Out)
	err := s.file(name, rec.write)
	if err == nil {
		err = s.sync()
	}
	last := len(s.files) - 1
	if err == nil {
		err = putAside(name, aside)
	}
	if err == nil {
		err = place(s.files[:last])
	}
	if err == nil && old != nil {
		err = removeOld(o.Out, old.Outputs, rec.Outputs)
	}
	if err == nil {
		err = place(s.files[last:])
	}
	if err == nil {
		err = removeFile(aside)
	}
	if err != nil {
		return fmt.Errorf("batch: %q: %w", in.Path, err)
	}
	return nil
}

// putAside gives a record that can be read another name. One that cannot is removed: it would hide what was put aside before.
func putAside(name, aside string) error {
	if _, err := readHead(name); err != nil {
		return removeFile(name)
	}
	return os.Rename(name, aside)
}

// removeOld removes files of an earlier result that the new one does not have.
func removeOld(out string, old, now []file) error {
	have := make(map[string]bool, len(now))
	for _, f := range now {
		have[f.Path] = true
	}
	for _, f := range old {
		if have[f.Path] || !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			continue
		}
		path := filepath.Join(out, f.Path)
		if err := removeFile(path); err != nil {
			return err
		}
		if filepath.Base(path) == "data.parquet" {
			os.Remove(filepath.Dir(path)) // an empty partition; where it is not empty, it stays
		}
	}
	return nil
}

// attempt makes the files of one report in a stage. A defect that shows in one report costs that report alone.
func attempt(ctx context.Context, in Input, o *Options, s *stage) (rec *record, err error) {
	defer func() {
		if r := recover(); r != nil {
			rec, err = nil, fmt.Errorf("%q: internal error: %v", in.Path, r)
			o.warn("%s: internal error: %v\n%s", in.Path, r, debug.Stack())
		}
	}()
	db, err := export.Open(ctx, in.Path, s.dir, nil)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rep, err := o.Analyze(ctx, db, in.Path, align.Options{Blocks: o.Workbook || o.Allocations, Kernels: o.Workbook, Spans: o.Plot})
	if err != nil {
		return nil, err
	}
	rec = newRecord(in, rep, ranks(db.Meta()))
	err = s.file(in.output(o.Out, ".json"), func(w io.Writer) error { return summary.WriteJSON(w, rep) })
	if err == nil && o.Plot && rep.Collected.Memory {
		err = pictures(ctx, db.DB, rep, in, o, s)
	}
	if err == nil && o.Workbook {
		err = s.file(in.output(o.Out, ".xlsx"), func(w io.Writer) error {
			b := bufio.NewWriter(w)
			if err := workbook.Write(b, rep, workbook.Options{TempDir: s.dir}); err != nil {
				return err
			}
			return b.Flush()
		})
	}
	if err == nil {
		err = writeTables(rep.Report, rec, o, s)
	}
	return rec, err
}

// ranks are the MPI ranks that a report gives its processes, by pid.
func ranks(meta *nsysdb.Meta) map[int64]int64 {
	out := make(map[int64]int64, len(meta.MPIRanks))
	for gpid, rank := range meta.MPIRanks {
		out[nsysdb.PID(gpid)] = rank
	}
	return out
}

// pictures draws each track of a report.
func pictures(ctx context.Context, db *nsysdb.DB, rep *findings.Report, in Input, o *Options, s *stage) error {
	worthless := plot.Worthless(rep.Tracks)
	for _, t := range rep.Tracks {
		if worthless[t] != "" {
			continue
		}
		part := ""
		if len(rep.Tracks)-len(worthless) > 1 {
			part = fmt.Sprintf(".p%d-gpu%d", t.PID, t.Device)
		}
		windows, err := plot.Windows(rep, t, plot.Options{})
		if err != nil {
			return err
		}
		curves, err := align.Curves(ctx, db, rep.Report, windows)
		if err != nil {
			return err
		}
		err = s.file(in.output(o.Out, part+".png"), func(w io.Writer) error {
			_, err := plot.Write(w, "png", rep, t, curves, plot.Options{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
