package helpdesk

import (
	"context"
	"database/sql"
	"errors"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A ticket whose customer has not answered for too long is resolved. Sends know nothing of help desks, so a message may be acknowledged after the
// messages were checked and before the conversation is muted. So the ticket is unconfirmed until the messages were read up to the entry that mutes it.

// checkInterval is the time between two checks of an active ticket's messages.
const checkInterval = time.Minute

// checkSilence reads what was written in active tickets, and resolves those whose customers have not answered for too long.
func (s *Service) checkSilence(ctx context.Context) error {
	list, err := scanAll(s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE status = 2 AND check_ms <= $1 ORDER BY check_ms, id LIMIT $2`, s.nowMs()-checkInterval.Milliseconds(), perRound))
	for _, t := range list {
		err = errors.Join(err, s.checkTicket(ctx, t))
	}
	return err
}

func (s *Service) checkTicket(ctx context.Context, t *ticket) error {
	version := t.version
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { // first: a ticket that cannot be read holds up no other
		_, err := tx.ExecContext(ctx, `UPDATE tickets SET check_ms = $2 WHERE id = $1`, int64(t.id), s.nowMs())
		return err
	})
	if err != nil {
		return err
	}
	if err := s.readMessages(ctx, t); err != nil {
		return err
	}
	is, err := s.isAgent(ctx, s.deps.DB.Read(), t.desk, t.agent)
	if err != nil {
		return err
	}
	if !is { // the agents of the desk were replaced, and a crash, or a ticket that was taken meanwhile, left this one
		return s.releaseAll(ctx, agentKey{t.desk, t.agent})
	}
	d, err := s.desk(ctx, s.deps.DB.Read(), t.desk)
	if err != nil || d.SilenceSeconds == 0 || t.lastMs == 0 || !isSilent(t, d, s.nowMs()-max(t.lastMs, t.changedMs)) {
		return err
	}
	_, err = s.change(ctx, t.id, 0, func(_ *sql.Tx, now *ticket) error {
		if now.version != version {
			return errUnchanged
		}
		s.resolve(now)
		now.unconfirmed = true
		return nil
	})
	if err != nil {
		return err
	}
	return s.confirm(ctx, t.id)
}

// isSilent reports whether the agent wrote last, and the customer's time to answer has passed.
func isSilent(t *ticket, d *chatv1.HelpDesk, silentMs int64) bool {
	return !t.fromCustomer && silentMs >= int64(d.SilenceSeconds)*1000
}

// confirmAll confirms tickets that a node resolved which did not finish. Each round goes on where the one before ended.
func (s *Service) confirmAll(ctx context.Context) error {
	return s.eachFrom(&s.confirmedTo, func(after uint64) ([]*ticket, error) {
		return scanAll(s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE unconfirmed AND id > $1 ORDER BY id LIMIT $2`, int64(after), perRound))
	}, func(t *ticket) error { return s.confirm(ctx, t.id) })
}

// confirm reopens a ticket that was resolved for silence, if somebody wrote before its conversation was muted: nothing follows that entry. The
// agent stays the same. If the customer has another open ticket with the desk, it stays resolved.
func (s *Service) confirm(ctx context.Context, n uint64) error {
	t, err := s.ticket(ctx, s.deps.DB.Read(), n)
	if err != nil || !t.unconfirmed || t.synced < t.version { // until it is muted, more may come
		return err
	}
	if err := s.readMessages(ctx, t); err != nil {
		return err
	}
	d, err := s.desk(ctx, s.deps.DB.Read(), t.desk)
	if err != nil {
		return err
	}
	if isSilent(t, d, t.resolvedMs-t.lastMs) {
		return s.setConfirmed(ctx, t)
	}
	_, err = s.change(ctx, t.id, 0, func(tx *sql.Tx, now *ticket) error {
		if now.version != t.version {
			return errUnchanged
		}
		if _, err := s.openTicket(ctx, tx, t.customer, t.desk); !errors.Is(err, errNoTicket) {
			return errors.Join(err, errHasOther)
		}
		now.status, now.resolvedMs = active, 0
		return nil
	})
	if errors.Is(err, errHasOther) {
		return s.setConfirmed(ctx, t)
	}
	return err
}

// errHasOther: the customer has another open ticket with the desk.
var errHasOther = errors.New("the customer has another open ticket")

func (s *Service) setConfirmed(ctx context.Context, t *ticket) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE tickets SET unconfirmed = FALSE WHERE id = $1 AND version = $2`, int64(t.id), int64(t.version))
		return err
	})
}
