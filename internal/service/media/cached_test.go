package media_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"github.com/rialto-im/rialto/internal/service/media"
)

// TestFilesComeFromCopies once they were read, but only to those who may read them. A file that its store has lost is an error, not an empty answer. Who keeps
// copies elsewhere is told before a file is deleted.
func TestFilesComeFromCopies(t *testing.T) {
	r := open(t, media.Config{})
	cache, err := blockcache.Open(blockcache.Config{Dir: filepath.Join(t.TempDir(), "cache")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() }) // it cannot fail
	var dropped []id.Upload
	r.deps.Files = blockcache.Blobs{Cache: cache, Store: diskblob.View(r.dir)}
	r.deps.Dropped = func(_ context.Context, n id.Upload) error {
		dropped = append(dropped, n)
		return nil
	}
	if r.Service, err = media.New(t.Context(), r.deps, media.Config{}); err != nil {
		t.Fatal(err)
	}
	file := bytes.Repeat([]byte("a long text. "), 200_000)
	done, other := r.upload("a", file), r.upload("b", []byte("another"))
	for range 2 {
		if w := r.request(http.MethodGet, r.url(done.Upload), nil); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), file) {
			t.Errorf("the file is answered with %d and %d bytes", w.Code, w.Body.Len())
		}
	}
	if s := cache.Stats(); s.Fetches.Load() != 3 || s.Hits.Load() != 3 {
		t.Errorf("%d blocks came from the store, %d from copies", s.Fetches.Load(), s.Hits.Load())
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if w := r.request(http.MethodGet, r.url(other.Upload), nil); w.Code != http.StatusNotFound {
		t.Errorf("a lost file is answered with %d and %d bytes", w.Code, w.Body.Len())
	}
	target := r.url(done.Upload)
	if _, err := r.UserData().EraseUser(t.Context(), alice, ""); err != nil {
		t.Fatal(err)
	}
	slices.Sort(dropped)
	if !slices.Equal(dropped, []id.Upload{id.Upload(done.Upload), id.Upload(other.Upload)}) {
		t.Errorf("dropped are %v", dropped)
	}
	if w := r.request(http.MethodGet, target, nil); w.Code != http.StatusNotFound {
		t.Errorf("a copy of a deleted file is answered with %d", w.Code)
	}
}
