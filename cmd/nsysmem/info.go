package main

import (
	"os"

	"github.com/spf13/cobra"

	"nsysmem/render/inventory"
	"nsysmem/render/summary"
)

var infoFormats = []string{"text", "json"}

func newInfo(s *streams) *cobra.Command {
	c := &common{s: s}
	format := "text"
	cmd := &cobra.Command{
		Use:   "info REPORT...",
		Short: "Say what a report holds, and how to record what it lacks",
		Long: `info lists the versions, tables, processes and devices of a report, what was collected and what was not and how to
record it, and the families of NVTX ranges with the one that carries the iterations. It works on every export.

It also says what PyTorch's memory snapshots hold, those of --snapshot or those beside the report, and which process and
device of the run each is of.`,
		Example: `  nsysmem info run.sqlite
  nsysmem info run.sqlite --snapshot s.pickle
  nsysmem info run.sqlite --format json`,
		Args: reports,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, infoFormats); err != nil {
				return err
			}
			return c.each(cmd.Context(), args, func(path string) error { return c.info(cmd, path, format) })
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&format, "format", "f", "text", "`FORMAT`: text or json")
	complete(cmd, "format", infoFormats...)
	return cmd
}

// info tells what a report holds, and beside it what its snapshots do. A snapshot of another run is something to tell here,
// not to fail for.
func (c *common) info(cmd *cobra.Command, path, format string) error {
	db, err := c.open(cmd.Context(), path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := c.pattern(); err != nil {
		return err
	}
	opts := c.options()
	if err := c.readSnapshots(cmd.Context(), path, &opts); err != nil {
		return err
	}
	for i := range opts.Snapshots {
		opts.Snapshots[i].Optional = true
	}
	rep, err := c.align(cmd.Context(), db, opts)
	if err != nil {
		return err
	}
	held, err := inventory.Of(db.DB, rep)
	if err != nil {
		return err
	}
	held.Size = fileSize(db.given)
	files, _ := c.snapshotFiles(path)
	held.AddSnapshots(opts.Snapshots, rep)
	for i, file := range distinct(files) {
		held.Snapshots[i].Size = fileSize(file)
	}
	if format == "json" {
		return summary.WriteInfoJSON(c.s.out, held)
	}
	return summary.WriteInfo(c.s.out, held, textWidth(c.s.out), colour(c.s.out))
}

// fileSize is the size of a file in bytes; 0 where it cannot be told.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
