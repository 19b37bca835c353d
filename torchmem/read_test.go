package torchmem_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
	"nsysmem/torchmem/internal/snaptest"
)

// small is a snapshot of every kind of content, its addresses beyond 2^63.
func small(proto int) string {
	const high = 1<<63 + 1<<32
	return pickleOf(proto, snapshotOf(
		[]any{segmentOf(high, sizes.SmallSegment, 1000, 1024, "active_allocated", 0, sizes.SmallSegment-1024, "inactive")},
		[]any{
			entry("segment_alloc", high, sizes.SmallSegment, 10),
			entry("alloc", high, 1000, 11),
			entry("alloc", high+1024, 600, 12),
			[]kv{{"action", "user_defined"}, {"addr", 0}, {"size", 0}, {"stream", 0}, {"user_metadata", "epoch 1"}},
			entry("free_requested", high+1024, 600, 14),
			entry("free_completed", high+1024, 600, 15),
			[]kv{{"action", "oom"}, {"device_free", 5 << 20}, {"size", 1 << 30}, {"stream", 0}, {"time_us", 16}},
			entry("segment_rename", high, 1, 17),
		}))
}

func TestReadProtocols(t *testing.T) {
	t.Parallel()
	for proto := 2; proto <= 5; proto++ {
		s, err := readString(small(proto))
		if err != nil {
			t.Fatalf("protocol %d: %v", proto, err)
		}
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		u := r.Whole()
		if u.AllocatedPeak != 2048 || u.AllocatedEnd != 1024 || u.ReservedEnd != sizes.SmallSegment {
			t.Errorf("protocol %d: %+v", proto, u)
		}
		if len(r.Marks) != 1 || s.Text(s.Traces[0].At(int(r.Marks[0])).Note) != "epoch 1" {
			t.Errorf("protocol %d: mark lost: %v", proto, r.Marks)
		}
		if len(r.Failures) != 1 || r.Failures[0].Request != 1<<30 || r.Failures[0].DeviceFree != 5<<20 {
			t.Errorf("protocol %d: failures %+v", proto, r.Failures)
		}
		if r.Doubts != (torchmem.Doubts{UnknownActions: 1, ClockBack: 1}) {
			t.Errorf("protocol %d: doubts %+v", proto, r.Doubts)
		}
		if f := s.Stack(r.Blocks[0].Stack); len(f) != 1 || f[0] != (torchmem.Frame{"f", "t.py", 7}) {
			t.Errorf("protocol %d: stack %v", proto, f)
		}
	}
}

func TestReadOldForms(t *testing.T) {
	t.Parallel()
	frames := []any{[]kv{{"name", "g"}, {"filename", "u.py"}, {"line", 3}}}
	// Blocks with a history and without an address; sizes in a bare list of segments.
	old := []any{[]kv{{"device", 1}, {"address", 1 << 21}, {"total_size", sizes.SmallSegment}, {"allocated_size", 512}, {"stream", 0},
		{"segment_type", "small"}, {"blocks", []any{
			[]kv{{"size", 512}, {"state", "active_allocated"}, {"history", []any{[]kv{{"addr", 1 << 21}, {"real_size", 4}, {"frames", frames}}}}},
			[]kv{{"size", sizes.SmallSegment - 512}, {"state", "inactive"}},
		}}}}
	for name, v := range map[string]any{"list": old, "dict": []kv{{"segments", old}}} {
		s, err := readString(pickleOf(4, v))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b := s.Segments[0].Blocks
		if b[0].Requested != 4 || b[1].Addr != 1<<21+512 || s.Stack(b[0].Stack)[0].Name != "g" {
			t.Errorf("%s: %+v", name, b)
		}
		r, err := s.Replay(1)
		if err != nil {
			t.Fatal(err)
		}
		if r.StartAllocated != 512 || r.StartReserved != sizes.SmallSegment || r.Blocks[0].Birth != torchmem.Never {
			t.Errorf("%s: %+v", name, r)
		}
		if _, err := s.Replay(0); err == nil || !strings.Contains(err.Error(), "[1]") {
			t.Errorf("%s: device 0: %v", name, err)
		}
	}
}

// TestReadUnevenReader feeds the reader as little as a reader may.
func TestReadUnevenReader(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]io.Reader{
		"one byte": iotest.OneByteReader(strings.NewReader(small(4))),
		"data+EOF": iotest.DataErrReader(strings.NewReader(small(4))),
	} {
		if s, err := torchmem.Read(r, torchmem.Options{}); err != nil || s.Traces[0].Len() != 8 {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := torchmem.Read(io.MultiReader(strings.NewReader(small(4)[:100]), iotest.ErrReader(io.ErrClosedPipe)), torchmem.Options{})
	if err == nil || !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
		t.Errorf("an error of the reader came as %v", err)
	}
}

// TestReadOddEntry wants an entry that cannot be left out, and the others as they are.
func TestReadOddEntry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size int
		odd  int
	}{{-5, 1}, {sizes.Max + 1, 1}, {sizes.Max, 0}} {
		s, err := readString(pickleOf(4, snapshotOf([]any{}, []any{entry("alloc", 512, 512, 0), entry("alloc", 4096, c.size, 0), entry("alloc", 8192, 512, 0)})))
		if err != nil {
			t.Fatalf("%v: %v", c.size, err)
		}
		if s.OddEvents != c.odd || s.Traces[0].Len() != 3 || (s.Traces[0].At(1).Action == torchmem.Other) != (c.odd > 0) || s.Traces[0].At(2).Addr != 8192 {
			t.Errorf("%v: %d odd, %+v", c.size, s.OddEvents, s.Traces[0].At(1))
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("]", 1<<20) + strings.Repeat("a", 1<<20)
	marks := strings.Repeat("(", 1<<20)
	const p4 = "\x80\x04"
	for _, c := range []struct{ name, in, want string }{
		{"system", p4 + "cposix\nsystem\n(X\x02\x00\x00\x00lstR.", "GLOBAL"},
		{"stack global", p4 + "\x8c\x05posix\x8c\x06system\x93.", "STACK_GLOBAL"},
		{"reduce", p4 + "NNR.", "REDUCE"},
		{"build", p4 + "NNb.", "BUILD"},
		{"inst", p4 + "(ios\nsystem\n.", "INST"},
		{"obj", p4 + "(No.", "OBJ"},
		{"newobj", p4 + "N)\x81.", "NEWOBJ"},
		{"newobj_ex", p4 + "N)}\x92.", "NEWOBJ_EX"},
		{"ext1", p4 + "\x82\x01.", "EXT1"},
		{"ext2", p4 + "\x83\x01\x00.", "EXT2"},
		{"ext4", p4 + "\x84\x01\x00\x00\x00.", "EXT4"},
		{"persid", p4 + "P1\n.", "PERSID"},
		{"binpersid", p4 + "NQ.", "BINPERSID"},
		{"protocol 0 int", p4 + "I1\n.", "protocol 0"},
		{"protocol 9", "\x80\x09].", "protocol 9"},
		{"empty", "", "less than 2 bytes"},
		{"zip", "PK\x03\x04....", "zip"},
		{"gzip", "\x1f\x8b\x08\x00", "gzip"},
		{"text", "hello", "not a pickle"},
		{"another pickle", p4 + "K\x01.", "no memory snapshot"},
		{"other dict", p4 + "}\x8c\x01aK\x01s.", "no memory snapshot"},
		{"other list", p4 + "](K\x01K\x02e.", "no memory snapshot"},
		{"claimed text", p4 + "X\xff\xff\xff\x7f", "claimed"},
		{"claimed text of 8", p4 + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "claimed"},
		{"claimed bytes", p4 + "\x8e\xff\xff\xff\xff\xff\xff\xff\xff", "ends in the middle"},
		{"claimed long", p4 + "\x8b\xff\xff\xff\x7f", "claimed"},
		{"unset memo", p4 + "h\x05.", "memo 5"},
		{"empty stack", p4 + "0", "stack is empty"},
		{"no mark", p4 + "]e.", "no mark"},
		{"odd dict", p4 + "}(Nu.", "without a value"},
		{"left over", p4 + "]].", "left on the stack"},
		{"append to none", p4 + "NNa.", "for a list"},
		{"set on none", p4 + "NNNs.", "for a dict"},
		{"deep", p4 + "]" + deep + ".", "no memory snapshot"},
		{"marks", p4 + marks, "ends in the middle"},
		{"recursive", p4 + "]\x94h\x00a.", "no memory snapshot"},
		{"sizes beyond all sums", pickleOf(4, snapshotOf([]any{}, slices.Repeat([]any{entry("alloc", 512, sizes.Max, 0)}, 1<<12+1))), "add up"},
		{"negative size", pickleOf(4, snapshotOf([]any{segmentOf(0, -5, 1, 512, "inactive")})), "no size"},
		{"block beyond", pickleOf(4, snapshotOf([]any{segmentOf(0, sizes.SmallSegment, 1, 4<<20, "inactive")})), "does not fit"},
		{"changed entry", p4 + "](}\x94\x8c\x06action\x8c\x05allocse" + "h\x00\x8c\x01aK\x01s.", "changes after"},
	} {
		_, err := readString(c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error of more than one line: %v", c.name, err)
		}
	}
}

func TestReadTruncated(t *testing.T) {
	t.Parallel()
	s := small(4)
	for n := range s {
		if _, err := readString(s[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were taken for a whole snapshot", n, len(s))
		}
	}
}

// TestReadMemory feeds pickles that grow much more than they are long; the limit must stop them in time.
func TestReadMemory(t *testing.T) {
	for name, unit := range map[string]string{
		"lists": "]", "memo": "]\x94", "dicts": "}", "far memo": "r%", "texts": "\x8c\x04%", "big": "\x8a\x09%\x00\x00\x00\x00\xff",
		"marks": "(", "lists in lists": "]]a",
	} {
		in := io.Reader(&repeat{head: "\x80\x04]", unit: unit})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, err := torchmem.Read(in, torchmem.Options{MaxMemory: 32 << 20})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "memory") {
			t.Errorf("%s: %v", name, err)
		}
		// TotalAlloc counts what growing threw away as well.
		if got := after.TotalAlloc - before.TotalAlloc; got > 512<<20 {
			t.Errorf("%s: %d MiB for a limit of 32", name, got>>20)
		}
	}
}

// repeat is a head and then the unit forever, with each % replaced by a counter of four bytes.
type repeat struct {
	head, unit string
	n          uint32
	rest       []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.head != "" {
		n := copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	for len(r.rest) < len(p) {
		r.n += 1 << 8
		c := string([]byte{byte(r.n >> 24), byte(r.n >> 16), byte(r.n >> 8), byte(r.n)})
		r.rest = append(r.rest, strings.ReplaceAll(r.unit, "%", c)...)
	}
	n := copy(p, r.rest)
	r.rest = append(r.rest[:0], r.rest[n:]...)
	return n, nil
}

func FuzzRead(f *testing.F) {
	for proto := 2; proto <= 5; proto++ {
		f.Add([]byte(small(proto)))
	}
	f.Add([]byte("\x80\x04](}\x94\x8c\x06action\x8c\x05allocse."))
	if b, err := os.ReadFile("../testdata/cnn_default.snapshot.pickle"); err == nil {
		f.Add(b[:6000])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := torchmem.Read(bytes.NewReader(b), torchmem.Options{MaxMemory: 64 << 20})
		if err != nil {
			return
		}
		for _, dev := range s.Devices() {
			r, err := s.Replay(dev)
			if err != nil {
				continue
			}
			r.Over(r.From, r.To)
			snaptest.CheckMap(t, r.StateAt(r.Events))
		}
	})
}

// synthetic is a snapshot of n entries, written while it is read: steps of allocations and frees, with call stacks.
type synthetic struct {
	p       *pickler
	left    int
	sent    bool
	live    []uint64
	time    int
	frames  [40]uint32
	pending []byte
}

func newSynthetic(n int) *synthetic {
	s := &synthetic{p: newPickler(4), left: n}
	p := s.p
	p.value(func(p *pickler) {
		p.op(opEmptyDict)
		p.remember()
		p.op(opMark)
		p.str("segments")
		p.value([]any{segmentOf(1<<40, 1<<30, 0, 1<<30, "inactive")})
		p.str("device_traces")
		p.op(opEmptyList, opMark, opEmptyList)
	})
	return s
}

func (s *synthetic) entry(action string, addr uint64, size int, fresh bool) {
	p := s.p
	s.time += 2
	p.value([]kv{{"action", action}, {"addr", addr}, {"size", size}, {"stream", 0}, {"time_us", 1795951456459002 + s.time},
		{"compile_context", func(p *pickler) { p.op(opShortUnicode, 3); p.op([]byte("N/A")...); p.remember() }},
		{"user_metadata", ""},
		{"frames", func(p *pickler) {
			p.op(opEmptyList)
			p.remember()
			p.op(opMark)
			for i := range 8 {
				k := (s.time/2*7 + i) % len(s.frames)
				if s.frames[k] == 0 {
					s.frames[k] = p.n
					p.value([]kv{{"name", fmt.Sprint("f", k)}, {"filename", "train.py"}, {"line", k}})
				} else {
					p.recall(s.frames[k])
				}
			}
			p.op(opAppends)
		}}})
	s.left--
}

func (s *synthetic) Read(b []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.sent {
			return 0, io.EOF
		}
		p := s.p
		p.op(opMark)
		for range 300 {
			if s.left > 0 && len(s.live) < 200 {
				a := uint64(1<<40) + uint64(len(s.live))*(2<<20)
				s.live = append(s.live, a)
				s.entry("alloc", a, 2<<20-200, true)
			} else if s.left > 0 {
				for len(s.live) > 0 && s.left > 1 {
					a := s.live[len(s.live)-1]
					s.live = s.live[:len(s.live)-1]
					s.entry("free_requested", a, 2<<20-200, false)
					s.entry("free_completed", a, 2<<20-200, false)
				}
				if s.left == 1 {
					s.left = 0
				}
			}
		}
		p.op(opAppends)
		if s.left == 0 {
			p.op(opAppends, opSetItems, opStop) // the trace, the list of traces, the dict
			s.sent = true
		}
		s.pending = append(s.pending[:0], p.buf...)
		p.buf = p.buf[:0]
	}
	n := copy(b, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// TestLargeSnapshot reads and replays five million entries, or a tenth of that where tests are to be quick.
func TestLargeSnapshot(t *testing.T) {
	n := 500_000
	if fixture.Slow {
		n = 5_000_000
	}
	start := time.Now()
	s, err := torchmem.Read(newSynthetic(n), torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read := time.Since(start)
	r, err := s.Replay(0)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d entries: read %v, with replay %v, %d MiB from the system", r.Events, read, took, m.Sys>>20)
	if r.Events < n-1 || r.Doubts != (torchmem.Doubts{Cut: true}) {
		t.Errorf("%d entries, doubts %+v", r.Events, r.Doubts)
	}
	// An idle machine of two cores takes under 6 s; one that is shared with other work may take long.
	if took > time.Minute {
		t.Errorf("took %v", took)
	}
	if m.Sys > 2<<30 {
		t.Errorf("%d MiB, more than 2 GiB", m.Sys>>20)
	}
}

// TestReadBombs reads small files that name the same thing over and over: none may take more than a moment, nor far more
// memory than its size.
func TestReadBombs(t *testing.T) {
	const n = 200_000
	numbered := func(what string) string {
		var b []byte
		for i := range n {
			b = append(binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(i)), what...)
		}
		return string(b)
	}
	dict := "}\x94(" + numbered("N") + "u" // memo 0
	events := "]\x94(" + strings.Repeat("}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK\x05u", n/10) + "e"
	blocks := "]\x94(" + strings.Repeat("}(\x8c\x04sizeK\x00\x8c\x05state\x8c\x08inactiveu", n/10) + "e"
	const p4 = "\x80\x04"
	for _, c := range []struct{ name, in, want string }{
		{"a dict in a list", p4 + dict + "0](" + strings.Repeat("h\x00", n) + "e.", "item 0"},
		{"a dict in a dict", p4 + dict + "0}(" + numbered("h\x00") + "u.", "no \"segments\""},
		{"one trace of many devices", p4 + events + "0}(\x8c\x08segments]\x8c\x0ddevice_traces](" + strings.Repeat("h\x00", 4096) + "eu.", "another device"},
		{"an entry many times", p4 + "}(\x8c\x06action\x8c\x05allocu\x940}(\x8c\x08segments]\x8c\x0ddevice_traces](](" + strings.Repeat("h\x00", n) + "eeu.", "twice"},
		{"blocks of many segments", p4 + blocks + "0](" + strings.Repeat("}(\x8c\x0atotal_sizeK\x00\x8c\x06blocksh\x00u", n/10) + "e.", "two segments"},
		{"a history of many blocks", p4 + dict + "\x85\x940](" + strings.Repeat("}(\x8c\x04sizeK\x00\x8c\x05state\x8c\x08inactive\x8c\x07historyh\x01u", n/10) + "e.", "item 0"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, err := readString(c.in)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if took > 5*time.Second {
			t.Errorf("%s: %d bytes took %v", c.name, len(c.in), took)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
			t.Errorf("%s: %d bytes took %d MiB", c.name, len(c.in), used>>20)
		}
	}
}

// TestTraceOrder looks entries up in a trace that is not in the order of the file.
func TestTraceOrder(t *testing.T) {
	t.Parallel()
	const p4, one = "\x80\x04", "}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK"
	var made, order string
	const n = 200
	for i := range n {
		made += one + string(rune(i%100)) + "uq" + string([]byte{byte(i)})
	}
	at := func(i int) int { return (i*7 + 3) % n }
	for i := range n {
		order += "h" + string([]byte{byte(at(i))})
	}
	s, err := readString(p4 + "](" + made + "e0}(\x8c\x08segments]\x8c\x0ddevice_traces](](" + order + "eeu.")
	if err != nil {
		t.Fatal(err)
	}
	tr := &s.Traces[0]
	if tr.Len() != n {
		t.Fatalf("%d entries", tr.Len())
	}
	tr.Each(func(i int, e *torchmem.TraceEvent) bool {
		if want := int64(at(i) % 100); e.Size != want || tr.At(i).Size != want {
			t.Fatalf("entry %d has %d and %d, want %d", i, e.Size, tr.At(i).Size, want)
		}
		return true
	})
	if tr.At(n) != (torchmem.TraceEvent{}) || tr.At(-1) != (torchmem.TraceEvent{}) {
		t.Error("an entry that is not there is something")
	}
}

// TestReadError checks that an error of the reader is told for what it is.
func TestReadError(t *testing.T) {
	t.Parallel()
	folder, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := torchmem.Read(folder, torchmem.Options{}); err == nil || strings.Contains(err.Error(), "bytes") {
		t.Errorf("a folder: %v", err)
	}
}
