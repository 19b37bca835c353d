package amplify

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// Env names the environment variable with the path of an export that benchmarks read in place of what they would make.
const Env = "NSYSMEM_BENCH"

// Export is the path of an export to measure with: the one that Env names, else in repeated copies times in a folder
// that is removed in the end.
func Export(tb testing.TB, in string, copies int) string {
	tb.Helper()
	if path := os.Getenv(Env); path != "" {
		return path
	}
	out := filepath.Join(tb.TempDir(), "amplified.sqlite")
	if err := Report(context.Background(), in, out, copies, nil); err != nil {
		tb.Fatal(err)
	}
	return out
}
