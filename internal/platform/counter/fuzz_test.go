package counter

import (
	"fmt"
	"testing"
)

// A subject names a set that exists, or is refused. A position is read as it was written.
func FuzzSubjects(f *testing.F) {
	f.Add("post_likes 42", int64(1), uint64(42))
	f.Add("unknown 42", int64(-1), uint64(0))
	f.Add("post_likes 99999999999999999999", int64(1)<<62, uint64(1)<<63)
	f.Fuzz(func(t *testing.T, text string, kind int64, subject uint64) {
		if of, err := parseSubject(text); err == nil && (kindNames[of.kind] == "" || of.subject == 0) {
			t.Errorf("%q was read as %+v", text, of)
		}
		if got, err := parsePosition(fmt.Sprintf("%d %d", kind, subject)); err != nil || int64(got.kind) != kind || uint64(got.subject) != subject {
			t.Errorf("%d %d was read as %+v, %v", kind, subject, got, err)
		}
	})
}
