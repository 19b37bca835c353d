package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/torchmem"
)

// A tensorRow is one block that PyTorch's allocator, or a driver whose blocks are the tensors, handed out.
type tensorRow = Row[tensor.Block]

func isBorn(r *tensorRow) bool { return r.Item.Start != align.Never }

func isGivenBack(r *tensorRow) bool { return r.Item.End != align.Never }

// tensorNote says where birth or death is not in the report.
func tensorNote(r *tensorRow) string {
	switch born, died := isBorn(r), isGivenBack(r); {
	case !born && !died:
		return "live throughout"
	case !born:
		return "live before recording"
	case !died:
		return "not given back"
	}
	return ""
}

func tensorFrame(r *tensorRow) string {
	if r.Item.Frame == "" && r.Track.Tensors.From == "snapshot" {
		return tensor.NoFrame
	}
	return r.Item.Frame
}

// Tensors has a row for each block.
var Tensors = define(slices.Concat(
	trackColumns[tensor.Block](),
	placed(func(k *tensor.Block) (int, string) { return k.Iteration, k.Phase }),
	[]Column[*tensorRow]{
		{Key: "at_ns", Head: "time", Unit: Time, Int: func(r *tensorRow) int64 { return r.after(r.Item.Start) }, Has: isBorn},
		{Key: "bytes", Head: "requested", Unit: Bytes, Int: func(r *tensorRow) int64 { return r.Item.Bytes }},
		{Key: "counted_bytes", Head: "counted", Unit: Bytes, Int: func(r *tensorRow) int64 { return r.Item.Counted }},
		{Key: "category", Head: "category", Text: func(r *tensorRow) string { return r.Item.Category }},
		{Key: "module", Head: "module", Text: func(r *tensorRow) string { return r.Item.Module }},
		{Key: "rule", Head: "told by", Text: func(r *tensorRow) string { return r.Item.Rule }},
		{Key: "end_at_ns", Head: "given back", Unit: Time, Int: func(r *tensorRow) int64 { return r.after(r.Item.End) }, Has: isGivenBack},
		iterationOf("end_iteration", "given back in iteration", func(k *tensor.Block) int { return k.EndIteration }),
		{Key: "end_phase", Head: "given back in phase", Text: func(r *tensorRow) string { return r.Item.EndPhase }},
		{Key: "lifetime", Head: "lifetime (iterations)", Unit: Count, Int: func(r *tensorRow) int64 { return int64(r.Item.Lifetime) }},
		{Key: "lifetime_ns", Head: "lifetime", Unit: Time, Int: func(r *tensorRow) int64 { return r.Item.End - r.Item.Start },
			Has: func(r *tensorRow) bool { return isBorn(r) && isGivenBack(r) }},
		{Key: "address", Head: "address", Unit: Address, Int: func(r *tensorRow) int64 { return int64(r.Item.Address) }},
		{Key: "stream", Head: "stream", Unit: Handle, Int: func(r *tensorRow) int64 { return int64(r.Item.Stream) }},
		{Key: "note", Head: "note", Text: tensorNote},
		{Key: "frame", Head: "frame", Text: tensorFrame},
		{Key: "stack", Head: "stack", Text: func(r *tensorRow) string { return r.Track.Tensors.ShortStack(r.Item.Stack) }},
	}), Views{
	Workbook: "pid, device, at_ns, iteration, phase, from, bytes, bytes!, counted_bytes!, category, rule, end_at_ns, " +
		"end_iteration, end_phase, lifetime, lifetime_ns, address, stream, note, module, frame, stack",
})[0]

// TensorGrid is the table of the blocks of all tracks. Many blocks have the same stack: its text is made once.
func TensorGrid(rep *align.Report) Grid {
	type key struct {
		t  *align.Track
		id torchmem.StackID
	}
	stacks := make(map[key]string)
	cols := slices.Clone(Tensors.Columns(Workbook))
	last := &cols[slices.IndexFunc(cols, func(c Column[*tensorRow]) bool { return c.Key == "stack" })]
	text := last.Text
	last.Text = func(r *tensorRow) string {
		k := key{r.Track, r.Item.Stack}
		s, ok := stacks[k]
		if !ok {
			s = text(r)
			stacks[k] = s
		}
		return s
	}
	return RowGrid(rep, cols, func(t *align.Track) []tensor.Block {
		if t.Tensors == nil {
			return nil
		}
		return t.Tensors.Blocks
	})
}
