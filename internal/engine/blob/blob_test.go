package blob_test

import (
	"path"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// FuzzValidKey: a valid key is a path that stays below its folder on any system.
func FuzzValidKey(f *testing.F) {
	for _, key := range []string{"a", "media/1/2-3", "", "/", "a/", "a//b", "..", "a/..", "A", "\x00", "ä", strings.Repeat("a", 201)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if !blob.ValidKey(key) {
			return
		}
		if len(key) > 200 || path.Clean(key) != key || path.IsAbs(key) || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-/") != "" || strings.ContainsAny(key, `.\:`) {
			t.Errorf("%q is a key", key)
		}
	})
}
