package verify

import (
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

// States of message transactions, which are stored by their numbers.
const (
	transactionPrepared   = int64(transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_PREPARED)
	transactionCommitted  = int64(transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_COMMITTED)
	transactionSent       = int64(transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_SENT)
	transactionRolledBack = int64(transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_ROLLED_BACK)
)

// transactions compares the states of message transactions with their messages, and these with the conversations: what is sent is stored there, once, by its
// sender, and nothing is sent of what was not committed.
func (c *check) transactions() error {
	if some, err := c.hasTable("prepared_messages"); err != nil || !some {
		return err
	}
	if err := c.query(`SELECT t.id, t.state, t.ended_ms, COUNT(m.n), COUNT(CASE WHEN m.seq > 0 THEN 1 END), COUNT(CASE WHEN m.seq > 0 AND m.reason <> '' THEN 1 END)
		FROM message_transactions t LEFT JOIN prepared_messages m ON m.owner = t.id GROUP BY t.id, t.state, t.ended_ms ORDER BY t.id`, func(r *sql.Rows) error {
		var n uint64
		var state, endedMs, all, sent, both int64
		if err := r.Scan(&n, &state, &endedMs, &all, &sent, &both); err != nil {
			return err
		}
		where := fmt.Sprintf("transaction %d", n)
		open := state == transactionPrepared || state == transactionCommitted
		switch {
		case all == 0 || both > 0 || open != (endedMs == 0):
			c.report.violate("transactions", where, "it has %d messages, %d of them sent and refused, its state is %d, and its end %d", all, both, state, endedMs)
		case (state == transactionPrepared || state == transactionRolledBack) && sent > 0:
			c.report.violate("transactions", where, "%d messages are sent, and it was not committed", sent)
		case state == transactionSent && sent < all:
			c.report.violate("transactions", where, "%d of %d messages are sent, and it counts as sent", sent, all)
		}
		return nil
	}); err != nil {
		return err
	}
	return c.query(`SELECT owner, sender, conversation, seq FROM prepared_messages WHERE seq > 0 ORDER BY owner, n`, func(r *sql.Rows) error {
		var owner, sender, of, seq uint64
		if err := r.Scan(&owner, &sender, &of, &seq); err != nil {
			return err
		}
		return c.sentMessage(fmt.Sprintf("transaction %d", owner), sender, of, seq)
	})
}

// sentMessage checks that an entry of a conversation is by a sender, unless it has expired or is in the cold tier.
func (c *check) sentMessage(where string, sender, of, seq uint64) error {
	v := c.conversations[of]
	if v != nil && v.unreadable {
		return nil
	}
	if v == nil || v.tail < seq {
		c.report.violate("transactions", where, "its message %d is not in conversation %d", seq, of)
		return nil
	}
	found, err := c.log.Read(c.ctx, timeline.Key{Kind: timeline.Conversation, ID: of}, seq-1, 1)
	if err != nil || len(found) == 0 || found[0].Seq != seq {
		return err
	}
	var e message.Entry
	if err := e.Decode(found[0].Payload); err != nil {
		return err
	}
	if uint64(e.Sender) != sender {
		c.report.violate("transactions", where, "its message %d in conversation %d is by user %d, want %d", seq, of, e.Sender, sender)
	}
	return nil
}
