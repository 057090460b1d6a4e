package ranking

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/counter"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	maxExamples = 1000 // rows of a page
	// maxExampleReaders ends a page: of each reader, likes, comments and views are read.
	maxExampleReaders = 100
	examplePlace      = 3 * 8 // bytes
)

// impressionRow is a row of ranking_shown.
type impressionRow struct {
	reader                       id.User
	post                         uint64
	atMs, clickedMs, convertedMs int64
	dwellMs                      uint32
	place                        uint32
	goods                        bool
	features                     []byte
}

// ListRankingExamples returns a page of what was shown and what became of it.
func (s *Service) ListRankingExamples(ctx context.Context, r *rankingv1.ListRankingExamplesRequest) (out *rankingv1.ListRankingExamplesResponse, err error) {
	limit := maxExamples
	if r.Limit > maxExamples {
		return nil, badRanking(fmt.Sprintf("list at most %d examples at once", maxExamples))
	} else if r.Limit > 0 {
		limit = int(r.Limit)
	}
	behind := make([]byte, examplePlace)
	if r.Page != "" {
		var ok bool
		if behind, ok = s.pages.Open(r.Page, []byte("examples")); !ok || len(behind) != examplePlace {
			return nil, pagetoken.ErrBad
		}
	}
	out = &rankingv1.ListRankingExamplesResponse{Features: ModelFeatures()}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		rows, more, err := readImpressions(ctx, tx, behind, limit)
		if err != nil {
			return err
		}
		out.Examples, err = s.examplesOf(ctx, tx, rows)
		if err == nil && more {
			out.Next = s.pages.Seal(rows[len(rows)-1].position(), []byte("examples"))
		}
		return err
	})
	return out, err
}

func (r *impressionRow) position() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.atMs))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(r.reader)), r.post)
}

// readImpressions reads rows behind a position, of few readers, and whether there are more.
func readImpressions(ctx context.Context, tx *sql.Tx, behind []byte, limit int) (list []impressionRow, more bool, err error) {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(behind[8*i:])) }
	rows, err := tx.QueryContext(ctx, `SELECT reader, post, at_ms, place, goods, features, clicked_ms, dwell_ms, converted_ms FROM ranking_shown WHERE (at_ms, reader, post) > ($1, $2, $3) ORDER BY at_ms, reader, post LIMIT $4`, at(0), at(1), at(2), limit+1)
	list, err = sqldb.Collect(rows, err, func(scan func(...any) error) (r impressionRow, err error) {
		err = scan(&r.reader, &r.post, &r.atMs, &r.place, &r.goods, &r.features, &r.clickedMs, &r.dwellMs, &r.convertedMs)
		return r, err
	})
	if err != nil {
		return nil, false, err
	}
	readers := map[id.User]bool{}
	for i := range list {
		readers[list[i].reader] = true
		if i == limit || len(readers) > maxExampleReaders {
			return list[:i], true, nil
		}
	}
	return list, false, nil
}

// acts is what a reader did with posts.
type acts struct {
	seen             map[uint64]bool
	liked, commented map[uint64]int64 // when
}

func (s *Service) readActs(ctx context.Context, tx *sql.Tx, reader id.User) (*acts, error) {
	a := &acts{liked: map[uint64]int64{}}
	liked, err := s.deps.Counters.In(tx).Subjects(ctx, counter.PostLikes, reader, counter.Position{}, tasteLikes)
	if err != nil {
		return nil, err
	}
	for _, l := range liked {
		a.liked[l.ID] = l.AtMs
	}
	if a.commented, err = s.deps.Comments.LatestCommented(ctx, tx, reader, tasteComments); err != nil {
		return nil, err
	}
	a.seen, err = s.deps.Engagement.ViewedPosts(ctx, tx, reader)
	return a, err
}

// examplesOf returns examples of those rows whose posts were seen or acted on. Readers who have turned personalization off since have none.
func (s *Service) examplesOf(ctx context.Context, tx *sql.Tx, rows []impressionRow) (list []*rankingv1.RankingExample, err error) {
	of := map[id.User]*acts{}
	readers := make([]id.User, len(rows))
	for i := range rows {
		readers[i] = rows[i].reader
	}
	off, err := s.deps.Graph.WithoutPersonalization(ctx, tx, slices.Compact(slices.Sorted(slices.Values(readers))))
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		features, isOfThisVersion := decodeFeatures(r.features)
		if !isOfThisVersion || off[r.reader] {
			continue
		}
		a := of[r.reader]
		if a == nil {
			if a, err = s.readActs(ctx, tx, r.reader); err != nil {
				return nil, err
			}
			of[r.reader] = a
		}
		within := func(at int64) bool { return at >= r.atMs && at < r.atMs+clickMs }
		e := &rankingv1.RankingExample{List: s.listNumber(r), Post: r.post, Position: r.place, ShownMs: r.atMs, Features: features, Goods: r.goods, Converted: r.convertedMs != 0, DwellMs: r.dwellMs}
		e.Clicked = r.clickedMs != 0 || within(a.liked[r.post]) || within(a.commented[r.post]) || e.Converted
		if e.Clicked || e.DwellMs >= seenMs || a.seen[r.post] {
			list = append(list, e)
		}
	}
	return list, nil
}

// listNumber returns a number of a page, from which nobody without the secret can tell the reader.
func (s *Service) listNumber(r *impressionRow) uint64 {
	h := sha256.New()
	_, _ = h.Write(slices.Concat([]byte("list "), s.deps.Secret, r.position()[:16])) // it never fails
	return binary.BigEndian.Uint64(h.Sum(nil)) >> 1
}
