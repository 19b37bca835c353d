package wording

import (
	"math"
	"testing"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.50 KiB", 5242880: "5 MiB",
		81352720384: "75.77 GiB", 1<<30 - 1: "1.00 GiB", -1536: "-1.50 KiB",
		math.MaxInt64: "8 EiB", math.MinInt64: "-8 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1024: "+1 KiB", -1024: "-1 KiB"} {
		if got := SignedBytes(n); got != want {
			t.Errorf("SignedBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 3100: "3.100 µs", 12_400_000: "12.40 ms", 1_536_700_000: "1.537 s",
		155_360_000_000: "155.4 s", -2_000_000: "-2.000 ms",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ns, got, want)
		}
	}
	if got := Seconds(155_360_400_000); got != "155.360 s" {
		t.Errorf("Seconds = %q", got)
	}
}
