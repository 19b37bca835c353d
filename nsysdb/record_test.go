package nsysdb

import (
	"bytes"
	"testing"
)

// A record that says to hold a text of more bytes than there can be makes no sense: the offset of what follows would not
// be a number any more.
func TestRecordOfImpossibleSize(t *testing.T) {
	t.Parallel()
	header := append([]byte{12, 1, 1}, bytes.Repeat([]byte{0xff}, 9)...)
	record := append(header, 5, 59)
	d := &decoder{cols: []int{0, 1, 2}, text: true, utf8: true}
	if s := d.shape(append(record, make([]byte, 8)...)[:len(record)]); s.fits(record) {
		t.Errorf("a shape of %d bytes, with a text of %d", s.size, s.slots[2].n)
	}
}
