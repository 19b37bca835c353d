package summary

import "io"

// spillAt is the size at which an output hands its buffer on.
const spillAt = 64 << 10

// An output is a buffer in front of a writer. Callers append to b and call spill between rows; after an error it
// swallows the rest, and close returns the error.
type output struct {
	w   io.Writer
	b   []byte
	err error
}

func (o *output) line(s string) {
	o.b = append(append(o.b, s...), '\n')
	o.spill()
}

func (o *output) spill() {
	if len(o.b) >= spillAt {
		o.flush()
	}
}

func (o *output) flush() {
	if o.err == nil && len(o.b) > 0 {
		_, o.err = o.w.Write(o.b)
	}
	o.b = o.b[:0]
}

func (o *output) close() error {
	o.flush()
	return o.err
}
