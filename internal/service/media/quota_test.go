package media_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
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

// TestCreateUploadReadsNoOtherFiles: an upload costs the same whatever the number of the user's files, also the first of a day. A file that was
// put into the table without its total is not seen.
func TestCreateUploadReadsNoOtherFiles(t *testing.T) {
	r := open(t, media.Config{Quota: 100})
	r.totalsUnchecked = true
	create := func(size uint64) error {
		_, err := r.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: size})
		return err
	}
	r.exec(`INSERT INTO uploads (id, owner, name, declared, created_ms, complete, traced) VALUES (7, $1, 'a', 90, $2, 1, 1)`, int64(alice), r.clock.ms.Load())
	for day := range 3 {
		if err := create(20); err != nil {
			t.Errorf("day %d: the files were read: %v", day, err)
		}
		r.clock.ms.Add((24 * time.Hour).Milliseconds())
	}
	wantError(t, "beyond the stored total", create(41), errs.Exhausted, "quota")
}

// TestQuotaTotalIsMaintained: stripped bytes, expired files, and dropped uploads no longer count.
func TestQuotaTotalIsMaintained(t *testing.T) {
	r := open(t, media.Config{Quota: 100})
	create := func(size uint64) error {
		_, err := r.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: size})
		return err
	}
	if err := create(60); err != nil {
		t.Fatal(err)
	}
	wantError(t, "beyond the quota", create(41), errs.Exhausted, "quota")
	r.clock.ms.Add((72 * time.Hour).Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := r.upload("sent", []byte("sent"))
	if err := r.use(alice, 7, sent.Upload); err != nil {
		t.Fatal(err)
	}
	if kept, are, err := r.Totals(t.Context(), alice); err != nil || kept != are || kept != [2]int64{4, 0} {
		t.Errorf("the stored total is %v, recounted %v (%v); want the file that was sent", kept, are, err)
	}
	if err := r.Expired(t.Context(), id.Conversation(7), r.clock.ms.Load()+1+media.Slack.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept, are, err := r.Totals(t.Context(), alice); err != nil || kept != are || kept != [2]int64{0, 0} {
		t.Errorf("the stored total is %v, recounted %v (%v); want nothing", kept, are, err)
	}
}

// TestFilesOfEarlierBuildsAreCounted once, by the migration: a total that exists is kept.
func TestFilesOfEarlierBuildsAreCounted(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	steps := media.Steps()
	if err := db.Migrate(t.Context(), "media", steps[:len(steps)-5]); err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *sql.Tx) error {
		for i, row := range []struct{ owner, declared, complete int64 }{{1, 10, 1}, {1, 20, 0}, {1, 5, 2}, {1, 1000, -1}, {2, 7, 1}, {3, 9, 1}} {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO uploads (id, owner, name, declared, created_ms, complete, traced) VALUES ($1, $2, 'a', $3, 1, $4, 1)`, i+1, row.owner, row.declared, row.complete); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(t.Context(), `INSERT INTO upload_sums (owner, used, unfinished, counted_ms) VALUES (2, 70, 3, 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), "media", steps); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Read().QueryContext(t.Context(), `SELECT owner, used, unfinished FROM upload_sums ORDER BY owner`)
	var got [][3]int64
	if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var r [3]int64
		err := rows.Scan(&r[0], &r[1], &r[2])
		got = append(got, r)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := [][3]int64{{1, 35, 1}, {2, 70, 3}, {3, 9, 0}}; !slices.Equal(got, want) {
		t.Errorf("the totals of users are %v, want %v", got, want)
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
