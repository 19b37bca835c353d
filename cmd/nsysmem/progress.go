package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// A progress tells on a terminal how far the reading is, once it has taken more than a second.
type progress struct {
	mu    sync.Mutex
	c     *common
	name  string
	start time.Time
	last  time.Time
	shown bool
	on    bool
}

func newProgress(c *common, path string) *progress {
	_, is := terminal(c.s.err)
	return &progress{c: c, name: oneLine(filepath.Base(path)), start: time.Now(), on: is && !c.quiet}
}

func (p *progress) report(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.on || now.Sub(p.start) < time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	share := ""
	if total > 0 {
		share = fmt.Sprintf(" %d%%", min(100, 100*done/total))
	}
	fmt.Fprintf(p.c.s.err, "\r\x1b[K%s: reading %s%s", p.name, stage, share)
}

func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.c.s.err, "\r\x1b[K")
	}
}
