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

// broadcastsPerStep bounds the broadcasts that are worked on in turn.
const broadcastsPerStep = 16

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
			s.deps.Logger.Warn("a broadcast continues later", "broadcast", b.id, "error", err)
			if err := s.postpone(ctx, b, s.nowMs()+retryDelay.Milliseconds()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) postpone(ctx context.Context, b *broadcast, untilMs int64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET work_ms = $2 WHERE id = $1 AND work_ms = $3`, int64(b.id), untilMs, b.workMs)
		return err
	})
}

// step sends what an earlier step has claimed, or else claims and sends more, and updates copies. It stores when the next step is due.
func (s *Service) step(ctx context.Context, b *broadcast, budget int) error {
	o, err := read(ctx, s.deps.DB.Read(), b.account)
	if err != nil {
		return err
	}
	claimed, err := s.claimed(ctx, b, budget)
	if err != nil {
		return err
	}
	if len(claimed) == 0 && b.state == running && !o.disabled && b.dueMs <= s.nowMs() {
		if claimed, err = s.claim(ctx, o, b, budget); err != nil {
			return err
		}
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
	return s.schedule(ctx, b, len(claimed)+updated > 0)
}

// schedule stores when there is something to do again. A change in the meantime has stored its own time.
func (s *Service) schedule(ctx context.Context, b *broadcast, busy bool) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now, pending := s.nowMs(), true
		next := max(now, b.dueMs)
		switch {
		case busy: // there may be more copies to update
			next = now
		case b.state != running:
			pending = false
		}
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET work_ms = $2, pending = $3 WHERE id = $1 AND work_ms = $4 AND state = $5 AND revision = $6`,
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
	conversation id.Conversation
	seq          uint64
	revision     uint32
	reason       string
}

// sendClaimed sends to recipients, and stores the outcomes. It fails if some must be tried again.
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
	return errors.Join(failures...)
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
		return delivery{}, err
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
