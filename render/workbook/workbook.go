// Package workbook writes a report as an Excel workbook: a sheet of what is to be known at a glance, and a table with
// filters for everything behind it.
//
// Sizes stand in MiB and times in ms, as numbers that hold the exact bytes and nanoseconds under the decimals shown, with
// columns of whole bytes beside the most important ones. What was not collected is an empty cell, never a zero.
package workbook

import (
	"fmt"
	"io"
	"time"

	"github.com/xuri/excelize/v2"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/whatif"
	"nsysmem/render/phrase"
)

// Options say how to write a workbook.
type Options struct {
	TempDir string               // where long sheets are kept while they are made; empty for the system's folder
	WhatIf  []*whatif.Comparison // comparisons of the allocator's settings, one a track; nil for no such sheets
}

// Write writes the workbook of a report that was analyzed with Options.Blocks and Options.Kernels. The same report gives
// the same bytes. Its document properties hold no name of a user or a machine, and the time of the recording rather than
// that of writing. The error is the writer's, or that of a temporary file.
func Write(w io.Writer, rep *findings.Report, o Options) error {
	return save(w, o, func(b *book) error {
		if err := b.fill(rep); err != nil {
			return err
		}
		return b.whatIf(o.WhatIf)
	})
}

// save writes a workbook that fill fills.
func save(w io.Writer, o Options, fill func(*book) error) (err error) {
	b, err := newBook(o.TempDir)
	if err != nil {
		return fmt.Errorf("workbook: %w", err)
	}
	defer func() {
		// Closing removes the temporary files; where it fails the workbook is whole all the same.
		if cerr := b.f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("workbook: remove temporary file: %w", cerr)
		}
	}()
	if err := fill(b); err != nil {
		return fmt.Errorf("workbook: %w", err)
	}
	var a archive
	b.f.SetZipWriter(func(io.Writer) excelize.ZipWriter { return &a })
	if _, err := b.f.WriteToBuffer(); err != nil {
		return fmt.Errorf("workbook: %w", err)
	}
	if err := a.writeTo(w); err != nil {
		return fmt.Errorf("workbook: %w", err)
	}
	return nil
}

// fill makes the sheets in the order in which they stand.
func (b *book) fill(rep *findings.Report) error {
	if err := b.properties("Device memory by iteration and phase", rep.Source.StartUTC); err != nil {
		return err
	}
	if err := b.overview(rep); err != nil {
		return err
	}
	sheets := append([]*table{iterationsTable(rep), phasesTable(rep), matrixTable(rep), phaseRowsTable(rep)}, inferredTables(rep)...)
	sheets = append(sheets, tensorTables(rep)...)
	sheets = append(sheets, libraryTables(rep)...)
	for _, t := range append(sheets,
		allocationsTable(rep),
		liveTable(rep, "Live at peak", "Live_at_peak", func(t *align.Track) []align.Block { return t.LiveAtPeak }),
		liveTable(rep, "Live at end", "Live_at_end", func(t *align.Track) []align.Block { return t.LiveAtEnd }),
		kernelsTable(rep), copiesTable(rep), callsTable(rep), failedTable(rep), warningsTable(rep),
	) {
		if err := b.table(t); err != nil {
			return err
		}
	}
	return nil
}

// properties sets the title and, where it is known, the time of the recording in ns since 1970.
func (b *book) properties(title string, utc int64) error {
	p := &excelize.DocProperties{Creator: "nsysmem", LastModifiedBy: "nsysmem", Title: title}
	if utc != 0 {
		p.Created = time.Unix(0, utc).UTC().Format(time.RFC3339)
		p.Modified = p.Created
	}
	if err := b.f.SetDocProps(p); err != nil {
		return err
	}
	return b.f.SetAppProps(&excelize.AppProperties{Application: "nsysmem"})
}

// missing says for a table without rows that what it needs was not collected, and how to record it; none where the
// report has what it needs.
func missing(rep *findings.Report, collected bool, what, none string) string {
	if collected {
		return none
	}
	for _, g := range phrase.Missing(rep.Collected) {
		if g.What == what {
			return "n/a: " + what + " not collected; " + g.How
		}
	}
	return "n/a: " + what + " not collected"
}
