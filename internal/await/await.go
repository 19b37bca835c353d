// Package await lets whoever waits for work go, where the work itself cannot be stopped.
package await

import "context"

// Call runs f and returns its error, or that of ctx where ctx ends first: f then goes on by itself, and what it makes
// must not be used. Where ctx has ended already, f is not begun.
func Call(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
