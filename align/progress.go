package align

import "sync/atomic"

// progress counts rows and tells of them now and then.
type progress struct {
	rows atomic.Int64
	told atomic.Int64
}

func (p *progress) add(a *analysis, stage string, rows, total int64) {
	n := p.rows.Add(rows)
	if a.opts.Progress == nil {
		return
	}
	last := p.told.Load()
	if n-last >= 1<<18 && p.told.CompareAndSwap(last, n) {
		a.warnedMu.Lock()
		defer a.warnedMu.Unlock()
		a.opts.Progress(stage, n, total)
	}
}
