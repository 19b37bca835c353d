package torchmem

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxUnpacked bounds what a compressed snapshot may come to, in bytes. A trace of five million entries is a gigabyte; deflate
// packs up to a thousandfold, so that a small file could keep a reader busy for hours.
const maxUnpacked = 32 << 30

// unpacked reads the pickle in a file that may be compressed, which its first bytes tell: with gzip, or in a zip archive
// that holds it and nothing else.
func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(4) // what is wrong with a short file is told by who reads on
	switch {
	case len(head) >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8: // RFC 1952: magic, deflate
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("a damaged gzip file: %w", err)
		}
		return &inflated{r: z, form: "gzip"}, nil
	case string(head) == "PK\x03\x04": // APPNOTE 4.3.7: local file header
		f, err := onlyEntry(r)
		if err != nil {
			return nil, err
		}
		z, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("the zip archive cannot be unpacked: %w", err)
		}
		return &inflated{r: z, form: "zip"}, nil
	}
	return in, nil
}

// errNotSaved tells of what torch.save wrote.
var errNotSaved = errors.New("a zip archive, not a memory snapshot: write it with torch.cuda.memory._dump_snapshot, not torch.save")

// onlyEntry is the one file in a zip archive. Folders, and what macOS adds beside each file, do not count.
func onlyEntry(r io.Reader) (*zip.File, error) {
	at, ok := r.(io.ReaderAt)
	seeker, seeks := r.(io.Seeker)
	if !ok || !seeks {
		return nil, errors.New("a zip archive that comes through a pipe cannot be read: unpack it first")
	}
	size, err := seeker.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, fmt.Errorf("a damaged zip archive: %w", err)
	}
	var only *zip.File
	n := 0
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/data.pkl") { // as torch.save writes
			return nil, errNotSaved
		}
		if !strings.HasSuffix(f.Name, "/") && !strings.HasPrefix(f.Name, "__MACOSX/") {
			only = f
			n++
		}
	}
	const encrypted = 1 // APPNOTE 4.4.4: bit 0 of the flags
	switch {
	case n != 1:
		return nil, fmt.Errorf("the zip archive holds %d files: only one that holds the snapshot alone can be read", n)
	case only.Flags&encrypted != 0:
		return nil, errors.New("the zip archive is encrypted: unpack it first")
	}
	return only, nil
}

// inflated is what comes out of a compressed file: bounded, and its errors say that the compressed file is to blame.
type inflated struct {
	r    io.Reader
	form string
	n    int64 // bytes so far
}

func (z *inflated) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	if z.n += int64(n); z.n > maxUnpacked {
		return 0, fmt.Errorf("it unpacks to more than %d GiB, which no snapshot does", int64(maxUnpacked)>>30)
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("the %s file is damaged or cut short: %w", z.form, err)
	}
	return n, err
}
