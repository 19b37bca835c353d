// Command bench measures nsysmem beside the time that the sqlite3 command line takes merely to touch the same columns,
// one thread of C:
//
//	go run ./testdata/bench [-n 5] [-go] [REPORT]
//
// Without a report it amplifies testdata/gpt_amp.sqlite a hundred times. Programs take turns, so that what else the
// machine does meets all of them alike; the table has the medians. With -go the project's own benchmarks follow, in the
// form that benchstat reads. It is to be run in the root of the repository.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nsysmem/internal/amplify"
)

// bareScan touches the columns that a summary needs.
const bareScan = `
select sum(start&1)+sum("end"&1)+sum(correlationId&1)+sum(globalTid&1)+sum(nameId&1) from CUPTI_ACTIVITY_KIND_RUNTIME;
select sum(start&1)+sum("end"&1)+sum(deviceId&1)+sum(streamId&1)+sum(correlationId&1)+sum(shortName&1) from CUPTI_ACTIVITY_KIND_KERNEL;
select sum(start&1)+sum(bytes&1)+sum(address&1)+sum(memKind&1)+sum(memoryOperationType&1)+sum(correlationId&1) from CUDA_GPU_MEMORY_USAGE_EVENTS;
select sum(start&1)+sum("end"&1)+sum(globalTid&1) from NVTX_EVENTS;`

func main() {
	n := flag.Int("n", 5, "rounds")
	own := flag.Bool("go", false, "run the project's own benchmarks too")
	flag.Parse()
	if err := run(*n, *own, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(n int, own bool, args []string) error {
	if n < 1 || len(args) > 1 {
		return fmt.Errorf("use: go run ./testdata/bench [-n ROUNDS] [-go] [REPORT]")
	}
	dir, err := os.MkdirTemp("", "nsysmem-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.sqlite")
	if len(args) == 1 {
		if report, err = filepath.Abs(args[0]); err != nil {
			return err
		}
	} else if err := amplify.Report(context.Background(), "testdata/gpt_amp.sqlite", report, 100, nil); err != nil {
		return err
	}
	bin := filepath.Join(dir, "nsysmem")
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/nsysmem").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %v\n%s", err, out)
	}
	programs := []*program{
		{name: "bare scan by sqlite3", args: []string{"sqlite3", "-readonly", report, bareScan}},
		{name: "nsysmem --version", args: []string{bin, "--version"}},
		{name: "nsysmem summary", args: []string{bin, "summary", "--snapshot", "none", "--quiet", "--format", "json", report}},
		{name: "nsysmem plot", args: []string{bin, "plot", "--snapshot", "none", "--quiet", "--force", "-o", filepath.Join(dir, "out.png"), report}},
		{name: "nsysmem report", args: []string{bin, "report", "--snapshot", "none", "--quiet", "--force", "-o", filepath.Join(dir, "out.xlsx"), report}},
	}
	if _, err := exec.LookPath("sqlite3"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: no sqlite3 command line at hand: nothing to compare with")
		programs = programs[1:]
	}
	for round := range n + 1 { // the first fills the page cache and does not count
		for _, p := range programs {
			if err := p.run(round > 0); err != nil {
				return err
			}
		}
	}
	scan := programs[0].median(func(m measured) float64 { return m.wall })
	fmt.Printf("%-22s %9s %9s %9s %9s %8s\n", "median of "+fmt.Sprint(n), "wall s", "best s", "CPU s", "peak MB", "of scan")
	for _, p := range programs {
		wall := p.median(func(m measured) float64 { return m.wall })
		fmt.Printf("%-22s %9.3f %9.3f %9.3f %9.0f", p.name, wall, p.best(), p.median(func(m measured) float64 { return m.cpu }),
			p.median(func(m measured) float64 { return m.peak }))
		if programs[0].args[0] == "sqlite3" {
			fmt.Printf(" %8.2f", wall/scan)
		}
		fmt.Println()
	}
	if !own {
		return nil
	}
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^Benchmark(Scan|NVTX|Attribution|Accounting|Curves|JSON|Picture|Workbook|Allocations)$",
		"-count", fmt.Sprint(n), "./nsysdb", "./align", "./render/...")
	cmd.Env = append(os.Environ(), amplify.Env+"="+report)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// A program is run again and again.
type program struct {
	name string
	args []string
	runs []measured
}

type measured struct{ wall, cpu, peak float64 } // seconds; MB of memory, 0 where the system does not tell

func (p *program) run(counts bool) error {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start).Seconds()
	if err != nil {
		return fmt.Errorf("%s: %v: %s", p.name, err, errs.String())
	}
	if counts {
		s := cmd.ProcessState
		p.runs = append(p.runs, measured{wall, (s.UserTime() + s.SystemTime()).Seconds(), peak(s)})
	}
	return nil
}

func (p *program) median(of func(measured) float64) float64 {
	v := make([]float64, len(p.runs))
	for i, m := range p.runs {
		v[i] = of(m)
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

func (p *program) best() float64 {
	return slices.MinFunc(p.runs, func(a, b measured) int { return cmp.Compare(a.wall, b.wall) }).wall
}
