package plot

import (
	"strings"

	"slices"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/plot/internal/canvas"
)

// A view is what part of a track a picture shows. It follows from the report and the options, before anything is drawn.
type view struct {
	timeline, iterations, steady bool // the panels that there are
	segments                     bool // a picture of its own

	from, to int64           // ns; the timeline's stretch
	fixed    bool            // the user chose it; otherwise it shrinks to where the data are
	chosen   bool            // by time, not by iterations
	columns  int             // pixel columns over the whole picture
	stack    string          // what the tensors are stacked by: "category", "phase", "kind"; empty for no stack
	level    align.LevelKind // "allocated" where the picture is about what tensors hold; empty for the device level
	o        Options

	its    []*align.Iteration // those shown, in time order
	big    int                // place in its of the enlarged one; -1 for none
	bigWhy string             // how it was chosen

	missing string             // iterations asked for that there are not, as text
	doubts  []findings.Warning // about what was asked for
}

// stacksTensors says that tensors are stacked, not the driver's own blocks by kind.
func (v *view) stacksTensors() bool { return v.stack == "category" || v.stack == "phase" }

// partial says that the user chose a part of the run, so that what is in view and what the run has are two things.
func (v *view) partial() bool { return v.fixed && !v.segments }

// inside says that a time lies in the timeline's stretch.
func (v *view) inside(t int64) bool { return v.from <= t && t <= v.to }

// holds says that one of the iterations shown holds a time.
func (v *view) holds(t int64) bool {
	return slices.ContainsFunc(v.its, func(it *align.Iteration) bool { return it.Start <= t && t < it.End })
}

// use is the use of the level that the picture is about.
func (v *view) use(u *align.Use) *align.MemoryUse {
	if m := u.Level(v.level); m != nil {
		return m
	}
	return &u.Memory
}

// lost says that the level that the picture is about is unknown in an iteration.
func (v *view) lost(it *align.Iteration) bool { return it.Lost.Memory && !v.level.FromSnapshot() }

// kind is the level that the picture is about, of an iteration that may not have it.
func (v *view) kind(it *align.Iteration) align.LevelKind {
	if it.Use.Level(v.level) != nil {
		return v.level
	}
	return align.LevelDevice
}

// setter is the top-level phase that made an iteration's peak: "(other)" where none did.
func (v *view) setter(it *align.Iteration) string {
	by := it.PeakPhase(v.kind(it))
	for i := range it.Phases {
		if p := &it.Phases[i]; p.Depth == 1 && (by == p.Path || strings.HasPrefix(by, p.Path+"/")) {
			return p.Path
		}
	}
	return align.OtherPhase
}

// timeScale lays the timeline out.
func (v *view) timeScale() canvas.Scale {
	if v.o.Linear || v.chosen {
		return canvas.Linear(v.from, v.to)
	}
	return scaleOf(v.from, v.to, v.its)
}

// scaleOf lays a stretch of time out so that its iterations can be told apart.
func scaleOf(from, to int64, its []*align.Iteration) canvas.Scale {
	list := make([]canvas.Stretch, len(its))
	for i, it := range its {
		list[i] = canvas.Stretch{From: it.Start, To: it.End, Usual: it.Steady()}
	}
	return canvas.NewScale(from, to, list)
}
