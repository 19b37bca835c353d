package canvas

import (
	"testing"
	"time"
)

func TestGate(t *testing.T) {
	t.Parallel()
	var g gate
	ran := 0
	g.while(func() { ran++ })
	inside, leave, closed := make(chan bool), make(chan bool), make(chan bool)
	go g.while(func() { close(inside); <-leave })
	<-inside
	go func() { g.close(); close(closed) }()
	select {
	case <-closed:
		t.Error("closed while something runs in it")
	case <-time.After(10 * time.Millisecond):
	}
	close(leave)
	<-closed
	g.while(func() { ran++ })
	if ran != 1 {
		t.Errorf("%d runs, want the one before it was closed", ran)
	}
}
