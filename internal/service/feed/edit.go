package feed

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// maxVersions of a post are kept: beyond them, it cannot be edited.
const maxVersions = 100

var (
	errVersion  = errs.New(errs.Conflict, "version_changed", "the post was edited meanwhile; load it, and edit that version")
	errVersions = errs.New(errs.Exhausted, "too_many_versions", fmt.Sprintf("a post has at most %d versions; publish a new one", maxVersions))
	errRepost   = badPost("an edit shows the same post as before")
)

// own returns a post for its author to change.
func own(ctx context.Context, tx *sql.Tx, by id.User, n uint64) (*post, error) {
	p, err := getPost(ctx, tx, n)
	if err == nil && (p.author != by || p.deleted || p.hidden) {
		err = errNoPost
	}
	return p, err
}

// EditPost replaces the content of a post, and keeps the earlier one.
func (s *Service) EditPost(ctx context.Context, by id.User, r *feedv1.EditPostRequest) (*feedv1.Post, error) {
	return s.editReviewed(ctx, by, r, false)
}

// editReviewed is EditPost. Of an edit that a moderator has allowed the webhook is not asked.
func (s *Service) editReviewed(ctx context.Context, by id.User, r *feedv1.EditPostRequest, allowed bool) (*feedv1.Post, error) {
	content, err := s.checkContent(ctx, by, r.Content)
	if err == nil && !allowed {
		err = s.reviewEdit(ctx, by, r, content)
	}
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.edit(ctx, tx, by, r, content) })
	if err != nil {
		return nil, err
	}
	s.publishChange(r.Post)
	return s.flagged(s.GetPost(ctx, by, r.Post))
}

// editable returns a post of its author that a content may replace.
func editable(ctx context.Context, tx *sql.Tx, by id.User, r *feedv1.EditPostRequest, content *feedv1.PostContent) (*post, error) {
	p, err := own(ctx, tx, by, r.Post)
	switch {
	case err != nil:
	case r.Version != 0 && r.Version != p.version:
		err = errVersion
	case p.version >= maxVersions:
		err = errVersions
	case content.RepostOf != p.repostOf:
		err = errRepost
	}
	return p, err
}

func (s *Service) edit(ctx context.Context, tx *sql.Tx, by id.User, r *feedv1.EditPostRequest, content *feedv1.PostContent) error {
	p, err := editable(ctx, tx, by, r, content)
	if err != nil {
		return err
	}
	if err := s.keepFiles(ctx, tx, by, content); err != nil {
		return err
	}
	stored, err := encode(content)
	if err != nil {
		return err
	}
	now, audience := s.nowMs(), content.Audience
	switch p.audience {
	case feedv1.Audience_AUDIENCE_EVERYONE, feedv1.Audience_AUDIENCE_EXCEPT: // what a limited author published before stays visible
	case onlyAuthor:
		audience = onlyAuthor
	default:
		audience = s.storedAudience(by, content)
	}
	if audience == onlyAuthor && p.audience != onlyAuthor {
		if err := s.addRepost(ctx, tx, p.repostOf, -1); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE feed_posts SET content = $2, audience = $3, version = $4, edited_ms = $5 WHERE id = $1`,
		int64(p.id), stored, int64(audience), p.version+1, now); err != nil {
		return err
	}
	if err := replaceAudience(ctx, tx, p.id, content); err != nil {
		return err
	}
	if err := putVersion(ctx, tx, p.id, p.version+1, stored, now); err != nil {
		return err
	}
	before, err := contentOf(p.content)
	if err != nil {
		return err
	}
	change := Change{ID: p.id, Author: by}
	if audience != onlyAuthor {
		change.Mentioned, change.Unmentioned = message.ChangedMentions(before.Mentions, content.Mentions)
	}
	return s.changed(ctx, tx, change)
}

func putVersion(ctx context.Context, tx *sql.Tx, n uint64, version uint32, content []byte, now int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO feed_versions (post, version, content, time_ms) VALUES ($1, $2, $3, $4)`, int64(n), version, content, now)
	return err
}

// maxVersionBytes of contents are in a page, and at least one content.
const maxVersionBytes = 512 << 10

// ListVersions returns a page of the contents of a post of the caller, the newest first.
func (s *Service) ListVersions(ctx context.Context, by id.User, r *feedv1.ListVersionsRequest) (out *feedv1.ListVersionsResponse, err error) {
	before := int64(r.Before)
	if before == 0 {
		before = maxVersions + 1
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &feedv1.ListVersionsResponse{}
		if _, err := own(ctx, tx, by, r.Post); err != nil {
			return err
		}
		size := 0
		rows, err := tx.QueryContext(ctx, `SELECT version, content, time_ms FROM feed_versions WHERE post = $1 AND version < $2 ORDER BY version DESC`, int64(r.Post), before)
		return sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			v := &feedv1.PostVersion{}
			var stored []byte
			if err := rows.Scan(&v.Version, &stored, &v.TimeMs); err != nil || out.Next != 0 {
				return err
			}
			if size += len(stored); size > maxVersionBytes && len(out.Versions) > 0 {
				out.Next = v.Version + 1
				return nil
			}
			v.Content, err = contentOf(stored)
			out.Versions = append(out.Versions, v)
			return err
		})
	})
	return out, err
}
