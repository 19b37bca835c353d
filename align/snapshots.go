package align

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nsysmem/align/tensor"
	"nsysmem/torchmem"
)

// A Snapshot is one of PyTorch's memory snapshots that a report is analyzed with. It may hold several devices, and a report
// may have several of them: one of each rank of a job.
type Snapshot struct {
	Name     string             // its file, by which messages and outputs tell it from others
	Data     *torchmem.Snapshot // nil where it could not be read
	Trouble  string             // why it could not be read; empty where it could
	Optional bool               // it may be of another run, or unreadable: that is then a warning, and else an error
}

// A laidTrack is a track that snapshots are compared with, by the blocks that the driver handed out there.
type laidTrack struct {
	trackKey
	blocks tensor.DriverBlocks
}

// A laid is a device of a snapshot that goes with a track.
type laid struct {
	snapshot *Snapshot
	match    *tensor.Match
	track    trackKey
}

// A layout says which devices of which snapshots go with which tracks.
type layout struct {
	of     map[trackKey]*laid
	rivals []*laid // go with a track too, but no better than what is used there
	out    []leftOut
}

// A leftOut is a snapshot, or a device of one, that is of no track, and why.
type leftOut struct {
	snapshot *Snapshot
	why      string
	err      error // what kept it from being replayed; else nil
}

// lay finds the track that each device of each snapshot belongs to. What comes of it does not depend on the order of the
// snapshots.
//
//  1. A device is compared with every track, and goes with the one that it matches best. Where two do so equally well,
//     neither is taken: ranks of one job may have their segments at the same addresses.
//  2. Of several devices that go with one track, as when a run wrote its snapshot twice, the best match is taken.
//  3. A snapshot none of whose devices goes with a track is left out.
func (s *source) lay(tracks []laidTrack, time tensor.ReportTime) *layout {
	out := &layout{of: make(map[trackKey]*laid)}
	for i := range s.opts.Snapshots {
		if sn := &s.opts.Snapshots[i]; sn.Data != nil {
			s.layOne(sn, tracks, time, out)
		} else {
			out.out = append(out.out, leftOut{snapshot: sn, why: cmp.Or(sn.Trouble, "it was not read")})
		}
	}
	return out
}

// layOne finds the tracks of one snapshot.
func (s *source) layOne(sn *Snapshot, tracks []laidTrack, time tensor.ReportTime, out *layout) {
	goes := false
	var why []string
	for _, d := range sn.Data.Devices() {
		replay, err := s.replay(sn, d)
		if err != nil {
			out.out = append(out.out, leftOut{sn, fmt.Sprintf("device %d: %s", d, err), err})
			goes = true // this is all there is to say
			continue
		}
		l, not := bestTrack(replay, tracks, time)
		if l == nil {
			why = append(why, not)
			continue
		}
		goes, l.snapshot = true, sn
		out.put(l)
	}
	if goes {
		return
	}
	if len(why) == 0 {
		why = []string{"it has no device"}
	}
	out.out = append(out.out, leftOut{snapshot: sn, why: "it is of another run, device or process (" + strings.Join(why, "; ") + ")"})
}

// bestTrack is the track that a device of a snapshot goes with best; why says what is against it where there is none.
func bestTrack(r *torchmem.Replay, tracks []laidTrack, time tensor.ReportTime) (best *laid, why string) {
	best = &laid{match: &tensor.Match{Replay: r}}
	var same *laid // goes as well as best
	for i, t := range tracks {
		l := &laid{match: tensor.Compare(r, t.blocks, time), track: t.trackKey}
		switch by := l.compare(best); {
		case i == 0 || by > 0:
			best, same = l, nil
		case by == 0:
			same = l
		}
	}
	switch {
	case !best.match.Good():
		return nil, best.match.Why()
	case same != nil:
		return nil, fmt.Sprintf("device %d: it goes equally well with process %d on device %d and process %d on device %d",
			r.Device, best.track.proc.pid, best.track.device, same.track.proc.pid, same.track.device)
	}
	return best, ""
}

// compare is positive where l is the better match than m: with more segments in the report, else with stamps that lie
// closer together. Clocks that a match took as they are tell nothing; there the number of the device does, which is
// mostly the process's own in a snapshot and a report.
func (l *laid) compare(m *laid) int {
	own := func(l *laid) int {
		if int64(l.match.Replay.Device) == l.track.device {
			return 1
		}
		return 0
	}
	x, y := &l.match.Clock, &m.match.Clock
	return cmp.Or(cmp.Compare(x.Matched, y.Matched), cmp.Compare(y.Spread, x.Spread), cmp.Compare(own(l), own(m)))
}

// put gives a device to the track that it goes with, unless there is a better one.
func (o *layout) put(l *laid) {
	used := o.of[l.track]
	if used == nil {
		o.of[l.track] = l
		return
	}
	// The longer trace of two that match alike tells more. Names decide last, so that the order of files does not.
	if cmp.Or(l.compare(used), cmp.Compare(l.match.Replay.Events, used.match.Replay.Events),
		strings.Compare(used.snapshot.Name, l.snapshot.Name), cmp.Compare(used.match.Replay.Device, l.match.Replay.Device)) > 0 {
		o.of[l.track], l = l, used
	}
	o.rivals = append(o.rivals, l)
}

// doubts are about snapshots and devices that are not used.
func (o *layout) doubts() []Warning {
	var out []Warning
	for _, l := range o.rivals {
		out = append(out, Warning{Code: SnapshotRival, PID: l.track.proc.pid, Device: l.track.device, Name: l.snapshot.Name,
			Other: o.of[l.track].snapshot.Name})
	}
	for _, l := range o.out {
		out = append(out, Warning{Code: SnapshotLeftOut, Name: l.snapshot.Name, Why: l.why})
	}
	return out
}

// refused is the error of snapshots that must be of the report and are not. Where one of several goes with it, a warning
// about the others will do; what cannot be replayed is an error in any case.
func (o *layout) refused() error {
	var wrong []string
	for _, l := range o.out {
		switch {
		case l.snapshot.Optional:
		case l.err != nil:
			return fmt.Errorf("align: snapshot %q: %w", l.snapshot.Name, l.err)
		default:
			wrong = append(wrong, fmt.Sprintf("snapshot %q: %s", l.snapshot.Name, l.why))
		}
	}
	if len(wrong) == 0 || len(o.of) > 0 {
		return nil
	}
	return errors.New("align: " + strings.Join(wrong, "; ") + ": give the snapshot of the run that was profiled")
}

// hasSnapshots says that there are snapshots to compare the driver's blocks with.
func (s *source) hasSnapshots() bool {
	return slices.ContainsFunc(s.opts.Snapshots, func(x Snapshot) bool { return x.Data != nil })
}
