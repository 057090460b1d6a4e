package feed

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// An import publishes posts with their original times (docs/decisions/0150-imported-posts.md). Their ids are drawn now, so that those of an author rise in the order of the commits.
// Nobody is notified, and neither the daily limit nor reviews apply. The key that a post has in the source is in its row: a repetition stores nothing.

// ImportPost publishes a post with a video (0: none), or stores its next version. Its key and its time are valid. It reports whether the version was stored before.
func (s *Service) ImportPost(ctx context.Context, r *operationv1.InterchangePost, video uint64) (duplicate bool, err error) {
	by := id.User(r.Author)
	sent := r.Content
	if sent != nil {
		sent.RepostOf, sent.Video = 0, video
		if r.RepostKey != "" {
			sent.RepostOf = 1 // what the key names, which the transaction reads
		}
	}
	content, err := checkFields(by, sent)
	if err != nil {
		return false, err
	}
	if p := content.LinkPreview; p != nil {
		if p.Signature = nil; p.Url == "" || p.Url != content.Link {
			return false, errPreview
		}
	}
	if err := errors.Join(s.deps.Graph.Exist(ctx, []id.User{by}), s.checkNamed(ctx, content)); err != nil {
		return false, err
	}
	var n uint64
	if r.Version > 1 {
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			n, duplicate, err = s.importVersion(ctx, tx, r, content)
			return err
		})
	} else if n, duplicate, err = s.importFirst(ctx, r, content); err == nil && !duplicate {
		s.deps.Jobs.Wake()
	}
	if err != nil {
		return false, err
	}
	if err := s.deps.Graph.Exist(ctx, []id.User{by}); err != nil { // erased meanwhile: the erasure may have missed it
		return false, errors.Join(err, s.DeletePost(ctx, by, n))
	}
	return duplicate, nil
}

// importFirst publishes a post. Its id is drawn as in write.
func (s *Service) importFirst(ctx context.Context, r *operationv1.InterchangePost, content *feedv1.PostContent) (n uint64, duplicate bool, err error) {
	for range clockWaits {
		drawn, err := s.deps.IDs.Next(ctx)
		if err != nil {
			return 0, false, err
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			n, duplicate, err = s.importNew(ctx, tx, drawn, r, content)
			return err
		})
		if !errors.Is(err, errClockBehind) {
			return n, duplicate, err
		}
		if err := backoff.Sleep(ctx, s.sizes.clockWait); err != nil {
			return 0, false, err
		}
	}
	return 0, false, errClocks
}

// postByKey returns the id of an imported post, 0 if there is none.
func postByKey(ctx context.Context, tx *sql.Tx, key string) (n uint64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id FROM feed_posts WHERE import_key = $1`, key).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

func (s *Service) importNew(ctx context.Context, tx *sql.Tx, n uint64, r *operationv1.InterchangePost, content *feedv1.PostContent) (stored uint64, duplicate bool, err error) {
	by := id.User(r.Author)
	if stored, err = postByKey(ctx, tx, r.Key); err != nil || stored != 0 {
		return stored, true, err
	}
	if err := s.admitImported(ctx, tx, r, content); err != nil {
		return 0, false, err
	}
	a, err := getAuthor(ctx, tx, by)
	if err != nil {
		return 0, false, err
	}
	followers, _, err := s.deps.Graph.FollowCounts(ctx, tx, by)
	if err != nil {
		return 0, false, err
	}
	if n <= a.lastPost {
		return 0, false, errClockBehind
	}
	s.chooseTier(&a, followers)
	a.lastPost = n
	a.posts++
	if err := putAuthor(ctx, tx, by, &a); err != nil {
		return 0, false, err
	}
	pending := !a.pulled && !r.Hidden
	if err := s.insertImported(ctx, tx, n, r, content, pending); err != nil || !pending {
		return n, false, err
	}
	first := push{Post: n, Ordinary: followers <= s.sizes.ordinaryFollowers, Again: true} // nobody is told
	_, err = s.deps.Jobs.InsertTx(ctx, tx, first, first.options())
	return n, false, err
}

// admitImported checks what a content names, as of the transaction, and writes the id of what it shows.
func (s *Service) admitImported(ctx context.Context, tx *sql.Tx, r *operationv1.InterchangePost, content *feedv1.PostContent) error {
	content.RepostOf = 0
	if r.RepostKey != "" {
		original, err := postByKey(ctx, tx, r.RepostKey)
		if err != nil {
			return err
		}
		p, err := getPost(ctx, tx, original)
		if err == nil && p.deleted {
			err = errNoPost
		}
		if err != nil {
			return err
		}
		content.RepostOf = original
	}
	return s.keepFiles(ctx, tx, id.User(r.Author), content)
}

func importedAudience(r *operationv1.InterchangePost, content *feedv1.PostContent) feedv1.Audience {
	if r.Limited {
		return onlyAuthor
	}
	return content.Audience
}

// insertImported stores the rows of a post. Windows lack one that is hidden.
func (s *Service) insertImported(ctx context.Context, tx *sql.Tx, n uint64, r *operationv1.InterchangePost, content *feedv1.PostContent, pending bool) error {
	stored, err := encode(content)
	if err != nil {
		return err
	}
	audience := importedAudience(r, content)
	if _, err := tx.ExecContext(ctx, `INSERT INTO feed_posts (id, author, token, request, content, audience, repost_of, created_ms, pending, hidden, retired, import_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)`,
		int64(n), int64(r.Author), strconv.FormatUint(n, 10), []byte{}, stored, int64(audience), int64(content.RepostOf), r.TimeMs, pending, r.Hidden, r.Key); err != nil {
		return err
	}
	if err := errors.Join(putAudience(ctx, tx, n, content), putVersion(ctx, tx, n, 1, stored, r.TimeMs)); err != nil {
		return err
	}
	if audience != onlyAuthor {
		if err := s.addRepost(ctx, tx, content.RepostOf, 1); err != nil {
			return err
		}
	}
	return s.changed(ctx, tx, Change{ID: n, Author: id.User(r.Author), RepostOf: content.RepostOf})
}

// importVersion stores the next version of an imported post.
func (s *Service) importVersion(ctx context.Context, tx *sql.Tx, r *operationv1.InterchangePost, content *feedv1.PostContent) (n uint64, duplicate bool, err error) {
	if n, err = postByKey(ctx, tx, r.Key); err != nil {
		return 0, false, err
	}
	p, err := getPost(ctx, tx, n)
	switch {
	case err != nil:
		return 0, false, err
	case p.author != id.User(r.Author):
		return 0, false, errNoPost
	case p.version >= r.Version:
		return n, true, nil
	case p.deleted:
		return 0, false, errNoPost
	case p.version+1 != r.Version:
		return 0, false, errVersion
	case r.Version > maxVersions:
		return 0, false, errVersions
	}
	if err := s.admitImported(ctx, tx, r, content); err != nil {
		return 0, false, err
	}
	if content.RepostOf != p.repostOf {
		return 0, false, errRepost
	}
	stored, err := encode(content)
	if err != nil {
		return 0, false, err
	}
	audience := importedAudience(r, content)
	if p.audience == onlyAuthor {
		audience = onlyAuthor
	}
	_, err = tx.ExecContext(ctx, `UPDATE feed_posts SET content = $2, audience = $3, version = $4, edited_ms = $5 WHERE id = $1`, int64(n), stored, int64(audience), r.Version, r.TimeMs)
	return n, false, errors.Join(err, replaceAudience(ctx, tx, n, content), putVersion(ctx, tx, n, r.Version, stored, r.TimeMs), s.changed(ctx, tx, Change{ID: n, Author: p.author}))
}

// ExportPosts returns a page of the versions of all posts that were not deleted. Those that were published here get keys by their ids.
func (s *Service) ExportPosts(ctx context.Context, r *operationv1.ExportPostsRequest) (out *operationv1.ExportPostsResponse, err error) {
	limit := outputlimit.LargePageSize(r.Limit)
	out = &operationv1.ExportPostsResponse{}
	if r.After == 0 {
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM feed_versions`).Scan(&out.Total); err != nil {
			return nil, err
		}
	}
	size := 0
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT v.post, v.version, v.content, v.time_ms, p.author, coalesce(p.import_key, 'rialto:post:' || p.id), p.hidden, p.audience, coalesce(o.import_key, 'rialto:post:' || o.id, '')
		FROM feed_versions v JOIN feed_posts p ON p.id = v.post LEFT JOIN feed_posts o ON o.id = p.repost_of AND NOT o.deleted
		WHERE (v.post, v.version) > ($1, $2) AND NOT p.deleted ORDER BY v.post, v.version LIMIT $3`, int64(r.After), r.AfterVersion, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		p := &operationv1.InterchangePost{}
		var stored []byte
		var audience feedv1.Audience
		if err := rows.Scan(&p.Post, &p.Version, &stored, &p.TimeMs, &p.Author, &p.Key, &p.Hidden, &audience, &p.RepostKey); err != nil || size > outputlimit.LargePageBytes {
			return err
		}
		size += len(stored)
		p.Limited = audience == onlyAuthor
		if p.Content, err = contentOf(stored); err == nil {
			p.Content.RepostOf = 0
			out.Posts = append(out.Posts, p)
		}
		return err
	})
	return out, err
}

// PostKeys returns the keys in an export of those of some posts that were not deleted.
func (s *Service) PostKeys(ctx context.Context, list []uint64) (map[uint64]string, error) {
	if len(list) == 0 {
		return map[uint64]string{}, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, coalesce(import_key, 'rialto:post:' || id) FROM feed_posts WHERE NOT deleted AND id IN (`+marks+`)`, args...)
	return sqldb.Pairs[uint64, string](rows, err)
}

// ImportedPosts returns those of some posts that were imported and not deleted, by their keys.
func (s *Service) ImportedPosts(ctx context.Context, keys []string) (map[string]uint64, error) {
	if len(keys) == 0 {
		return map[string]uint64{}, nil
	}
	marks, args := sqldb.Placeholders(1, keys, func(key string) string { return key })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT import_key, id FROM feed_posts WHERE NOT deleted AND import_key IN (`+marks+`)`, args...)
	return sqldb.Pairs[string, uint64](rows, err)
}
