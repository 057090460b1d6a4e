package chat_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// erasedRelations are those of users of whom one ceases to exist after some checks.
type erasedRelations struct {
	chat.Relations
	user   id.User
	checks atomic.Int64
}

func (r *erasedRelations) Exist(ctx context.Context, users []id.User) error {
	for _, u := range users {
		if u == r.user && r.checks.Add(-1) < 0 {
			return errs.New(errs.NotFound, "no_user", "one of these users does not exist")
		}
	}
	return r.Relations.Exist(ctx, users)
}

// TestAnImportStoresNothingOfAnErasedAuthor: whose erasure read the conversation after an import had checked that the author exists, and before it stored
// the entries. What a call stored that ended before it could notice is erased when the call is repeated.
func TestAnImportStoresNothingOfAnErasedAuthor(t *testing.T) {
	ctx := context.Background()
	for name, author := range map[string]id.User{"member": 2, "no member": 5} {
		h := newHarness(t, chat.Config{})
		deps := h.deps(h.db)
		r := &erasedRelations{Relations: h.relations, user: author}
		r.checks.Store(1 << 30)
		deps.Relations = r
		s, err := chat.New(ctx, deps, h.config)
		must(t, err)
		c := importGroup(t, s)
		entries := []*operationv1.ImportEntry{
			textEntry("m1", importedAt+1, 1, "stays"), textEntry("m2", importedAt+2, uint64(author), "a secret"),
			updateEntry("r1", importedAt+3, uint64(author), "m1", reactionOf(0, "👍", false)),
		}
		check := func(when string, messages int) {
			t.Helper()
			recalled := 0
			for _, m := range history(t, s, 1, c) {
				if m.Sender == uint64(author) && m.Content.GetText() == "" && m.RecallSeq == m.Seq {
					recalled++
				}
			}
			for _, e := range h.entries(t, c) {
				if e.Sender == author && e.Updates == 0 && len(e.Content) > 0 {
					t.Errorf("%s, %s: a message of the author has the content %q", name, when, e.Content)
				}
			}
			if recalled != messages {
				t.Errorf("%s, %s: %d messages of the author are recalled, want %d", name, when, recalled, messages)
			}
			list := history(t, s, 1, c)
			if list[1].Content.GetText() != "stays" || len(list[1].Reactions.GetCounts()) > 0 {
				t.Errorf("%s, %s: the history is %v", name, when, list)
			}
		}
		r.checks.Store(1) // that before the entries are stored
		importEntries(t, s, c, entries...)
		check("erased meanwhile", 1)

		again := textEntry("m3", importedAt+4, uint64(author), "another secret")
		r.checks.Store(1 << 30)
		importEntries(t, s, c, again)
		r.checks.Store(0)
		if reasons := importEntries(t, s, c, again); reasons[0] != "no_user" {
			t.Errorf("%s: an entry of a user who was erased: %q", name, reasons)
		}
		check("repeated", 2)
	}
}
