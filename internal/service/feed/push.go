package feed

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Queue of the jobs.
const Queue = "feed"

// push is a job that brings a post to the followers above one.
type push struct {
	Post  uint64  `json:"post"`
	After id.User `json:"after"`
	// Ordinary: the author has few followers, so that the post comes before those of others.
	Ordinary bool `json:"ordinary"`
	// Again: the post was shown before it was hidden, or its followers were told otherwise. Nobody is told of it.
	Again bool `json:"again,omitempty"`
}

func (p push) options() job.Options {
	if p.Ordinary {
		return job.Options{Queue: Queue, Priority: job.High}
	}
	return job.Options{Queue: Queue, Priority: job.Normal}
}

// Kind of the job.
func (push) Kind() string { return "feed_push" }

// Concurrency is how many jobs of the queue a node runs at the same time.
func (s *Service) Concurrency() int { return s.config.Workers }

// AddWorkers adds the workers of the queue.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, func(ctx context.Context, j job.Job[push]) error { return s.runPush(ctx, j.Args) })
	job.Add(w, func(ctx context.Context, j job.Job[clean]) error { return s.clean(ctx, j.Args) })
}

// runPush brings a post to the next followers. While fan-out is switched off it waits: the post stays pending, and pages read it from its row.
func (s *Service) runPush(ctx context.Context, j push) error {
	if s.isOn(pullOnly) {
		return job.Snooze(pullOnlyDelay)
	}
	return s.push(ctx, j)
}

// push brings a post to the windows of the next followers. The followers are read in a snapshot that has the post: one who is not among them follows later, and
// builds a window that has the post.
func (s *Service) push(ctx context.Context, j push) error {
	var p *post
	var followers, shown []id.User
	short := sqldb.ShortReads(ctx)
	err := s.deps.DB.ReadSnapshot(short, func(tx *sql.Tx) (err error) {
		if p, err = getPost(short, tx, j.Post); err != nil || !p.isAt(j) {
			return err
		}
		followers, shown, err = s.deps.Graph.Followers(short, tx, p.author, j.After, s.stepOf(j))
		return err
	})
	if errs.Is(err, errs.NotFound) {
		return job.Discard(err)
	}
	if err != nil || !p.isAt(j) { // the post was deleted, or another attempt has done this
		return err
	}
	if err := s.reached("push-listed"); err != nil {
		return err
	}
	for some := range slices.Chunk(followers, s.sizes.pushFollowers) {
		if err := s.pushTo(ctx, some, ref{p.id, p.author}); err != nil {
			return err
		}
	}
	if err := s.reached("push-appended"); err != nil {
		return err
	}
	if err := s.pushed(ctx, j, followers); err != nil {
		return err
	}
	if j.Again {
		return nil
	}
	if j.After == 0 {
		shown = append(shown, p.author) // the author's other devices
	}
	return s.notify(ctx, p, shown)
}

// stepOf returns to how many followers a job brings a post: of an author with many, to several batches, because reading them and storing how far it came takes as long as a batch.
func (s *Service) stepOf(j push) int {
	if j.Ordinary {
		return s.sizes.pushFollowers
	}
	return s.sizes.pushBatches * s.sizes.pushFollowers
}

// isAt reports whether a post is pending, and was brought to the followers before those of a job.
func (p *post) isAt(j push) bool { return p.pending && p.pushedTo == j.After }

// pushTo appends a post to the windows that are open. A window is open if it has entries: a build begins with one, and reads the posts after it.
func (s *Service) pushTo(ctx context.Context, followers []id.User, r ref) error {
	keys := make([]timeline.Key, len(followers))
	for i, u := range followers {
		keys[i] = windowKey(u)
	}
	tails, err := s.deps.Log.Tails(ctx, keys)
	if err != nil {
		return err
	}
	if err := s.reached("push-tails"); err != nil {
		return err
	}
	payload := r.appendPush(nil)
	var entries []*timeline.AppendRequest
	var full []*timeline.AppendRequest
	for i, t := range tails {
		if t.Seq == 0 || t.FirstSeq > t.Seq {
			continue
		}
		a := &timeline.AppendRequest{Key: keys[i], Payload: payload}
		if entries = append(entries, a); t.Seq-t.FirstSeq >= s.sizes.windowEntries {
			full = append(full, a)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if err := s.appendAll(ctx, entries...); err != nil {
		return err
	}
	for _, a := range full {
		if err := s.reached("window-full"); err != nil {
			return err
		}
		err = errors.Join(err, s.deps.Log.Expire(ctx, a.Key, a.Seq+1, nil))
	}
	return err
}

// pushed stores how far a post was brought, with the next job.
func (s *Service) pushed(ctx context.Context, j push, followers []id.User) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if len(followers) < s.stepOf(j) {
			_, err := tx.ExecContext(ctx, `UPDATE feed_posts SET pending = FALSE WHERE id = $1 AND pushed_to = $2`, int64(j.Post), int64(j.After))
			return err
		}
		last := followers[len(followers)-1]
		done, err := tx.ExecContext(ctx, `UPDATE feed_posts SET pushed_to = $3 WHERE id = $1 AND pushed_to = $2 AND pending`, int64(j.Post), int64(j.After), int64(last))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		next := push{Post: j.Post, After: last, Ordinary: j.Ordinary, Again: j.Again}
		_, err = s.deps.Jobs.InsertTx(ctx, tx, next, next.options())
		return err
	})
	if err == nil {
		s.deps.Jobs.Wake()
	}
	return err
}
