package align

import "context"

// await runs what cannot be stopped, and returns with ctx's error where that ends first: whoever waits can go. What f
// makes must then not be used.
func await(ctx context.Context, f func() error) error {
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
