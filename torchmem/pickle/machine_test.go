package pickle_test

import (
	"fmt"
	"strings"
	"testing"

	"nsysmem/torchmem/pickle"
)

func run(t *testing.T, body string, opt pickle.Options) (*pickle.Machine, pickle.Value) {
	t.Helper()
	opt.MaxMemory = 1 << 20
	m := pickle.New(strings.NewReader("\x80\x04"+body+"."), opt)
	v, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	return m, v
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body   string
		int    int64
		isInt  bool
		uint   uint64
		isUint bool
	}{
		{"K\xff", 255, true, 255, true},
		{"M\x01\x02", 513, true, 513, true},
		{"J\xff\xff\xff\xff", -1, true, 1<<64 - 1, true},
		{"\x88", 1, true, 1, true},
		{"\x89", 0, true, 0, true},
		{"\x8a\x00", 0, true, 0, true},
		{"\x8a\x02\x00\x80", -1 << 15, true, 1<<64 - 1<<15, true},
		{"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", -1 << 63, true, 1 << 63, true},
		{"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 1<<63 - 1, true, 1<<63 - 1, true},
		{"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00", 0, false, 1 << 63, true},
		{"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff", 0, false, 0, false},
		{"\x8b\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", 0, false, 0, false},
		{"G\x40\x04\x00\x00\x00\x00\x00\x00", 2, true, 0, false},
		{"G\x7f\xf0\x00\x00\x00\x00\x00\x00", 0, false, 0, false},
		{"N", 0, false, 0, false},
	} {
		m, v := run(t, c.body, pickle.Options{})
		if n, ok := m.Int(v); ok != c.isInt || ok && n != c.int {
			t.Errorf("%q as Int: %d, %v", c.body, n, ok)
		}
		if n, ok := m.Uint(v); ok != c.isUint || ok && n != c.uint {
			t.Errorf("%q as Uint: %d, %v", c.body, n, ok)
		}
	}
}

// TestLists gives the same items as a list, a tuple, and one by one.
func TestLists(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"](K\x07K\x08K\x09e", "]K\x07aK\x08aK\x09a", "(K\x07K\x08K\x09t", "(K\x07K\x08K\x09l",
		"K\x07K\x08K\x09\x87", "]\x94(K\x07K\x08K\x09eh\x000"} {
		m, v := run(t, body, pickle.Options{})
		list, ok := m.List(v)
		if !ok || list.Len() != 3 {
			t.Errorf("%q: %d items, %v", body, list.Len(), ok)
			continue
		}
		for i := range 3 {
			if n, _ := m.Int(list.At(i)); n != int64(7+i) {
				t.Errorf("%q: item %d is %d", body, i, n)
			}
		}
		if _, ok := list.Run(); ok {
			t.Errorf("%q: numbers are taken for objects", body)
		}
	}
}

func TestDicts(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"}\x8c\x01aK\x05s", "}(\x8c\x01bK\x06\x8c\x01aK\x05u", "(\x8c\x01aK\x05d"} {
		m, v := run(t, body, pickle.Options{})
		if n, ok := m.Int(m.Lookup(v, "a")); !ok || n != 5 {
			t.Errorf("%q: a is %d, %v", body, n, ok)
		}
		if got := m.Lookup(v, "none"); !got.Missing() || got != 0 {
			t.Errorf("%q: found %v", body, got)
		}
	}
}

// TestObjects builds every dict with a key into an object; those in a row are a run, and a list can be replaced.
func TestObjects(t *testing.T) {
	t.Parallel()
	const kind = pickle.Kind(3)
	var m *pickle.Machine
	var built []int64
	opt := pickle.Options{Keys: []string{"", "x"}, MaxMemory: 1 << 20, Shapes: []pickle.Shape{
		{Keys: pickle.Keys(1), Build: func(f *pickle.Fields) (pickle.Value, error) {
			n, ok := m.Int(f.Get(1))
			if !ok {
				return 0, m.Errorf("x is no number")
			}
			built = append(built, n)
			return pickle.Object(kind, len(built)-1), nil
		}}}}
	m = pickle.New(strings.NewReader("\x80\x04](}\x8c\x01xK\x04s}\x8c\x01xK\x05s}\x8c\x01yK\x06se."), opt)
	v, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	list, _ := m.List(v)
	if fmt.Sprint(built) != "[4 5]" || list.Len() != 3 {
		t.Fatalf("built %v, %d items", built, list.Len())
	}
	for i := range 2 {
		if n, ok := list.At(i).Object(kind); !ok || n != i {
			t.Errorf("item %d is object %d, %v", i, n, ok)
		}
	}
	if _, ok := list.At(2).Object(kind); ok {
		t.Error("a dict without the key became an object")
	}
	m.Replace(v, pickle.Object(kind, 9))
	if n, ok := m.Replaced(v).Object(kind); !ok || n != 9 {
		t.Errorf("replaced by %d, %v", n, ok)
	}
	if _, ok := m.List(v); ok {
		t.Error("a list that was replaced is a list")
	}

	m = pickle.New(strings.NewReader("\x80\x04]}\x8c\x01xNsa."), opt)
	if _, err = m.Run(); err == nil || !strings.Contains(err.Error(), "byte 10: x is no number") {
		t.Errorf("error %v", err)
	}
}
