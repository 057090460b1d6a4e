package detail_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/service/detail"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// A page of an embedded database is as of one snapshot: a part that changes after the post was read is as it was before. It goes without parts that fail, and without those
// that are not read in time.
func TestAPageOfOneSnapshot(t *testing.T) {
	db, err := sqldb.Open(t.Context(), filepath.Join(t.TempDir(), "records.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context(), "names", []string{`CREATE TABLE names (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`, `INSERT INTO names (n, name) VALUES (5, 'old')`}); err != nil {
		t.Fatal(err)
	}
	var postErr, countErr error
	rename := func() error {
		return db.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `UPDATE names SET name = name || '+'`)
			return err
		})
	}
	service := detail.New(detail.Deps{DB: db, Logger: slog.New(slog.DiscardHandler),
		PostAsOf: func(_ context.Context, _ *sql.Tx, reader id.User, n uint64) (*feedv1.Post, error) {
			return &feedv1.Post{Id: n, Author: uint64(reader) + 1}, errors.Join(postErr, rename())
		},
		Parts: []detail.Part{
			{Kind: count, ReadAsOf: func(context.Context, *sql.Tx, *detail.Subject) (func(*feedv1.PostPage), error) {
				return func(p *feedv1.PostPage) { p.Post.Comments = 7 }, countErr
			}},
			{Kind: author, ReadAsOf: func(ctx context.Context, tx *sql.Tx, of *detail.Subject) (func(*feedv1.PostPage), error) {
				post, err := of.Post(ctx)
				if err != nil {
					return nil, err
				}
				u := &accountv1.User{Id: post.Author}
				err = tx.QueryRowContext(ctx, `SELECT name FROM names WHERE n = $1`, int64(u.Id)).Scan(&u.DisplayName)
				return func(p *feedv1.PostPage) { p.Author = u }, err
			}},
		}})
	read := func() (*feedv1.PostPage, error) {
		return service.PostPage(t.Context(), 4, &feedv1.GetPostPageRequest{Post: 9})
	}
	page, err := read()
	if err != nil || page.Post.GetComments() != 7 || page.Author.GetDisplayName() != "old" || len(page.Missing) > 0 {
		t.Errorf("the page is %v, %v", page, err)
	}
	countErr = errBroken
	if page, err = read(); err != nil || page.Post.GetId() != 9 || page.Author.GetDisplayName() != "old+" || !slices.Equal(page.Missing, []feedv1.PostPagePart{count}) {
		t.Errorf("with a part that fails, the page is %v, %v, want it without the counts, which it names as missing", page, err)
	}
	service.SetTimeout(time.Nanosecond)
	if page, err = read(); err != nil || page.Post.GetId() != 9 || page.Author != nil || !slices.Equal(page.Missing, []feedv1.PostPagePart{count, author}) {
		t.Errorf("without time for parts, the page is %v, %v", page, err)
	}
	postErr = errs.New(errs.NotFound, "no_post", "")
	if page, err = read(); page != nil || !errs.Is(err, errs.NotFound) {
		t.Errorf("without its post, the page is %v, %v", page, err)
	}
}
