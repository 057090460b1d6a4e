package feed

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// A post that was hidden is in no answer, because each read reads its row. Its id is taken out of windows later, by jobs of 100 followers each, so that windows do
// not carry it for ever. A row is hidden first, and retired when its id may be missing in windows:
//
//   - Retiring waits cleanDelay after the hiding. A page with a snapshot of before the hiding, which shows the post, is answered by then.
//   - Open windows, those of active readers, are written again without the id. Closed ones are of readers who are away; what is built when they return has no
//     retired posts.
//   - A post that is shown again and was retired is brought to windows as a new one is. It is pending until then.
//
// Between the two, a step that cleans a window reads the window first and then whether the post is still retired. If it is, whatever brings the post back
// appends it to the window behind what was read, where a new base keeps it.

// cleanDelay is longer than any call takes.
const cleanDelay = 10 * time.Minute

// clean is a job that takes the id of a hidden post out of the windows of the followers above one. The first one retires the post.
type clean struct {
	Post  uint64  `json:"post"`
	After id.User `json:"after"`
}

// Kind of the job.
func (clean) Kind() string { return "feed_clean" }

func (clean) options() job.Options { return job.Options{Queue: Queue, Priority: job.Low} }

// startClean inserts the first job for a post that was hidden now.
func (s *Service) startClean(ctx context.Context, tx *sql.Tx, n uint64) error {
	first := clean{Post: n}
	o := first.options()
	o.At = s.deps.Clock.Now().Add(cleanDelay)
	_, err := s.deps.Jobs.InsertTx(ctx, tx, first, o)
	return err
}

// clean takes a post out of the windows of the next followers.
func (s *Service) clean(ctx context.Context, j clean) error {
	p, err := s.retire(ctx, j)
	if errs.Is(err, errs.NotFound) {
		return job.Discard(err)
	}
	if err != nil || !p.retired { // it was shown again, or hidden again a moment ago
		return err
	}
	var followers []id.User
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		followers, _, err = s.deps.Graph.Followers(ctx, tx, p.author, j.After, s.sizes.pushFollowers)
		return err
	})
	if err != nil {
		return err
	}
	open, err := s.openWindows(ctx, followers)
	if err != nil {
		return err
	}
	for _, reader := range open {
		if err := s.cleanWindow(ctx, reader, p.id); err != nil {
			return err
		}
	}
	if err := s.reached("windows-cleaned"); err != nil || len(followers) < s.sizes.pushFollowers {
		return err
	}
	next := clean{Post: p.id, After: followers[len(followers)-1]}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := s.deps.Jobs.InsertTx(ctx, tx, next, next.options())
		return err
	})
	if err == nil {
		s.deps.Jobs.Wake()
	}
	return err
}

// retire returns a post. The first job retires it, if it has been hidden for long enough.
func (s *Service) retire(ctx context.Context, j clean) (p *post, err error) {
	if j.After != 0 {
		err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
			p, err = getPost(ctx, tx, j.Post)
			return err
		})
		return p, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if p, err = getPost(ctx, tx, j.Post); err != nil || p.retired || !p.hidden || p.deleted {
			return err
		}
		var hiddenMs int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(time_ms), 0) FROM feed_hidings WHERE post = $1 AND hidden`, int64(j.Post)).Scan(&hiddenMs); err != nil {
			return err
		}
		if s.nowMs()-hiddenMs < cleanDelay.Milliseconds() { // it was shown and hidden again, which has a job of its own
			return nil
		}
		p.retired = true
		_, err = tx.ExecContext(ctx, `UPDATE feed_posts SET retired = TRUE WHERE id = $1`, int64(j.Post))
		return err
	})
	return p, err
}

// openWindows returns those of some readers whose windows have entries.
func (s *Service) openWindows(ctx context.Context, readers []id.User) (open []id.User, err error) {
	keys := make([]timeline.Key, len(readers))
	for i, u := range readers {
		keys[i] = windowKey(u)
	}
	tails, err := s.deps.Log.Tails(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, t := range tails {
		if t.Seq > 0 && t.FirstSeq <= t.Seq {
			open = append(open, readers[i])
		}
	}
	return open, nil
}

// cleanWindow writes the window of a reader again without a post, if it has it and the post is retired.
func (s *Service) cleanWindow(ctx context.Context, reader id.User, n uint64) error {
	w, err := s.readWindow(ctx, reader)
	if err != nil || !w.complete || !slices.ContainsFunc(w.refs, func(r ref) bool { return r.post == n }) {
		return err
	}
	if err := s.reached("window-to-clean"); err != nil {
		return err
	}
	retired, err := s.retiredAmong(ctx, []uint64{n})
	if err != nil || !retired[n] {
		return err
	}
	w.refs = slices.DeleteFunc(w.refs, func(r ref) bool { return r.post == n })
	return s.compact(ctx, reader, w)
}

// retiredAmong returns which of some posts are retired.
func (s *Service) retiredAmong(ctx context.Context, list []uint64) (retired map[uint64]bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		retired, err = retiredPosts(ctx, tx, list)
		return err
	})
	return retired, err
}

// retiredPosts returns which of some posts are retired, as of a transaction.
func retiredPosts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]bool, error) {
	retired := map[uint64]bool{}
	for some := range slices.Chunk(list, maxExamined) {
		marks, args := sqldb.Placeholders(1, some, func(n uint64) int64 { return int64(n) })
		rows, err := tx.QueryContext(ctx, `SELECT id, retired FROM feed_posts WHERE retired AND id IN (`+marks+`)`, args...)
		found, err := sqldb.Pairs[uint64, bool](rows, err)
		if err != nil {
			return nil, err
		}
		for n := range found {
			retired[n] = true
		}
	}
	return retired, nil
}

// unretire makes fan-out bring a post that is shown again to windows, if it was retired, and returns whether there is a job for that. Readers are not told of it
// as of a new one. Posts of pulled authors are read from their rows.
func (s *Service) unretire(ctx context.Context, tx *sql.Tx, p *post) (pushed bool, err error) {
	if !p.retired {
		return false, nil
	}
	a, err := getAuthor(ctx, tx, p.author)
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE feed_posts SET retired = FALSE, pending = $2, pushed_to = 0 WHERE id = $1`, int64(p.id), !a.pulled); err != nil || a.pulled {
		return false, err
	}
	first := push{Post: p.id, Again: true}
	_, err = s.deps.Jobs.InsertTx(ctx, tx, first, first.options())
	return true, err
}
