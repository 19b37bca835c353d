package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"nsysmem/internal/wording"
)

// A progress tells on a terminal how far the reading is, once it has taken more than a second.
type progress struct {
	mu    sync.Mutex
	c     *common
	name  string
	start time.Time
	last  time.Time
	shown bool
	width int // columns of the terminal; 0 where nothing is shown
}

// newProgress is for the reading of one file, from now on.
func newProgress(c *common, path string) *progress {
	width, ok := changing(c.s.err)
	if !ok || c.quiet {
		width = 0
	}
	return &progress{c: c, name: wording.Message(filepath.Base(path)), start: time.Now(), width: width}
}

// report is told how far a stage is, from any goroutine. Where total is 0 nobody knows how long it goes on.
func (p *progress) report(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.width == 0 || now.Sub(p.start) < time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	share := ""
	if total > 0 {
		share = fmt.Sprintf(" %d%%", min(100, 100*done/total))
	}
	fmt.Fprintf(p.c.s.err, "\r\x1b[K%s", fit(p.name, fmt.Sprintf(": reading %s%s", stage, share), p.width))
}

// done takes the line away.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.c.s.err, "\r\x1b[K")
	}
}

// fit is a text and what ends it, on one line of a terminal: a line that wraps could not be written anew. The last cell is
// left free, and one before the end of the text, for terminals that show … wide.
func fit(text, end string, width int) string {
	const shortest = 3 // one character, and … with its room
	room := width - 1 - wording.Width(end)
	switch {
	case wording.Width(text) <= room:
		return text + end
	case room < shortest:
		e := []rune(end)
		return string(e[:max(0, min(len(e), width-1))])
	}
	return wording.Cut(text, room-1) + end
}
