package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

const (
	// broadcastsPerStep bounds the broadcasts that are worked on in turn.
	broadcastsPerStep = 16
	// maxFaults bounds the tries of a message to a recipient, or of its update, that fail by a fault of the server, such as a damaged conversation;
	// maxTries also those that fail since something is unavailable, such as the relation webhook for this recipient. With the delays between them, they
	// are a day.
	maxFaults, maxTries = 5, 160
	// disabledInterval is the time between two looks whether the account of a broadcast is still disabled.
	disabledInterval = time.Minute
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

// giveUp ends the attempts of a broadcast. Of one that is over, the messages that could not be sent have failed; since some of them may be stored, the
// next edit or recall tries them again.
func (s *Service) giveUp(ctx context.Context, b *broadcast, cause error) error {
	s.abandoned.Broadcasts.Add(1)
	s.deps.Logger.Error("a broadcast failed too often, and stops: resume it, or edit or recall it again", "broadcast", b.id, "attempts", b.faults, "error", cause)
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
		failed, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET state = $2, reason = $3, tries = 0, due_ms = 0 WHERE broadcast = $1 AND state = $4`,
			int64(b.id), deliveryUncertain, errs.Of(cause).Reason, deliveryClaimed)
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

// step sends messages, then updates copies, and stores when the next step is due. It fails if the service seems to be out of order for all recipients.
func (s *Service) step(ctx context.Context, b *broadcast, budget int) error {
	o, err := read(ctx, s.deps.DB.Read(), b.account)
	if err != nil {
		return err
	}
	sends, err := s.sendMessages(ctx, o, b, budget)
	if err != nil {
		return err
	}
	updates, err := s.updateCopies(ctx, b, max(1, budget-len(sends)))
	if err != nil {
		return err
	}
	tries := slices.Concat(sends, updates)
	if err := outage(tries); err != nil {
		return err
	}
	s.logFailures(b, tries)
	return s.schedule(ctx, b, len(tries) > 0, o.disabled)
}

// schedule stores when there is something to do again. A change in the meantime has stored its own time.
func (s *Service) schedule(ctx context.Context, b *broadcast, busy, disabled bool) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now, next := s.nowMs(), int64(math.MaxInt64)
		switch {
		case busy: // there may be more
			next = now
		case b.state == running && disabled: // it takes no part in the rate of others
			next = max(now+disabledInterval.Milliseconds(), b.dueMs)
		case b.state == running:
			next = max(now, b.dueMs)
		}
		if retry, err := nextRetry(ctx, tx, b); err != nil {
			return err
		} else if retry.Valid && b.state != paused {
			next = min(next, max(now, retry.Int64))
		}
		pending := next != math.MaxInt64
		if !pending {
			next = now
		}
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET work_ms = $2, pending = $3, faults = 0 WHERE id = $1 AND work_ms = $4 AND state = $5 AND revision = $6`,
			int64(b.id), next, pending, b.workMs, b.state, b.revision)
		return err
	})
}

// claim stores deliveries for the next followers of the wave, together with how far the wave is.
func (s *Service) claim(ctx context.Context, o *official, b *broadcast, budget int) ([]delivery, error) {
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
	list := make([]delivery, len(users))
	for i, u := range users {
		list[i] = delivery{recipient: u, fresh: true}
	}
	return list, err
}
