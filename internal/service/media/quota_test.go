package media_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// exec changes the tables without the service.
func (r *fixture) exec(query string, args ...any) {
	r.t.Helper()
	err := r.deps.DB.Write(r.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(context.WithoutCancel(r.t.Context()), query, args...)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestQuotaTotalIsMaintained: the total is stored, and recounted once a day: for an accepted upload and for a rejected one.
func TestQuotaTotalIsMaintained(t *testing.T) {
	r := open(t, media.Config{Quota: 100})
	create := func(size uint64) error {
		_, err := r.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: size})
		return err
	}
	if err := create(60); err != nil {
		t.Fatal(err)
	}
	// A node of an earlier release stores it.
	r.exec(`INSERT INTO uploads (id, owner, name, declared, created_ms, complete, traced) VALUES (7, $1, 'a', 30, $2, 1, 1)`, int64(alice), r.clock.ms.Load())
	if err := create(20); err != nil {
		t.Errorf("the files were recounted too early: %v", err)
	}
	r.clock.ms.Add((24 * time.Hour).Milliseconds() - 1)
	if err := create(1); err != nil {
		t.Errorf("an upload before a day has passed: %v", err)
	}
	r.clock.ms.Add(1)
	wantError(t, "a day later", create(1), errs.Exhausted, "quota")
	r.exec(`UPDATE uploads SET declared = 1 WHERE id = 7`)
	wantError(t, "again", create(1), errs.Exhausted, "quota")
	r.clock.ms.Add((48 * time.Hour).Milliseconds())
	if err := create(1); err != nil {
		t.Errorf("an upload two days later: %v", err)
	}
	// Bytes stripped at completion, expired files, and dropped uploads no longer count.
	r.clock.ms.Add((72 * time.Hour).Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := r.upload("sent", []byte("sent"))
	if err := r.use(alice, 7, sent.Upload); err != nil {
		t.Fatal(err)
	}
	if err := r.Expired(t.Context(), id.Conversation(7), r.clock.ms.Load()+1+media.Slack.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	if kept, are, err := r.Totals(t.Context(), alice); err != nil || kept != are || kept != [2]int64{1, 0} {
		t.Errorf("the stored total is %v, recounted %v (%v); want the file of the earlier release", kept, are, err)
	}
}

// BenchmarkCreateUpload of users with few files, and with very many.
func BenchmarkCreateUpload(b *testing.B) {
	for _, files := range []int{100, 100_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			r := open(b, media.Config{})
			r.totalsUnchecked = true // incomplete uploads
			r.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) INSERT INTO uploads (id, owner, name, declared, created_ms, complete, traced) SELECT i, 1, 'a', 1, 1, 1, 1 FROM n`, files)
			for n := 0; b.Loop(); n++ {
				if n%400 == 399 {
					r.exec(`UPDATE upload_sums SET unfinished = 0`)
				}
				r.create(alice, "a", 1)
			}
		})
	}
}
