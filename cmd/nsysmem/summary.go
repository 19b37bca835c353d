package main

import (
	"bufio"
	"io"

	"github.com/spf13/cobra"

	"nsysmem/align/findings"
	"nsysmem/render/summary"
)

func newSummary(s *streams) *cobra.Command {
	c := &common{s: s}
	var format string
	cmd := &cobra.Command{
		Use:   "summary REPORT...",
		Short: "Write the figures of each iteration and phase to stdout",
		Long: `summary writes to stdout what each iteration and each phase needed: device memory at its start and end, what it
added, its peak and what it needed on top of its start; kernels, copies and API time; ranges outside iterations;
failed allocations; findings with advice. Where call chains were recorded, device memory is told by the library that
asked for it.

Bytes and nanoseconds are exact in json and csv; text and md show them in binary units.`,
		Example: `  nsysmem summary run.sqlite
  nsysmem summary run.sqlite --format json | jq '.tracks[0].iterations[3].memory'
  nsysmem summary run.sqlite --iteration 'train_step \d+' --format csv > run.csv`,
		Args: reports,
		RunE: func(cmd *cobra.Command, args []string) error {
			write := map[string]func(io.Writer, *findings.Report) error{
				"json": summary.WriteJSON, "csv": summary.WriteCSV, "md": summary.WriteMarkdown, "markdown": summary.WriteMarkdown,
				"text": func(w io.Writer, r *findings.Report) error {
					return summary.WriteText(w, r, textWidth(s.out), colour(s.out))
				},
			}[format]
			if write == nil {
				return usage("--format %q: say text, json, csv or md", format)
			}
			return c.each(cmd.Context(), args, func(path string) error { return c.summarize(cmd, path, write, format) })
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&format, "format", "f", "text", "`FORMAT`: text, json, csv or md")
	complete(cmd, "format", "text", "json", "csv", "md")
	return cmd
}

// summarize writes the summary of a report to stdout. csv has no room for warnings, so that they go to stderr.
func (c *common) summarize(cmd *cobra.Command, path string, write func(io.Writer, *findings.Report) error, format string) error {
	db, err := c.open(cmd.Context(), path)
	if err != nil {
		return err
	}
	defer db.Close()
	rep, err := c.analyze(cmd.Context(), db, c.options())
	if err != nil {
		return err
	}
	if err := hasWork(rep); err != nil {
		return err
	}
	if format == "csv" {
		c.warn(path, rep.Warnings)
	}
	w := bufio.NewWriterSize(c.s.out, 1<<16)
	if err := write(w, rep); err != nil {
		return err
	}
	return w.Flush()
}
