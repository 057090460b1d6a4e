package push

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Queue of the jobs.
const Queue = "push"

// orphanAge is when the job of a row that was not sent counts as lost: an operator discarded it, or it killed its process too often.
const orphanAge = 3 * time.Hour

// delivery is the job of a row of pushes.
type delivery struct {
	Subscription int64           `json:"subscription"`
	Conversation id.Conversation `json:"conversation"`
}

// Kind of the job.
func (delivery) Kind() string { return "push" }

// AddWorkers adds the workers of the queue.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, s.deliver)
	job.Add(w, func(ctx context.Context, j job.Job[mentioned]) error { return s.mention(ctx, j.Args) })
}

// push is a row of pushes.
type push struct {
	seq, sent           uint64
	queuedMs, changedMs int64
}

func pushOf(ctx context.Context, tx *sql.Tx, d delivery) (p push, found bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT seq, sent_seq, queued_ms, changed_ms FROM pushes WHERE subscription = $1 AND conversation = $2`, d.Subscription, int64(d.Conversation)).Scan(&p.seq, &p.sent, &p.queuedMs, &p.changedMs)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, err
}

// queue stores that the subscriptions of a user are to be pushed the newest messages of some conversations. It reports whether it inserted jobs.
func (s *Service) queue(ctx context.Context, tx *sql.Tx, u id.User, newest map[id.Conversation]uint64) (inserted bool, err error) {
	list, err := subscriptionsOf(ctx, tx, u)
	if err != nil {
		return false, err
	}
	for _, c := range slices.Sorted(maps.Keys(newest)) {
		for _, p := range list {
			some, err := s.queueFor(ctx, tx, delivery{p.id, c}, newest[c])
			if err != nil {
				return false, err
			}
			inserted = inserted || some
		}
	}
	return inserted, nil
}

// queueFor replaces what waits for a subscription and a conversation by a newer message. What was pushed already is not pushed again.
func (s *Service) queueFor(ctx context.Context, tx *sql.Tx, d delivery, seq uint64) (inserted bool, err error) {
	p, found, err := pushOf(ctx, tx, d)
	if err != nil || seq <= p.seq {
		return false, err
	}
	now := s.nowMs()
	waits := found && p.queuedMs > now-orphanAge.Milliseconds() // a job will find the new seq
	if !waits {
		p.queuedMs = now
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO pushes (subscription, conversation, seq, sent_seq, queued_ms, changed_ms) VALUES ($1, $2, $3, 0, $4, $5)
		ON CONFLICT (subscription, conversation) DO UPDATE SET seq = $3, queued_ms = $4, changed_ms = $5`, d.Subscription, int64(d.Conversation), int64(seq), p.queuedMs, now); err != nil || waits {
		return false, err
	}
	_, err = s.deps.Jobs.InsertTx(ctx, tx, d, job.Options{Queue: Queue, MaxFailures: maxAttempts, Timeout: 30 * time.Second})
	return err == nil, err
}
