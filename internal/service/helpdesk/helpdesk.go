// Package helpdesk is customer service: help desks, their agents and queues, and the tickets of customers.
//
// It owns the rows of desks and tickets. A ticket waits, is active, or is resolved. Each change is one transaction: it compares the version of the
// row that it has read, sets the next version, and stores the events for the customer's and the agents' streams. So of two agents who take a
// ticket, one gets it.
//
// The conversation of a ticket, which has the ticket's id, follows the row: after each change, chat gets the row's state with its version. If that
// fails, or a node dies in between, the coordinator repeats it (synced is below version). A state that comes too late changes
// nothing. A call returns when the conversation is up to date.
//
// Timed work runs on one node at a time, the coordinator: automatic assignment, the return of tickets of absent agents, the
// end of silent ones, and the deletion of those that ended two years ago. A second such node for a moment does no harm, since each change compares versions.
//
// It may use sqldb, job and cluster, and chat, accounts and presence by interfaces. All methods are safe for concurrent use. The only lock guards
// how long agents have been offline, and where rounds go on; it is held for look-ups only.
package helpdesk

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Conversation is what chat gets of a ticket.
type Conversation struct {
	ID                     id.Conversation
	Version                uint64 // 1 creates it; an earlier one than the last changes nothing
	Title, Announcement    string
	Customer, Agent, Actor id.User // Agent and Actor may be 0
	Status                 chatv1.TicketStatus
}

// Messages says who wrote messages in a part of a conversation. Reactions, other updates and control entries are none.
type Messages struct {
	Through         uint64 // the last entry of the part
	More            bool   // there are later ones
	FirstMs, LastMs int64  // the first one not from the customer, and the last one; 0: none
	FromCustomer    bool   // the last one
}

// Chat has the conversations of tickets.
type Chat interface {
	PutTicket(ctx context.Context, c Conversation) error
	ReadTicketMessages(ctx context.Context, c id.Conversation, customer id.User, after uint64) (Messages, error)
}

// Accounts knows which users exist.
type Accounts interface {
	Exist(ctx context.Context, users []id.User) error
}

// IDs generates the ids of desks and tickets.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Outbox   *job.Outbox
	Chat     Chat
	Accounts Accounts
	IDs      IDs
	// Online reports which users are connected, at most 100, in order.
	Online func(ctx context.Context, users []id.User) ([]bool, error)
	Clock  clock.Clock
	// IsCoordinator reports whether this node does what time brings, for all nodes. If nil, it does.
	IsCoordinator func() bool
	Logger        *slog.Logger
}

// Service has the desks and tickets of all nodes.
type Service struct {
	deps Deps
	wake chan struct{} // a ticket may be assigned

	mu          sync.Mutex // guards what follows
	offline     map[agentKey]time.Duration
	presenceAt  time.Time // when offline was last updated
	presenceOld bool      // this node was not the coordinator since
	syncedTo    uint64    // the last ticket of the last round of syncAll
	confirmedTo uint64    // the last ticket of the last round of confirmAll
}

// agentKey is an agent of a desk.
type agentKey struct {
	desk  uint64
	agent id.User
}

var migrations = []string{
	`CREATE TABLE help_desks (id BIGINT PRIMARY KEY, desk_key TEXT NOT NULL UNIQUE, settings {bytes} NOT NULL)`,
	`CREATE TABLE help_desk_agents (desk BIGINT NOT NULL, agent BIGINT NOT NULL, assigned_ms BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (desk, agent))`,
	`CREATE INDEX help_desk_agents_agent ON help_desk_agents (agent, desk)`,
	// Place is the order of the queue. Read_seq is the last entry of the conversation that last_ms and from_customer are about.
	`CREATE TABLE tickets (id BIGINT PRIMARY KEY, desk BIGINT NOT NULL, customer BIGINT NOT NULL, agent BIGINT NOT NULL DEFAULT 0, actor BIGINT NOT NULL DEFAULT 0, status BIGINT NOT NULL,
		subject TEXT NOT NULL, notice TEXT NOT NULL, place BIGINT NOT NULL, opened_ms BIGINT NOT NULL, changed_ms BIGINT NOT NULL, resolved_ms BIGINT NOT NULL DEFAULT 0,
		first_response_ms BIGINT NOT NULL DEFAULT 0, rating BIGINT NOT NULL DEFAULT 0, comment TEXT NOT NULL DEFAULT '', rated_ms BIGINT NOT NULL DEFAULT 0,
		read_seq BIGINT NOT NULL DEFAULT 0, last_ms BIGINT NOT NULL DEFAULT 0, from_customer BOOLEAN NOT NULL DEFAULT TRUE, check_ms BIGINT NOT NULL DEFAULT 0,
		version BIGINT NOT NULL, synced BIGINT NOT NULL DEFAULT 0)`,
	`CREATE UNIQUE INDEX tickets_open ON tickets (customer, desk) WHERE status <> 3`,
	`CREATE INDEX tickets_customer ON tickets (customer, opened_ms, id)`,
	`CREATE INDEX tickets_queue ON tickets (desk, place, id) WHERE status = 1`,
	`CREATE INDEX tickets_agent ON tickets (desk, agent, status, changed_ms, id)`,
	`CREATE INDEX tickets_changed ON tickets (desk, status, changed_ms, id)`,
	`CREATE INDEX tickets_resolved ON tickets (desk, resolved_ms) WHERE status = 3`,
	`CREATE INDEX tickets_check ON tickets (check_ms, id) WHERE status = 2`,
	`CREATE INDEX tickets_unsynced ON tickets (id) WHERE synced < version`,
	// Unconfirmed: the ticket was resolved for silence, and its customer may have written before the conversation was muted. See silence.go.
	`ALTER TABLE tickets ADD COLUMN unconfirmed BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX tickets_unconfirmed ON tickets (id) WHERE unconfirmed`,
	`CREATE INDEX tickets_ended ON tickets (resolved_ms, id) WHERE status = 3`,
}

const (
	waiting  = chatv1.TicketStatus_TICKET_STATUS_WAITING
	active   = chatv1.TicketStatus_TICKET_STATUS_ACTIVE
	resolved = chatv1.TicketStatus_TICKET_STATUS_RESOLVED
)

var (
	errNoDesk   = errs.New(errs.NotFound, "no_help_desk", "there is no such help desk, or you are not its agent")
	errNoTicket = errs.New(errs.NotFound, "no_ticket", "there is no such ticket, or it is neither yours nor one of a desk whose agent you are")
)

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	s := &Service{deps: deps, wake: make(chan struct{}, 1), offline: map[agentKey]time.Duration{}, presenceOld: true}
	return s, deps.DB.Migrate(ctx, "helpdesk", migrations)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

// requestAssignment makes Run assign waiting tickets soon.
func (s *Service) requestAssignment() {
	wakeup.Signal(s.wake)
}
