package messagetransaction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
)

// wantTally compares what is noted of the keys' transactions with contents after their end with the transactions themselves.
func (b *bench) wantTally(after string, want int64) {
	b.t.Helper()
	var noted, notedBytes, kept, bytes int64
	must(b.t, b.deps.DB.Read().QueryRowContext(b.t.Context(), `SELECT CAST(COALESCE(SUM(kept), 0) AS BIGINT), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM transaction_kept`).Scan(&noted, &notedBytes))
	must(b.t, b.deps.DB.Read().QueryRowContext(b.t.Context(), `SELECT COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM message_transactions WHERE state = 5 OR state = 4 AND bytes > 0`).Scan(&kept, &bytes))
	if noted != kept || notedBytes != bytes || kept != want {
		b.t.Errorf("after %s %d transactions with %d bytes are noted, and there are %d with %d; want %d", after, noted, notedBytes, kept, bytes, want)
	}
}

// What is noted of a key's transactions after their end follows each change of them, so that nobody counts them.
func TestWhatIsKeptIsNoted(t *testing.T) {
	b := open(t)
	b.refuse("refused", errs.New(errs.Denied, "not_member", ""))
	var failed []uint64
	for i := range 150 {
		n := b.prepare(fmt.Sprint(i), fmt.Sprint("text ", i), "refused")
		decide := b.commit
		if i%2 == 0 {
			decide = b.rollBack
		} else {
			failed = append(failed, n)
		}
		for range 2 { // the second call changes nothing
			_, err := decide(n)
			must(t, err)
		}
	}
	b.wantTally("decisions", 150)
	b.refuse("refused", nil)
	last := failed[len(failed)-1]
	must(t, b.Retry(t.Context(), last, nil))
	b.wantTally("a retry", 149)
	_, err := b.commit(last)
	must(t, err)
	if b.state(last) != "SENT" {
		t.Errorf("after the retry the transaction is %s", b.state(last))
	}
	b.wantTally("the end of the retry", 149)
	b.Shrink(1000, 1<<20, 20, 1<<20)
	must(t, b.CleanUp(t.Context()))
	b.wantTally("a trim of more than a batch", 20)
	b.nowMs.Add((73 * time.Hour).Milliseconds())
	must(t, b.CleanUp(t.Context()))
	b.wantTally("the deletion of what is old", 0)
}

// Whether a key has too many is read without its transactions, and the oldest of them are found by an index.
func TestWhatIsTrimmedIsFoundByAnIndex(t *testing.T) {
	db, err := sqldb.Open(t.Context(), t.TempDir()+"/records.db") // also in runs on PostgreSQL, whose plans depend on statistics
	must(t, err)
	defer db.Close()
	_, err = messagetransaction.New(t.Context(), messagetransaction.Deps{DB: db}, messagetransaction.Config{})
	must(t, err)
	var id, parent, unused int
	var detail string
	must(t, db.Read().QueryRowContext(t.Context(), `EXPLAIN QUERY PLAN `+messagetransaction.OldestKept, "shop", 100).Scan(&id, &parent, &unused, &detail))
	if want := "SEARCH message_transactions USING INDEX message_transactions_kept (key_name=?)"; detail != want {
		t.Errorf("the plan is %q, want %q", detail, want)
	}
}
