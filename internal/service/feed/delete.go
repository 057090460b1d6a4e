package feed

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// DeletePost deletes a post for everybody. A post that its author has deleted stays deleted.
func (s *Service) DeletePost(ctx context.Context, by id.User, n uint64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		p, err := getPost(ctx, tx, n)
		switch {
		case err != nil:
			return err
		case p.author != by:
			return errNoPost
		case p.deleted:
			return nil
		}
		a, err := getAuthor(ctx, tx, by)
		if err != nil {
			return err
		}
		a.posts--
		counted := -1
		if p.audience == onlyAuthor {
			counted = 0
		}
		_, updated := tx.ExecContext(ctx, `UPDATE feed_posts SET deleted = TRUE, content = $2, pending = FALSE WHERE id = $1`, int64(n), []byte{})
		_, versions := tx.ExecContext(ctx, `DELETE FROM feed_versions WHERE post = $1`, int64(n))
		_, audience := tx.ExecContext(ctx, `DELETE FROM feed_audiences WHERE post = $1`, int64(n))
		return errors.Join(updated, versions, audience, putAuthor(ctx, tx, by, &a), s.addRepost(ctx, tx, p.repostOf, counted),
			s.changed(ctx, tx, Change{ID: n, Author: by, Deleted: true, RepostOf: p.repostOf}))
	})
	if err == nil {
		s.publishChange(n)
	}
	return err
}
