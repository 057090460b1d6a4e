package verify_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/verify"
)

// TestTransactionViolations: a transaction whose state does not fit its messages, or whose message is not in its conversation, is found.
func TestTransactionViolations(t *testing.T) {
	dir := healthy(t)
	for _, statement := range []string{
		`CREATE TABLE message_transactions (id BIGINT PRIMARY KEY, state BIGINT NOT NULL, ended_ms BIGINT NOT NULL)`,
		`CREATE TABLE prepared_messages (owner BIGINT NOT NULL, n BIGINT NOT NULL, sender BIGINT NOT NULL, conversation BIGINT NOT NULL, seq BIGINT NOT NULL, reason TEXT NOT NULL)`,
		// Those up to 4 are right: prepared, partly sent, failed, rolled back.
		`INSERT INTO message_transactions (id, state, ended_ms) VALUES (1, 1, 0), (2, 2, 0), (3, 4, 9), (4, 5, 9), (5, 1, 9), (6, 5, 9), (7, 3, 9), (8, 3, 0), (9, 1, 0), (10, 3, 9)`,
		`INSERT INTO prepared_messages (owner, n, sender, conversation, seq, reason) VALUES (1, 0, 1, 1, 0, ''), (2, 0, 1, 1, 0, ''), (3, 0, 1, 1, 0, 'blocked'), (4, 0, 1, 1, 0, ''), (5, 0, 1, 1, 0, ''),
			(6, 0, 1, 987654321, 1, ''), (7, 0, 1, 1, 0, ''), (8, 0, 1, 1, 0, ''), (10, 0, 1, 987654321, 1, '')`,
	} {
		execute(t, dir, statement)
	}
	r, err := verify.Run(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	var where []string
	for _, v := range r.Violations {
		if where = append(where, v.Where); v.Rule != "transactions" {
			t.Errorf("%s violates %s: %s", v.Where, v.Rule, v.What)
		}
	}
	// Of 6 and 10, the message is in no conversation.
	if want := []string{"transaction 5", "transaction 6", "transaction 7", "transaction 8", "transaction 9", "transaction 6", "transaction 10"}; !slices.Equal(where, want) {
		t.Errorf("the violations are %v, want %q", r.Violations, want)
	}
}
