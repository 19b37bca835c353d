// Package findings says what is to be said of an aligned report: what the user should know, with advice, and what the
// figures cannot tell. It turns what align counted into sentences; how they are laid out is up to the renderers.
package findings

import "nsysmem/align"

// A Report is an aligned report with what is said of it.
type Report struct {
	*align.Report
	Findings []Finding
	Warnings []Warning
}

// A Finding is something that the user should know, with advice.
type Finding struct {
	Track    *align.Track // that it is about; nil for the whole report
	ID       ID
	Severity Severity
	Text     string
	Advice   string   // empty for none
	Evidence Evidence // figures behind the text; nil for none
}

// PID is the process that a finding is about; 0 for the whole report.
func (f *Finding) PID() int64 {
	if f.Track == nil {
		return 0
	}
	return f.Track.PID
}

// An ID names a kind of finding. It is stable: scripts know findings by it.
type ID string

// A Severity says how bad it is.
type Severity string

// The severities.
const (
	Info  Severity = "info"  // good to know
	Warn  Severity = "warn"  // the program runs, but something should be looked at
	Error Severity = "error" // something failed
)

// A Warning is a doubt about the figures.
type Warning struct {
	PID  int64  // process that it concerns; 0 for the whole report
	Code string // stable, such as "lost_frees"
	Text string
}

// Of says what is to be said of a report.
func Of(rep *align.Report) *Report {
	out := &Report{Report: rep}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		device, _ := f.Evidence["device"].(int64)
		n := Finding{ID: ID(f.ID), Severity: Severity(f.Severity), Text: f.Text, Advice: f.Advice, Evidence: f.Evidence}
		for _, t := range rep.Tracks {
			if t.PID == f.PID && t.Device == device {
				n.Track = t
			}
		}
		out.Findings = append(out.Findings, n)
	}
	for _, w := range rep.Warnings {
		out.Warnings = append(out.Warnings, Warning(w))
	}
	return out
}
