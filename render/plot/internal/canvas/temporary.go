package canvas

import "sync"

// A gate keeps a program from ending while a library has files in the system's temporary folder, which only the library
// itself removes: the PDF writer's fonts, the index of installed ones.
type gate struct {
	sync.RWMutex
	closed bool
}

// while runs f where the gate is open.
func (g *gate) while(f func()) {
	g.RLock()
	defer g.RUnlock()
	if !g.closed {
		f()
	}
}

// close waits until nothing runs in the gate, and lets nothing in from now on.
func (g *gate) close() {
	g.Lock()
	defer g.Unlock()
	g.closed = true
}

var temporary gate

// End is called when the program ends, whether or not a picture is still being drawn: that one is not to be used. It waits
// until no temporary file is left, which takes moments.
func End() { temporary.close() }
