package byterange_test

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/byterange"
)

// A range is refused, or lies within its file. The first byte of a request does, too, or is 0.
func FuzzRanges(f *testing.F) {
	f.Add("bytes 0-99/1000", "bytes=-5", int64(10))
	f.Add("bytes 9223372036854775806-9223372036854775807/9223372036854775807", "bytes=9223372036854775807-", int64(1))
	f.Add("bytes -1-2/3", "bytes=+3-", int64(0))
	f.Fuzz(func(t *testing.T, content, asked string, size int64) {
		if c, err := byterange.ParseContent(content); err == nil {
			if c.From < 0 || c.Length <= 0 || c.Length > c.Size-c.From {
				t.Errorf("%q was read as %+v", content, c)
			}
			if again, err := byterange.ParseContent(fmt.Sprintf("bytes %d-%d/%d", c.From, c.From+c.Length-1, c.Size)); err != nil || again != c {
				t.Errorf("%q was read as %+v, and again as %+v, %v", content, c, again, err)
			}
		}
		if at := byterange.FirstByte(asked, max(size, 0)); at < 0 || at > max(size, 0) {
			t.Errorf("%q begins at %d of %d", asked, at, size)
		}
	})
}
