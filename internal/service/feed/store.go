package feed

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

// errNoPost is the same for a post that does not exist and one that the caller may not see.
var errNoPost = errs.New(errs.NotFound, "no_post", "there is no such post, or it is not for you")

// post is a row of feed_posts.
type post struct {
	id              uint64
	author          id.User
	content         []byte
	audience        feedv1.Audience
	repostOf        uint64
	version         uint32
	created, edited int64
	deleted, hidden bool
	pending         bool
	pushedTo        id.User
	retired         bool // hidden for so long that windows may lack it
}

const postColumns = `id, author, content, audience, repost_of, version, created_ms, edited_ms, deleted, hidden, pending, pushed_to, retired`

func scanPost(scan func(...any) error) (*post, error) {
	p := &post{}
	return p, scan(&p.id, &p.author, &p.content, &p.audience, &p.repostOf, &p.version, &p.created, &p.edited, &p.deleted, &p.hidden, &p.pending, &p.pushedTo, &p.retired)
}

// getPost returns a post, or errNoPost.
func getPost(ctx context.Context, tx *sql.Tx, n uint64) (*post, error) {
	p, err := scanPost(tx.QueryRowContext(ctx, `SELECT `+postColumns+` FROM feed_posts WHERE id = $1`, int64(n)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoPost
	}
	return p, err
}

// getPosts returns those of some posts that exist. The list is not empty.
func getPosts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]*post, error) {
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	found := make(map[uint64]*post, len(list))
	rows, err := tx.QueryContext(ctx, `SELECT `+postColumns+` FROM feed_posts WHERE id IN (`+marks+`)`, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		p, err := scanPost(rows.Scan)
		found[p.id] = p
		return err
	})
	return found, err
}

// contentOf decodes the content of a post.
func contentOf(stored []byte) (*feedv1.PostContent, error) {
	c := &feedv1.PostContent{}
	return c, proto.Unmarshal(stored, c)
}

// replaceAudience replaces the users whom the audience of a post names.
func replaceAudience(ctx context.Context, tx *sql.Tx, n uint64, c *feedv1.PostContent) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM feed_audiences WHERE post = $1`, int64(n)); err != nil {
		return err
	}
	return putAudience(ctx, tx, n, c)
}

// putAudience stores the users whom the audience of a new post names.
func putAudience(ctx context.Context, tx *sql.Tx, n uint64, c *feedv1.PostContent) error {
	for _, u := range c.Users {
		if _, err := tx.ExecContext(ctx, `INSERT INTO feed_audiences (post, member) VALUES ($1, $2)`, int64(n), int64(u)); err != nil {
			return err
		}
	}
	return nil
}

// named returns those of some posts whose audience names a user. The list is not empty.
func named(ctx context.Context, tx *sql.Tx, u id.User, list []uint64) (map[uint64]bool, error) {
	marks, args := sqldb.Placeholders(2, list, func(n uint64) int64 { return int64(n) })
	found := map[uint64]bool{}
	rows, err := tx.QueryContext(ctx, `SELECT post FROM feed_audiences WHERE member = $1 AND post IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		err := rows.Scan(&n)
		found[n] = true
		return err
	})
	return found, err
}

// author is a row of feed_authors.
type author struct {
	lastPost, pushedFrom  uint64
	posts                 uint32
	pulled                bool
	windowMs, windowPosts int64
	windowBefore          int64 // posts of the day before
}

// getAuthor returns the row of an author; an empty one if there is none.
func getAuthor(ctx context.Context, tx *sql.Tx, u id.User) (a author, err error) {
	err = tx.QueryRowContext(ctx, `SELECT last_post, posts, pulled, pushed_from, window_ms, window_posts, window_before FROM feed_authors WHERE author = $1`, int64(u)).
		Scan(&a.lastPost, &a.posts, &a.pulled, &a.pushedFrom, &a.windowMs, &a.windowPosts, &a.windowBefore)
	if errors.Is(err, sql.ErrNoRows) {
		return author{}, nil
	}
	return a, err
}

func putAuthor(ctx context.Context, tx *sql.Tx, u id.User, a *author) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO feed_authors (author, last_post, posts, pulled, pushed_from, window_ms, window_posts, window_before) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (author) DO UPDATE SET last_post = $2, posts = $3, pulled = $4, pushed_from = $5, window_ms = $6, window_posts = $7, window_before = $8`,
		int64(u), int64(a.lastPost), a.posts, a.pulled, int64(a.pushedFrom), a.windowMs, a.windowPosts, a.windowBefore)
	return err
}

// Authors returns the authors of those of some posts that exist, whoever may see them.
func (s *Service) Authors(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]id.User, error) {
	if len(list) == 0 {
		return map[uint64]id.User{}, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE id IN (`+marks+`)`, args...)
	return sqldb.Pairs[uint64, id.User](rows, err)
}

// PublicPosts returns those of some posts that are for everyone, and neither deleted nor hidden, and when they were created.
func (s *Service) PublicPosts(ctx context.Context, tx *sql.Tx, list []uint64) (createdMs map[uint64]int64, err error) {
	if len(list) == 0 {
		return map[uint64]int64{}, nil
	}
	marks, args := sqldb.Placeholders(2, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT id, created_ms FROM feed_posts WHERE audience = $1 AND NOT deleted AND NOT hidden AND id IN (`+marks+`)`,
		append([]any{int64(feedv1.Audience_AUDIENCE_EVERYONE)}, args...)...)
	return sqldb.Pairs[uint64, int64](rows, err)
}
