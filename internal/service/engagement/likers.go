package engagement

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// likersPages makes the page tokens of lists of likers. A page may end behind somebody with whom the reader has a block, whom a token must not name. So it is
// encrypted: the time and the id are one block of AES.
type likersPages struct{ block cipher.Block }

func newLikersPages(secret []byte) (likersPages, error) {
	key := sha256.Sum256(secret)
	block, err := aes.NewCipher(key[:])
	return likersPages{block}, err
}

func (p likersPages) tokenOf(at counter.Position) string {
	b := make([]byte, 0, aes.BlockSize)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(at.AtMs)), at.ID)
	p.block.Encrypt(b, b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// positionOf returns the place where a page begins. A forged token almost never decodes to a valid time.
func (p likersPages) positionOf(token string) (at counter.Position, err error) {
	if token == "" {
		return at, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != aes.BlockSize {
		return at, errPage
	}
	p.block.Decrypt(b, b)
	at = counter.Position{AtMs: int64(binary.BigEndian.Uint64(b)), ID: binary.BigEndian.Uint64(b[8:])}
	if at.AtMs <= 0 || at.AtMs > 1<<44 || at.ID > math.MaxInt64 {
		return counter.Position{}, errPage
	}
	return at, nil
}

// ListLikers returns a page of the users who like a post or comment, without those with whom the reader has a block.
func (s *Service) ListLikers(ctx context.Context, reader id.User, r *engagementv1.ListLikersRequest) (out *engagementv1.ListLikersResponse, err error) {
	o := subject{r.Kind, r.Subject}
	set, err := o.set()
	if err != nil {
		return nil, err
	}
	first, err := s.likers.positionOf(r.Page)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.SmallPageSize(r.Limit)
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &engagementv1.ListLikersResponse{}
		if err := s.checkVisible(ctx, tx, reader, o); err != nil {
			return err
		}
		at := first
		for examined := 0; examined < maxExamined; {
			want := limit - len(out.Likers) + readExtra
			list, err := s.deps.Counters.In(tx).Members(ctx, set, o.id, at, want)
			if err != nil {
				return err
			}
			blocked, err := s.blockedAmong(ctx, tx, reader, list)
			if err != nil {
				return err
			}
			for i, m := range list {
				if at = m.Position(); blocked[m.User] {
					continue
				}
				out.Likers = append(out.Likers, &engagementv1.Liker{User: uint64(m.User), LikedMs: m.AtMs})
				if len(out.Likers) == limit && (i < len(list)-1 || len(list) == want) {
					out.Next = s.likers.tokenOf(at)
					return nil
				}
			}
			if len(list) < want {
				return nil
			}
			examined += len(list)
		}
		out.Next = s.likers.tokenOf(at)
		return nil
	})
	return out, err
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
