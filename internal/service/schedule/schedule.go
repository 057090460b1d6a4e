// Package schedule sends messages at a time that their senders chose.
//
// A scheduled message is a row. One node at a time, the coordinator, sends due messages. Two coordinators at the same moment do no harm, because
// each message is sent with the client_msg_id of its sender, and the conversation's log stores an id once. A row is claimed before its message
// is sent: a change or cancellation that was acknowledged earlier holds, and a later one is refused. The row is deleted
// after the message was stored, so if a node dies in between, the message is sent again, which changes nothing. Whether the sender may write is
// checked when the message is scheduled, and checked again by chat when it is sent. Its files are kept from the first check on, even if nothing else uses them.
//
// It may use sqldb and cluster, and chat by an interface. All methods are safe for concurrent use.
package schedule

import (
	"context"
	"log/slog"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Chat checks and stores messages.
type Chat interface {
	// CheckDraft returns why a message is not valid, and notes the uploads that it refers to.
	CheckDraft(d *message.Draft) error
	// CheckScheduled is CheckDraft, and returns why a user may not write in the conversation now, or why nobody may.
	CheckScheduled(ctx context.Context, d *message.Draft) error
	// Send stores a message. Of a second one with the same sender, device and id, it returns the first.
	Send(ctx context.Context, d *message.Draft) error
}

// IDs generates ids of rows.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB   *sqldb.DB
	Chat Chat
	IDs  IDs
	// KeepUploads keeps uploads of a user until a message with them is sent, at a time, and some time longer. It returns why one may not be sent. If nil, it does nothing.
	KeepUploads func(ctx context.Context, by id.User, uploads []id.Upload, sendMs int64) error
	Clock       clock.Clock
	// IsCoordinator reports whether this node sends what is due, for all nodes. If nil, it does.
	IsCoordinator func() bool
	Logger        *slog.Logger
}

// Service has the scheduled messages of all users.
type Service struct {
	deps Deps
}

// A row is sent at due_ms, which is send_ms, or later where an attempt failed for a time.
var migrations = []string{
	`CREATE TABLE scheduled (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, conversation BIGINT NOT NULL, device BIGINT NOT NULL, client_msg_id TEXT NOT NULL,
		content {bytes} NOT NULL, send_ms BIGINT NOT NULL, due_ms BIGINT NOT NULL, claimed BOOLEAN NOT NULL DEFAULT FALSE, failed TEXT NOT NULL DEFAULT '',
		UNIQUE (owner, conversation, device, client_msg_id))`,
	`CREATE INDEX scheduled_by_time ON scheduled (due_ms, id) WHERE failed = ''`, // rows that failed stay, and are not read again and again
	`CREATE INDEX scheduled_by_owner ON scheduled (owner, send_ms, id)`,
}

// New creates the table if it is missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	return &Service{deps: deps}, deps.DB.Migrate(ctx, "schedule", migrations)
}

// scheduled is a row.
type scheduled struct {
	id           uint64
	owner        id.User
	conversation id.Conversation
	device       id.Device
	clientMsgID  string
	content      []byte
	sendMs       int64
	claimed      bool
	failed       string
}

// draft returns the message of a row. It owns its content.
func (r *scheduled) draft() *message.Draft {
	return &message.Draft{Conversation: r.conversation, Sender: r.owner, Device: r.device, ClientMsgID: r.clientMsgID, Content: append([]byte(nil), r.content...)}
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
