package search

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// Comparisons compare the search index of this node with what it is made from: each user, post and message is to be found by its words, by its author, and at its time. What the index has and the stores
// have not is not compared, because each hit is read from the stores before it is shown.
func (s *Service) Comparisons() []reconciliation.Comparison {
	return []reconciliation.Comparison{userComparison{s}, postComparison{s}, messageComparison{s}}
}

// comparable returns the index that answers; reconciliation.ErrNotReady if it has not everything yet.
func (s *Service) comparable() (*generation, error) {
	g := s.serving()
	if g == nil || !g.complete.Load() {
		return nil, reconciliation.ErrNotReady
	}
	return g, nil
}

// isPending reports whether the index may not have read a change of a subject yet, or of any subject if it is 0. point is what changesPoint was before the subject was read.
func (s *Service) isPending(ctx context.Context, point uint64, kind Subject, subject uint64) (pending bool, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM search_changes WHERE n >= $1 AND kind = $2 AND (subject = $3 OR $3 = 0))`, int64(point), int64(kind), int64(subject)).Scan(&pending)
	return pending, err
}

// indexAgain has all nodes index a subject again.
func (s *Service) indexAgain(ctx context.Context, kind Subject, subject uint64) error {
	if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.Changed(ctx, tx, kind, subject) }); err != nil {
		return err
	}
	s.Wake()
	return nil
}

// compareRows compares the rows after a position, "" at the beginning, in the order of their numbers.
func compareRows(ctx context.Context, after string, limit, atOnce int, list func(ctx context.Context, after uint64, limit int) ([]uint64, error), differences func(ctx context.Context, some []uint64) ([]reconciliation.Difference, error)) (step reconciliation.Step, err error) {
	at := uint64(0)
	if after != "" {
		if at, err = strconv.ParseUint(after, 10, 64); err != nil {
			return step, err
		}
	}
	rows, err := list(ctx, at, limit)
	if err != nil {
		return step, err
	}
	for some := range slices.Chunk(rows, atOnce) {
		found, err := differences(ctx, some)
		if err != nil && step.Items > 0 { // the time of the step is over, perhaps: the next one begins here
			step.Next = strconv.FormatUint(rows[step.Items-1], 10)
			return step, nil
		}
		if err != nil {
			return step, err
		}
		step.Items += len(some)
		step.Differences = append(step.Differences, found...)
	}
	if len(rows) == limit {
		step.Next = strconv.FormatUint(rows[len(rows)-1], 10)
	}
	return step, nil
}

// numberOf returns the number of a subject such as user 5.
func numberOf(subject, kind string) (uint64, error) {
	number, ok := strings.CutPrefix(subject, kind+" ")
	n, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q names no %s", subject, kind)
	}
	return n, nil
}

// userComparison compares the users with the index.
type userComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (userComparison) Name() string { return "search" }

// Compare is a reconciliation.Comparison's. A position is the last user.
func (s userComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	return compareRows(ctx, after, limit, usersPerQuery, s.deps.Accounts.UsersAfter, s.differences)
}

// differences returns those of some users whom the index lacks, although it has all their changes.
func (s userComparison) differences(ctx context.Context, some []uint64) (list []reconciliation.Difference, err error) {
	g, err := s.comparable()
	if err != nil {
		return nil, err
	}
	read, err := g.index.Checkpoints(ctx, []string{changesPoint}) // before the rows, which may have later changes
	if err != nil {
		return nil, err
	}
	users, err := s.deps.Accounts.UsersToIndex(ctx, some)
	if err != nil {
		return nil, err
	}
	docs := make([]searchindex.Document, len(users))
	for i, u := range users {
		docs[i] = divided(s.deps.Dictionary, searchindex.Document{ID: searchindex.ID{Kind: searchindex.User, Number: u.Id}, Text: textOfUser(u), Access: []string{everybody}})
	}
	missing, err := g.index.Missing(ctx, docs)
	if err != nil {
		return nil, err
	}
	for _, d := range missing {
		if pending, err := s.isPending(ctx, read[0], ChangedUser, d.Number); err != nil {
			return nil, err
		} else if !pending {
			list = append(list, reconciliation.Difference{Subject: fmt.Sprint("user ", d.Number), Reason: reconciliation.IndexLacksUser})
		}
	}
	return list, nil
}

// Repair is a reconciliation.Comparison's: all nodes index the user again.
func (s userComparison) Repair(ctx context.Context, subject string) error {
	u, err := numberOf(subject, "user")
	if err != nil {
		return err
	}
	return s.indexAgain(ctx, ChangedUser, u)
}

// postComparison compares the posts, and the videos that they show, with the index.
type postComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (postComparison) Name() string { return "search_posts" }

// Compare is a reconciliation.Comparison's. A position is the last post.
func (s postComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	return compareRows(ctx, after, limit, postsPerQuery, s.deps.Posts.PostsAfter, s.differences)
}

// differences returns those of some posts that the index lacks, although it has all their changes.
func (s postComparison) differences(ctx context.Context, some []uint64) (list []reconciliation.Difference, err error) {
	g, err := s.comparable()
	if err != nil {
		return nil, err
	}
	read, err := g.index.Checkpoints(ctx, []string{changesPoint}) // before the rows, which may have later changes
	if err != nil {
		return nil, err
	}
	b := newBuilder(s.deps.Dictionary, len(some))
	if err := newIndexer(s.Service, g).indexPosts(ctx, some, b); err != nil {
		return nil, err
	}
	missing, err := g.index.Missing(ctx, b.batch.Put)
	if err != nil {
		return nil, err
	}
	for _, d := range missing {
		pending, err := s.isPending(ctx, read[0], ChangedPost, d.Number)
		if err == nil && !pending && d.Kind == searchindex.Video {
			pending, err = s.isPending(ctx, read[0], ChangedVideo, 0)
		}
		if err != nil {
			return nil, err
		}
		if !pending {
			list = append(list, reconciliation.Difference{Subject: fmt.Sprint("post ", d.Number), Reason: reconciliation.IndexLacksPost})
		}
	}
	return slices.CompactFunc(list, func(a, b reconciliation.Difference) bool { return a.Subject == b.Subject }), nil // a post and its video follow each other
}

// Repair is a reconciliation.Comparison's: all nodes index the post again.
func (s postComparison) Repair(ctx context.Context, subject string) error {
	p, err := numberOf(subject, "post")
	if err != nil {
		return err
	}
	return s.indexAgain(ctx, ChangedPost, p)
}
