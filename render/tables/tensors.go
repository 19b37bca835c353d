package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/torchmem"
)

// A Tensor is one block that the allocator handed out.
type Tensor struct {
	Track *align.Track
	From  int64 // ns; start of the report, from which people count
	*align.TensorBlock
	stacks map[torchmem.StackID]string // those of the track that were asked for: many blocks have the same
}

func (k *Tensor) track() *align.Track { return k.Track }

func (k *Tensor) place() Place { return Place{k.Track, k.Iteration, k.Phase} }

func (k *Tensor) endPlace() Place { return Place{k.Track, k.EndIteration, k.EndPhase} }

func (k *Tensor) born() bool { return k.Start != align.Never }

func (k *Tensor) died() bool { return k.End != align.Never }

// note says where birth or death is not in the report.
func (k *Tensor) note() string {
	switch {
	case !k.born() && !k.died():
		return "live throughout"
	case !k.born():
		return "live before recording"
	case !k.died():
		return "not given back"
	}
	return ""
}

func (k *Tensor) frame() string {
	if k.Frame == "" && k.Track.Tensors.From == "snapshot" {
		return align.NoFrame
	}
	return k.Frame
}

func (k *Tensor) stack() string {
	s, ok := k.stacks[k.Stack]
	if !ok {
		s = k.Track.Tensors.ShortStack(k.Stack)
		k.stacks[k.Stack] = s
	}
	return s
}

// Tensors has a row for each block.
var Tensors = &define(slices.Concat(
	trackColumns((*Tensor).track),
	placeColumns((*Tensor).place),
	[]Column[*Tensor]{
		{Key: "at_ns", Head: "time", Unit: Time, Int: func(k *Tensor) int64 { return k.Start - k.From }, Has: (*Tensor).born},
		{Key: "bytes", Head: "requested", Unit: Bytes, Int: func(k *Tensor) int64 { return k.Bytes }},
		{Key: "counted_bytes", Head: "counted", Unit: Bytes, Int: func(k *Tensor) int64 { return k.Counted }},
		{Key: "category", Head: "category", Text: func(k *Tensor) string { return k.Category }},
		{Key: "end_at_ns", Head: "given back", Unit: Time, Int: func(k *Tensor) int64 { return k.End - k.From }, Has: (*Tensor).died},
		iterationColumn("end_iteration", (*Tensor).endPlace),
		{Key: "end_phase", Head: "given back in phase", Text: func(k *Tensor) string { return k.EndPhase }},
		{Key: "lifetime", Head: "lifetime (iterations)", Unit: Count, Int: func(k *Tensor) int64 { return int64(k.Lifetime) }},
		{Key: "lifetime_ns", Head: "lifetime", Unit: Time, Int: func(k *Tensor) int64 { return k.End - k.Start },
			Has: func(k *Tensor) bool { return k.born() && k.died() }},
		{Key: "address", Head: "address", Unit: Address, Int: func(k *Tensor) int64 { return int64(k.Address) }},
		{Key: "stream", Head: "stream", Unit: Handle, Int: func(k *Tensor) int64 { return int64(k.Stream) }},
		{Key: "note", Head: "note", Text: (*Tensor).note},
		{Key: "frame", Head: "frame", Text: (*Tensor).frame},
		{Key: "stack", Head: "stack", Text: (*Tensor).stack},
	}), Views{
	Workbook: "pid, device, at_ns, iteration, phase, from, bytes, bytes!, counted_bytes!, category, end_at_ns, " +
		"end_iteration=Given back in iteration, end_phase, lifetime, lifetime_ns, address, stream, note, frame, stack",
})[0]

// TensorGrid is the table of the blocks of all tracks.
func TensorGrid(rep *align.Report) Grid {
	n, at := Across(rep, func(t *align.Track) int {
		if t.Tensors == nil {
			return 0
		}
		return len(t.Tensors.Blocks)
	})
	k := &Tensor{From: rep.Source.Start}
	return Over(Tensors.Columns(Workbook), n, func(i int) *Tensor {
		t, place := at(i)
		if k.Track != t {
			k.Track, k.stacks = t, make(map[torchmem.StackID]string)
		}
		k.TensorBlock = &t.Tensors.Blocks[place]
		return k
	})
}
