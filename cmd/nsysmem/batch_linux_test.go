package main

import (
	"os"
	"syscall"
)

// peakMemory is the most memory in bytes that a process or one that it waited for had; 0 where that cannot be told. Linux
// counts what the parent had when it started the process, so that a child that needs less cannot be told from it.
func peakMemory(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	var own syscall.Rusage
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || u.Maxrss <= own.Maxrss {
		return 0
	}
	return u.Maxrss << 10
}
