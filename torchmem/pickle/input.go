package pickle

import (
	"encoding/binary"
	"fmt"
	"io"
)

// An input is the file, read a piece at a time. It does what bufio.Reader does, but its next byte is looked at without a
// call, and there is one such look for each opcode.
type input struct {
	r    io.Reader
	buf  []byte // inputSize, and eight bytes that make reading a number simple
	pos  int    // next byte in buf
	end  int    // bytes in buf
	base int64  // offset of buf[0] in the file
	eof  bool
	wide []byte // a text too long for buf
}

const (
	inputSize = 1 << 18       // bytes of the buffer
	pieceSize = inputSize / 2 // bytes that take can return at once
	idleReads = 100           // times in a row that a reader may return nothing without an error
)

// Errorf is an error that says where in the file it is.
func (in *input) Errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", in.base+int64(in.pos), fmt.Sprintf(format, args...))
}

// Peek returns the next n bytes, at most pieceSize, without taking them: fewer where the file ends before. An error is one
// of the reader.
func (in *input) Peek(n int) ([]byte, error) {
	for in.end-in.pos < n && !in.eof {
		if in.pos > 0 {
			copy(in.buf, in.buf[in.pos:in.end])
			in.base += int64(in.pos)
			in.end -= in.pos
			in.pos = 0
		}
		if err := in.fill(); err != nil {
			return nil, fmt.Errorf("read snapshot: %w", err)
		}
	}
	return in.buf[in.pos:min(in.pos+n, in.end)], nil
}

// fill reads more into the buffer.
func (in *input) fill() error {
	for range idleReads {
		n, err := in.r.Read(in.buf[in.end:inputSize])
		in.end += max(n, 0)
		if err == io.EOF {
			in.eof = true
			return nil
		}
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// need makes n bytes, at most pieceSize, available at pos.
func (in *input) need(n int) error {
	b, err := in.Peek(n)
	if err == nil && len(b) < n {
		err = in.Errorf("the snapshot ends in the middle: copy it again, or wait until it is written")
	}
	return err
}

// take returns the next n bytes, at most pieceSize, valid until the next call.
func (in *input) take(n int) ([]byte, error) {
	if in.end-in.pos < n {
		if err := in.need(n); err != nil {
			return nil, err
		}
	}
	b := in.buf[in.pos : in.pos+n]
	in.pos += n
	return b, nil
}

// number reads an unsigned integer of 1, 2, 4 or 8 bytes, such as a length.
func (in *input) number(width int) (uint64, error) {
	if in.end-in.pos < width {
		if err := in.need(width); err != nil {
			return 0, err
		}
	}
	u := binary.LittleEndian.Uint64(in.buf[in.pos:]) // of the eight bytes those that count are the lowest
	in.pos += width
	unused := 64 - 8*width
	return u << unused >> unused, nil
}

// text returns the next n bytes, however many, valid until the next call. What is claimed is not believed: the buffer for
// a long text grows only as its bytes come.
func (in *input) text(n uint64) ([]byte, error) {
	if n <= pieceSize {
		return in.take(int(n))
	}
	if n > maxText {
		return nil, in.Errorf("a text of %d bytes is claimed: not a memory snapshot, or damaged", n)
	}
	in.wide = in.wide[:0]
	for left := int(n); left > 0; {
		b, err := in.take(min(left, pieceSize))
		if err != nil {
			return nil, err
		}
		in.wide = append(in.wide, b...)
		left -= len(b)
	}
	return in.wide, nil
}

// skip drops n bytes.
func (in *input) skip(n uint64) error {
	for n > 0 {
		k := min(n, pieceSize)
		if _, err := in.take(int(k)); err != nil {
			return err
		}
		n -= k
	}
	return nil
}
