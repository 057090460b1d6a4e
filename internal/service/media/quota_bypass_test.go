package media_test

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
)

// TestReleasedBytesCount for the quota until they are deleted, which is soon: whoever makes and deletes again and again fills no disk.
func TestReleasedBytesCount(t *testing.T) {
	file := threeParts[:1000]
	for what, release := range map[string]func(r *fixture){
		"a concatenation": func(r *fixture) {
			url := r.createTus(len(file), "Upload-Concat: partial")
			if w := r.patch(url, 0, bytes.NewReader(file)); w.Code != http.StatusNoContent {
				t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
			}
			concat := "Upload-Concat: final;" + url
			final := r.createTus(0, concat)
			if w := r.tus(http.MethodDelete, final, nil); w.Code != http.StatusNoContent {
				t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
			}
		},
		"a video": func(r *fixture) {
			n := id.Upload(r.upload("a video", file).Upload)
			r.inTransaction(func(tx *sql.Tx) error { return r.KeepVideoWith(t.Context(), tx, alice, n) })
			r.inTransaction(func(tx *sql.Tx) error { return r.ReleaseVideoWith(t.Context(), tx, n) })
		},
		"expired messages": func(r *fixture) {
			if err := r.use(alice, 7, r.upload("sent", file).Upload); err != nil {
				t.Fatal(err)
			}
			if err := r.Expired(t.Context(), 7, r.clock.ms.Load()+1+media.Slack.Milliseconds()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := open(t, media.Config{})
			state := func(used int64, files int) {
				t.Helper()
				if kept, are, err := r.Totals(t.Context(), alice); err != nil || kept != are || kept != [2]int64{used, 0} || r.files() != files {
					t.Errorf("the total is %v, recounted %v (%v), with %d files; want %d bytes in %d", kept, are, err, r.files(), used, files)
				}
			}
			release(r)
			state(1000, 1)
			if err := r.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			state(0, 0)
		})
	}
}

// TestReleasedBytesAreDeletedSoon by a service that runs, also on a node that is not the coordinator. The concatenation can still be repeated.
func TestReleasedBytesAreDeletedSoon(t *testing.T) {
	r := open(t, media.Config{})
	r.deps.IsCoordinator = func() bool { return false }
	r.restart()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	url := r.createTus(1000, "Upload-Concat: partial")
	if w := r.patch(url, 0, bytes.NewReader(threeParts[:1000])); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	final := r.createTus(0, "Upload-Concat: final;"+url)
	eventually.True(t, "the partial upload is deleted", func() bool { kept, _, err := r.Totals(ctx, alice); return err == nil && kept == [2]int64{1000, 1} })
	if again := r.createTus(0, "Upload-Concat: final;"+url); again != final {
		t.Errorf("the repeated request made %s, the first %s", again, final)
	}
}

// inTransaction changes something in a transaction.
func (r *fixture) inTransaction(do func(tx *sql.Tx) error) {
	r.t.Helper()
	if err := r.deps.DB.Write(r.t.Context(), do); err != nil {
		r.t.Fatal(err)
	}
}
