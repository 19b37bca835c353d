package tensor

import (
	"fmt"
	"slices"
	"strings"
)

// NoModule is the name of the share of blocks whose allocation carries no module: what backward passes, optimizers and code
// outside of the model asked for, and all that was there before the recording began.
const NoModule = "(no module)"

// FoldModules puts the same layer of repeated blocks into one share: of h.0.mlp.act to h.11.mlp.act it makes "h.*.mlp.act × 12".
// What they hold together stays the same.
//
// A number in a path stands for repeated blocks where two numbers at its place have the same path behind them. So the layers
// of a plain sequence, 0 to 7, keep their numbers: one may be a convolution, the next an activation.
func FoldModules(shares []Share) []Share {
	repeated := repeatedBlocks(shares)
	type fold struct {
		Share
		paths int
	}
	var folds ledger[string, fold]
	for _, s := range shares {
		name := foldedPath(s.Name, repeated)
		f := folds.at(name, fold{Share: Share{Name: s.Name}})
		f.Blocks += s.Blocks
		f.Bytes += s.Bytes
		if f.paths++; f.paths > 1 {
			f.Name = fmt.Sprintf("%s × %d", name, f.paths)
		}
	}
	var out Shares
	for _, f := range folds.sums {
		*out.at(f.Name, Share{}) = f.Share
	}
	return out.List()
}

// repeatedBlocks are the paths below which numbers stand for repeated blocks.
func repeatedBlocks(shares []Share) map[string]bool {
	first := make(map[[2]string]string) // the first number met, by the paths before and behind it
	out := make(map[string]bool)
	for _, s := range shares {
		parts := strings.Split(s.Name, ".")
		for i := 0; i+1 < len(parts); i++ {
			if !isNumber(parts[i]) {
				continue
			}
			before := strings.Join(parts[:i], ".")
			key := [2]string{before, strings.Join(parts[i+1:], ".")}
			if no, ok := first[key]; !ok {
				first[key] = parts[i]
			} else if no != parts[i] {
				out[before] = true
			}
		}
	}
	return out
}

// foldedPath has a star for each number of a repeated block.
func foldedPath(path string, repeated map[string]bool) string {
	parts := strings.Split(path, ".")
	folded := slices.Clone(parts)
	for i := range parts {
		if isNumber(parts[i]) && repeated[strings.Join(parts[:i], ".")] {
			folded[i] = "*"
		}
	}
	return strings.Join(folded, ".")
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
