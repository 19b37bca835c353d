// Package batch does many reports: a result for each, and a workbook, a picture and a data set that compare them.
//
// A folder holds a batch:
//
//	batch.xlsx, batch.png             all runs compared
//	reports/NAME.json                 the summary of each report; its pictures and workbook beside it, where asked for
//	data/TABLE/run=NAME/data.parquet  runs, iterations, phases and, where asked for, allocations
//	.nsysmem/                         the list of reports, and what is known of each result
//
// Reports are independent of each other, so any number of processes on any number of machines may work on one folder:
// each takes a Shard. A result is made in a folder of its own, and its files are renamed into place, the record of it
// last. A process that ends at any moment leaves whole files and is started again to do what is missing. The comparison
// is made from the records alone, and depends on nothing but the list of reports and what is in them.
//
// A folder may be used again with another list or for more outputs. Nothing is removed but by Prune, or to be replaced by
// a newer result of the same report: what the list no longer names stays, and keeps its name from others.
package batch

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/export"
)

// Options say how to do a batch.
type Options struct {
	Out  string // folder of the batch; made where it is not there
	Jobs int    // reports done at once; at least 1

	Plot        bool // draw each report
	Workbook    bool // write a workbook of each report
	Allocations bool // write each allocation to the data set

	RankPattern *regexp.Regexp // finds the rank in a report's path, in its first group or as a whole; nil for the usual names
	Shard       Shard          // which share of the reports to do; the zero value is all

	Version  string // of the program; a result of another version is done again
	Settings string // what Analyze depends on; results with other settings cannot be compared with these
	Given    string // what the user gave of Settings, for messages
	Redo     bool   // replace results that were made with other settings; else Run refuses with ErrSettings

	// Analyze aligns an open report. given is its path as the user gave it.
	Analyze func(ctx context.Context, r *export.Report, given string, o align.Options) (*findings.Report, error)

	// Beside names the files that Analyze reads beside a report, such as memory snapshots: a result is done again where they
	// have changed. It may be nil.
	Beside func(given string) []string

	// Worker makes a command that calls Serve with the same options, and is to use so many cores. Where it is nil, reports
	// are done in this process. Processes of their own do not wait for each other's memory, and one that the system kills
	// for its report takes no other along.
	Worker func(cores int) *exec.Cmd

	Progress func(Progress) // called from one goroutine at a time, first with nothing done; may be nil
	Warn     func(string)   // told what does not stop the batch, from one goroutine at a time; may be nil
}

// settings are all that the figures of a result depend on beside its report and the version.
func (o *Options) settings() string {
	rank := ""
	if o.RankPattern != nil {
		rank = o.RankPattern.String()
	}
	return fmt.Sprintf("rank=%q %s", rank, o.Settings)
}

func (o *Options) extras() extras { return extras{o.Plot, o.Workbook, o.Allocations} }

func (o *Options) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf(format, args...))
	}
}

// Progress says how far a batch is.
type Progress struct {
	Done, Failed, Total int   // reports of this share; Failed are among Done
	Kept                int   // among Done, those whose result was there already
	Bytes, TotalBytes   int64 // sizes of reports done now, and of all that are or were to be done now

	Input *Input        // the report that was done just now; nil in the first call
	Err   error         // why it failed; nil where it did not
	Took  time.Duration // how long it took
}

// A Failure is a report that could not be done, and why.
type Failure struct {
	Name, Path, Reason string
}

// An Outcome is what came of a batch or a share of it.
type Outcome struct {
	Done    int // reports with a result, those kept from before too
	Kept    int
	Failed  []Failure
	Missing []Input  // reports without a result, of a merge
	Others  int      // reports of earlier lists whose results are in the folder, of a merge
	Files   []string // comparison files that were written
}

// An Input is a report of a batch.
type Input struct {
	Name    string // of its run and its outputs; unique within the batch even where case does not count
	Path    string // as the user gave it, or found below what the user gave
	Size    int64  // bytes; -1 where the file could not be looked at
	ModTime int64  // ns since 1970
	Rank    int64  // from its path; -1 where that has none
	Group   string // its path with the rank as "#", shared by the ranks of one job; empty without rank
	Beside  string // what tells one state of the files beside it from another; empty where there are none
}

// Places of a batch's files.

func (in *Input) output(out, suffix string) string {
	return filepath.Join(out, "reports", in.Name+suffix)
}

func (in *Input) partition(out, table string) string {
	return filepath.Join(out, "data", table, partition+in.Name, "data.parquet")
}

const partition = "run="

func stateDir(out string) string           { return filepath.Join(out, ".nsysmem") }
func (in *Input) record(out string) string { return filepath.Join(stateDir(out), in.Name+recordEnd) }

// earlier is where a record lies while a newer result takes its place.
func (in *Input) earlier(out string) string { return filepath.Join(stateDir(out), in.Name+earlierEnd) }

const (
	recordEnd  = ".record"
	earlierEnd = ".earlier"
)
