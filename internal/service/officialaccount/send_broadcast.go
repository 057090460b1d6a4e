package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"golang.org/x/sync/errgroup"
)

const (
	// broadcastsPerStep bounds the broadcasts that are worked on in turn.
	broadcastsPerStep = 16
	// maxFaults bounds the tries of a message to a recipient, or of its update, that fail by a fault of the server, such as a damaged conversation;
	// maxTries also those that fail since something is unavailable, such as the relation webhook for this recipient.
	maxFaults, maxTries = 5, 1000
	// disabledInterval is the time between two looks whether the account of a broadcast is still disabled.
	disabledInterval = time.Minute
)

// States of a delivery.
const (
	deliveryClaimed = 1 + iota // stored, and perhaps sent
	deliverySent
	deliveryFailed
	deliverySkipped // the user no longer followed
)

// SendBroadcasts makes a step of each broadcast that has something to do. All of them share broadcasts_per_second.
func (s *Service) SendBroadcasts(ctx context.Context) error {
	list, err := s.queryBroadcasts(ctx, `SELECT `+broadcastColumns+` FROM official_broadcasts WHERE pending AND work_ms <= $1 ORDER BY work_ms, id LIMIT $2`, s.nowMs(), broadcastsPerStep)
	if err != nil {
		return err
	}
	for _, b := range list {
		budget := max(1, s.config.BroadcastsPerSecond/len(list))
		if err := s.step(ctx, b, budget); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := s.postpone(ctx, b, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// postpone stores when the next step comes after one that failed. After the last attempt there is none: a running broadcast is paused, and goes on when
// an operator resumes it. One that is over is given up; edits and recalls that copies lack are sent when an operator edits or recalls it again.
func (s *Service) postpone(ctx context.Context, b *broadcast, cause error) error {
	if b.faults++; b.faults >= maxAttempts {
		return s.giveUp(ctx, b, cause)
	}
	s.deps.Logger.Warn("a broadcast continues later", "broadcast", b.id, "attempts", b.faults, "error", cause)
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET work_ms = $2, faults = $3 WHERE id = $1 AND work_ms = $4`,
			int64(b.id), s.nowMs()+retryDelay(b.faults).Milliseconds(), b.faults, b.workMs)
		return err
	})
}

// giveUp ends the attempts of a broadcast. Recipients to whom one that is over could not send have failed.
func (s *Service) giveUp(ctx context.Context, b *broadcast, cause error) error {
	s.givenUp.Broadcasts.Add(1)
	s.deps.Logger.Error("a broadcast stops that failed too often: resume it, or edit or recall it again", "broadcast", b.id, "attempts", b.faults, "error", cause)
	state := b.state
	if state == running {
		state = paused
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		stopped, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET faults = 0, pending = FALSE, state = $2 WHERE id = $1 AND work_ms = $3 AND state = $4`, int64(b.id), state, b.workMs, b.state)
		if err != nil {
			return err
		}
		if n, err := stopped.RowsAffected(); err != nil || n == 0 || state == paused { // n == 0: it was changed
			return err
		}
		failed, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET state = $2, reason = $3, tries = 0 WHERE broadcast = $1 AND state = $4`, int64(b.id), deliveryFailed, errs.Of(cause).Reason, deliveryClaimed)
		if err != nil {
			return err
		}
		n, err := failed.RowsAffected()
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE official_broadcasts SET failed = failed + $2 WHERE id = $1`, int64(b.id), n)
		return err
	})
}

// step sends what an earlier step has claimed, claims and sends more, and updates copies. It stores when the next step is due.
func (s *Service) step(ctx context.Context, b *broadcast, budget int) error {
	o, err := read(ctx, s.deps.DB.Read(), b.account)
	if err != nil {
		return err
	}
	claimed, err := s.claimed(ctx, b, budget)
	if err != nil {
		return err
	}
	if left := budget - len(claimed); left > 0 && b.state == running && !o.disabled && b.dueMs <= s.nowMs() {
		more, err := s.claim(ctx, o, b, left)
		if err != nil {
			return err
		}
		claimed = append(claimed, more...)
	}
	if len(claimed) > 0 {
		if err := s.sendClaimed(ctx, o, b, claimed); err != nil {
			return err
		}
	}
	updated, err := s.updateCopies(ctx, b, max(1, budget-len(claimed)))
	if err != nil {
		return err
	}
	return s.schedule(ctx, b, len(claimed)+updated > 0, o.disabled)
}

// schedule stores when there is something to do again. A change in the meantime has stored its own time.
func (s *Service) schedule(ctx context.Context, b *broadcast, busy, disabled bool) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now, pending := s.nowMs(), true
		next := max(now, b.dueMs)
		switch {
		case busy: // there may be more copies to update
			next = now
		case b.state != running:
			pending = false
		case disabled: // it takes no part in the rate of others
			next = max(next, now+disabledInterval.Milliseconds())
		}
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET work_ms = $2, pending = $3, faults = 0 WHERE id = $1 AND work_ms = $4 AND state = $5 AND revision = $6`,
			int64(b.id), next, pending, b.workMs, b.state, b.revision)
		return err
	})
}

// claimed returns recipients to whom a step that ended early may have sent, or not.
func (s *Service) claimed(ctx context.Context, b *broadcast, limit int) ([]id.User, error) {
	return usersOf(ctx, s.deps.DB.Read(), `SELECT recipient FROM official_deliveries WHERE broadcast = $1 AND state = $2 ORDER BY recipient LIMIT $3`, int64(b.id), deliveryClaimed, limit)
}

// claim stores deliveries for the next followers of the wave, together with how far the wave is.
func (s *Service) claim(ctx context.Context, o *official, b *broadcast, budget int) ([]id.User, error) {
	limit, interval := budget, broadcastInterval
	if b.perMinute > 0 {
		limit = min(limit, max(1, int(b.perMinute/60)))
		interval = time.Minute * time.Duration(limit) / time.Duration(b.perMinute)
	}
	users, last, end, err := s.nextRecipients(ctx, o, b, limit)
	if err != nil {
		return nil, err
	}
	next := *b
	next.afterUser = last
	if len(users) > 0 {
		next.dueMs = s.nowMs() + interval.Milliseconds()
	}
	if end {
		next.afterUser = 0
		if next.wave++; next.wave == len(b.waves) {
			next.wave, next.state = len(b.waves)-1, done
		} else {
			next.dueMs = s.nowMs() + int64(b.waveSeconds)*1000
		}
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		changed, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET after_user = $2, wave = $3, due_ms = $4, state = $5 WHERE id = $1 AND state = $6 AND wave = $7 AND after_user = $8 AND revision = $9`,
			int64(b.id), int64(next.afterUser), next.wave, next.dueMs, next.state, running, b.wave, int64(b.afterUser), b.revision)
		if err != nil {
			return err
		}
		if n, err := changed.RowsAffected(); err != nil || n == 0 { // it was changed, or another node is faster
			return orElse(err, errOutrun)
		}
		for _, u := range users {
			if _, err := tx.ExecContext(ctx, `INSERT INTO official_deliveries (broadcast, recipient, state) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, int64(b.id), int64(u), deliveryClaimed); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errOutrun) {
		return nil, nil
	}
	if err == nil {
		b.afterUser, b.wave, b.dueMs, b.state = next.afterUser, next.wave, next.dueMs, next.state
	}
	return users, err
}

// delivery is the outcome of a send.
type delivery struct {
	recipient    id.User
	state        int // 0: it is tried again
	most         int // tries, if it is tried again
	tries        int
	conversation id.Conversation
	seq          uint64
	revision     uint32
	reason       string
}

// sendClaimed sends to recipients, and stores the outcomes. It fails if all of them must be tried again; a few do not slow down the others.
func (s *Service) sendClaimed(ctx context.Context, o *official, b *broadcast, users []id.User) error {
	following, err := s.deps.Chat.FollowersAmong(ctx, o.channel, users)
	if err != nil {
		return err
	}
	outcomes, failures := make([]delivery, len(users)), make([]error, len(users))
	sends := errgroup.Group{}
	sends.SetLimit(atOnce)
	for i, u := range users {
		sends.Go(func() error {
			if !slices.Contains(following, u) {
				outcomes[i] = delivery{recipient: u, state: deliverySkipped}
				return nil
			}
			outcomes[i], failures[i] = s.sendTo(ctx, b, u)
			return nil
		})
	}
	if err := sends.Wait(); err != nil {
		return err
	}
	if err := s.storeOutcomes(ctx, b, outcomes); err != nil {
		return err
	}
	return s.allFailed(b, failures)
}

// allFailed returns why all of several tries failed. If only some did, it logs why.
func (s *Service) allFailed(b *broadcast, failures []error) error {
	failed := slices.DeleteFunc(slices.Clone(failures), func(err error) bool { return err == nil })
	switch {
	case len(failed) == 0:
		return nil
	case len(failed) == len(failures):
		return errors.Join(failed...)
	}
	s.deps.Logger.Warn("some messages of a broadcast are tried again", "broadcast", b.id, "messages", len(failed), "error", failed[0])
	return nil
}

// sendTo sends a broadcast to a user. Its client_msg_id derives from the broadcast, so that the user's conversation stores it once.
func (s *Service) sendTo(ctx context.Context, b *broadcast, u id.User) (delivery, error) {
	d, err := s.deliver(ctx, b.account, u, 0, fmt.Sprintf("broadcast.%d", b.id), b.content)
	if ctx.Err() != nil {
		return delivery{}, ctx.Err()
	}
	if err != nil && d != nil && d.Duplicate && d.Seq != 0 { // stored before the broadcast was edited
		err = nil
	}
	if mayRetry(err) {
		return delivery{recipient: u, most: attemptsOf(err, maxTries), reason: errs.Of(err).Reason}, err
	}
	if err != nil {
		return delivery{recipient: u, state: deliveryFailed, reason: errs.Of(err).Reason}, nil
	}
	sent := delivery{recipient: u, state: deliverySent, conversation: d.Conversation, seq: d.Seq, revision: b.revision}
	if b.state == recalled || d.Duplicate && b.revision > 1 { // it is taken back, or may have an earlier content
		sent.revision = 0
	}
	return sent, nil
}

// storeOutcomes stores the outcomes of sends, and counts each once.
func (s *Service) storeOutcomes(ctx context.Context, b *broadcast, outcomes []delivery) error {
	return s.deps.DB.Write(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		ctx := context.WithoutCancel(ctx)
		sent, failed := 0, 0
		for _, o := range outcomes {
			if o.state == 0 {
				gaveUp, err := countTry(ctx, tx, b, o)
				if err != nil {
					return err
				}
				failed += gaveUp
				continue
			}
			changed, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET state = $3, conversation = $4, seq = $5, revision = $6, reason = $7 WHERE broadcast = $1 AND recipient = $2 AND state = $8`,
				int64(b.id), int64(o.recipient), o.state, int64(o.conversation), int64(o.seq), o.revision, o.reason, deliveryClaimed)
			if err != nil {
				return err
			}
			n, err := changed.RowsAffected()
			if err != nil {
				return err
			}
			switch o.state {
			case deliverySent:
				sent += int(n)
			case deliveryFailed:
				failed += int(n)
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET sent = sent + $2, failed = failed + $3 WHERE id = $1`, int64(b.id), sent, failed)
		return err
	})
}

// countTry counts a send that is tried again, and gives up after the last one: one recipient does not hold up the broadcast for ever.
func countTry(ctx context.Context, tx *sql.Tx, b *broadcast, o delivery) (gaveUp int, err error) {
	if _, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET tries = tries + 1 WHERE broadcast = $1 AND recipient = $2 AND state = $3`, int64(b.id), int64(o.recipient), deliveryClaimed); err != nil {
		return 0, err
	}
	done, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET state = $4, reason = $5, tries = 0 WHERE broadcast = $1 AND recipient = $2 AND state = $3 AND tries >= $6`,
		int64(b.id), int64(o.recipient), deliveryClaimed, deliveryFailed, o.reason, o.most)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}
