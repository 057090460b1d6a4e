package engagement

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"google.golang.org/protobuf/proto"
)

// pageToken is the form of a page token: the time and the id behind which the page begins.
const pageToken = "%d.%d"

// positionOf returns the place where a page begins.
func positionOf(token string) (at counter.Position, err error) {
	if token == "" {
		return at, nil
	}
	if _, err := fmt.Sscanf(token, pageToken, &at.AtMs, &at.ID); err != nil || at.AtMs <= 0 || at.ID > math.MaxInt64 || tokenOf(at) != token {
		return at, pagetoken.ErrBad
	}
	return at, nil
}

func tokenOf(at counter.Position) string { return fmt.Sprintf(pageToken, at.AtMs, at.ID) }

// source returns at most limit posts behind a position, the latest first.
type source func(ctx context.Context, tx *sql.Tx, behind counter.Position, limit int) ([]counter.Subject, error)

// listPosts returns a page of a source: the posts that a reader may see.
func (s *Service) listPosts(ctx context.Context, reader id.User, token string, limit uint32, from source) (out *engagementv1.PostList, err error) {
	first, err := positionOf(token)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		posts, next, err := outputlimit.FillPage(outputlimit.SmallPageSize(limit), first, func(behind counter.Position, n int) ([]postRow, error) {
			list, err := from(ctx, tx, behind, n)
			if err != nil {
				return nil, err
			}
			return s.visibleAmong(ctx, tx, reader, list)
		})
		if out = (&engagementv1.PostList{Posts: posts}); next != nil {
			out.Next = tokenOf(*next)
		}
		return err
	})
	return out, err
}

type postRow = outputlimit.Row[counter.Position, engagementv1.ListedPost]

// visibleAmong returns posts as a reader sees them.
func (s *Service) visibleAmong(ctx context.Context, tx *sql.Tx, reader id.User, list []counter.Subject) ([]postRow, error) {
	ids, rows := make([]uint64, len(list)), make([]postRow, len(list))
	for i, item := range list {
		ids[i] = item.ID
	}
	visible, err := s.deps.Posts.VisiblePosts(ctx, tx, reader, ids)
	if err != nil {
		return nil, err
	}
	for i, item := range list {
		rows[i].Place = item.Position()
		if shown := visible[item.ID]; shown != nil {
			rows[i].Entry, rows[i].Bytes = &engagementv1.ListedPost{Post: shown, TimeMs: item.AtMs}, proto.Size(shown)
		}
	}
	return rows, nil
}

// subjects is the source of the posts whose set of a kind has a user.
func (s *Service) subjects(set counter.Kind, u id.User) source {
	return func(ctx context.Context, tx *sql.Tx, behind counter.Position, limit int) ([]counter.Subject, error) {
		return s.deps.Counters.In(tx).Subjects(ctx, set, u, behind, limit)
	}
}

// ListLikes returns a page of the posts that a user likes.
func (s *Service) ListLikes(ctx context.Context, reader id.User, r *engagementv1.ListLikesRequest) (*engagementv1.PostList, error) {
	return s.listPosts(ctx, reader, r.Page, r.Limit, s.subjects(counter.PostLikes, reader))
}

// ListFavourites returns a page of a user's favourites.
func (s *Service) ListFavourites(ctx context.Context, reader id.User, r *engagementv1.ListFavouritesRequest) (*engagementv1.PostList, error) {
	return s.listPosts(ctx, reader, r.Page, r.Limit, s.subjects(counter.PostFavourites, reader))
}
