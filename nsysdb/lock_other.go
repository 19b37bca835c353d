//go:build !unix

package nsysdb

import (
	"errors"
	"os"
	"syscall"
)

// lockedByOS says whether the system refuses a file because another program holds it: Windows' errors 32 (sharing
// violation) and 33 (lock violation).
func lockedByOS(err error) bool {
	var n syscall.Errno
	return errors.As(err, &n) && (n == 32 || n == 33)
}

// beingWritten says whether a read of the bytes that SQLite locks while it writes is refused. Only a file that reaches
// to 1 GiB has them.
func beingWritten(f *os.File) bool {
	_, err := f.ReadAt(make([]byte, 1), 0x40000002)
	return err != nil && lockedByOS(err)
}
