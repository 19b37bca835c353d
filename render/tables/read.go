package tables

import (
	"math"
	"strconv"
	"strings"

	"nsysmem/internal/wording"
)

// Read is a cell as people read it in a line of text: sizes in binary units, times with four significant digits, counts
// with their thousands apart. An unknown cell is "n/a", a lower bound begins with "≥". Words are those of the report: the
// writer cleans them.
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
	if read := readers[c.Unit]; read != nil {
		return read(c)
	}
	return c.Text
}

// readers write the cells that are no texts.
var readers = map[Unit]func(Cell) string{
	ID: plain, Small: plain,
	Count: counted, Whole: counted, WholeNS: counted,
	Bytes:       func(c Cell) string { return wording.Bytes(c.Int) },
	Change:      func(c Cell) string { return wording.SignedBytes(c.Int) },
	WholeChange: func(c Cell) string { return wording.SignedCount(c.Int) },
	Time:        lasting, Short: lasting,
	Percent: func(c Cell) string { return decimal(c, 1) + " %" },
	Ratio:   func(c Cell) string { return decimal(c, 2) },
	Rate:    func(c Cell) string { return decimal(c, 2) + " GiB/s" },
	Flag:    func(c Cell) string { return [2]string{"no", "yes"}[c.Int] },
	Origin:  func(c Cell) string { return Origins[c.Int] },
	Address: address,
	Handle: func(c Cell) string {
		if c.IsNumber() {
			return plain(c)
		}
		return address(c)
	},
}

func plain(c Cell) string { return strconv.FormatInt(c.Int, 10) }

func counted(c Cell) string { return wording.Count(c.Int) }

func lasting(c Cell) string { return wording.Duration(c.Int) }

func decimal(c Cell, digits int) string { return strconv.FormatFloat(c.Real, 'f', digits, 64) }

// address is unsigned: the upper half of the addresses is negative as a Cell has it.
func address(c Cell) string { return "0x" + strconv.FormatUint(uint64(c.Int), 16) }

// IsNumber says that a Handle is a number rather than an address.
func (c Cell) IsNumber() bool { return c.Int >= 0 && c.Int <= math.MaxInt32 }

// listed is a list of numbers as a text.
func listed(list []int64) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(words, ", ")
}

// Origins are the words for a cell of Origin, by its number.
var Origins = [2]string{"nvtx", "inferred"}

// Left says that the cells of a unit are texts, which stand flush left; numbers stand flush right.
func (u Unit) Left() bool { return u == Words || u == Long || u == Flag || u == Origin || u == Address }
