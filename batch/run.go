package batch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Run does the reports of a share that have no result yet, o.Jobs at once. It ends early only where ctx is done, with
// ctx's error, or where the folder cannot be written; a report that fails stands in the outcome. Where the folder has
// results with other settings and o.Redo is not set, nothing is done and the error is ErrSettings.
func Run(ctx context.Context, inputs []Input, o Options) (*Outcome, error) {
	for _, dir := range []string{stateDir(o.Out), filepath.Join(o.Out, "reports")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("batch: %w", err)
		}
	}
	if o.Shard.Count == 0 {
		// Who does all alone can tell that nobody else is about to use these.
		for _, name := range []string{planStage, mergeStage} {
			removeStages(o.Out, name, 0)
		}
	}
	var mu sync.Mutex // guards the outcome, and makes callbacks come one at a time
	if warn := o.Warn; warn != nil {
		o.Warn = func(s string) {
			mu.Lock()
			defer mu.Unlock()
			warn(s)
		}
	}
	if err := writePlan(inputs, &o); err != nil {
		return nil, err
	}
	r := &runner{o: &o, mu: &mu, out: &Outcome{}}
	own := o.Shard.take(inputs)
	r.p.Total = len(own)
	for _, in := range own {
		if finished(&in, &o) {
			r.out.Done++
			r.out.Kept++
			removeFile(in.earlier(o.Out)) // left where a process ended in the last of do's steps
			continue
		}
		r.todo = append(r.todo, in)
		r.p.TotalBytes += max(in.Size, 0)
	}
	r.p.Done, r.p.Kept = r.out.Kept, r.out.Kept
	if o.Progress != nil {
		o.Progress(r.p)
	}
	return r.out, r.run(ctx)
}

// A runner does reports.
type runner struct {
	o    *Options
	todo []Input

	mu  *sync.Mutex
	out *Outcome
	p   Progress
}

func (r *runner) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan Input)
	var left atomic.Int64
	left.Store(int64(len(r.todo)))
	var jobs sync.WaitGroup
	n := min(max(r.o.Jobs, 1), len(r.todo))
	for range n {
		jobs.Go(func() {
			one := func(ctx context.Context, in Input) (reason, err error) { return do(ctx, in, r.o) }
			q := queue{next: next, left: &left, few: int64(2 * n)}
			if r.o.Worker != nil {
				// A worker may be made to end with the thread that started it.
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				w := &worker{o: r.o, cores: max(r.o.Jobs/n, 1)}
				defer w.close()
				w.ahead = q.peek
				one = w.do
			}
			for in, ok := q.take(); ok; in, ok = q.take() {
				begin := time.Now()
				reason, err := one(ctx, in)
				if err != nil {
					cancel(err) // the first one stays the cause
					continue
				}
				r.done(in, reason, time.Since(begin))
			}
		})
	}
	for _, in := range r.todo {
		select {
		case next <- in:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	jobs.Wait()
	return context.Cause(ctx)
}

// A queue hands one job its reports, and lets it look at the next one, which is then its own.
type queue struct {
	next   <-chan Input
	left   *atomic.Int64 // reports that no job has taken
	few    int64         // with so few left nobody looks ahead, so that all end at about one time
	peeked *Input
}

// take is the next report; false where there is none.
func (q *queue) take() (Input, bool) {
	if p := q.peeked; p != nil {
		q.peeked = nil
		return *p, true
	}
	in, ok := <-q.next
	if ok {
		q.left.Add(-1)
	}
	return in, ok
}

// peek is the report that take will give; false where none is at hand.
func (q *queue) peek() (Input, bool) {
	if q.peeked == nil && q.left.Load() > q.few {
		if in, ok := q.take(); ok {
			q.peeked = &in
		}
	}
	if q.peeked == nil {
		return Input{}, false
	}
	return *q.peeked, true
}

func (r *runner) done(in Input, reason error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p.Done++
	if reason == nil {
		r.out.Done++
	} else {
		r.p.Failed++
		r.out.Failed = append(r.out.Failed, Failure{in.Name, in.Path, reason.Error()})
	}
	r.p.Bytes += max(in.Size, 0)
	r.p.Input, r.p.Err, r.p.Took = &in, reason, took
	if r.o.Progress != nil {
		r.o.Progress(r.p)
	}
}
