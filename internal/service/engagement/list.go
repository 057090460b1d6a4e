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

const (
	// maxExamined bounds the rows that one call reads. A page for which so many are not enough is short, and has a next one.
	maxExamined = 500
	// readExtra is how many more rows are read than a page lacks, in case some are not for the reader.
	readExtra = 5
	// maxPageBytes of posts end a page. It has at least one post. An answer of so many is never truncated.
	maxPageBytes = 128 << 10
	// pageToken is the form of a page token: the time and the id behind which the page begins.
	pageToken = "%d.%d"
)

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
	p := postPage{service: s, reader: reader, limit: outputlimit.SmallPageSize(limit)}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &engagementv1.PostList{}
		end, next, err := p.fill(ctx, tx, out, first, from)
		if err == nil && !end {
			out.Next = tokenOf(next)
		}
		return err
	})
	return out, err
}

// postPage is a page of posts that a reader may see.
type postPage struct {
	service *Service
	reader  id.User
	limit   int
}

// fill reads a source until a page is full. It returns whether that is the end of the list, and otherwise where the next page begins.
func (p *postPage) fill(ctx context.Context, tx *sql.Tx, out *engagementv1.PostList, at counter.Position, from source) (end bool, next counter.Position, err error) {
	size := 0
	for examined := 0; examined < maxExamined; {
		want := p.limit - len(out.Posts) + readExtra
		list, err := from(ctx, tx, at, want)
		if err != nil {
			return false, at, err
		}
		ids := make([]uint64, len(list))
		for i, item := range list {
			ids[i] = item.ID
		}
		visible, err := p.service.deps.Posts.VisiblePosts(ctx, tx, p.reader, ids)
		if err != nil {
			return false, at, err
		}
		for i, item := range list {
			if shown := visible[item.ID]; shown != nil {
				size += proto.Size(shown)
				if len(out.Posts) > 0 && size > maxPageBytes {
					return false, at, nil
				}
				out.Posts = append(out.Posts, &engagementv1.ListedPost{Post: shown, TimeMs: item.AtMs})
			}
			if at = item.Position(); len(out.Posts) == p.limit && (i < len(list)-1 || len(list) == want) {
				return false, at, nil
			}
		}
		if len(list) < want {
			return true, at, nil
		}
		examined += len(list)
	}
	return false, at, nil
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
