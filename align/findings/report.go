// Package findings says what is to be said of an aligned report: what the user should know, with advice, and what makes
// its figures doubtful. align counts, this package judges and puts into words, renderers lay out.
//
// A kind of finding is a function in a file of its own that is named in kinds, and a struct with the figures behind it.
// A kind of warning is a sentence in warnings.go.
package findings

import "nsysmem/align"

// A Report is an aligned report with what is said of it.
type Report struct {
	*align.Report
	Findings []Finding // by track, of a track in the order of kinds
	Warnings []Warning // by code, then text
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

// Of says what is to be said of a report. It reads rep and changes nothing in it.
func Of(rep *align.Report) *Report {
	return &Report{Report: rep, Findings: find(rep), Warnings: warnings(rep)}
}
