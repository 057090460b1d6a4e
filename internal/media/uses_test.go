package media_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/media"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// use has a user send one upload.
func (r *room) use(by id.User, c id.Conversation, n uint64) error {
	r.t.Helper()
	return r.Use(r.t.Context(), c, []id.User{by}, []id.Upload{id.Upload(n)})[0]
}

// An upload goes with the last message that can have named it: not before, and not where it is more than that.
func TestUploadsGoWithTheLastMessage(t *testing.T) {
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
	if err := r.CheckPicture(ctx, alice, id.Upload(picture)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{one, two, picture} {
		use(7, n)
	}
	r.clock.ms.Add(1000)
	use(8, one)
	use(7, two) // again
	later := r.clock.ms.Load()
	r.clock.ms.Add(48 * time.Hour.Milliseconds())
	left := func(files int, gone ...uint64) {
		t.Helper()
		if err := r.Sweep(ctx); err != nil || r.files() != files {
			t.Errorf("%d files are left, want %d; %v", r.files(), files, err)
		}
		for _, n := range gone {
			wants(t, "one that is gone", r.use(alice, 9, n), errs.NotFound, "no_upload")
		}
	}
	expired := func(c id.Conversation, beforeMs int64) {
		t.Helper()
		if err := r.Expired(ctx, c, beforeMs+media.Slack.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
	expired(7, later)
	left(4)
	expired(9, later+1)
	left(4)
	expired(7, later+1)
	left(3, two)
	expired(8, later+1)
	left(2, one, two)
	wants(t, "of another user", r.use(bob, 7, picture), errs.NotFound, "no_upload")
	var uses int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM upload_uses`).Scan(&uses); err != nil || uses != 0 {
		t.Errorf("%d uses are left, %v", uses, err)
	}
}

// More than one transaction's worth of uploads goes as well.
func TestManyUploadsGo(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
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
	var left int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM uploads WHERE complete > 0`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d are left, %v", left, err)
	}
}

// Many at once are noted as one by one: those that may not be sent, each with its reason, and the others.
func TestManyUses(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	own, open := r.upload("own", []byte("own")).Upload, r.create(alice, "open", 1).Upload
	var by []id.User
	var uploads []id.Upload
	var want []string
	for i := range 1201 { // of more than one transaction
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
			t.Fatalf("the %d. of many: %v, want %q", i, err, want[i])
		}
	}
	var uses int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM upload_uses`).Scan(&uses); err != nil || uses != 1 {
		t.Errorf("%d uses are noted, %v", uses, err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, err := range r.Use(stopped, 7, by, uploads) {
		if err == nil {
			t.Fatal("what could not be noted may be sent")
		}
	}
}

// A message is stored some time after its upload is noted, and by a clock that may have been set back: its upload is there for
// that long.
func TestUploadsStayABitLonger(t *testing.T) {
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
			t.Errorf("where messages of %d ms later are gone, %d files are left, want %d; %v", step.before-used, r.files(), step.files, err)
		}
	}
}

// Where an upload from before uses were noted was sent, not all is known: it stays.
func TestUploadsFromBeforeUsesStay(t *testing.T) {
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
	clock := &clockByHand{}
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
		t.Errorf("it is gone, and an older message may name it: %v", err)
	}
}
