package plot

import (
	"nsysmem/align/tensor"
	"nsysmem/render/plot/internal/canvas"
)

// A shelf is one row of a map: parts of segments from left to right.
type shelf struct{ parts []part }

// A part is a segment, or, of one longer than a row, a stretch of it.
type part struct {
	seg      *tensor.MapSegment
	from, to int64         // bytes from the segment's start
	x        canvas.Length // from the left edge of the map
}

// holds says where, in bytes from its start, the segment of a part holds a block; ok is false where it does not.
func (p *part) holds(b *tensor.MapBlock) (off int64, ok bool) {
	if b.Size == 0 || b.Addr < p.seg.Addr || b.Addr >= p.seg.Addr+uint64(p.seg.Size) {
		return 0, false
	}
	return int64(b.Addr - p.seg.Addr), true
}

// shelves lays segments out in rows of w, at perByte a byte, with gap between them: each in the first row that has room,
// one that is longer than a row over several.
func shelves(segs []*tensor.MapSegment, perByte float64, w, gap canvas.Length) []shelf {
	const slack, full = 0.01, 1000 // points; a row with less than one part in so many left is full
	var rows []shelf
	var used []canvas.Length
	row := func() int {
		rows, used = append(rows, shelf{}), append(used, 0)
		return len(rows) - 1
	}
	length := func(bytes int64) canvas.Length { return canvas.Length(float64(bytes) * perByte) }
	open := 0 // rows before it are as good as full
	for _, s := range segs {
		need := length(s.Size)
		if need > w {
			whole := max(int64(float64(w)/perByte), 1)
			for from := int64(0); from < s.Size; from += whole {
				k, to := row(), min(from+whole, s.Size)
				rows[k].parts = append(rows[k].parts, part{s, from, to, 0})
				used[k] = length(to-from) + gap
			}
			continue
		}
		k := -1
		for i := open; i < len(rows) && k < 0; i++ {
			if used[i]+need <= w+slack {
				k = i
			} else if i == open && w-used[i] < w/full {
				open++
			}
		}
		if k < 0 {
			k = row()
		}
		rows[k].parts = append(rows[k].parts, part{s, 0, s.Size, used[k]})
		used[k] += need + gap
	}
	return rows
}

// fitShelves finds the largest scale at which segments fit into n rows of w.
func fitShelves(segs []*tensor.MapSegment, w, gap canvas.Length, n int) ([]shelf, float64) {
	const near, step, most = 3, 1.04, 1e19 // times a row; from one scale to the next; bytes of a row
	total, longest := int64(0), int64(1)
	for _, s := range segs {
		total += s.Size
		longest = max(longest, s.Size)
	}
	row := max(float64(total)/float64(n), 1) // bytes
	if l := float64(longest); l > row && l < near*row {
		row = l // a segment in one piece reads better
	}
	for ; ; row *= step {
		perByte := float64(w) / row
		if rows := shelves(segs, perByte, w, gap); len(rows) <= n || row > most {
			return rows, perByte
		}
	}
}
