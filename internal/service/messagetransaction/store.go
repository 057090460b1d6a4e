package messagetransaction

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/proto"
)

// State of a transaction, as it is stored.
type State = transactionv1.MessageTransactionState

// States.
const (
	prepared   = transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_PREPARED
	committed  = transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_COMMITTED
	sent       = transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_SENT
	failed     = transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_FAILED
	rolledBack = transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_ROLLED_BACK
)

var (
	errNotFound  = errs.New(errs.NotFound, "no_transaction", "this API key has no such transaction; those that have ended are kept for 3 days")
	errReference = errs.New(errs.Conflict, "reference_reused", "this API key has another transaction with this reference; use a new one")
)

// transaction is a row.
type transaction struct {
	id         uint64
	key        string
	reference  string
	digest     []byte
	state      State
	bytes      int64 // of its contents
	preparedMs int64
	endedMs    int64
	checks     uint32
	lastError  string
	cause      transactionv1.RollBackCause
	job        int64
}

// trimmed reports whether a transaction failed, and the contents that were refused are deleted.
func (t *transaction) trimmed() bool { return t.state == failed && t.bytes == 0 }

// preparedMessage is a row of a message.
type preparedMessage struct {
	n            int
	sender       id.User
	conversation id.Conversation
	content      []byte
	seq          uint64
	message      string
	reason       string
}

// draft returns the message as it is sent. Its id follows from the transaction alone.
func (m *preparedMessage) draft(of uint64) *message.Draft {
	return &message.Draft{Conversation: m.conversation, Sender: m.sender, ClientMsgID: fmt.Sprintf("transaction-%d-%d", of, m.n), Content: append([]byte(nil), m.content...)}
}

const columns = `id, key_name, reference, digest, state, bytes, prepared_ms, ended_ms, checks, last_error, cause, job`

func scan(scan func(...any) error) (*transaction, error) {
	t := &transaction{}
	err := scan(&t.id, &t.key, &t.reference, &t.digest, &t.state, &t.bytes, &t.preparedMs, &t.endedMs, &t.checks, &t.lastError, &t.cause, &t.job)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNotFound
	}
	return t, err
}

func get(ctx context.Context, q sqldb.Querier, transaction uint64) (*transaction, error) {
	return scan(q.QueryRowContext(ctx, `SELECT `+columns+` FROM message_transactions WHERE id = $1`, int64(transaction)).Scan)
}

// getOf returns a transaction of a key.
func getOf(ctx context.Context, q sqldb.Querier, key string, transaction uint64) (*transaction, error) {
	t, err := get(ctx, q, transaction)
	if err == nil && t.key != key {
		return nil, errNotFound
	}
	return t, err
}

func byReference(ctx context.Context, q sqldb.Querier, key, reference string) (*transaction, error) {
	return scan(q.QueryRowContext(ctx, `SELECT `+columns+` FROM message_transactions WHERE key_name = $1 AND reference = $2`, key, reference).Scan)
}

func messagesOf(ctx context.Context, q sqldb.Querier, transaction uint64) (list []*preparedMessage, err error) {
	rows, err := q.QueryContext(ctx, `SELECT n, sender, conversation, content, seq, message, reason FROM prepared_messages WHERE owner = $1 ORDER BY n`, int64(transaction))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		m := &preparedMessage{}
		list = append(list, m)
		return rows.Scan(&m.n, &m.sender, &m.conversation, &m.content, &m.seq, &m.message, &m.reason)
	})
	return list, err
}

// view returns a transaction as its server sees it, and the size of its contents.
func view(ctx context.Context, q sqldb.Querier, t *transaction) (v *transactionv1.MessageTransaction, size int, err error) {
	v = &transactionv1.MessageTransaction{Id: t.id, Reference: t.reference, State: t.state, PreparedMs: t.preparedMs, EndedMs: t.endedMs, Checks: t.checks, LastError: t.lastError, Cause: t.cause}
	list, err := messagesOf(ctx, q, t.id)
	for _, m := range list {
		p := &transactionv1.PreparedMessage{Sender: uint64(m.sender), Conversation: uint64(m.conversation), Seq: m.seq, Id: m.message, Reason: m.reason}
		if len(m.content) > 0 {
			p.Content = &chatv1.Content{}
			err = errors.Join(err, proto.Unmarshal(m.content, p.Content))
		}
		size += len(m.content)
		v.Messages = append(v.Messages, p)
	}
	return v, size, err
}

// changed runs a statement, and reports whether it changed a row.
func changed(ctx context.Context, tx *sql.Tx, statement string, args ...any) (bool, error) {
	done, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
