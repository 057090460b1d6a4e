package officialaccount_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// The deliveries of a broadcast are deleted 90 days after its last step, in several transactions. Its figures stay, and so do the deliveries of
// one that goes on, or that operators changed later.
func TestOldDeliveriesArePurged(t *testing.T) {
	w := open(t)
	w.crowd(3)
	deliveries := func() int { return w.rows(`SELECT COUNT(*) FROM official_deliveries`) }
	sent := w.broadcast(&chatv1.CreateBroadcastRequest{Key: "sent"})
	edited := w.broadcast(&chatv1.CreateBroadcastRequest{Key: "edited"})
	w.steps(5)
	half := w.broadcast(&chatv1.CreateBroadcastRequest{Key: "paused", PerMinute: 60})
	w.steps(1)
	must(t, w.change(half, chatv1.ChangeBroadcastRequest_ACTION_PAUSE, nil))
	w.steps(5)
	w.deliver(sent, 1200)
	w.pass(90*24*time.Hour - time.Minute)
	must(t, w.Purge(t.Context()))
	if got := deliveries(); got != 1207 {
		t.Fatalf("%d deliveries before their time, want 1,207", got)
	}
	must(t, w.change(edited, chatv1.ChangeBroadcastRequest_ACTION_EDIT, text("news")))
	w.steps(5)
	w.pass(time.Minute)
	must(t, w.Purge(t.Context()))
	if got, of := deliveries(), w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE broadcast = `+fmt.Sprint(sent.Id)); got != 4 || of != 0 {
		t.Errorf("%d deliveries are left, %d of them old, want the three of the edited broadcast and the one of the paused", got, of)
	}
	if b := w.get(sent); b.Sent != 3 || b.State != chatv1.Broadcast_STATE_DONE {
		t.Errorf("the old broadcast is %v, want its figures", b)
	}
	must(t, w.change(sent, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil)) // finds nothing any more
	w.steps(3)
	if b := w.get(sent); b.Updating {
		t.Error("a recall without copies does not end")
	}
}

// deliver adds deliveries of a broadcast, as to followers of long ago.
func (w *fixture) deliver(b *chatv1.Broadcast, n int) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *sql.Tx) error {
		for i := range n {
			if _, err := tx.ExecContext(w.t.Context(), `INSERT INTO official_deliveries (broadcast, recipient, state) VALUES ($1, $2, 2)`, int64(b.Id), 100_000+i); err != nil {
				return err
			}
		}
		return nil
	}))
}
