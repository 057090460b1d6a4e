package messagetransaction

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errBadReference = errs.New(errs.Invalid, "bad_transaction", "a reference has 1 to 64 bytes of valid UTF-8 without U+0000")
	errBadMessages  = errs.New(errs.Invalid, "bad_transaction", "a transaction has 1 to 20 messages, each with a sender, a conversation, and a text, a location, a card or a custom message; together their contents have at most 512 KiB")
	errBadCheck     = errs.New(errs.Invalid, "bad_transaction", "checkAfterSeconds is at most 3,600")
	errTooMany      = errs.New(errs.Exhausted, "too_many_transactions", "this API key has 1,000 transactions, or 16 MiB, that are not committed and sent, or rolled back; end some first")
)

// PrepareMessages stores messages that are sent when their transaction is committed.
func (s *Service) PrepareMessages(ctx context.Context, by id.Caller, r *transactionv1.PrepareMessagesRequest) (*transactionv1.MessageTransaction, error) {
	if r.Reference == "" || len(r.Reference) > maxReference || !utf8.ValidString(r.Reference) || strings.Contains(r.Reference, "\x00") {
		return nil, errBadReference
	}
	if r.CheckAfterSeconds > uint32(maxCheckAfter.Seconds()) {
		return nil, errBadCheck
	}
	list, err := messagesIn(r.Messages)
	if err != nil {
		return nil, err
	}
	t := &transaction{key: by.Key, reference: r.Reference, digest: digest(list), state: prepared, preparedMs: s.nowMs()}
	switch before, err := s.repeated(ctx, s.deps.DB.Read(), t); {
	case err == nil:
		return s.answer(ctx, before)
	case !errs.Is(err, errs.NotFound):
		return nil, err
	}
	if t.id, err = s.deps.IDs.Next(ctx); err != nil {
		return nil, err
	}
	size := 0
	for _, m := range list {
		d := m.draft(t.id)
		if err := s.deps.Chat.CheckScheduled(ctx, d); err != nil {
			return nil, err
		}
		m.content = d.Content // in the form that is stored
		size += len(m.content)
	}
	delay := s.config.CheckAfter
	if r.CheckAfterSeconds > 0 {
		delay = time.Duration(r.CheckAfterSeconds) * time.Second
	}
	stored, err := s.insert(ctx, t, list, int64(size), delay)
	if err != nil {
		return nil, err
	}
	if err := s.reached("prepared"); err != nil {
		return nil, err
	}
	return s.answer(ctx, stored)
}

// messagesIn checks the messages of a request, apart from what chat knows.
func messagesIn(in []*transactionv1.PreparedMessage) (list []*preparedMessage, err error) {
	size := 0
	for n, m := range in {
		switch m.GetContent().GetKind().(type) {
		case *chatv1.Content_Text, *chatv1.Content_Location, *chatv1.Content_Card, *chatv1.Content_Custom:
		default: // a file could be dropped before, and what an update is about may change
			return nil, errBadMessages
		}
		// A retry must have the same bytes.
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Content)
		if err != nil {
			return nil, errs.Wrap(errs.Invalid, "bad_content", "the content cannot be encoded", err)
		}
		if m.Sender == 0 || m.Conversation == 0 || m.Sender > 1<<63-1 || m.Conversation > 1<<63-1 {
			return nil, errBadMessages
		}
		size += len(content)
		list = append(list, &preparedMessage{n: n, sender: id.User(m.Sender), conversation: id.Conversation(m.Conversation), content: content})
	}
	if len(list) == 0 || len(list) > maxMessages || size > maxBytes {
		return nil, errBadMessages
	}
	return list, nil
}

// digest is the same for the same messages.
func digest(list []*preparedMessage) []byte {
	h := sha256.New()
	for _, m := range list {
		b := binary.BigEndian.AppendUint64(nil, uint64(m.sender))
		b = binary.BigEndian.AppendUint64(b, uint64(m.conversation))
		b = binary.BigEndian.AppendUint64(b, uint64(len(m.content)))
		h.Write(append(b, m.content...)) //nolint:errcheck // it never fails
	}
	return h.Sum(nil)
}

// repeated returns the transaction that an earlier call stored.
func (s *Service) repeated(ctx context.Context, q sqldb.Querier, t *transaction) (*transaction, error) {
	before, err := byReference(ctx, q, t.key, t.reference)
	if err == nil && !bytes.Equal(before.digest, t.digest) {
		return nil, errReference
	}
	return before, err
}

// insert stores a transaction, and the job that asks about it after a delay. It returns what is stored, perhaps by another call at the same time.
func (s *Service) insert(ctx context.Context, t *transaction, list []*preparedMessage, size int64, delay time.Duration) (stored *transaction, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		stored = t
		switch before, err := s.repeated(ctx, tx, t); {
		case err == nil:
			stored = before
			return nil
		case !errs.Is(err, errs.NotFound):
			return err
		}
		var n, used int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM message_transactions WHERE key_name = $1 AND ended_ms = 0`, t.key).Scan(&n, &used); err != nil {
			return err
		}
		if n >= s.sizes.open || used+size > s.sizes.openBytes {
			return errTooMany
		}
		inserted, err := s.deps.Jobs.InsertTx(ctx, tx, checkArgs{t.id}, job.Options{Queue: Queue, At: time.UnixMilli(t.preparedMs).Add(delay), Timeout: checkTimeout})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO message_transactions (id, key_name, reference, digest, state, bytes, prepared_ms, job) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			int64(t.id), t.key, t.reference, t.digest, int64(t.state), size, t.preparedMs, inserted.ID); err != nil {
			return err
		}
		for _, m := range list {
			if _, err := tx.ExecContext(ctx, `INSERT INTO prepared_messages (owner, n, sender, conversation, content) VALUES ($1, $2, $3, $4, $5)`,
				int64(t.id), m.n, int64(m.sender), int64(m.conversation), m.content); err != nil {
				return err
			}
		}
		return nil
	})
	return stored, err
}
