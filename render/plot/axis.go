package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"nsysmem/internal/wording"
)

// byteTicks marks lo to hi at a power of two of bytes, at most n marks, each with its unit.
func byteTicks(lo, hi int64, n int) []plot.Tick {
	span := uint64(hi - lo)
	if hi <= lo {
		span = 1
	}
	n = min(max(n, 2), 9)
	step := uint64(1)
	for span/step >= uint64(n) {
		step <<= 1
	}
	// Quarters of a unit are the finest that read well beside whole ones: 0.125 GiB is dropped where 0.25 is fine enough.
	for unit := uint64(1) << 10; unit <= 1<<50; unit <<= 10 {
		if step == unit/8 && uint64(hi) >= unit && span/(unit/4) >= 3 {
			step = unit / 4
		}
	}
	unit, name := uint64(1), "B"
	for i, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if s := uint64(1) << (10 * (i + 1)); step >= s/8 && uint64(hi) >= s {
			unit, name = s, u
		}
	}
	var ticks []plot.Tick
	first := (uint64(max(lo, 0)) + step - 1) / step
	for k := first; k*step <= uint64(hi) && len(ticks) <= n+1; k++ {
		label := "0"
		if k > 0 {
			label = strconv.FormatFloat(float64(k*step)/float64(unit), 'f', -1, 64) + " " + name
		}
		ticks = append(ticks, plot.Tick{Value: float64(k * step), Label: label})
	}
	return ticks
}

// timeAxis is the axis of a stretch of time: its zero, its unit and its marks.
type timeAxis struct {
	zero  int64   // ns on the report's clock
	unit  string  // "s", "ms", "µs" or "ns"; empty where no time is counted
	step  float64 // ns between marks; the smallest where there are several
	after bool    // zero is neither the report's time 0 nor what the caller gave: long numbers were cut
	ticks []plot.Tick
}

// newTimeAxis marks from to to, counted from zero, with at most n marks, in the largest unit that the number farthest from
// zero fills, so that a time on the axis and the same time in a sentence read alike. For a part of an axis, farthest is
// that of the whole; 0 for that of from to to.
func newTimeAxis(from, to, zero, farthest int64, n int) timeAxis {
	a := timeAxis{zero: zero, unit: "ns"}
	span := to - from
	// Marks of a short stretch late in a report would be long numbers that differ in their last digits alone.
	if span > 0 && farthest == 0 && (from-zero)/span >= 2000 {
		round := int64(math.Pow(10, math.Ceil(math.Log10(float64(span)))))
		a.zero, a.after = from-from%round, true
	}
	if farthest == 0 {
		farthest = max(from-a.zero, a.zero-from, to-a.zero)
	}
	size := int64(1)
	for _, u := range []struct {
		size int64
		name string
	}{{1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}} {
		if farthest >= u.size {
			size, a.unit = u.size, u.name
		}
	}
	a.step = niceStep(float64(span), max(n, 1))
	for k := int64(math.Ceil(float64(from-a.zero) / a.step)); len(a.ticks) <= 2*n+4; k++ {
		v := float64(k) * a.step
		if v > float64(to-a.zero) {
			break
		}
		decimals := 0
		for s := a.step / float64(size); s < 0.9999 && decimals < 9; s *= 10 {
			decimals++
		}
		a.ticks = append(a.ticks, plot.Tick{
			Value: v + float64(a.zero),
			Label: strconv.FormatFloat(v/float64(size), 'f', decimals, 64),
		})
	}
	return a
}

// niceStep is 1, 2 or 5 times a power of ten, so that span has at most n steps; at least 1.
func niceStep(span float64, n int) float64 {
	raw := math.Max(span/float64(n), 1)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*base >= raw*0.999 {
			return m * base
		}
	}
	return 10 * base
}

// title says what the axis counts.
func (a timeAxis) title(what string) string {
	if a.unit == "" {
		return what
	}
	if a.after {
		digit := int64(1e6)
		for digit > 1 && a.zero%digit != 0 {
			digit /= 10
		}
		what = "after " + wording.Clock(a.zero, "s", digit)
	}
	return "time (" + a.unit + ") " + what
}

// byteRange is the part of the byte axis that a panel shows for levels between lo and hi. It starts at 0 unless all that
// happens is in a narrow band far above; a band is never so narrow that noise looks like a mountain.
func byteRange(lo, hi int64, zoom bool) (from, to int64) {
	if hi <= 0 {
		return 0, 1 << 20
	}
	span := hi - lo
	if !zoom || span == 0 || span > hi/2 {
		return 0, hi + hi/8
	}
	if least := hi / 50; span < least {
		mid := lo + span/2
		lo, hi = mid-least/2, mid+least/2
		span = least
	}
	return max(lo-span/8, 0), hi + span/6
}

// plotArea is a rectangle of the picture with a scale on each side.
type plotArea struct {
	x0, y0, x1, y1 vg.Length
	from, to       int64 // ns
	low, high      int64 // bytes
	scale          timeScale
}

func (a plotArea) x(t int64) vg.Length {
	return a.x0 + (a.x1-a.x0)*vg.Length(a.scale.frac(t))
}

func (a plotArea) y(bytes int64) vg.Length {
	f := (float64(bytes) - float64(a.low)) / math.Max(float64(a.high)-float64(a.low), 1)
	return a.y0 + (a.y1-a.y0)*vg.Length(min(max(f, 0), 1))
}
