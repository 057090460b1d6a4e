package pglog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// The log of the server says once, and not with each append, that writes are refused during and after a move.
func TestRefusedWritesOfAMoveAreLogged(t *testing.T) {
	address, _ := place(t)
	var lines capturedLog
	l := open(t, address, pglog.Options{Logger: lines.logger()})
	pool, err := pgxpool.New(t.Context(), address)
	must(t, err)
	t.Cleanup(pool.Close)
	appended := 0
	refused := func(step string) {
		t.Helper()
		for range 3 {
			appended++
			if err := timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("x"), Token: token(1, uint64(appended))}).Err; !errors.Is(err, timeline.ErrMoving) {
				t.Errorf("an append %s: got error %v", step, err)
			}
		}
	}
	must(t, pglog.LockTables(t.Context(), pool, func(tx pgx.Tx) error { return pglog.Freeze(t.Context(), tx) }))
	refused("during a move")
	must(t, pglog.LockTables(t.Context(), pool, func(tx pgx.Tx) error { return pglog.Retire(t.Context(), tx) }))
	refused("after a move")
	if n := strings.Count(lines.String(), "level=WARN msg=\"appends are refused: the timelines are being moved"); n != 1 {
		t.Errorf("%d lines say that appends are refused, want 1:\n%s", n, &lines)
	}
	must(t, l.Close())
}

// A table that is missing without a move is no move: callers try again, and the log of the server names the table.
func TestAMissingTableIsNoMove(t *testing.T) {
	address, _ := place(t)
	var lines capturedLog
	l := open(t, address, pglog.Options{Logger: lines.logger()})
	_, err := writerSession(t, address).Exec(t.Context(), `ALTER TABLE log_entries RENAME TO mislaid`)
	must(t, err)
	_, reading := l.Read(t.Context(), conversation(1), 0, 10)
	appending := timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("x"), Token: token(1, 1)}).Err
	for what, err := range map[string]error{"a read": reading, "an append": appending} {
		if err == nil || errors.Is(err, timeline.ErrMoving) {
			t.Errorf("%s without the table: got error %v", what, err)
		}
	}
	if !strings.Contains(lines.String(), "log_entries") {
		t.Errorf("the log does not name the table:\n%s", &lines)
	}
	must(t, l.Close())
}
