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

// comparedHits of a search for the whole name of a user are read. Handles are unique, so that few users have all of its words.
const comparedHits = 200

// Comparison compares the search index of this node with the users that it is made from: each of them is to be found by all words of the name and the handle. What the index has and the rows have not
// is not compared, because each hit is read from the rows before it is shown.
func (s *Service) Comparison() reconciliation.Comparison { return userComparison{s} }

type userComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (userComparison) Name() string { return "search" }

// Compare is a reconciliation.Comparison's. A position is the last user.
func (s userComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at := uint64(0)
	if after != "" {
		if at, err = strconv.ParseUint(after, 10, 64); err != nil {
			return step, err
		}
	}
	list, err := s.deps.Accounts.UsersAfter(ctx, at, limit)
	if err != nil {
		return step, err
	}
	for some := range slices.Chunk(list, usersPerQuery) {
		missing, err := s.missing(ctx, some)
		if err != nil {
			return step, err
		}
		step.Items += len(some)
		for _, u := range missing {
			step.Differences = append(step.Differences, reconciliation.Difference{Subject: fmt.Sprint("user ", u), What: "the search index lacks the user, or has another name"})
		}
	}
	if len(list) == limit {
		step.Next = strconv.FormatUint(list[len(list)-1], 10)
	}
	return step, nil
}

// missing returns those of some users whom the index lacks, although it has all their changes.
func (s userComparison) missing(ctx context.Context, list []uint64) (missing []uint64, err error) {
	g := s.serving()
	if g == nil || !g.complete.Load() {
		return nil, reconciliation.ErrNotReady
	}
	read, err := g.index.Checkpoints(ctx, []string{changesPoint}) // before the rows, which may have later changes
	if err != nil {
		return nil, err
	}
	users, err := s.deps.Accounts.UsersToIndex(ctx, list)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		ask := &searchindex.Query{Kind: searchindex.User, Access: []string{everybody}, Limit: comparedHits}
		for _, w := range searchindex.Words(textOfUser(u)) {
			if len(ask.Terms) < searchindex.MaxTerms {
				ask.Terms = append(ask.Terms, searchindex.Term{Word: w})
			}
		}
		found, err := g.index.Search(ctx, ask)
		if err != nil {
			return nil, err
		}
		if found.More || slices.ContainsFunc(found.Hits, func(h searchindex.Hit) bool { return h.ID.Number == u.Id }) {
			continue
		}
		pending := false
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM search_changes WHERE n >= $1 AND kind = $2 AND subject = $3)`, int64(read[0]), int64(ChangedUser), int64(u.Id)).Scan(&pending); err != nil {
			return nil, err
		}
		if !pending {
			missing = append(missing, u.Id)
		}
	}
	return missing, nil
}

// Repair is a reconciliation.Comparison's: all nodes index the user again.
func (s userComparison) Repair(ctx context.Context, subject string) error {
	number, ok := strings.CutPrefix(subject, "user ")
	u, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return fmt.Errorf("%q names no user", subject)
	}
	if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.Changed(ctx, tx, ChangedUser, u) }); err != nil {
		return err
	}
	s.Wake()
	return nil
}
