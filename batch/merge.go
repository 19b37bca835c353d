package batch

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"nsysmem/render/plot"
	"nsysmem/render/workbook"
)

// Merge compares what the shares of a batch have finished: it writes batch.xlsx and batch.png. It reads the records alone,
// never a report. The same results give the same bytes, whoever made them.
func Merge(ctx context.Context, out string) (*Outcome, error) {
	p, err := readPlan(out)
	if err != nil {
		return nil, err
	}
	c, err := compare(out, p)
	if err != nil {
		return nil, err
	}
	result := &Outcome{Done: len(c.runs), Failed: c.failed, Missing: c.missing, Others: len(p.Others)}
	if err := c.spreadGroups(); err != nil {
		return nil, err
	}
	s, err := newStage(out, mergeStage)
	if err != nil {
		return nil, err
	}
	defer s.remove()

	runs := c.picture()
	if err := c.lines(runs); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var png bytes.Buffer
	drawn := make(chan error, 1)
	go func() { drawn <- plot.WriteRuns(&png, "png", runs, plot.Options{}) }()
	book, picture := filepath.Join(out, "batch.xlsx"), filepath.Join(out, "batch.png")
	var failed error
	err = s.file(book, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		if err := workbook.WriteBook(b, c.book(&failed), workbook.Options{TempDir: s.dir}); err != nil {
			return err
		}
		return b.Flush()
	})
	if derr := <-drawn; err == nil {
		err = derr
	}
	if err == nil {
		err = failed
	}
	if err == nil {
		err = s.file(picture, func(w io.Writer) error {
			_, err := png.WriteTo(w)
			return err
		})
	}
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	result.Files = []string{book, picture}
	return result, nil
}

// Wait returns once every report of a batch has a result or failed, or with ctx's error. It looks every so often, and
// tells how many are missing where that has changed.
func Wait(ctx context.Context, out string, every time.Duration, tell func(missing int)) error {
	last := -1
	for {
		missing := -1
		if p, err := readPlan(out); err == nil {
			missing = 0
			for i := range p.Reports {
				in := &p.Reports[i]
				if h, err := readHead(in.record(out)); err != nil || !h.current(in, p.Version, p.Settings, p.Extras) {
					missing++
				}
			}
		}
		if missing == 0 {
			return nil
		}
		if missing != last && missing > 0 {
			tell(missing)
		}
		last = missing
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}
