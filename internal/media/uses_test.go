package media_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/media"
)

// An upload goes with the last message that can have named it: not before, and not where it is more than that.
func TestUploadsGoWithTheLastMessage(t *testing.T) {
	r, ctx := open(t, media.Config{Quota: 1000}), t.Context()
	use := func(c id.Conversation, n uint64) {
		t.Helper()
		if err := r.Use(ctx, alice, c, id.Upload(n)); err != nil {
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
			wants(t, "one that is gone", r.Use(ctx, alice, 9, id.Upload(n)), errs.NotFound, "no_upload")
		}
	}
	expired := func(c id.Conversation, beforeMs int64) {
		t.Helper()
		if err := r.Expired(ctx, c, beforeMs); err != nil {
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
	wants(t, "of another user", r.Use(ctx, bob, 7, id.Upload(picture)), errs.NotFound, "no_upload")
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
			if _, err := tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, complete) VALUES ($1, 1, 'a', 1, 1, 1)`, i+1); err != nil {
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
	if err := r.Use(ctx, alice, 8, id.Upload(n)); err != nil {
		t.Fatal(err)
	}
	if err := r.Expired(ctx, 7, now+1); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM uploads WHERE complete > 0`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d are left, %v", left, err)
	}
}
