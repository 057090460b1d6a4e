package blockcache_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// TestGoldenBlock: docs/formats/blockcache.md describes these bytes.
func TestGoldenBlock(t *testing.T) {
	dir := t.TempDir()
	c := open(t, blockcache.Config{Dir: dir})
	c.Put(blockcache.File{Group: "video/7", Name: "720p/0.m4s", Size: mib + 5}, 1, []byte("hello"))
	paths, _ := blocks(t, dir)
	if len(paths) != 1 {
		t.Fatalf("%d blocks", len(paths))
	}
	name, err := filepath.Rel(dir, paths[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	const group, file = "f1045e68c08e0bf63aaf8a6937fd1227", "6f2268f43d9d7cfa9c0a2f42ab91d874"
	wantName := group[:2] + "/" + group + "-" + file + "-1-1048581"
	want := hex.EncodeToString([]byte("RIALTOB1")) + "0000000000100005" + "0000000000000001" + "00000005" + group + file + "9a71bb4c" + strings.Repeat("00000000", 15) + "79861483" + hex.EncodeToString([]byte("hello"))
	if got := hex.EncodeToString(b); name != wantName || got != want {
		t.Errorf("the block is %s in %s, and not %s in %s", got, name, want, wantName)
	}
}
