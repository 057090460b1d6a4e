package engagement

import (
	"context"
	"database/sql"
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// encodeLiker makes the page token of a list of likers. A page may end behind somebody with whom the reader has a block, whom a token must not name.
func encodeLiker(s pagetoken.Sealer, at counter.Position) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.AtMs))
	return s.Seal(binary.BigEndian.AppendUint64(b, at.ID), nil)
}

// decodeLiker returns the place where a page begins.
func decodeLiker(s pagetoken.Sealer, token string) (at counter.Position, err error) {
	if token == "" {
		return at, nil
	}
	b, ok := s.Open(token, nil)
	if !ok || len(b) != 16 {
		return at, pagetoken.ErrBad
	}
	return counter.Position{AtMs: int64(binary.BigEndian.Uint64(b)), ID: binary.BigEndian.Uint64(b[8:])}, nil
}

// ListLikers returns a page of the users who like a post or comment, without those with whom the reader has a block.
func (s *Service) ListLikers(ctx context.Context, reader id.User, r *engagementv1.ListLikersRequest) (out *engagementv1.ListLikersResponse, err error) {
	o := subject{r.Kind, r.Subject}
	set, err := o.set()
	if err != nil {
		return nil, err
	}
	first, err := decodeLiker(s.likers, r.Page)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		if err := s.checkVisible(ctx, tx, reader, o); err != nil {
			return err
		}
		likers, next, err := outputlimit.FillPage(outputlimit.SmallPageSize(r.Limit), first, func(behind counter.Position, n int) ([]likerRow, error) {
			list, err := s.deps.Counters.In(tx).Members(ctx, set, o.id, behind, n)
			if err != nil {
				return nil, err
			}
			return s.unblockedAmong(ctx, tx, reader, list)
		})
		if out = (&engagementv1.ListLikersResponse{Likers: likers}); next != nil {
			out.Next = encodeLiker(s.likers, *next)
		}
		return err
	})
	return out, err
}

type likerRow = outputlimit.Row[counter.Position, engagementv1.Liker]

// unblockedAmong returns members as a reader sees them, without those with whom the reader has a block.
func (s *Service) unblockedAmong(ctx context.Context, tx *sql.Tx, reader id.User, list []counter.Member) ([]likerRow, error) {
	blocked, err := s.blockedAmong(ctx, tx, reader, list)
	if err != nil {
		return nil, err
	}
	rows := make([]likerRow, len(list))
	for i, m := range list {
		if rows[i].Place = m.Position(); !blocked[m.User] {
			rows[i].Entry = &engagementv1.Liker{User: uint64(m.User), LikedMs: m.AtMs}
		}
	}
	return rows, nil
}

// blockedAmong returns with which of some members a reader has a block.
func (s *Service) blockedAmong(ctx context.Context, tx *sql.Tx, reader id.User, list []counter.Member) (map[id.User]bool, error) {
	var users []id.User
	for _, m := range list {
		if m.User != reader {
			users = append(users, m.User)
		}
	}
	if len(users) == 0 {
		return nil, nil
	}
	_, blocked, err := s.deps.Graph.FriendsAndBlocks(ctx, tx, reader, users)
	return blocked, err
}
