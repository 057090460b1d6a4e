package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

// TestDeletedFilesLeaveTheCache of the node that deletes them, and of another when it hears of it. All attempts at a file go, and other files stay.
func TestDeletedFilesLeaveTheCache(t *testing.T) {
	store, err := diskblob.Open(t.TempDir())
	must(t, err)
	n := &Node{config: &config.Config{}, dir: &dataDir{path: t.TempDir()}, logger: slog.New(slog.DiscardHandler), purges: edge.NewPurges("", nil)}
	n.config.S3.Endpoint, n.config.S3.Cache = "https://s3.example.com", 1<<30
	n.files, err = n.withFileCache(store)
	must(t, err)
	t.Cleanup(func() { must(t, n.fileCache.Close()) })
	keys := []string{"media/12/12", "media/12/112", "media/12/112-2", "video/07/7/720p-0-1", "video/07/7/720p-1-1", "cold/1"}
	read := func(key string) {
		t.Helper()
		r, err := n.cachedFiles().Open(t.Context(), key, 10)
		must(t, err)
		b, err := io.ReadAll(r)
		if must(t, r.Close()); err != nil || len(b) != 10 {
			t.Fatalf("%s is read as %d bytes, %v", key, len(b), err)
		}
	}
	for _, key := range keys {
		must(t, n.files.Put(t.Context(), key, bytes.NewReader(make([]byte, 10)), 10))
		read(key)
	}
	left := func() int {
		blocks, _ := n.fileCache.Usage()
		return blocks
	}
	must(t, n.files.Delete(t.Context(), "media/12/112-2"))
	if left() != 4 {
		t.Errorf("%d blocks are left after one file was deleted, not 4", left())
	}
	must(t, n.files.Delete(t.Context(), "cold/1"))
	if left() != 3 {
		t.Errorf("%d blocks are left after two were deleted, not 3", left())
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- n.runFileCache(ctx) }()
	n.handlePurge(clusterevent.Event{Kind: purgeEvent, Detail: edge.VideoTag("7")})
	eventually.True(t, "the video has left", func() bool { return left() == 1 })
	n.handlePurge(clusterevent.Event{Kind: purgeEvent, Detail: edge.PostTag("12")})
	n.handlePurge(clusterevent.Event{Kind: purgeEvent, Detail: edge.FileTag("12")})
	eventually.True(t, "the file has left", func() bool { return left() == 0 })
	cancel()
	must(t, <-done)
	for tag, want := range map[string]bool{edge.FileTag("1"): true, edge.VideoTag("1"): true, edge.PostTag("1"): false} {
		if n.tellsOf(tag) != want {
			t.Errorf("without edges, other nodes are told of %s: %v", tag, !want)
		}
	}
}
