package main

import (
	"fmt"
	"path/filepath"
	"time"

	"nsysmem/batch"
	"nsysmem/internal/wording"
)

// A batchProgress tells how far a batch is: on a terminal one line that changes, with the rate and the time left; else a
// line for each report.
type batchProgress struct {
	c     *common
	start time.Time
	drawn time.Time
	tty   bool // the line can change
	width int  // columns of it
	shown bool
	last  batch.Progress
}

func newBatchProgress(c *common) *batchProgress {
	width, tty := changing(c.s.err)
	return &batchProgress{c: c, start: time.Now(), tty: tty, width: width}
}

// report is called by the batch, one call at a time.
func (p *batchProgress) report(s batch.Progress) {
	p.last = s
	if p.c.quiet {
		return
	}
	if s.Input == nil {
		if s.Kept > 0 {
			p.c.say("%d of %d reports are done from before", s.Kept, s.Total)
		}
		return
	}
	if s.Err != nil || !p.tty {
		p.clear()
		what := "done in " + wording.Duration(s.Took.Nanoseconds())
		if s.Err != nil {
			what = "failed: " + s.Err.Error()
		}
		p.c.say("%d/%d %s (%s): %s", s.Done, s.Total, s.Input.Name, wording.Bytes(max(s.Input.Size, 0)), what)
	}
	if p.tty && (time.Since(p.drawn) > 200*time.Millisecond || s.Done == s.Total) {
		p.drawn, p.shown = time.Now(), true
		fmt.Fprintf(p.c.s.err, "\r\x1b[K%s", fit(p.line(time.Since(p.start)), "", p.width))
	}
}

// line is the line of a terminal after a time.
func (p *batchProgress) line(took time.Duration) string {
	s := &p.last
	text := fmt.Sprintf("%d of %d done", s.Done, s.Total)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	now := s.Done - s.Kept
	if now == 0 || took <= 0 {
		return text
	}
	text += fmt.Sprintf(", %.1f a second", float64(now)/took.Seconds())
	// Time goes by bytes rather than reports: the largest are done first.
	if s.Bytes > 0 && s.Done < s.Total {
		left := time.Duration(float64(took) * float64(s.TotalBytes-s.Bytes) / float64(s.Bytes)).Round(time.Second)
		text += fmt.Sprintf(", %s left", left)
	}
	return text + ", last " + wording.Message(filepath.Base(s.Input.Path))
}

// around keeps a message from being written into the line.
func (p *batchProgress) around(tell func(string)) func(string) {
	return func(s string) {
		p.clear()
		tell(s)
	}
}

// clear takes the line away, so that what is written next has one of its own.
func (p *batchProgress) clear() {
	if p.shown {
		fmt.Fprint(p.c.s.err, "\r\x1b[K")
		p.shown = false
	}
}
