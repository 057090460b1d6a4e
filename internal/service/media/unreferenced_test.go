package media_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/service/media"
)

// later is a clock for which all files of a test are old.
func later() *clocktest.Manual {
	c := clocktest.NewManual()
	c.Set(time.Now().Add(1000 * time.Hour))
	return c
}

// unreferenced compares the files of the store with the uploads.
func (r *fixture) unreferenced() reconciliation.UnreferencedFiles {
	return reconciliation.UnreferencedFiles{Store: r.store, Owners: []reconciliation.FileOwner{r.FileOwner()}, Clock: later()}
}

// findUnreferenced does a round.
func findUnreferenced(t testing.TB, c reconciliation.UnreferencedFiles) (list []string) {
	t.Helper()
	for at := ""; ; {
		step, err := c.Compare(context.WithoutCancel(t.Context()), at, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range step.Differences {
			list = append(list, d.Subject)
		}
		if at = step.Next; at == "" {
			slices.Sort(list)
			return list
		}
	}
}

// Files without an upload, and those of a complete upload that are not the stored ones, are found in one round and deleted on demand. What an upload has or may get stays, and so does what is not named like a file of uploads.
func TestFilesThatNoUploadNamesAreFound(t *testing.T) {
	r := open(t, media.Config{})
	text, half, dropped := r.upload("one.txt", []byte("some text")).Upload, r.create(alice, "half.txt", 9), r.upload("dropped.txt", []byte("some text")).Upload
	jpg := string(coloured(t, "jpeg"))
	picture := r.upload("one.jpg", []byte(jpg[:2]+exif(binary.LittleEndian, 1)+jpg[2:])).Upload // its second attempt is stored
	if w := r.put(half.Url, []byte("some text")); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	multipart := r.multipart(alice, len(threeParts))
	if w := r.putPart(multipart.Upload, 1, piece(threeParts, 1)); w.Code >= 300 {
		t.Fatalf("status %d, want one below 300: %s", w.Code, w.Body)
	}
	r.exec(`UPDATE uploads SET complete = -2 WHERE id = $1`, int64(dropped))
	c := r.unreferenced()
	if list := findUnreferenced(t, c); len(list) != 0 {
		t.Fatalf("at first the round finds %q", list)
	}
	key := func(n uint64, suffix string) string {
		s := fmt.Sprint(n)
		return "media/" + s[len(s)-2:] + "/" + s + suffix
	}
	want := []string{key(12345, ""), key(12345, "-2"), key(12345, "-t1"), key(text, "-2"), key(text, "-t3"), key(picture, ""), key(picture, "-3")}
	for _, planted := range append(slices.Clone(want), key(half.Upload, "-2"), key(half.Upload, "-t1"), key(multipart.Upload, "-t1"), key(dropped, "-5"), "media/46/12345", "media/45/012345", "media/45/12345-1", "media/45/12345-t", "media/45/other", "media/other") {
		if err := r.store.Put(t.Context(), planted, strings.NewReader("planted"), 7); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	if list := findUnreferenced(t, c); !slices.Equal(list, want) {
		t.Fatalf("the round finds %q, want %q", list, want)
	}
	for _, key := range []string{key(text, ""), key(picture, "-2"), key(half.Upload, ""), key(half.Upload, "-2"), "media/45/other"} {
		if err := c.Repair(t.Context(), key); err != nil { // nothing of this is to be deleted
			t.Fatal(err)
		}
	}
	before := r.files()
	for _, key := range want {
		if err := c.Repair(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.files(); n != before-len(want) {
		t.Errorf("of %d files %d are left", before, n)
	}
	if list := findUnreferenced(t, c); len(list) != 0 {
		t.Errorf("after the repairs the round finds %q", list)
	}
	for _, n := range []uint64{text, picture} {
		if w := r.request(http.MethodGet, r.url(n), nil); w.Code != http.StatusOK {
			t.Errorf("upload %d: %d %s", n, w.Code, w.Body)
		}
	}
}

// sweeping is a store that deletes all unreferenced files before and after each operation of uploads: the worst that operators can do.
type sweeping struct {
	blob.Store
	sweep func()
}

func (s *sweeping) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	s.sweep()
	defer s.sweep()
	return s.Store.Put(ctx, key, r, size)
}

func (s *sweeping) Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	s.sweep()
	return s.Store.Open(ctx, key)
}

func (s *sweeping) Delete(ctx context.Context, key string) error {
	s.sweep()
	defer s.sweep()
	return s.Store.Delete(ctx, key)
}

func (s *sweeping) BeginParts(ctx context.Context, key string) (string, error) {
	s.sweep()
	defer s.sweep()
	return s.Store.BeginParts(ctx, key)
}

func (s *sweeping) PutPart(ctx context.Context, key, session string, p blob.Part, r io.Reader) (string, error) {
	s.sweep()
	defer s.sweep()
	return s.Store.PutPart(ctx, key, session, p, r)
}

func (s *sweeping) JoinParts(ctx context.Context, key, session string, parts []blob.Part) error {
	s.sweep()
	defer s.sweep()
	return s.Store.JoinParts(ctx, key, session, parts)
}

// While uploads of all kinds are stored, completed and dropped, all files that are found without a row are deleted again and again, between any two of their operations and beside them. No upload loses a byte.
func TestUnreferencedFilesAreDeletedDuringUploads(t *testing.T) {
	r := open(t, media.Config{})
	var one sync.Mutex // a listing at a time
	c, sweeps := r.unreferenced(), 0
	sweep := func() {
		one.Lock()
		defer one.Unlock()
		for _, key := range findUnreferenced(t, c) {
			if err := c.Repair(context.WithoutCancel(t.Context()), key); err != nil {
				t.Error(err)
			}
		}
		sweeps++
	}
	r.deps.Store = &sweeping{r.store, sweep}
	var err error
	if r.Service, err = media.New(t.Context(), r.deps, media.Config{}); err != nil {
		t.Fatal(err)
	}
	c.Owners = []reconciliation.FileOwner{r.FileOwner()}
	files := map[uint64][]byte{}
	text := []byte("some text")
	files[r.upload("one.txt", text).Upload] = text
	jpg := string(coloured(t, "jpeg"))
	files[r.upload("one.jpg", []byte(jpg[:2]+exif(binary.LittleEndian, 1)+jpg[2:])).Upload] = nil // it has no metadata any more

	m := r.multipart(alice, len(threeParts))
	for number := range 3 {
		if w := r.putPart(m.Upload, number+1, piece(threeParts, number+1)); w.Code >= 300 {
			t.Fatalf("status %d, want one below 300: %s", w.Code, w.Body)
		}
	}
	r.complete(id.Upload(m.Upload))
	files[m.Upload] = threeParts

	url := r.createTus(len(threeParts))
	for at := 0; at < len(threeParts); { // in pieces, which leave tails of parts
		n := min(3_000_000, len(threeParts)-at)
		if w := r.patch(url, at, bytes.NewReader(threeParts[at:at+n])); w.Code != http.StatusNoContent {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
		}
		at += n
	}
	r.complete(id.Upload(tusUpload(url)))
	files[tusUpload(url)] = threeParts

	preview, err := r.StorePreviewPicture(t.Context(), alice, []byte(jpg), 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	files[uint64(preview)] = []byte(jpg)
	aborted := r.create(alice, "aborted.txt", 9)
	r.put(aborted.Url, text)
	if err := r.AbortUpload(t.Context(), alice, id.Upload(aborted.Upload)); err != nil {
		t.Fatal(err)
	}
	again := r.create(alice, "again.txt", 9) // stored by several requests at once
	var puts sync.WaitGroup
	for range 4 {
		puts.Go(func() { r.put(again.Url, text) })
	}
	puts.Wait()
	r.complete(id.Upload(again.Upload))
	files[again.Upload] = text

	for n, want := range files {
		w := r.request(http.MethodGet, r.url(n), nil)
		if w.Code != http.StatusOK || want != nil && !bytes.Equal(w.Body.Bytes(), want) {
			t.Errorf("upload %d is %d, %d bytes, want %d bytes", n, w.Code, w.Body.Len(), len(want))
		}
	}
	sweep()
	if n := r.files(); n != len(files) || sweeps < 50 {
		t.Errorf("after %d sweeps there are %d files of %d uploads", sweeps, n, len(files))
	}
}
