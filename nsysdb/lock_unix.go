//go:build unix

package nsysdb

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockedByOS says whether the system refuses a file because of a lock.
func lockedByOS(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENOLCK)
}

// beingWritten says whether another process holds the lock under which SQLite writes pages: the pending byte or the
// shared range, at 1 GiB of the file. It only asks and takes no lock, so a file system without locks does no harm.
func beingWritten(f *os.File) bool {
	l := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart, Start: 0x40000000, Len: 1}
	if syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l) == nil && l.Type == syscall.F_WRLCK {
		return true
	}
	l = syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart, Start: 0x40000002, Len: 510}
	return syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l) == nil && l.Type == syscall.F_WRLCK
}
