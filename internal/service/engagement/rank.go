package engagement

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

const (
	maxMarks = 200 // of one transaction
	// hotDoubling is by how much newer a post must be to make up for half of the weight of another one.
	hotDoubling = 6 * time.Hour
	// Weights of what users do with a post. Each user counts once, however often they comment or repost.
	likeWeight, favouriteWeight, commentWeight, repostWeight = 1, 2, 2, 3
)

const dayMs = 24 * 3600 * 1000

// board is a list of popular posts within a period.
type board struct {
	window engagementv1.HotWindow
	period int64 // number of the day or of the week
}

// boardsAt returns the boards of a moment, and when the periods of those of days and weeks began.
func boardsAt(nowMs int64) (now, today, week board, dayStart, weekStart int64) {
	day := nowMs / dayMs
	monday := day - (day+3)%7 // day 0 was a Thursday
	return board{window: engagementv1.HotWindow_HOT_WINDOW_NOW}, board{engagementv1.HotWindow_HOT_WINDOW_TODAY, day}, board{engagementv1.HotWindow_HOT_WINDOW_WEEK, monday}, day * dayMs, monday * dayMs
}

// HotScore returns the score by which posts are sorted that are popular now, from the numbers of users who like, favourite, comment and repost. It does not change with time: what decays is the place of a post among newer
// ones.
func HotScore(createdMs int64, likes, favourites, commenters, reposters uint64) int64 {
	weight := likeWeight*likes + favouriteWeight*favourites + commentWeight*commenters + repostWeight*reposters
	return createdMs + int64(math.Log2(float64(1+weight))*float64(hotDoubling.Milliseconds()))
}

// ranking has what ranks follow from, as of one snapshot.
type ranking struct {
	marks    []mark
	scores   map[uint64]map[board]int64 // of posts; a board that is missing does not have the post
	comments map[uint64]uint64          // likes
}

// round is a round of the coordinator.
func (s *Service) round(ctx context.Context) error {
	ranked := s.rankMarked(ctx)
	if !s.boards.due(s.nowMs()) {
		return ranked
	}
	return errors.Join(ranked, s.makeBoards(ctx))
}

// Rank ranks all marked posts and comments, and makes the lists of popular posts.
func (s *Service) Rank(ctx context.Context) error {
	return errors.Join(s.rankMarked(ctx), s.makeBoards(ctx))
}

// rankMarked ranks marked posts and comments, each mark once: those that are liked all the time do not keep the others waiting. At most half of the time is
// spent on this.
func (s *Service) rankMarked(ctx context.Context) error {
	for last := (mark{}); ; {
		began := time.Now()
		marks, err := s.rankSome(ctx, last)
		if err != nil || len(marks) < s.rankBatch {
			return err
		}
		last = marks[len(marks)-1]
		if err := backoff.Sleep(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// rankSome ranks the subjects of the marks behind one, and returns these marks.
func (s *Service) rankSome(ctx context.Context, behind mark) ([]mark, error) {
	var r *ranking
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		r, err = s.readRanking(ctx, tx, behind)
		return err
	})
	if err != nil || len(r.marks) == 0 {
		return nil, err
	}
	if err := s.reached("rank-read"); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		isCurrent, err := removeMarks(ctx, tx, r.marks)
		if err != nil {
			return err
		}
		comments := map[uint64]uint64{}
		for _, o := range slices.SortedFunc(maps.Keys(isCurrent), compareSubjects) {
			switch {
			case !isCurrent[o]:
			case o.kind == engagementv1.LikeKind_LIKE_KIND_COMMENT:
				comments[o.id] = r.comments[o.id]
			default:
				if err := putRanks(ctx, tx, o.id, r.scores[o.id], s.nowMs()); err != nil {
					return err
				}
			}
		}
		return errors.Join(s.deps.Comments.RankByLikes(ctx, tx, comments), s.reached("rank-stored"))
	})
	if err != nil {
		return nil, err
	}
	s.boards.changed = true
	return r.marks, s.reached("rank-committed")
}

// readRanking reads the marks behind one, and what the ranks of their subjects follow from.
func (s *Service) readRanking(ctx context.Context, tx *sql.Tx, behind mark) (r *ranking, err error) {
	r = &ranking{comments: map[uint64]uint64{}, scores: map[uint64]map[board]int64{}}
	if r.marks, err = readMarks(ctx, tx, behind, s.rankBatch); err != nil {
		return nil, err
	}
	var posts, comments []uint64
	for _, m := range r.marks {
		if m.kind == engagementv1.LikeKind_LIKE_KIND_COMMENT {
			comments = append(comments, m.id)
		} else {
			posts = append(posts, m.id)
		}
	}
	posts, comments = slices.Compact(posts), slices.Compact(comments)
	counters := s.deps.Counters.In(tx)
	likes, err := counters.Counts(ctx, counter.CommentLikes, comments)
	if err != nil {
		return nil, err
	}
	for i, n := range comments {
		r.comments[n] = likes[i]
	}
	return r, s.readScores(ctx, tx, posts, r.scores)
}

// readScores computes the scores of those of some posts that are for everyone.
func (s *Service) readScores(ctx context.Context, tx *sql.Tx, posts []uint64, scores map[uint64]map[board]int64) error {
	created, err := s.deps.Posts.PublicPosts(ctx, tx, posts)
	if err != nil || len(created) == 0 {
		return err
	}
	posts = slices.Sorted(maps.Keys(created))
	counters := s.deps.Counters.In(tx)
	likes, err := counters.Counts(ctx, counter.PostLikes, posts)
	if err != nil {
		return err
	}
	favourites, err := counters.Counts(ctx, counter.PostFavourites, posts)
	if err != nil {
		return err
	}
	commenters, err := s.deps.Comments.CountCommenters(ctx, tx, posts)
	if err != nil {
		return err
	}
	reposters, err := s.deps.Posts.CountReposters(ctx, tx, posts)
	if err != nil {
		return err
	}
	now, today, week, dayStart, weekStart := boardsAt(s.nowMs())
	for i, n := range posts {
		of := map[board]int64{}
		if likes[i]+favourites[i]+uint64(commenters[n])+uint64(reposters[n]) > 0 {
			of[now] = HotScore(created[n], likes[i], favourites[i], uint64(commenters[n]), uint64(reposters[n]))
		}
		for b, since := range map[board]int64{today: dayStart, week: weekStart} {
			received, err := counters.CountSince(ctx, counter.PostLikes, n, since)
			if err != nil {
				return err
			}
			if received > 0 {
				of[b] = int64(received)
			}
		}
		scores[n] = of
	}
	return nil
}

// putRanks stores the scores of a post. It has none on the boards that are missing.
func putRanks(ctx context.Context, tx *sql.Tx, n uint64, scores map[board]int64, nowMs int64) error {
	now, today, week, _, _ := boardsAt(nowMs)
	for _, b := range []board{now, today, week} {
		var err error
		if score, ok := scores[b]; ok {
			_, err = tx.ExecContext(ctx, `INSERT INTO engagement_ranks (board, period, post, score) VALUES ($1, $2, $3, $4) ON CONFLICT (board, period, post) DO UPDATE SET score = excluded.score`,
				int64(b.window), b.period, int64(n), score)
		} else {
			_, err = tx.ExecContext(ctx, `DELETE FROM engagement_ranks WHERE board = $1 AND period = $2 AND post = $3`, int64(b.window), b.period, int64(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
