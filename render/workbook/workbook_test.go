package workbook

import (
	"bytes"
	"os"
	"testing"

	"nsysmem/align"
	"nsysmem/render/internal/sample"
)

func write(t *testing.T, rep *align.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, rep, Options{TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTry(t *testing.T) {
	rep := sample.Report(14)
	sample.Hurt(rep)
	os.WriteFile("/tmp/tables/hurt.xlsx", write(t, rep), 0o666)
	os.WriteFile("/tmp/tables/sample.xlsx", write(t, sample.Report(12)), 0o666)
	rep.Collected = align.Collected{}
	os.WriteFile("/tmp/tables/nothing.xlsx", write(t, rep), 0o666)
	os.WriteFile("/tmp/tables/empty.xlsx", write(t, &align.Report{}), 0o666)
}
