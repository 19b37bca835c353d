package inventory

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
	"nsysmem/torchmem"
)

// A Snapshot is what a PyTorch memory snapshot holds, and how well it goes with the report.
type Snapshot struct {
	File        string // its name
	Size        int64  // bytes of the file; 0 where unknown
	Settings    string // of the allocator, as PYTORCH_CUDA_ALLOC_CONF has them or in words; empty where it could not be read
	Annotations int    // marks that PyTorch itself left
	Devices     []tables.SnapshotDevice
	Trouble     string // why it could not be read, or is of no track of the report; empty where it is of one
}

// AddSnapshots gathers what snapshots hold, and which track of the report each of their devices goes with. Size is left to
// the caller. The report's warning about a snapshot that is left out stands there as its Trouble.
func (out *Report) AddSnapshots(snaps []align.Snapshot, rep *findings.Report) {
	out.Warnings = slices.DeleteFunc(slices.Clone(out.Warnings), func(w findings.Warning) bool { return w.Code == string(align.SnapshotLeftOut) })
	for i := range snaps {
		in := &snaps[i]
		held := Snapshot{File: in.Name}
		for _, w := range rep.Report.Warnings {
			if w.Code == align.SnapshotLeftOut && w.Name == in.Name {
				held.Trouble = w.Why
			}
		}
		if snap := in.Data; snap != nil {
			held.Settings, held.Annotations = allocatorSettings(snap), len(snap.Annotations)
			for _, d := range snap.Devices() {
				held.Devices = append(held.Devices, snapshotDevice(snap, d, rep))
			}
		}
		out.Snapshots = append(out.Snapshots, held)
	}
}

func allocatorSettings(snap *torchmem.Snapshot) string {
	switch {
	case snap.Settings.Conf != "":
		return snap.Settings.Conf
	case snap.Settings.Known:
		return "the defaults"
	}
	return "n/a: the snapshot does not say"
}

func snapshotDevice(snap *torchmem.Snapshot, device int, rep *findings.Report) tables.SnapshotDevice {
	r, err := snap.Replay(device)
	if err != nil {
		return tables.SnapshotDevice{Device: device, Trouble: err.Error()}
	}
	use := r.Whole()
	out := tables.SnapshotDevice{
		Device:    device,
		Entries:   r.Events,
		From:      r.From,
		To:        r.To,
		Blocks:    len(r.Blocks),
		Reserved:  use.ReservedEnd,
		Allocated: use.AllocatedEnd,
		Peak:      use.AllocatedPeak,
		Failures:  len(r.Failures),
		Cut:       r.Doubts.Cut,
	}
	for i := range r.Segments {
		if r.Segments[i].Death == torchmem.Never {
			out.Segments++
		}
	}
	for _, t := range rep.Tracks {
		if ten := t.Tensors; ten != nil && ten.Replay != nil && ten.Replay.Snapshot() == snap && ten.Replay.Device == device {
			out.Match = &tables.SnapshotMatch{PID: t.PID, Device: t.Device, Clock: phrase.Clock(ten.Clock)}
		}
	}
	return out
}
