package chat_test

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// reactMany writes the rows of reactions with one emoji, of users from first on: every second one was taken back.
func reactMany(t *testing.T, h *harness, c id.Conversation, seq uint64, first, many int) {
	t.Helper()
	raw, err := proto.Marshal(&chatv1.Reactions{Version: uint64(many), Counts: []*chatv1.ReactionCount{{Emoji: "👍", Count: uint32(many / 2)}}})
	must(t, err)
	must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), `WITH RECURSIVE n(x) AS (SELECT CAST($3 AS BIGINT) UNION ALL SELECT x + 1 FROM n WHERE x < CAST($4 AS BIGINT))
			INSERT INTO reactions (conversation, seq, emoji, member, at_seq, active) SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), '👍', x, 1, x % 2 = 0 FROM n`, int64(c), int64(seq), int64(first), int64(first+many-1)); err != nil {
			return err
		}
		_, err := tx.ExecContext(t.Context(), `INSERT INTO message_updates (conversation, seq, reactions) VALUES ($1, $2, $3)`, int64(c), int64(seq), raw)
		return err
	}))
}

// Very many users have reacted to a message, and half of them took it back: more can, the counts stay right, and pages have those who did not take it back.
func TestVeryManyReactions(t *testing.T) {
	many, first := 20_000, 1_000
	if text := os.Getenv("REACTIONS"); text != "" {
		var err error
		many, err = strconv.Atoi(text)
		must(t, err)
	}
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "text")
	must(t, s.Send(ctx, d))
	reactMany(t, h, c, d.Seq, first, many)

	must(t, s.Send(ctx, updateDraft(t, c, 1, 2, reactionOf(d.Seq, "👍", false))))
	must(t, s.Send(ctx, updateDraft(t, c, 2, 1, reactionOf(d.Seq, "🎉", false))))
	must(t, s.Send(ctx, updateDraft(t, c, 2, 2, reactionOf(d.Seq, "🎉", true))))
	m := messageAt(t, s, 1, c, d.Seq)
	if got := m.Reactions.Counts; len(got) != 1 || got[0].Count != uint32(many/2+1) || !slices.Equal(m.Reactions.Mine, []string{"👍"}) {
		t.Errorf("the reactions are %v", m.Reactions)
	}
	want := []uint64{1}
	for u := first; len(want) < 400; u += 2 {
		want = append(want, uint64(u))
	}
	var got []uint64
	page := ""
	for range 2 {
		r, err := s.ListReactions(ctx, 2, &chatv1.ListReactionsRequest{Conversation: uint64(c), Seq: d.Seq, Emoji: "👍", Limit: 200, Page: page})
		must(t, err)
		got, page = append(got, r.Users...), r.Next
	}
	if !slices.Equal(got, want) || page == "" {
		t.Errorf("two pages have %d users, %v, next %q", len(got), got, page)
	}
}

// A page of messages with all the reactions that they can have, and of the reactions themselves, is at most two megabytes.
func TestPagesWithManyReactions(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	full := &chatv1.Reactions{Version: 1 << 40}
	for i := range 50 {
		full.Counts = append(full.Counts, &chatv1.ReactionCount{Emoji: fmt.Sprintf("%032d", i), Count: 1_000_000})
	}
	raw, err := proto.Marshal(full)
	must(t, err)
	var last uint64
	for n := range uint64(200) {
		d := draftOf(c, 1, n+1, "text")
		must(t, s.Send(ctx, d))
		last = d.Seq
		must(t, h.db.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO message_updates (conversation, seq, reactions) VALUES ($1, $2, $3)`, int64(c), int64(d.Seq), raw)
			return err
		}))
	}
	react := func(n uint64) {
		t.Helper()
		must(t, s.Send(ctx, updateDraft(t, c, 2, n+1, reactionOf(last, fmt.Sprintf("%032d", n%10), n/10%2 == 1))))
	}
	read := func(what string, reactionsOf func(*chatv1.Message) *chatv1.Reactions) {
		t.Helper()
		r, err := s.History(ctx, 1, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 200})
		must(t, err)
		whole := 0
		for _, m := range r.Messages {
			if len(reactionsOf(m).GetCounts()) == 50 {
				whole++
			}
		}
		if size := proto.Size(r); len(r.Messages) != 200 || whole < 199 || size > 2<<20 {
			t.Errorf("a page of %d %s, %d with all emoji, has %d bytes", len(r.Messages), what, whole, size)
		}
	}
	react(0)
	read("messages", (*chatv1.Message).GetReactions)
	for n := range uint64(200) {
		react(n + 1)
	}
	read("reactions", func(m *chatv1.Message) *chatv1.Reactions { return m.Content.GetReaction().GetReactions() })
}

// rowsOf counts the rows that a user has of a message.
func rowsOf(t *testing.T, h *harness, c id.Conversation, seq uint64, u id.User) (rows int) {
	t.Helper()
	must(t, h.db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM reactions WHERE conversation = $1 AND seq = $2 AND member = $3`, int64(c), int64(seq), int64(u)).Scan(&rows))
	return rows
}

// What a user can have of a message is bounded: taking reactions back makes no room for others, nor does taking back what is not there.
func TestReactionsOfOneUserAreBounded(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "text")
	must(t, s.Send(ctx, d))
	n := uint64(0)
	react := func(emoji string, remove bool) string {
		n++
		return reasonOf(s.Send(ctx, updateDraft(t, c, 2, n, reactionOf(d.Seq, emoji, remove))))
	}
	for i := range 20 {
		emoji := fmt.Sprint("e", i)
		if why := react(emoji, false) + react(emoji, true); why != "" {
			t.Fatalf("emoji %d: %s", i, why)
		}
	}
	must(t, s.Send(ctx, updateDraft(t, c, 1, 2, reactionOf(d.Seq, "other", false))))
	if why := react("other", false); why != "too_many_own_emoji" {
		t.Errorf("the 21st emoji: %q", why)
	}
	for i := range 30 {
		if why := react(fmt.Sprint("never", i), true); why != "" {
			t.Errorf("taking back what is not there: %s", why)
		}
	}
	if why := react("e7", false); why != "" {
		t.Errorf("one of the 20 again: %s", why)
	}
	// Stored at the same time by another node: applied in the reverse order, neither has an effect.
	first, one := h.storeUpdate(t, c, 2, d.Seq, reactionOf(d.Seq, "late", false))
	second, two := h.storeUpdate(t, c, 2, d.Seq, reactionOf(d.Seq, "late", true))
	_, err = applyUpdate(s, c, second, &two)
	must(t, err)
	_, err = applyUpdate(s, c, first, &one)
	must(t, err)
	m := messageAt(t, s, 2, c, d.Seq)
	if len(m.Reactions.Counts) != 2 || !slices.Equal(m.Reactions.Mine, []string{"e7"}) {
		t.Errorf("the reactions are %v", m.Reactions)
	}
	if rows := rowsOf(t, h, c, d.Seq, 2); rows != 20 {
		t.Errorf("the user has %d rows", rows)
	}
}

// Who reacted, and what one user has, is read by an index that does not pass over the rows of others, or those of reactions that were taken back.
func TestReactionsAreReadByAnIndex(t *testing.T) {
	h := newHarness(t, chat.Config{})
	h.node(t)
	for _, test := range []struct {
		query, sqlite, postgres string
		args                    []any
	}{
		{chat.ReactorsQuery, "SEARCH reactions USING COVERING INDEX reactions_message (conversation=? AND seq=? AND emoji=? AND active=? AND member>?)", "using reactions_message", []any{1, 1, "x", 1, 10}},
		{chat.UserEmojiQuery, "SEARCH reactions USING COVERING INDEX sqlite_autoindex_reactions_1 (conversation=? AND member=? AND seq=?)", "using reactions_pkey", []any{1, 1, 1, "x"}},
	} {
		explain, want := `EXPLAIN QUERY PLAN `, test.sqlite
		if sqltest.OnPostgres() {
			explain, want = `EXPLAIN `, test.postgres
		}
		var plan []string
		must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error {
			if sqltest.OnPostgres() { // which plans by how many rows there are
				if _, err := tx.ExecContext(t.Context(), `INSERT INTO reactions (conversation, seq, emoji, member, at_seq, active)
					SELECT 1, 1 + n % 50, 'x' || n % 20, n, n, TRUE FROM generate_series(1, 20000) n ON CONFLICT DO NOTHING; ANALYZE reactions; SET LOCAL enable_bitmapscan = off`); err != nil {
					return err
				}
			}
			rows, err := tx.QueryContext(t.Context(), explain+test.query, test.args...)
			return sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
				columns, err := rows.Columns()
				if err != nil {
					return err
				}
				var step string
				into := make([]any, len(columns))
				for i := range into {
					into[i] = new(any)
				}
				into[len(into)-1] = &step
				err = rows.Scan(into...)
				plan = append(plan, step)
				return err
			})
		}))
		if text := strings.Join(plan, "\n"); !strings.Contains(text, want) || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "Sort") {
			t.Errorf("%s\nis read by\n%s\nwant %s", test.query, text, want)
		}
	}
}
