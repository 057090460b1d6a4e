package comment

import (
	"context"
	"database/sql"
	"errors"
)

// HideComment hides a comment from everybody, its author too, or shows it again. A hidden comment is stored as a deleted one whose content is kept apart, so that each read leaves it out.
// A retry is harmless. A comment that its author deleted stays deleted.
func (s *Service) HideComment(ctx context.Context, n uint64, hide bool) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		c, err := getRow(ctx, tx, n)
		if err != nil {
			return err
		}
		change := Change{ID: c.id, SubjectKind: c.kind, Subject: c.subject, Author: c.author, Deleted: hide}
		if hide {
			if c.deleted {
				return nil
			}
			_, hidden := tx.ExecContext(ctx, `UPDATE comments SET deleted = TRUE, hidden_content = content, content = $2 WHERE id = $1`, int64(c.id), []byte{})
			return errors.Join(hidden, s.addCount(ctx, tx, c, -1), s.changed(ctx, tx, change))
		}
		done, err := tx.ExecContext(ctx, `UPDATE comments SET deleted = FALSE, content = hidden_content, hidden_content = NULL WHERE id = $1 AND hidden_content IS NOT NULL`, int64(c.id))
		if err != nil {
			return err
		}
		if shown, err := done.RowsAffected(); err != nil || shown == 0 {
			return err
		}
		return errors.Join(s.addCount(ctx, tx, c, 1), s.changed(ctx, tx, change))
	})
}
