package chat_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// cluster opens nodes that share only a PostgreSQL database: each has its own connections, log and memory.
func cluster(t *testing.T, n int, config chat.Config) (*harness, []*chat.Service) {
	t.Helper()
	h := newHarness(t, config)
	h.place = sqltest.Schema(t, sqltest.Postgres(t))
	nodes := make([]*chat.Service, n)
	for i := range nodes {
		db, err := sqldb.Open(t.Context(), h.place)
		must(t, err)
		log, err := pglog.Open(t.Context(), h.place, pglog.Options{})
		must(t, err)
		t.Cleanup(func() {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		h.log = log
		nodes[i] = h.nodeOn(t, db)
	}
	return h, nodes
}

// warm loads a conversation into a node's memory.
func warm(t *testing.T, s *chat.Service, c id.Conversation, users ...id.User) {
	t.Helper()
	for _, u := range users {
		_, err := s.History(t.Context(), u, &chatv1.HistoryRequest{Conversation: uint64(c)})
		must(t, err)
		_, _, err = s.Audience(t.Context(), c, 1)
		must(t, err)
	}
}

// texts returns the texts that a user reads in a conversation.
func texts(t *testing.T, s *chat.Service, c id.Conversation, u id.User) (list []string) {
	t.Helper()
	page, err := s.History(t.Context(), u, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 200})
	must(t, err)
	for _, m := range page.Messages {
		if text := m.Content.GetText(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// A change that one node has acknowledged applies on another node, even if that node has an older state in memory.
func TestReadsAreLinearizableAcrossNodes(t *testing.T) {
	ctx := context.Background()
	h, nodes := cluster(t, 2, chat.Config{})
	a, b := nodes[0], nodes[1]
	mine := uint64(0)
	send := func(s *chat.Service, c id.Conversation, u id.User, text string) error {
		mine++
		return s.Send(ctx, draftOf(c, u, mine, text))
	}
	newGroup := func(t *testing.T) id.Conversation {
		c, err := a.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "before", Members: []uint64{2, 3}})
		must(t, err)
		must(t, send(a, c, 1, "one"))
		warm(t, b, c, 1, 2, 3)
		return c
	}
	t.Run("removal", func(t *testing.T) {
		c := newGroup(t)
		at, err := a.Remove(ctx, c, 1, []uint64{3})
		must(t, err)
		must(t, send(a, c, 1, "two"))
		if got := texts(t, b, c, 3); !slices.Equal(got, []string{"one"}) {
			t.Errorf("a removed member reads %q on the other node", got)
		}
		if _, to, err := b.ReadableRange(ctx, 3, c); err != nil || to != at {
			t.Errorf("a removed member may read to %d (%v), but was removed at %d", to, err, at)
		}
		if d, err := b.Describe(ctx, 3, c); err != nil || d.LeaveSeq != at {
			t.Errorf("a removed member gets the description %v (%v)", d, err)
		}
		for what, err := range map[string]error{"types": b.Typing(ctx, 3, c), "writes": send(b, c, 3, "three"),
			"lists members": func() error { _, err := b.ListMembers(ctx, c, 3, 0, ""); return err }()} {
			if reasonOf(err) != "no_conversation" {
				t.Errorf("%s by a removed member returned %v", what, err)
			}
		}
		list, err := b.MembershipsAfter(ctx, 3, 0, 1000)
		must(t, err)
		if i := slices.IndexFunc(list, func(m chat.Membership) bool { return m.Conversation == c }); i < 0 || list[i].Leave != at {
			t.Errorf("the list of a removed member is %v, but the removal is at %d", list, at)
		}
	})
	t.Run("return", func(t *testing.T) {
		c := newGroup(t)
		_, err := a.Remove(ctx, c, 1, []uint64{3})
		must(t, err)
		must(t, send(a, c, 1, "two"))
		warm(t, b, c, 3)
		_, err = a.Invite(ctx, c, 1, []uint64{3})
		must(t, err)
		must(t, send(a, c, 1, "three"))
		if got := texts(t, b, c, 3); !slices.Equal(got, []string{"three"}) {
			t.Errorf("a member who rejoined reads %q", got)
		}
		must(t, b.Typing(ctx, 3, c))
		must(t, send(b, c, 3, "four"))
	})
	t.Run("rename", func(t *testing.T) {
		c, title := newGroup(t), "after"
		_, err := a.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{Title: &title})
		must(t, err)
		if d, err := b.Describe(ctx, 2, c); err != nil || d.Title != title {
			t.Errorf("after a rename the description is %v (%v)", d, err)
		}
	})
	t.Run("role", func(t *testing.T) {
		c := newGroup(t)
		if _, err := b.CreateJoinLink(ctx, c, 2, 0); reasonOf(err) != "not_allowed" {
			t.Errorf("a member without a role got %v", err)
		}
		_, err := a.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_ADMIN)
		must(t, err)
		_, err = b.CreateJoinLink(ctx, c, 2, 0)
		must(t, err)
		_, err = b.Remove(ctx, c, 2, []uint64{3}) // the state that b had before would refuse it
		must(t, err)
		_, err = a.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_MEMBER)
		must(t, err)
		if _, err := b.ListJoinRequests(ctx, c, 2); reasonOf(err) != "not_allowed" {
			t.Errorf("a removal by a former admin returned %v", err)
		}
	})
	t.Run("change without effect", func(t *testing.T) {
		c := newGroup(t)
		_, err := a.Remove(ctx, c, 1, []uint64{3})
		must(t, err)
		if seq, err := b.Invite(ctx, c, 1, []uint64{3}); err != nil || seq == 0 {
			t.Errorf("inviting a user who is a member in the old state of node b returned %d (%v)", seq, err)
		}
	})
	t.Run("mute", func(t *testing.T) {
		c := newGroup(t)
		mute := func(until int64) {
			_, err := a.MuteMembers(ctx, c, 1, &chatv1.MuteMembersRequest{Users: []uint64{3}, UntilMs: until})
			must(t, err)
		}
		mute(h.clock.Now().UnixMilli() + 1e6)
		if err := send(b, c, 3, "muted"); reasonOf(err) != "muted" {
			t.Errorf("a user who was muted through another node sends: %v", err)
		}
		mute(0)
		picture := draftOf(c, 3, 1000, "")
		picture.Content = mediaContent(t, &chatv1.Media{Upload: 7, Name: "n"})
		if err := b.Send(ctx, picture); err != nil {
			t.Errorf("a user who was unmuted through another node sends: %v", err)
		}
		must(t, send(b, c, 3, "again"))
	})
	t.Run("block", func(t *testing.T) {
		c, err := a.OpenDirect(ctx, 4, 5)
		must(t, err)
		warm(t, b, c, 4, 5)
		h.relations.set(h.relations.blocked, 4, 5, true)
		must(t, a.AccessChanged(ctx, 4, 5))
		if err := send(b, c, 5, "blocked"); reasonOf(err) != "blocked" {
			t.Errorf("a user who was blocked through another node sends: %v", err)
		}
		if err := b.Typing(ctx, 5, c); reasonOf(err) != "blocked" {
			t.Errorf("a user who was blocked through another node types: %v", err)
		}
		_, _, err = b.ReadableRange(ctx, 4, c)
		must(t, err)
		if _, cannotWrite, err := b.Peer(ctx, 4, c); err != nil || !cannotWrite {
			t.Errorf("Peer does not report the block: %v (%v)", cannotWrite, err)
		}
	})
	t.Run("retention", func(t *testing.T) {
		c := newGroup(t)
		h.clock.ms.Add(3 * 24 * 3_600_000)
		must(t, send(a, c, 1, "two"))
		_, err := a.SetRetention(ctx, c, 1, daySeconds)
		must(t, err)
		if got := texts(t, b, c, 2); !slices.Equal(got, []string{"two"}) {
			t.Errorf("with a retention of a day, %q is read", got)
		}
		if _, err := b.SetRetention(ctx, c, 2, 0); reasonOf(err) != "not_allowed" {
			t.Errorf("setting the retention as a member returned %v", err)
		}
	})
}

// A node that becomes the owner of a partition delivers entries to the current members, even if its cached state is older.
func TestNewPartitionOwnerVerifiesState(t *testing.T) {
	ctx := context.Background()
	_, nodes := cluster(t, 2, chat.Config{})
	a, b := nodes[0], nodes[1]
	c, err := a.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	must(t, err)
	part := int(timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}.Partition())
	for i := range uint64(4) {
		warm(t, b, c, 1)
		want, change := []id.User{1, 2}, a.Remove // b no longer owns it, and gets no changes
		if i%2 != 0 {
			want, change = []id.User{1, 2, 3}, a.Invite
		}
		_, err := change(ctx, c, 1, []uint64{3})
		must(t, err)
		d := draftOf(c, 1, i+1, "x")
		must(t, a.Send(ctx, d))
		b.PartitionAssigned(part)
		got, _, err := b.Audience(ctx, c, d.Seq)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("the audience of entry %d is %v (%v), want %v", d.Seq, got, err, want)
		}
	}
}

// A user who is notified of a change finds it in lists, on any node: the rows of an applied change are written.
func TestAwaitAppliedWaitsForRows(t *testing.T) {
	ctx := context.Background()
	h, nodes := cluster(t, 2, chat.Config{})
	a, b := nodes[0], nodes[1]
	c, err := a.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g"})
	must(t, err)
	for u := uint64(2); u < 42; u++ {
		before := h.tail(t, c).Access
		done := make(chan error, 1)
		go func() {
			_, err := a.Invite(ctx, c, 1, []uint64{u})
			done <- err
		}()
		at := before
		for at == before { // the entry is there: fan-out of a reads it
			at = h.tail(t, c).Access
		}
		must(t, a.AwaitApplied(ctx, c, at))
		list, err := b.MembershipsAfter(ctx, id.User(u), 0, 1000)
		if err != nil || len(list) != 1 {
			t.Fatalf("user %d was notified of a change, but the list is %v (%v)", u, list, err)
		}
		must(t, <-done)
	}
}

// The large groups of a user are not older than the changes that fan-out has delivered, also on a single node, where fan-out does not
// wait for the rows.
func TestLargeGroupsIncludesAppliedChanges(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{LargeGroupAbove: 3})
	deps := h.deps(h.db)
	deps.SingleNode = true
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: between(2, 5)})
	must(t, err)
	for u := uint64(6); u < 46; u++ {
		for _, change := range []func() error{
			func() error { _, err := s.Invite(ctx, c, 1, []uint64{u}); return err },
			func() error { _, err := s.Remove(ctx, c, 1, []uint64{u}); return err },
		} {
			was, err := s.LargeGroups(ctx, []id.User{id.User(u)})
			must(t, err)
			before := h.tail(t, c).Access
			done := make(chan error, 1)
			go func() { done <- change() }()
			at := before
			for at == before {
				at = h.tail(t, c).Access
			}
			must(t, s.AwaitApplied(ctx, c, at))
			if is, err := s.LargeGroups(ctx, []id.User{id.User(u)}); err != nil || len(is[0]) != 1-len(was[0]) {
				t.Fatalf("user %d was notified of a change, but the large groups are %v, before it %v (%v)", u, is, was, err)
			}
			must(t, <-done)
		}
	}
}

// Members join and leave through all nodes, and concurrently check their access on all nodes. Each acknowledged change applies everywhere.
func TestMembershipHoldsOnAllNodes(t *testing.T) {
	ctx := context.Background()
	_, nodes := cluster(t, 3, chat.Config{})
	c, err := nodes[0].CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g"})
	must(t, err)
	var wait sync.WaitGroup
	for u := uint64(2); u < 8; u++ {
		wait.Go(func() {
			for i := range 20 {
				in := i%2 == 0
				change := nodes[(int(u)+i)%3].Remove
				if in {
					change = nodes[(int(u)+i)%3].Invite
				}
				if _, err := change(ctx, c, 1, []uint64{u}); err != nil {
					t.Errorf("%v", err)
					return
				}
				for n, s := range nodes {
					_, err := s.ListMembers(ctx, c, id.User(u), 0, "")
					if got := reasonOf(err); in && err != nil || !in && got != "no_conversation" {
						t.Errorf("access of user %d (member %v) on node %d: %v", u, in, n, err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
}

// TestTwoNodesImportToOneConversation: each of two nodes imports half of the entries, at the same time. Each entry is stored once or refused because it comes too late, and the ids of
// messages, and so their times, ascend with their seqs. An import that one node ends is ended for the other.
func TestTwoNodesImportToOneConversation(t *testing.T) {
	h, nodes := cluster(t, 2, chat.Config{})
	c := importGroup(t, nodes[0])
	stored := make([]map[string]bool, len(nodes))
	var group sync.WaitGroup
	for n, s := range nodes {
		stored[n] = map[string]bool{}
		group.Go(func() {
			for round := range 10 {
				var entries []*operationv1.ImportEntry
				for i := range 20 {
					at := (round*20+i)*len(nodes) + n
					entries = append(entries, textEntry(fmt.Sprint("m", at), importedAt+int64(at)*10_000, 1, fmt.Sprint(at)))
				}
				results, err := s.ImportEntries(t.Context(), c, entries)
				for delays := backoff.New(time.Millisecond, 50*time.Millisecond); errs.Is(err, errs.Unavailable); results, err = s.ImportEntries(t.Context(), c, entries) { // as clients do
					must(t, delays.Wait(t.Context()))
				}
				if err != nil {
					t.Error(err)
					return
				}
				for i, r := range results {
					if r.Reason == "" {
						stored[n][entries[i].Key] = true
					} else if r.Reason != "time_order" {
						t.Errorf("%s is refused: %s", entries[i].Key, r.Reason)
					}
				}
			}
		})
	}
	group.Wait()
	if _, err := nodes[1].EndImport(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	late := []*operationv1.ImportEntry{textEntry("late", importedAt+10_000_000, 1, "late")}
	_, err := nodes[0].ImportEntries(t.Context(), c, late)
	for errs.Is(err, errs.Unavailable) { // it does not know yet
		_, err = nodes[0].ImportEntries(t.Context(), c, late)
	}
	if !errs.Is(err, errs.Conflict) {
		t.Errorf("a node imports to what the other has ended: %v", err)
	}
	seen, last := map[string]bool{}, ""
	for _, e := range h.entries(t, c) {
		if e.Control {
			continue
		}
		var content chatv1.Content
		must(t, proto.Unmarshal(e.Content, &content))
		key := content.ExternalId
		if seen[key] || !stored[0][key] && !stored[1][key] || e.ID.String() <= last {
			t.Errorf("%s has the id %v after %v; twice: %v", key, e.ID, last, seen[key])
		}
		seen[key], last = true, e.ID.String()
	}
	if len(seen) != len(stored[0])+len(stored[1]) || len(stored[0]) == 0 || len(stored[1]) == 0 {
		t.Errorf("%d messages are stored; the nodes say %d and %d", len(seen), len(stored[0]), len(stored[1]))
	}
}

// overtakenLog calls before, once, when the next entries are appended.
type overtakenLog struct {
	timeline.Log
	before atomic.Pointer[func()]
}

func (l *overtakenLog) Append(list ...*timeline.AppendRequest) {
	if before := l.before.Swap(nil); before != nil {
		(*before)()
	}
	l.Log.Append(list...)
}

// A node takes an import over while the other one appends: what it imports afterwards has ids after that.
func TestAnImportIsTakenOverDuringAnAppend(t *testing.T) {
	h, nodes := cluster(t, 1, chat.Config{})
	db, err := sqldb.Open(t.Context(), h.place)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	log := &overtakenLog{Log: h.log}
	h.log = log
	second := h.nodeOn(t, db)
	c := importGroup(t, nodes[0])
	importEntries(t, nodes[0], c, textEntry("m1", importedAt, 1, "1"))
	meanwhile := func() { importEntries(t, nodes[0], c, textEntry("m2", importedAt+10_000, 1, "2")) }
	log.before.Store(&meanwhile)
	if reasons := importEntries(t, second, c, textEntry("m3", importedAt+10_000, 1, "3")); reasons[0] != "" {
		t.Fatalf("it is refused: %v", reasons)
	}
	var ids []string
	for _, e := range h.entries(t, c) {
		if !e.Control {
			ids = append(ids, e.ID.String())
		}
	}
	if len(ids) != 3 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 3 {
		t.Errorf("the ids are %v", ids)
	}
}
