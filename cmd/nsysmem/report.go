package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nsysmem/render/workbook"
)

func newReport(s *streams) *cobra.Command {
	c := &common{s: s}
	out := &output{}
	whatIf := false
	cmd := &cobra.Command{
		Use:   "report REPORT...",
		Short: "Write an Excel workbook for reviewers",
		Long: `report writes a workbook: an overview, iterations, phases, heat maps of iterations by phases, every allocation with
the phase in which it was made and freed, what was live at the peak and at the end, kernels, copies and API calls by
phase, failed allocations and warnings; where call chains were recorded, the library and the function behind each
allocation. Cells hold exact values; what was not collected is empty, never 0.

With PyTorch's memory snapshots of the same run, those of --snapshot or those beside the report, there are also the
levels allocated, reserved and traced of each iteration and phase, every tensor block, categories (beside theory with --params), who holds memory at the peak
and at failed requests, memory outside PyTorch, and the cache's fragmentation.`,
		Example: `  nsysmem report run.sqlite                        # writes run.xlsx
  nsysmem report run.sqlite --snapshot s.pickle --params 124439808 --optimizer adamw
  nsysmem report run.sqlite -o review.xlsx --force
  nsysmem report run.sqlite --whatif               # with run.snapshot.pickle beside it
  nsysmem report rank0.sqlite rank1.sqlite -o workbooks/`,
		Args: reports,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.path != "" && out.path != "-" && !isFolder(out.path) && strings.ToLower(filepath.Ext(out.path)) != ".xlsx" {
				return usage("-o %q: the name must end in .xlsx", out.path)
			}
			return c.each(cmd.Context(), args, func(path string) error {
				if whatIf && !c.hasSnapshots(path) {
					return usage("--whatif needs --snapshot, as none lies beside %q: the requests that are served again are in it", path)
				}
				return c.workbook(cmd.Context(), path, out, len(args) > 1, whatIf)
			})
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&out.path, "output", "o", "", "`file` (.xlsx), a folder, or - for stdout; default: the report's name in the working directory")
	cmd.Flags().BoolVar(&out.force, "force", false, "replace files that exist")
	cmd.Flags().BoolVar(&whatIf, "whatif", false, "with a snapshot: add sheets of what other allocator settings would have reserved, for each process and device that has one")
	return cmd
}

// workbook writes the workbook of a report. several says that other reports follow, so that -o must be a folder. Whether the
// file may be written is asked before the work, which takes minutes for a large report.
func (c *common) workbook(ctx context.Context, path string, out *output, several, whatIf bool) error {
	name, err := out.name(path, "", ".xlsx", several)
	if err == nil {
		err = out.free(name)
	}
	if err != nil {
		return err
	}
	db, err := c.open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	opts := c.options()
	opts.Blocks, opts.Kernels = true, true
	rep, err := c.analyze(ctx, db, opts)
	if err != nil {
		return err
	}
	if err := hasWork(rep); err != nil {
		return err
	}
	var o workbook.Options
	if whatIf {
		if o.WhatIf, err = c.sweepTracks(ctx, path, rep); err != nil {
			return err
		}
	}
	// A folder of its own, so that nothing is left of a workbook that is interrupted. Small ones need none.
	if o.TempDir, err = os.MkdirTemp("", "nsysmem-"); err == nil {
		defer os.RemoveAll(o.TempDir)
	}
	err = out.write(ctx, name, db.given, c.s.out, func(w io.Writer) error { return workbook.Write(w, rep, o) })
	if err != nil {
		return err
	}
	c.warn(path, rep.Warnings)
	c.wrote(name)
	return nil
}
