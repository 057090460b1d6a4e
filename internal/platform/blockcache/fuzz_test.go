package blockcache

import (
	"strings"
	"testing"
)

// Only the one spelling of a block is read as the name of its file.
func FuzzNames(f *testing.F) {
	path := blockID{fileID{hash{1}, hash{2}, 3 * BlockSize}, 2}.path()
	f.Add(path)
	f.Add(strings.ToUpper(path))
	f.Add(path[:len(path)-1] + "_")
	f.Add("../x")
	f.Fuzz(func(t *testing.T, path string) {
		folder, name, _ := strings.Cut(path, "/")
		if b, ok := parsePath(folder, name); ok && (b.path() != path || b.number*BlockSize >= b.file.size) {
			t.Errorf("%q was read as %+v, whose name is %q", path, b, b.path())
		}
	})
}
