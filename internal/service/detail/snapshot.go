package detail

import (
	"context"
	"database/sql"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// pageAsOf reads a page as of one snapshot of an embedded database. A part that fails, or is not read before the optional ones must be, is missing.
func (s *Service) pageAsOf(ctx, optional context.Context, of *Subject) (page *feedv1.PostPage, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		if of.post, err = s.deps.PostAsOf(ctx, tx, of.Reader, of.ID); err != nil {
			return err
		}
		close(of.known)
		page = &feedv1.PostPage{Post: of.post}
		for i, p := range s.deps.Parts {
			put, err := p.ReadAsOf(optional, tx, of)
			if err == nil {
				err = optional.Err()
			}
			if err != nil {
				s.logMissing(i, err)
				page.Missing = append(page.Missing, p.Kind)
				continue
			}
			put(page)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}
