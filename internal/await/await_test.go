package await

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wrong := errors.New("wrong")
	if err := Call(ctx, func() error { return wrong }); err != wrong {
		t.Errorf("got %v", err)
	}
	hold := make(chan struct{})
	defer close(hold)
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := Call(ctx, func() error { <-hold; return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("of what does not end: %v", err)
	}
	if err := Call(ctx, func() error { t.Error("begun after the interrupt"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
