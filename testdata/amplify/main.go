// Command amplify makes an export of any size from a real one:
//
//	go run ./testdata/amplify IN OUT COPIES
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"nsysmem/internal/amplify"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "amplify:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("use: go run ./testdata/amplify IN OUT COPIES")
	}
	copies, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return fmt.Errorf("%q is no number of copies", os.Args[3])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return amplify.Report(ctx, os.Args[1], os.Args[2], copies, func(table string, done int) {
		if done%500 == 0 {
			fmt.Fprintf(os.Stderr, "amplify: %s: %d copies\n", table, done)
		}
	})
}
