package media_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// use sends one upload.
func (r *fixture) use(by id.User, c id.Conversation, n uint64) error {
	r.t.Helper()
	return r.Use(r.t.Context(), c, []id.User{by}, []id.Upload{id.Upload(n)})[0]
}

// An upload is dropped with the last message that can refer to it: not before, and not if it is also used otherwise.
func TestUploadsExpireWithTheLastMessage(t *testing.T) {
	r, ctx := open(t, media.Config{Quota: 1000}), t.Context()
	use := func(c id.Conversation, n uint64) {
		t.Helper()
		if err := r.use(alice, c, n); err != nil {
			t.Fatal(err)
		}
	}
	one, two := r.upload("one", []byte("one")).Upload, r.upload("two", []byte("two")).Upload
	r.upload("never sent", []byte("never sent"))
	picture := r.upload("picture", picture(t, "png", 2, 2)).Upload
	if err := r.KeepPicture(ctx, alice, id.Upload(picture)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{one, two, picture} {
		use(7, n)
	}
	r.clock.ms.Add(1000)
	use(8, one)
	use(7, two) // repeated
	later := r.clock.ms.Load()
	r.clock.ms.Add(48 * time.Hour.Milliseconds())
	remaining := func(files int, gone ...uint64) {
		t.Helper()
		if err := r.Sweep(ctx); err != nil || r.files() != files {
			t.Errorf("%d files remain, want %d; %v", r.files(), files, err)
		}
		for _, n := range gone {
			wantError(t, "one that is gone", r.use(alice, 9, n), errs.NotFound, "no_upload")
		}
	}
	expired := func(c id.Conversation, beforeMs int64) {
		t.Helper()
		if err := r.Expired(ctx, c, beforeMs+media.Slack.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
	expired(7, later)
	remaining(4)
	expired(9, later+1)
	remaining(4)
	expired(7, later+1)
	remaining(3, two)
	expired(8, later+1)
	remaining(2, one, two)
	wantError(t, "of another user", r.use(bob, 7, picture), errs.NotFound, "no_upload")
	var uses int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM upload_uses`).Scan(&uses); err != nil || uses != 0 {
		t.Errorf("%d uses remain (%v)", uses, err)
	}
}

// The picture of a preview is kept for a month until its message is sent, and then as long as the message.
func TestPreviewPicturesThatWereNotSentExpire(t *testing.T) {
	r, ctx := open(t, media.Config{Quota: 1000}), t.Context()
	store := func() id.Upload {
		t.Helper()
		n, err := r.StorePreviewPicture(ctx, alice, make([]byte, 300), 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sent, unsent := store(), store()
	if err := r.use(alice, 7, uint64(sent)); err != nil {
		t.Fatal(err)
	}
	r.messages[5] = &chatv1.Message{Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "t"}, LinkPreview: &chatv1.LinkPreview{Picture: uint64(sent)}}}
	d, err := r.GetDownload(ctx, bob, &chatv1.GetDownloadRequest{Upload: uint64(sent), Conversation: 7, Seq: 5})
	if err != nil {
		t.Fatal(err)
	}
	if w := r.request("GET", d.Url, nil); w.Code != 200 || w.Header().Get("Content-Type") != "image/jpeg" || w.Body.Len() != 300 {
		t.Errorf("the picture is %d %v", w.Code, w.Header())
	}
	_, err = r.GetDownload(ctx, bob, &chatv1.GetDownloadRequest{Upload: uint64(unsent), Conversation: 7, Seq: 5})
	wantError(t, "another picture", err, errs.NotFound, "no_upload")
	for _, step := range []struct {
		after time.Duration
		files int
	}{{29 * 24 * time.Hour, 2}, {3 * 24 * time.Hour, 1}, {365 * 24 * time.Hour, 1}} {
		r.clock.ms.Add(step.after.Milliseconds())
		for range 2 { // the first marks what the second drops
			if err := r.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.files(); n != step.files {
			t.Errorf("after %v more, %d pictures are kept, want %d", step.after, n, step.files)
		}
	}
	wantError(t, "the one that was not sent", r.use(alice, 7, uint64(unsent)), errs.NotFound, "no_upload")
	store()
	store()
	_, err = r.StorePreviewPicture(ctx, alice, make([]byte, 300), 1, 1)
	wantError(t, "beyond the quota", err, errs.Exhausted, "quota")
}

// A file of a scheduled message is kept until a month after the latest time for which it was scheduled, however long ago its other messages expired.
func TestFilesOfScheduledMessagesExpire(t *testing.T) {
	r, ctx := open(t, media.Config{Quota: 1000}), t.Context()
	const day = 24 * time.Hour
	keep := func(by id.User, n uint64, in time.Duration) error {
		return r.KeepScheduled(ctx, by, []id.Upload{id.Upload(n)}, r.clock.ms.Load()+in.Milliseconds())
	}
	cancelled, sent := r.upload("cancelled", []byte("cancelled")).Upload, r.upload("sent", []byte("sent")).Upload
	for n, times := range map[uint64][]time.Duration{cancelled: {60 * day, 10 * day}, sent: {10 * day}} {
		if err := r.use(alice, 7, n); err != nil {
			t.Fatal(err)
		}
		for _, in := range times {
			if err := keep(alice, n, in); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantError(t, "of another user", keep(bob, sent, day), errs.NotFound, "no_upload")
	if err := r.Expired(ctx, 7, r.clock.ms.Load()+day.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	if err := r.use(alice, 8, sent); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		files int
	}{{89 * day, 2}, {2 * day, 1}, {365 * day, 1}} {
		r.clock.ms.Add(step.after.Milliseconds())
		if err := r.Sweep(ctx); err != nil || r.files() != step.files {
			t.Errorf("after %v more, %d files are kept, want %d; %v", step.after, r.files(), step.files, err)
		}
	}
	wantError(t, "one that is gone", keep(alice, cancelled, day), errs.NotFound, "no_upload")
}

// More uploads than one transaction's batch are dropped as well.
func TestManyUploadsExpire(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	r.totalsUnchecked = true // the rows below are not counted
	n := r.upload("a", []byte("a")).Upload
	const many = 1234
	now := r.clock.ms.Load()
	err := r.deps.DB.Write(ctx, func(tx *sql.Tx) error { // rows as they are, without the files
		for i := range many {
			if _, err := tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, complete, traced) VALUES ($1, 1, 'a', 1, 1, 1, 1)`, i+1); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO upload_uses (upload, conversation, used_ms) VALUES ($1, 7, $2)`, i+1, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.use(alice, 8, n); err != nil {
		t.Fatal(err)
	}
	if err := r.Expired(ctx, 7, now+1+media.Slack.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	var remaining int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM uploads WHERE complete > 0`).Scan(&remaining); err != nil || remaining != 1 {
		t.Errorf("%d uploads remain (%v)", remaining, err)
	}
}

// One call with many uses has the same results as one call each: the rejected ones, each with its reason, and the others.
func TestManyUses(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	own, open := r.upload("own", []byte("own")).Upload, r.create(alice, "open", 1).Upload
	var by []id.User
	var uploads []id.Upload
	var want []string
	for i := range 1201 { // more than one transaction
		u, n, reason := alice, own, ""
		switch i % 4 {
		case 1:
			u, reason = bob, "no_upload"
		case 2:
			n, reason = open, "upload_not_complete"
		case 3:
			n, reason = 12345, "no_upload"
		}
		by, uploads, want = append(by, u), append(uploads, id.Upload(n)), append(want, reason)
	}
	for i, err := range r.Use(ctx, 7, by, uploads) {
		reason := ""
		if err != nil {
			reason = errs.Of(err).Reason
		}
		if reason != want[i] {
			t.Fatalf("upload %d of many: %v, want %q", i, err, want[i])
		}
	}
	var uses int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM upload_uses`).Scan(&uses); err != nil || uses != 1 {
		t.Errorf("%d uses are recorded (%v)", uses, err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, err := range r.Use(stopped, 7, by, uploads) {
		if err == nil {
			t.Fatal("an upload whose use could not be recorded may be sent")
		}
	}
}

// A message is stored some time after its use is recorded, and the clock may be set back in between. The upload is kept
// for that time.
func TestUploadsOutliveMessagesBySlack(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	n := r.upload("a", []byte("a")).Upload
	if err := r.use(alice, 7, n); err != nil {
		t.Fatal(err)
	}
	used := r.clock.ms.Load()
	r.clock.ms.Add(48 * time.Hour.Milliseconds())
	for _, step := range []struct {
		before int64
		files  int
	}{{used + time.Minute.Milliseconds(), 1}, {used + media.Slack.Milliseconds(), 1}, {used + media.Slack.Milliseconds() + 1, 0}} {
		if err := r.Expired(ctx, 7, step.before); err != nil {
			t.Fatal(err)
		}
		if err := r.Sweep(ctx); err != nil || r.files() != step.files {
			t.Errorf("after the messages until %d ms later have expired, %d files remain, want %d; %v", step.before-used, r.files(), step.files, err)
		}
	}
}

// For an upload from before uses were recorded, not all uses are known. It is kept.
func TestUntracedUploadsAreKept(t *testing.T) {
	ctx, place := t.Context(), sqltest.Place(t)
	db, err := sqldb.Open(ctx, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(ctx, "media", media.Steps()[:4]); err != nil {
		t.Fatal(err)
	}
	err = db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, stored, complete) VALUES (5, 1, 'a', 1, 1, 1, 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	clock := &manualClock{}
	clock.ms.Store(1_800_000_000_000)
	s, err := media.New(ctx, media.Deps{DB: db, Clock: clock}, media.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Use(ctx, 7, []id.User{alice}, []id.Upload{5})[0]; err != nil {
		t.Fatal(err)
	}
	if err := s.Expired(ctx, 7, clock.ms.Load()+2*media.Slack.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx, alice, 5); err != nil {
		t.Errorf("an upload was dropped that an older message may refer to: %v", err)
	}
}
