package search_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// comparison returns one of the comparisons, and what a round of it finds in steps of three items.
func (f *fixture) comparison(name string) (c reconciliation.Comparison, round func() []string) {
	f.t.Helper()
	all := f.Comparisons()
	c = all[slices.IndexFunc(all, func(c reconciliation.Comparison) bool { return c.Name() == name })]
	return c, func() (list []string) {
		f.t.Helper()
		for at := ""; ; {
			step, err := c.Compare(f.t.Context(), at, 3)
			must(f.t, err)
			for _, d := range step.Differences {
				list = append(list, d.Subject)
			}
			if at = step.Next; at == "" {
				return list
			}
		}
	}
}

// lose removes a document from the index.
func (f *fixture) lose(name searchindex.ID) {
	f.t.Helper()
	must(f.t, f.Index().Apply(f.t.Context(), &searchindex.Batch{Delete: []searchindex.ID{name}}))
}

// wantRound fails the test unless a round finds what is wanted.
func wantRound(t *testing.T, when string, round func() []string, want ...string) {
	t.Helper()
	if got := round(); !slices.Equal(got, want) {
		t.Errorf("%s the round finds %q, want %q", when, got, want)
	}
}

// A user whom the index lacks is found in one round. The repair has the user indexed again.
func TestUsersWhomTheIndexLacksAreFound(t *testing.T) {
	f := open(t, 7)
	c, round := f.comparison("search")
	f.catchUp()
	wantRound(t, "at first", round)
	f.user() // its change is not read yet
	wantRound(t, "with a user who is not indexed yet", round)
	f.catchUp()
	lost := f.users[4]
	f.lose(searchindex.ID{Kind: searchindex.User, Number: uint64(lost)})
	wantRound(t, "with a lost user", round, fmt.Sprint("user ", lost))
	must(t, c.Repair(t.Context(), fmt.Sprint("user ", lost)))
	f.catchUp()
	wantRound(t, "after the repair", round)
	if err := c.Repair(t.Context(), "nobody"); err == nil {
		t.Error("a subject that names no user is repaired")
	}
}

// A post or a video that the index lacks, and a post of which it has an earlier text, are found in one round. The repair has the post indexed again.
func TestPostsThatTheIndexLacksAreFound(t *testing.T) {
	f := open(t, 2)
	c, round := f.comparison("search_posts")
	var posts []uint64
	for i := range 7 {
		posts = append(posts, f.publish(f.users[i%2], &feedv1.PostContent{Text: fmt.Sprint("words of number", i), Audience: feedv1.Audience(i % 3)}))
	}
	f.setVideo(9, "what is said", true)
	shown := f.publish(f.users[0], &feedv1.PostContent{Video: 9})
	f.catchUp()
	wantRound(t, "at first", round)
	f.publish(f.users[0], &feedv1.PostContent{Text: "not read yet"})
	f.setVideo(9, "something else is said", true)
	wantRound(t, "with changes that are not read yet", round)
	f.catchUp()
	lost, old := posts[3], posts[5]
	f.lose(searchindex.ID{Kind: searchindex.Post, Number: lost})
	f.lose(searchindex.ID{Kind: searchindex.Video, Number: shown})
	must(t, f.Index().Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.Post, Number: old}, Text: "an earlier text", Author: uint64(f.users[1]), Access: []string{string(binary.BigEndian.AppendUint64([]byte{'u'}, uint64(f.users[1])))}, TimeMs: f.clock.Now().UnixMilli()}}}))
	want := []string{fmt.Sprint("post ", lost), fmt.Sprint("post ", old), fmt.Sprint("post ", shown)}
	wantRound(t, "with faults", round, want...)
	for _, subject := range want {
		must(t, c.Repair(t.Context(), subject))
	}
	f.catchUp()
	wantRound(t, "after the repairs", round)
}

// Comparisons change nothing, whatever was edited and recalled: what fan-out wrote of it may have been erased since.
func TestComparisonsOnlyRead(t *testing.T) {
	f := open(t, 2)
	_, round := f.comparison("search_messages")
	g := f.group(f.users[0], "Group", f.users[1])
	seq := f.send(g, f.users[0], "some words")
	_, err := f.sendContent(g, f.users[0], &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "other words"}}}}})
	must(t, err)
	f.catchUp()
	count := func() (n int) {
		t.Helper()
		must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM message_edits`).Scan(&n))
		return n
	}
	if n := count(); n != 1 {
		t.Fatalf("%d edits are stored", n)
	}
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM message_edits`)
		return err
	}))
	wantRound(t, "after an erasure", round)
	if n := count(); n != 0 {
		t.Errorf("the comparison stored %d edits again", n)
	}
}

// What takes longer than a step of a comparison is continued where it was.
func TestComparisonsContinueAfterErrors(t *testing.T) {
	f := open(t, 2)
	c, round := f.comparison("search_messages")
	for i := range 4 {
		g := f.group(f.users[0], fmt.Sprint("Group", i), f.users[1])
		for range 5 {
			f.send(g, f.users[0], "some words")
		}
	}
	f.catchUp()
	wantRound(t, "at first", round)
	whole, err := c.Compare(t.Context(), "", 1000)
	must(t, err)
	for at, steps, items := "", 0, 0; ; steps++ {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		f.missing = func() {
			if asked++; asked == 2 {
				cancel()
			}
		}
		step, err := c.Compare(ctx, at, 1000)
		cancel()
		if err != nil {
			t.Fatalf("after %d steps, at %q: %v", steps, at, err)
		}
		items += step.Items
		if at = step.Next; at == "" {
			if steps == 0 || items != whole.Items {
				t.Fatalf("%d items in %d steps, and %d in one", items, steps+1, whole.Items)
			}
			return
		}
	}
}

// slowReads is a log of which some reads succeed, and the next one takes all its time.
type slowReads struct {
	timeline.Log
	left int
	ends time.Time // of the last read
}

func (l *slowReads) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	if l.ends, _ = ctx.Deadline(); l.left == 0 {
		return nil, context.DeadlineExceeded
	}
	l.left--
	return l.Log.Read(ctx, k, after, limit)
}

// Entries that were read are compared, however slow the next read is: reads have half of the time of a step, and the rest is for the index.
func TestSlowReadsDoNotStopComparisons(t *testing.T) {
	f := open(t, 2)
	for i := range 4 {
		g := f.group(f.users[0], fmt.Sprint("Group", i), f.users[1])
		f.send(g, f.users[0], "some words")
	}
	f.catchUp()
	slow := &slowReads{Log: f.log, left: 1000}
	f.indexed = slow
	f.restart()
	c, _ := f.comparison("search_messages")
	whole, err := c.Compare(t.Context(), "", 1000)
	must(t, err)
	items, steps := 0, 0
	for at := ""; ; steps++ {
		slow.left = 1 // a conversation
		ctx, end := context.WithTimeout(t.Context(), 10*time.Minute)
		step, err := c.Compare(ctx, at, 1000)
		end()
		if err != nil || step.Items == 0 {
			t.Fatalf("after %d steps, at %q: %d items, %v", steps, at, step.Items, err)
		}
		if rest := time.Until(slow.ends); rest > 6*time.Minute {
			t.Errorf("a read had another %v", rest)
		}
		items += step.Items
		if at = step.Next; at == "" {
			break
		}
	}
	if items != whole.Items || steps != 3 {
		t.Errorf("%d items in %d steps, and %d in one", items, steps+1, whole.Items)
	}
}

// The index is asked for the documents of many conversations at once, and of a long one by pages: the number of calls follows from the number of documents.
func TestMessagesAreComparedInBatches(t *testing.T) {
	f := open(t, 2)
	c, round := f.comparison("search_messages")
	for i := range 20 {
		f.send(f.group(f.users[0], fmt.Sprint("Group", i), f.users[1]), f.users[0], "some words")
	}
	long := f.group(f.users[0], "Long", f.users[1])
	for range 40 {
		f.send(long, f.users[0], "some words")
	}
	f.catchUp()
	wantRound(t, "at first", round)
	calls := 0
	f.missing = func() { calls++ }
	step, err := c.Compare(t.Context(), "", 1000)
	must(t, err)
	// 20 groups with a title and a message, and one with a title and 40 messages: 81 documents, of which at least 8 are asked for at once.
	if step.Next != "" || len(step.Differences) > 0 || calls > 81/8+1 {
		t.Errorf("%d items, %d calls, %v, next %q", step.Items, calls, step.Differences, step.Next)
	}
}

// Messages, files, threads and titles that the index lacks, and messages of which it has an earlier text, are found in one round, however far in the conversation. The repair has the conversation indexed
// again.
func TestMessagesThatTheIndexLacksAreFound(t *testing.T) {
	f := open(t, 2)
	c, round := f.comparison("search_messages")
	var groups []uint64
	var seqs [4][]uint64
	for i := range seqs {
		g := f.group(f.users[0], fmt.Sprint("Group", i), f.users[1])
		groups = append(groups, uint64(g))
		for k := range 20 {
			seqs[i] = append(seqs[i], f.send(g, f.users[k%2], fmt.Sprint("words of message", k)))
		}
	}
	edit := func(i, k int, text string) {
		t.Helper()
		_, err := f.sendContent(id.Conversation(groups[i]), f.users[k%2], &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seqs[i][k]}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}}})
		must(t, err)
	}
	f.catchUp()
	wantRound(t, "at first", round)
	f.send(id.Conversation(groups[0]), f.users[0], "not read yet")
	edit(0, 2, "an edit that is not read yet")
	wantRound(t, "with changes that are not read yet", round)
	f.catchUp()
	wantRound(t, "with an edit", round)
	f.lose(searchindex.ID{Kind: searchindex.Message, Parent: groups[1], Number: seqs[1][19]})
	f.lose(searchindex.ID{Kind: searchindex.Conversation, Number: groups[2]})
	f.lose(searchindex.ID{Kind: searchindex.Message, Parent: groups[3], Number: seqs[3][6]})
	edit(3, 6, "its edit is not read yet")
	found := round()
	slices.Sort(found)
	want := []string{fmt.Sprint("conversation ", groups[1]), fmt.Sprint("conversation ", groups[2])}
	if found = slices.Compact(found); !slices.Equal(found, want) {
		t.Errorf("with faults the round finds %q, want %q", found, want)
	}
	f.catchUp()
	for _, subject := range want {
		must(t, c.Repair(t.Context(), subject))
	}
	f.catchUp()
	wantRound(t, "after the repairs", round)
	if err := c.Repair(t.Context(), "conversation nine"); err == nil {
		t.Error("a subject that names no conversation is repaired")
	}
}
