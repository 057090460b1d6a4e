package media

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Each key of a file is read as what it was made of, and no other text is one.
func FuzzKeys(f *testing.F) {
	f.Add(blobKey(123, 1), uint64(123), int64(1))
	f.Add(tailKey(123, 2), uint64(1)<<62, int64(7))
	f.Add(filesFolder+"/23/0123", uint64(7), int64(2))
	f.Add("../23/123-t", uint64(0), int64(3))
	f.Fuzz(func(t *testing.T, text string, upload uint64, attempt int64) {
		if got, ok := parseKey(text); ok && text != blobKey(got.upload, got.attempt) && got.attempt != 0 {
			t.Errorf("%q was read as %+v", text, got)
		}
		if upload > 1<<63-1 || attempt < 1 {
			return
		}
		key := blobKey(id.Upload(upload), attempt)
		if got, ok := parseKey(key); !ok || got.upload != id.Upload(upload) || got.attempt != attempt {
			t.Errorf("%q was read as %+v, %v", key, got, ok)
		}
		key = tailKey(id.Upload(upload), attempt)
		if got, ok := parseKey(key); !ok || got.upload != id.Upload(upload) || got.attempt != 0 {
			t.Errorf("the tail %q was read as %+v, %v", key, got, ok)
		}
	})
}
