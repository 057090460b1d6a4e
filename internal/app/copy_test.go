package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rialto-im/rialto/sdk/go/ids"
)

// workerOf returns the worker number in a new user's id, in a node on a directory. The node is stopped when it returns.
func workerOf(t *testing.T, data, handle string) uint64 {
	t.Helper()
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, h)
	if err := c.Register(t.Context(), handle, "a good password", handle); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	p, err := ids.ParseSnowflake(c.User())
	if err != nil {
		t.Error(err)
	}
	return p.Datacenter<<5 | p.Worker
}

// A server keeps its worker id. A copy of its directory gets another one, even if the copy replaces the original.
func TestACopiedDirectoryHasAnotherWorker(t *testing.T) {
	data, twin := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	seen := map[uint64]string{workerOf(t, data, "first"): "the original"}
	for i := range 3 {
		if w := workerOf(t, data, "again"+strconv.Itoa(i)); seen[w] != "the original" {
			t.Fatalf("start %d has worker %d, not %v", i, w, seen)
		}
	}
	if err := os.CopyFS(twin, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	w := workerOf(t, twin, "copied")
	if seen[w] != "" {
		t.Fatalf("the copy has worker %d, which is that of %s", w, seen[w])
	}
	seen[w] = "the copy"
	if workerOf(t, twin, "copied2") != w {
		t.Error("the copy has another worker after a restart")
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(twin, data); err != nil {
		t.Fatal(err)
	}
	if w := workerOf(t, data, "moved"); seen[w] != "" {
		t.Errorf("the copy, in the place of the original, has worker %d, which is that of %s", w, seen[w])
	}
}
