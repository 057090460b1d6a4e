package comment

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

const (
	firstRowCacheBytes = 8 << 20 // bytes
	rowOverheadBytes   = 150
	countCacheBytes    = 4 << 20
)

// snapshotCaches keep rows of an embedded database. They are shared, and must not be changed.
type snapshotCaches struct {
	firstRows *sqldb.SnapshotCache[firstRows, []*row]
	comments  *sqldb.SnapshotCache[subject, uint32]
	replies   *sqldb.SnapshotCache[uint64, uint32]
}

// subject is what users comment on.
type subject struct {
	kind commentv1.SubjectKind
	id   uint64
}

func (s subject) key() []int64 { return []int64{int64(s.kind), int64(s.id)} }

// firstRows are the newest top comments of a subject, at most limit.
type firstRows struct {
	subject
	limit int
}

func (s *Service) openSnapshotCaches(ctx context.Context) (err error) {
	size := func(rows []*row) (size int) {
		for _, r := range rows {
			size += rowOverheadBytes + len(r.content)
		}
		return size
	}
	if s.cached.firstRows, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[firstRows, []*row]{Name: "first_comments", Tables: map[string][]string{"comments": {"kind", "subject"}},
		Key: func(k firstRows) []int64 { return k.key() }, Size: size, MaxBytes: firstRowCacheBytes}); err != nil {
		return err
	}
	if s.cached.comments, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[subject, uint32]{Name: "comment_counts", Tables: map[string][]string{"comment_counts": {"kind", "subject"}},
		Key: subject.key, MaxBytes: countCacheBytes}); err != nil {
		return err
	}
	s.cached.replies, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[uint64, uint32]{Name: "reply_counts", Tables: map[string][]string{"comment_reply_counts": {"top"}},
		Key: func(top uint64) []int64 { return []int64{int64(top)} }, MaxBytes: countCacheBytes})
	return err
}

// newestRows returns at most limit rows of the top comments of a subject, or of a thread, behind one of them, the newest first.
func (p *page) newestRows(ctx context.Context, tx *sql.Tx, limit int) ([]*row, error) {
	if p.top != 0 || p.at.id != math.MaxInt64 {
		return readRows(ctx, tx, p.kind, p.subject, p.top, p.at.id, true, limit)
	}
	first := firstRows{subject{p.kind, p.subject}, limit}
	found, err := p.service.cached.firstRows.Get(tx, []firstRows{first}, func([]firstRows) (map[firstRows][]*row, error) {
		list, err := readRows(ctx, tx, p.kind, p.subject, p.top, p.at.id, true, limit)
		return map[firstRows][]*row{first: list}, err
	})
	return found[first], err
}
