package video

import (
	"strings"
	"testing"
)

// Each key of a file is read as what it was made of. What was changed is another one, or none.
func FuzzKeys(f *testing.F) {
	f.Add("720-h264", uint64(123), int64(0), int64(1), "0")
	f.Add("a", uint64(7), int64(-1), int64(-1), "-")
	f.Fuzz(func(t *testing.T, track string, video uint64, first, attempt int64, more string) {
		if video > 1<<63-1 || strings.Contains(track, "/") {
			return
		}
		key := blobKey(video, track, first, attempt)
		got, ok := parseKey(key)
		if first >= 0 && attempt >= 0 && (!ok || got.video != video || got.track != track || got.first != first || got.attempt != attempt) {
			t.Errorf("%q was read as %+v, %v", key, got, ok)
		}
		for _, changed := range []string{more + key, key + more, strings.Replace(key, "-", "-"+more, 1)} {
			if other, ok := parseKey(changed); ok && changed != key && other == got {
				t.Errorf("%q and %q were both read as %+v", key, changed, got)
			}
		}
	})
}
