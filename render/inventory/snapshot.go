package inventory

import (
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
	"nsysmem/torchmem"
)

// A Snapshot is what a PyTorch memory snapshot holds, and how well it goes with the report.
type Snapshot struct {
	File        string
	Size        int64  // bytes of the file; 0 where unknown
	Settings    string // of the allocator, as PYTORCH_CUDA_ALLOC_CONF has them or in words
	Annotations int    // marks that PyTorch itself left
	Devices     []tables.SnapshotDevice
	Trouble     string // why it does not go with the report; empty where it does
}

// OfSnapshot gathers what a snapshot holds, and which track of the report each of its devices goes with. File, Size and
// Trouble are left to the caller.
func OfSnapshot(snap *torchmem.Snapshot, rep *findings.Report) *Snapshot {
	out := &Snapshot{Settings: allocatorSettings(snap), Annotations: len(snap.Annotations)}
	for _, d := range snap.Devices() {
		out.Devices = append(out.Devices, snapshotDevice(snap, d, rep))
	}
	return out
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
		if ten := t.Tensors; ten != nil && ten.Replay != nil && ten.Replay.Device == device {
			out.Match = &tables.SnapshotMatch{PID: t.PID, Device: t.Device, Clock: phrase.Clock(ten.Clock)}
		}
	}
	return out
}
