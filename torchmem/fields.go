package torchmem

import (
	"nsysmem/torchmem/internal/sizes"
	"nsysmem/torchmem/pickle"
)

// The keys of the dicts that are known, by number.
const (
	keyEmpty = iota // so that text 0 is no text
	keyAction
	keyAddr
	keySize
	keyStream
	keyTime
	keyMetadata
	keyFrames
	keyDeviceFree
	keyName
	keyFilename
	keyLine
	keyAddress
	keyTotalSize
	keyAllocated
	keySegmentType
	keyPoolID
	keyExpandable
	keyBlocks
	keyDevice
	keyRequested
	keyState
	keyHistory
	keyStage
	numKeys
)

var keyNames = [numKeys]string{
	keyEmpty:       "",
	keyAction:      "action",
	keyAddr:        "addr",
	keySize:        "size",
	keyStream:      "stream",
	keyTime:        "time_us",
	keyMetadata:    "user_metadata",
	keyFrames:      "frames",
	keyDeviceFree:  "device_free",
	keyName:        "name",
	keyFilename:    "filename",
	keyLine:        "line",
	keyAddress:     "address",
	keyTotalSize:   "total_size",
	keyAllocated:   "allocated_size",
	keySegmentType: "segment_type",
	keyPoolID:      "segment_pool_id",
	keyExpandable:  "is_expandable",
	keyBlocks:      "blocks",
	keyDevice:      "device",
	keyRequested:   "requested_size",
	keyState:       "state",
	keyHistory:     "history",
	keyStage:       "stage",
}

// Limits of what is believed.
const (
	maxDevices = 1 << 12
	maxTime    = 1 << 53 // µs since 1970; no clock shows more
)

// A form reads the fields of one dict. The first that cannot be is its error, and what is read after that has no meaning.
type form struct {
	*pickle.Fields
	d   *decoder
	err error
}

func (f *form) fail(format string, args ...any) {
	if f.err == nil {
		f.err = f.d.Errorf(format, args...)
	}
}

// size is a number of bytes; 0 where it is not known.
func (f *form) size(key int) int64 {
	v := f.Get(key)
	if v.Missing() {
		return 0
	}
	n, ok := f.d.Int(v)
	if !ok || n < 0 || n > sizes.Max {
		f.fail("%q is no size in bytes: damaged", keyNames[key])
		return 0
	}
	if f.d.sizes += n; f.d.sizes > sizes.MaxSum {
		f.fail("the sizes add up to more than any device hands out: damaged")
	}
	return n
}

// addr is an address or a handle; 0 where it is not known.
func (f *form) addr(key int) uint64 {
	v := f.Get(key)
	if v.Missing() {
		return 0
	}
	n, ok := f.d.Uint(v)
	if !ok {
		f.fail("%q is no number of 64 bits: damaged", keyNames[key])
	}
	return n
}

// time is a time in ns since 1970; one that no clock can have shown is 0, unknown.
func (f *form) time(key int) int64 {
	us, ok := f.d.Int(f.Get(key))
	if !ok || us < 0 || us > maxTime {
		return 0
	}
	return us * 1000
}

// int is a number; 0 for anything else.
func (f *form) int(key int) int64 {
	n, _ := f.d.Int(f.Get(key))
	return n
}

// text is a text; empty for anything else.
func (f *form) text(key int) string { return f.d.Text(f.Get(key)) }

// textNo is the number of a text; that of the empty one for anything else.
func (f *form) textNo(key int) uint32 {
	if n, ok := f.d.TextNo(f.Get(key)); ok {
		return n
	}
	return keyEmpty
}
