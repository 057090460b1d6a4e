package comment

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

const (
	firstRowCopies = 8 << 20 // bytes
	rowCopyEach    = 150
	countCopies    = 4 << 20
)

// copies of rows of an embedded database. They are shared, and must not be changed.
type copies struct {
	firstRows *sqldb.Copies[firstRows, []*row]
	comments  *sqldb.Copies[subject, uint32]
	replies   *sqldb.Copies[uint64, uint32]
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

func (s *Service) openCopies(ctx context.Context) (err error) {
	size := func(rows []*row) (size int) {
		for _, r := range rows {
			size += rowCopyEach + len(r.content)
		}
		return size
	}
	if s.copies.firstRows, err = sqldb.NewCopies(ctx, s.deps.DB, sqldb.CopiesOf[firstRows, []*row]{Name: "first_comments", Tables: map[string][]string{"comments": {"kind", "subject"}},
		Key: func(k firstRows) []int64 { return k.key() }, Size: size, MaxBytes: firstRowCopies}); err != nil {
		return err
	}
	if s.copies.comments, err = sqldb.NewCopies(ctx, s.deps.DB, sqldb.CopiesOf[subject, uint32]{Name: "comment_counts", Tables: map[string][]string{"comment_counts": {"kind", "subject"}},
		Key: subject.key, MaxBytes: countCopies}); err != nil {
		return err
	}
	s.copies.replies, err = sqldb.NewCopies(ctx, s.deps.DB, sqldb.CopiesOf[uint64, uint32]{Name: "reply_counts", Tables: map[string][]string{"comment_reply_counts": {"top"}},
		Key: func(top uint64) []int64 { return []int64{int64(top)} }, MaxBytes: countCopies})
	return err
}

// newestRows returns at most limit rows of the top comments of a subject, or of a thread, behind one of them, the newest first.
func (p *page) newestRows(ctx context.Context, tx *sql.Tx, limit int) ([]*row, error) {
	if p.top != 0 || p.at.id != math.MaxInt64 {
		return readRows(ctx, tx, p.kind, p.subject, p.top, p.at.id, true, limit)
	}
	first := firstRows{subject{p.kind, p.subject}, limit}
	found, err := p.service.copies.firstRows.Get(tx, []firstRows{first}, func([]firstRows) (map[firstRows][]*row, error) {
		list, err := readRows(ctx, tx, p.kind, p.subject, p.top, p.at.id, true, limit)
		return map[firstRows][]*row{first: list}, err
	})
	return found[first], err
}
