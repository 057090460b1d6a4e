package helpdesk

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// ticket is a row.
type ticket struct {
	id                          uint64
	desk                        uint64
	customer, agent, actor      id.User
	status                      chatv1.TicketStatus
	subject, notice             string
	place                       int64
	openedMs, changedMs         int64
	resolvedMs, firstResponseMs int64
	rating                      uint32
	comment                     string
	ratedMs                     int64
	readSeq                     uint64
	lastMs                      int64
	fromCustomer                bool
	version, synced             uint64
	unconfirmed                 bool
}

const columns = `id, desk, customer, agent, actor, status, subject, notice, place, opened_ms, changed_ms, resolved_ms, first_response_ms, rating, comment, rated_ms, read_seq, last_ms, from_customer, version, synced, unconfirmed`

func scan(scan func(...any) error) (*ticket, error) {
	t := &ticket{}
	err := scan(&t.id, &t.desk, &t.customer, &t.agent, &t.actor, &t.status, &t.subject, &t.notice, &t.place, &t.openedMs, &t.changedMs, &t.resolvedMs, &t.firstResponseMs, &t.rating, &t.comment, &t.ratedMs,
		&t.readSeq, &t.lastMs, &t.fromCustomer, &t.version, &t.synced, &t.unconfirmed)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoTicket
	}
	return t, err
}

func scanAll(rows *sql.Rows, err error) (list []*ticket, _ error) {
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		t, err := scan(rows.Scan)
		if err != nil {
			return err
		}
		list = append(list, t)
		return nil
	})
	return list, err
}

func (s *Service) ticket(ctx context.Context, from sqldb.Querier, n uint64) (*ticket, error) {
	return scan(from.QueryRowContext(ctx, `SELECT `+columns+` FROM tickets WHERE id = $1`, int64(n)).Scan)
}

// newestOf returns active tickets of an agent, the one that was taken last first, at most n.
func (s *Service) newestOf(ctx context.Context, from sqldb.Querier, desk uint64, agent id.User, n int) ([]*ticket, error) {
	return scanAll(from.QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE desk = $1 AND agent = $2 AND status = 2 ORDER BY changed_ms DESC, id DESC LIMIT $3`, int64(desk), int64(agent), n))
}

// maxPosition bounds the rows that are counted for a position in the queue.
const maxPosition = 1000

// row returns a ticket without its place in the queue.
func (t *ticket) row() *chatv1.Ticket {
	return &chatv1.Ticket{Id: t.id, Desk: t.desk, Customer: uint64(t.customer), Agent: uint64(t.agent), Status: t.status, Subject: t.subject, OpenedMs: t.openedMs, ResolvedMs: t.resolvedMs,
		FirstResponseMs: t.firstResponseMs, Rating: t.rating, Comment: t.comment, Version: t.version}
}

// view returns a ticket as it is now.
func (s *Service) view(ctx context.Context, from sqldb.Querier, t *ticket) (*chatv1.Ticket, error) {
	v := t.row()
	if t.status != waiting {
		return v, nil
	}
	d, err := s.desk(ctx, from, t.desk)
	if err != nil {
		return nil, err
	}
	_, v.OpensAtMs = opening(d, s.deps.Clock.Now())
	err = from.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM tickets WHERE desk = $1 AND status = 1 AND (place, id) <= ($2, $3) ORDER BY place, id LIMIT $4) AS ahead`,
		int64(t.desk), t.place, int64(t.id), maxPosition).Scan(&v.Position)
	return v, err
}

var errRaced = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "this ticket is being changed: try again", Retry: 100e6}

// store writes a changed row with the next version, and the events about it. before is the desk that the ticket was with.
func (s *Service) store(ctx context.Context, tx *sql.Tx, t *ticket, before uint64) error {
	t.changedMs = max(t.changedMs, s.nowMs())
	t.version++
	done, err := tx.ExecContext(ctx, `UPDATE tickets SET desk = $2, agent = $3, actor = $4, status = $5, notice = $6, place = $7, changed_ms = $8, resolved_ms = $9, first_response_ms = $10,
		rating = $11, comment = $12, rated_ms = $13, check_ms = $8, version = $14, unconfirmed = $16 WHERE id = $1 AND version = $15`, int64(t.id), int64(t.desk), int64(t.agent), int64(t.actor), t.status, t.notice, t.place, t.changedMs, t.resolvedMs,
		t.firstResponseMs, t.rating, t.comment, t.ratedMs, int64(t.version), int64(t.version-1), t.unconfirmed && t.status == resolved)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errRaced)
	}
	return s.putEvents(ctx, tx, t, before)
}

// nextInLine is how many customers at the head of the queue learn of their position with each change.
const nextInLine = 20

// putEvents stores a ticket's state for its customer and the agents of its desk, and of the desk that it was with. Customers at the head of the
// queue get their positions.
func (s *Service) putEvents(ctx context.Context, tx *sql.Tx, t *ticket, before uint64) error {
	v, err := s.view(ctx, tx, t)
	if err != nil {
		return err
	}
	users := []uint64{uint64(t.customer)}
	for _, desk := range slices.Compact([]uint64{t.desk, before}) {
		agents, err := s.agentsOf(ctx, tx, desk)
		if err != nil {
			return err
		}
		users = append(users, agents...)
	}
	slices.Sort(users)
	for _, u := range slices.Compact(users) {
		if err := s.putEvent(ctx, tx, id.User(u), v); err != nil {
			return err
		}
	}
	head, err := scanAll(tx.QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE desk = $1 AND status = 1 ORDER BY place, id LIMIT $2`, int64(before), nextInLine))
	if err != nil {
		return err
	}
	for _, other := range head {
		if other.id == t.id {
			continue
		}
		if v, err = s.view(ctx, tx, other); err != nil {
			return err
		}
		if err := s.putEvent(ctx, tx, other.customer, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) putEvent(ctx context.Context, tx *sql.Tx, u id.User, v *chatv1.Ticket) error {
	raw, err := proto.Marshal(v)
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: u, Body: message.AppendBody(nil, message.FieldTicket, raw)})
}

// errUnchanged is returned by a decision that changes nothing.
var errUnchanged = errors.New("unchanged")

// change lets decide change a ticket in a transaction, stores it, brings its conversation up to date, and returns it.
func (s *Service) change(ctx context.Context, n uint64, by id.User, decide func(tx *sql.Tx, t *ticket) error) (*chatv1.Ticket, error) {
	return s.changeOne(ctx, by, func(tx *sql.Tx) (uint64, error) { return n, nil }, decide)
}

// changeOne is change of a ticket that find finds in the transaction.
func (s *Service) changeOne(ctx context.Context, by id.User, find func(tx *sql.Tx) (uint64, error), decide func(tx *sql.Tx, t *ticket) error) (*chatv1.Ticket, error) {
	return s.commit(ctx, func(tx *sql.Tx) (*ticket, error) {
		found, err := find(tx)
		if err != nil {
			return nil, err
		}
		t, err := s.ticket(ctx, tx, found)
		if err != nil {
			return nil, err
		}
		before := t.desk
		if err := decide(tx, t); errors.Is(err, errUnchanged) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		t.actor = by
		return t, s.store(ctx, tx, t, before)
	})
}

// commit runs a change of a ticket in a transaction, brings its conversation up to date, and returns the ticket.
func (s *Service) commit(ctx context.Context, write func(tx *sql.Tx) (*ticket, error)) (v *chatv1.Ticket, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		t, err := write(tx)
		if err != nil {
			return err
		}
		v, err = s.view(ctx, tx, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.deps.Outbox.Wake()
	s.requestAssignment()
	return v, s.sync(ctx, v.Id)
}

// syncTries bounds how often sync follows a ticket that changes meanwhile. The coordinator does the rest.
const syncTries = 5

// sync brings the conversation of a ticket to the state of its row.
func (s *Service) sync(ctx context.Context, ticket uint64) error {
	for range syncTries {
		t, err := s.ticket(ctx, s.deps.DB.Read(), ticket)
		if err != nil || t.synced >= t.version {
			return err
		}
		d, err := s.desk(ctx, s.deps.DB.Read(), t.desk)
		if err != nil {
			return err
		}
		agent := t.agent
		if t.status == waiting {
			agent = 0
		}
		err = s.deps.Chat.PutTicket(ctx, Conversation{ID: id.Conversation(t.id), Version: t.version, Title: d.Name, Announcement: t.notice, Customer: t.customer, Agent: agent, Actor: t.actor, Status: t.status})
		if err != nil {
			return err
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE tickets SET synced = $2 WHERE id = $1 AND synced < $2`, int64(t.id), int64(t.version))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
