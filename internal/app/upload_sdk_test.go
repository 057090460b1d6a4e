package app

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
)

// countingFile is a file that breaks when its parts were read a number of times.
type countingFile struct {
	io.ReaderAt
	left atomic.Int64
}

var errBroken = errors.New("the disk failed")

func (f *countingFile) ReadAt(p []byte, off int64) (int, error) {
	if f.left.Add(-1) < 0 {
		return 0, errBroken
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestUploadInPartsBySDK: an interrupted upload continues with the missing parts, and other bytes are refused.
func TestUploadInPartsBySDK(t *testing.T) {
	h, _ := open(t)
	alice := client(t, h)
	if err := alice.Register(t.Context(), "alice", "a good password", "alice"); err != nil {
		t.Fatal(err)
	}
	file := make([]byte, 2*(5<<20)+1000)
	for i := range file {
		file[i] = byte(i ^ i>>8 ^ i>>16)
	}
	var upload uint64
	broken := &countingFile{ReaderAt: bytes.NewReader(file)}
	broken.left.Store(2)
	if _, err := alice.UploadFile(t.Context(), "a.bin", "", int64(len(file)), broken, rialto.UploadOptions{Parallel: 1, Begun: func(n uint64) { upload = n }}); !errors.Is(err, errBroken) || upload == 0 {
		t.Fatalf("upload %d, %v", upload, err)
	}
	other := bytes.Repeat([]byte("x"), len(file)+1)
	if _, err := alice.UploadFile(t.Context(), "a.bin", "", int64(len(other)), bytes.NewReader(other), rialto.UploadOptions{Upload: upload}); rialto.Reason(err) != "part_differs" {
		t.Errorf("a file of another size: %v", err)
	}
	var steps []rialto.UploadProgress
	whole := &countingFile{ReaderAt: bytes.NewReader(file)}
	whole.left.Store(1) // one part is missing
	u, err := alice.UploadFile(t.Context(), "a.bin", "", int64(len(file)), whole, rialto.UploadOptions{Upload: upload, Progress: func(p rialto.UploadProgress) { steps = append(steps, p) }})
	if err != nil || u.Upload != upload || u.Size != uint64(len(file)) {
		t.Fatalf("the resumed upload is %v, %v, want the same upload with its whole size", u, err)
	}
	if len(steps) != 1 || steps[0].Sent != int64(len(file)) || steps[0].Total != int64(len(file)) || steps[0].BytesPerSecond <= 0 || steps[0].Remaining != 0 {
		t.Errorf("the progress was %v", steps)
	}
}
