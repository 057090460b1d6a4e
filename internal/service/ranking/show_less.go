package ranking

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	maxLess = 500 // rows of a reader
	// forgottenMs is the age at which a row counts nothing: less than two percent is left.
	forgottenMs = 6 * tasteHalfMs
)

// target is what a reader wants less of.
type target struct {
	kind    int // targetAuthor or targetKind
	subject uint64
}

// less has when a reader asked for less of what.
type less map[target]int64

// hides reports whether posts of an author are not shown for the moment.
func (l less) hides(author id.User, nowMs int64) bool {
	at, ok := l[target{targetAuthor, uint64(author)}]
	return ok && nowMs-at < hiddenMs
}

// strength returns how much less the reader wants of a post: 1 just after the reader asked for that.
func (l less) strength(f *facts, nowMs int64) (most float64) {
	for _, t := range []target{{targetAuthor, uint64(f.author)}, {targetKind, uint64(f.kind)}} {
		if at, ok := l[t]; ok && nowMs-at < forgottenMs {
			most = max(most, halved(nowMs-at, tasteHalfMs))
		}
	}
	return most
}

func readLess(ctx context.Context, tx *sql.Tx, reader id.User) (less, error) {
	l := less{}
	rows, err := tx.QueryContext(ctx, `SELECT target, subject, at_ms FROM ranking_less WHERE reader = $1`, int64(reader))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var t target
		var at int64
		err := rows.Scan(&t.kind, &t.subject, &at)
		l[t] = at
		return err
	})
	return l, err
}

var errTarget = badRanking("give the author, or the kind of posts: one of the two")

// targetOf returns what a request names.
func targetOf(reader id.User, author uint64, kind rankingv1.PostKind) (target, error) {
	switch {
	case (author == 0) == (kind == rankingv1.PostKind_POST_KIND_UNSPECIFIED):
		return target{}, errTarget
	case author == uint64(reader):
		return target{}, badRanking("your own posts are not among these; name another author")
	case author > math.MaxInt64:
		return target{}, errTarget
	case author != 0:
		return target{targetAuthor, author}, nil
	case kind < 0 || rankingv1.PostKind_name[int32(kind)] == "":
		return target{}, badRanking("this server does not know this kind of posts")
	}
	return target{targetKind, uint64(kind)}, nil
}

// ShowLess shows fewer posts of an author or a kind to a reader.
func (s *Service) ShowLess(ctx context.Context, reader id.User, r *rankingv1.ShowLessRequest) error {
	t, err := targetOf(reader, r.Author, r.Kind)
	if err != nil {
		return err
	}
	if t.kind == targetAuthor {
		if err := s.deps.Graph.Exist(ctx, []id.User{id.User(t.subject)}); err != nil {
			return err
		}
	}
	now := s.nowMs()
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO ranking_less (reader, target, subject, at_ms) VALUES ($1, $2, $3, $4) ON CONFLICT (reader, target, subject) DO UPDATE SET at_ms = excluded.at_ms`,
			int64(reader), t.kind, int64(t.subject), now); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM ranking_less WHERE reader = $1 AND (at_ms < $2 OR (at_ms, target, subject) <= (
			SELECT at_ms, target, subject FROM ranking_less WHERE reader = $1 ORDER BY at_ms DESC, target DESC, subject DESC LIMIT 1 OFFSET $3))`, int64(reader), now-forgottenMs, maxLess)
		return err
	})
}

// ShowAgain ends what ShowLess began.
func (s *Service) ShowAgain(ctx context.Context, reader id.User, r *rankingv1.ShowAgainRequest) error {
	t, err := targetOf(reader, r.Author, r.Kind)
	if err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM ranking_less WHERE reader = $1 AND target = $2 AND subject = $3`, int64(reader), t.kind, int64(t.subject))
		return err
	})
}

// ListShownLess returns what a reader wants less of, the latest first.
func (s *Service) ListShownLess(ctx context.Context, reader id.User) (*rankingv1.ListShownLessResponse, error) {
	var l less
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		l, err = readLess(ctx, tx, reader)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, now := &rankingv1.ListShownLessResponse{}, s.nowMs()
	for t, at := range l {
		if now-at >= forgottenMs {
			continue
		}
		e := &rankingv1.ShownLess{SinceMs: at}
		if t.kind == targetAuthor {
			e.Author = t.subject
		} else {
			e.Kind = rankingv1.PostKind(t.subject)
		}
		out.Entries = append(out.Entries, e)
	}
	slices.SortFunc(out.Entries, func(a, b *rankingv1.ShownLess) int {
		return cmp.Or(cmp.Compare(b.SinceMs, a.SinceMs), cmp.Compare(a.Author, b.Author), cmp.Compare(a.Kind, b.Kind))
	})
	return out, nil
}
