package tables

import (
	"strconv"

	"nsysmem/internal/wording"
)

// Read is a cell as people read it in a line of text: sizes in binary units, times with four significant digits, counts
// with their thousands apart. An unknown cell is "n/a", a lower bound begins with "≥". Words are those of the report: the writer cleans them.
func (c Cell) Read() string {
	switch {
	case c.Void:
		return ""
	case !c.Known:
		return "n/a"
	case c.Least:
		c.Least = false
		return "≥ " + c.Read()
	}
	switch c.Unit {
	case ID, Small:
		return strconv.FormatInt(c.Int, 10)
	case Count, Whole, WholeNS:
		return wording.Count(c.Int)
	case Bytes:
		return wording.Bytes(c.Int)
	case Change:
		return wording.SignedBytes(c.Int)
	case Time, Short:
		return wording.Duration(c.Int)
	case Percent:
		return strconv.FormatFloat(c.Real, 'f', 1, 64) + " %"
	case Ratio:
		return strconv.FormatFloat(c.Real, 'f', 2, 64)
	case Rate:
		return strconv.FormatFloat(c.Real, 'f', 2, 64) + " GiB/s"
	case Flag:
		if c.Int != 0 {
			return "yes"
		}
		return "no"
	case Origin:
		return Origins[c.Int]
	case Address:
		return "0x" + strconv.FormatUint(uint64(c.Int), 16)
	}
	return c.Text
}

// Origins are the words for a cell of Origin, by its number.
var Origins = [2]string{"nvtx", "inferred"}

// Left says that the cells of a unit are texts, which stand flush left; numbers stand flush right.
func (u Unit) Left() bool { return u == Words || u == Long || u == Origin || u == Address }
