package align

import (
	"context"

	"nsysmem/internal/await"
	"nsysmem/nsysdb"
)

// Analyze aligns a report. It reads each event table once, unless its rows are out of order; API calls are read again
// where the launches show another main thread than was guessed, and they and the GPU work where iterations or phases are
// inferred.
//
//  1. Ranges are read, and for each thread the innermost range at any time is laid out.
//  2. API calls are read: each is joined to a range, and its place kept by correlation id. Iterations are chosen among the
//     families of ranges, by how many launches they hold. Where there are none, or no phases inside them, they are searched
//     in the GPU work and put among the ranges, and calls are joined anew.
//  3. Rows are made: iterations, their phases, and outermost ranges outside them.
//  4. Memory events, kernels and copies are read at once, each joined to its row through its call.
//  5. The devices of snapshots are found among the tracks, and their levels are swept past the same rows.
//  6. Where call chains were recorded, those of allocating calls are read: they say who asked.
//  7. Sums are rolled up into the report.
//
// An error is a failure to read, wrong options, or a snapshot that is not optional and is of another run; what the report lacks stands in
// Report.Collected.
func Analyze(ctx context.Context, db *nsysdb.DB, opts Options) (*Report, error) {
	src, err := newSource(db, opts)
	if err != nil {
		return nil, err
	}
	read, err := readRanges(ctx, src)
	if err != nil {
		return nil, err
	}
	aligned, places, err := iterate(ctx, src, read)
	if err != nil {
		return nil, err
	}
	src.believe(aligned.calls)
	rows := makeRows(src, aligned)
	rows.inferred = inferredRows(src, aligned)
	uses, err := readUses(ctx, src, aligned, rows, places)
	if err != nil {
		return nil, err
	}
	var snap *joined
	if len(opts.Snapshots) > 0 { // joining reads no table, so that what goes on after an interrupt disturbs nobody
		err = await.Call(ctx, func() (err error) {
			snap, err = joinSnapshots(src, aligned, rows, uses)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(snap.devices) == 0 { // then they change nothing but the warnings
			uses.keepBlocks = opts.Blocks || aligned.allocatesAllAlong(rows)
		}
	}
	who, err := readCallers(ctx, src, aligned.calls)
	if err != nil {
		return nil, err
	}
	return assemble(src, aligned, rows, uses, snap, who), nil
}
