package chat_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"pgregory.net/rapid"
)

const (
	modelUsers = 7
	largeAbove = 4
	dayMs      = 24 * 60 * 60 * 1000
	daySeconds = 24 * 60 * 60
)

type span struct {
	role        chatv1.Role
	join, leave uint64
	mutedUntil  int64
	removed     bool  // by another user, and not added since
	atLeave     shown // to a former member
}

// shown is the part of a group that its members see.
type shown struct {
	title            string
	policy           chatv1.JoinPolicy
	members          int
	large, dissolved bool
}

// model is the expected state of a group, in a simple form.
type model struct {
	seq, counted uint64
	members      map[id.User]span // present and former
	audience     map[uint64][]id.User
	texts        map[uint64]string
	title        string
	policy       chatv1.JoinPolicy
	mutedAll     int64
	dissolved    bool
	large        bool
	requested    map[id.User]bool
	link         string
	banned       map[id.User]bool
	retention    uint32
	ms           []int64 // when each seq was stored
	firstSeq     uint64  // messages below it were deleted
	fannedOut    uint64  // up to this seq
	sent         map[id.User][]*message.Draft
}

func (m *model) in(u id.User) bool { s, ok := m.members[u]; return ok && s.leave == 0 }

func (m *model) role(u id.User) chatv1.Role {
	if m.in(u) {
		return m.members[u].role
	}
	return 0
}

func (m *model) current() []id.User {
	var users []id.User
	for _, u := range slices.Sorted(maps.Keys(m.members)) {
		if m.in(u) {
			users = append(users, u)
		}
	}
	return users
}

// change is one control entry that applies do.
func (m *model) change(do func(seq uint64)) {
	m.seq++
	before := m.current()
	do(m.seq)
	all := append(before, m.current()...)
	slices.Sort(all)
	m.audience[m.seq] = slices.Compact(all)
}

func (m *model) join(users ...id.User) {
	m.change(func(seq uint64) {
		for _, u := range users {
			m.members[u] = span{role: chatv1.Role_ROLE_MEMBER, join: seq, mutedUntil: m.members[u].mutedUntil}
		}
	})
	m.resize()
}

func (m *model) leave(removed bool, users ...id.User) {
	m.change(func(seq uint64) {
		for _, u := range users {
			s := m.members[u]
			s.leave, s.removed = seq, removed
			m.members[u] = s
		}
		for _, u := range users {
			s := m.members[u]
			s.atLeave = m.shown()
			m.members[u] = s
		}
	})
	m.resize()
}

func (m *model) shown() shown {
	return shown{m.title, m.policy, len(m.current()), m.large, m.dissolved}
}

func (m *model) resize() {
	if n := len(m.current()); !m.large && n > largeAbove {
		m.change(func(uint64) { m.large = true })
	} else if m.large && n < largeAbove*9/10 {
		m.change(func(uint64) { m.large = false })
	}
}

func (m *model) update(u id.User, do func(*span)) {
	m.change(func(uint64) {
		s := m.members[u]
		do(&s)
		m.members[u] = s
	})
}

// writes returns why a user may not write.
func (m *model) writes(u id.User, now int64) string {
	switch s := m.members[u]; {
	case !m.in(u):
		return "no_conversation"
	case m.dissolved:
		return "dissolved"
	case s.mutedUntil > now, m.mutedAll > now && s.role == chatv1.Role_ROLE_MEMBER:
		return "muted"
	}
	return ""
}

// acts returns why a user may not do what needs a role.
func (m *model) acts(u id.User, least chatv1.Role) string {
	switch r := m.role(u); {
	case r == 0:
		return "no_conversation"
	case m.dissolved:
		return "dissolved"
	case r < least:
		return "not_allowed"
	}
	return ""
}

// run is one check: random operations through random nodes, on its own group.
type run struct {
	*rapid.T
	h     *harness
	nodes []*chat.Service
	c     id.Conversation
	m     *model
	next  map[id.User]uint64
}

func (r *run) node() *chat.Service {
	return r.nodes[rapid.IntRange(0, len(r.nodes)-1).Draw(r.T, "node")]
}
func (r *run) user(what string) id.User {
	return id.User(rapid.IntRange(1, modelUsers).Draw(r.T, what))
}

// syncNodes applies the newest control entry on every node, as fan-out does.
func (r *run) syncNodes() {
	for _, n := range r.nodes {
		must(r, n.AwaitApplied(context.Background(), r.c, r.h.tail(r, r.c).Access))
	}
}

func (r *run) expect(what string, err error, want string) bool {
	r.Helper()
	if reasonOf(err) != want {
		r.Fatalf("%s: %v, want %q", what, err, want)
	}
	return err == nil
}

func (r *run) changed(what string, seq uint64, err error, want string, do func()) {
	r.Helper()
	if !r.expect(what, err, want) {
		return
	}
	before := r.m.seq
	do()
	if (seq == 0) != (r.m.seq == before) || seq != 0 && seq != before+1 {
		r.Fatalf("%s: the entry is at %d, want %d", what, seq, before+1)
	}
	r.syncNodes()
}

func (r *run) send(t *rapid.T) {
	u, s := r.user("sender"), r.node()
	now := r.h.clock.ms.Load()
	if old := r.m.sent[u]; len(old) > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		r.again(u, s, old[rapid.IntRange(0, len(old)-1).Draw(t, "which")])
		return
	}
	r.next[u] += uint64(rapid.IntRange(1, 3).Draw(t, "skip"))
	d := draftOf(r.c, u, r.next[u], fmt.Sprintf("%d says %d", u, r.next[u]))
	if rapid.IntRange(0, 3).Draw(t, "uncounted") == 0 {
		d.ClientSeq, d.ClientMsgID = 0, fmt.Sprint("m", r.next[u])
	}
	if !r.expect("send", s.Send(context.Background(), d), r.m.writes(u, now)) {
		return
	}
	r.m.seq++
	r.m.counted++
	if d.Seq != r.m.seq || d.Counted != r.m.counted || d.Duplicate {
		r.Fatalf("the draft is %+v, want seq %d, counted %d", d, r.m.seq, r.m.counted)
	}
	r.m.audience[d.Seq], r.m.texts[d.Seq] = r.m.current(), d.ClientMsgID
	r.m.sent[u] = append(r.m.sent[u], d)
}

func (r *run) again(u id.User, s *chat.Service, first *message.Draft) {
	d := draftOf(r.c, u, first.ClientSeq, "")
	d.ClientMsgID, d.Content = first.ClientMsgID, slices.Clone(first.Content)
	want := "" // it is stored, whatever its sender may do now
	if rapid.Bool().Draw(r.T, "other") {
		d.Content = message.AppendText(nil, "other")
		want = "id_reuse"
	}
	if first.Seq < r.m.firstSeq {
		want = "expired"
	}
	if r.expect("retry", s.Send(context.Background(), d), want) && (!d.Duplicate || d.Seq != first.Seq || d.ID != first.ID || d.Counted != first.Counted) {
		r.Fatalf("a retry returned %+v, the first attempt %+v", d, first)
	}
}

func (r *run) roles(t *rapid.T) {
	by, u := r.user("by"), r.user("who")
	role := chatv1.Role(rapid.IntRange(0, 4).Draw(t, "role"))
	want := r.m.acts(by, chatv1.Role_ROLE_OWNER)
	switch {
	case role != chatv1.Role_ROLE_MEMBER && role != chatv1.Role_ROLE_ADMIN:
		want = "bad_role"
	case want != "":
	case !r.m.in(u):
		want = "no_member"
	case r.m.role(u) == chatv1.Role_ROLE_OWNER:
		want = "not_allowed"
	}
	seq, err := r.node().SetRole(context.Background(), r.c, by, u, role)
	r.changed("role", seq, err, want, func() {
		if r.m.role(u) != role {
			r.m.update(u, func(s *span) { s.role = role })
		}
	})
}

func (r *run) transfer(*rapid.T) {
	by, u := r.user("by"), r.user("who")
	want := r.m.acts(by, chatv1.Role_ROLE_OWNER)
	if want == "" && !r.m.in(u) {
		want = "no_member"
	}
	seq, err := r.node().Transfer(context.Background(), r.c, by, u)
	r.changed("transfer", seq, err, want, func() {
		if u != by {
			r.m.update(u, func(s *span) { s.role, s.mutedUntil = chatv1.Role_ROLE_OWNER, 0 })
			s := r.m.members[by]
			s.role = chatv1.Role_ROLE_ADMIN
			r.m.members[by] = s
		}
	})
}

func (r *run) mute(t *rapid.T) {
	by, until := r.user("by"), int64(0)
	if rapid.Bool().Draw(t, "on") {
		until = r.h.clock.ms.Load() + rapid.Int64Range(1, 20).Draw(t, "for")
	}
	var users []uint64
	want := r.m.acts(by, chatv1.Role_ROLE_ADMIN)
	if rapid.Bool().Draw(t, "one") {
		u := r.user("who")
		users = []uint64{uint64(u)}
		switch {
		case want != "":
		case !r.m.in(u):
			want = "no_member"
		case r.m.role(u) >= r.m.role(by):
			want = "not_allowed"
		}
	}
	seq, err := r.node().MuteMembers(context.Background(), r.c, by, &chatv1.MuteMembersRequest{Users: users, UntilMs: until})
	r.changed("mute", seq, err, want, func() {
		if len(users) == 0 {
			r.m.change(func(uint64) { r.m.mutedAll = until })
		} else {
			r.m.update(id.User(users[0]), func(s *span) { s.mutedUntil = until })
		}
	})
}

func (r *run) update(t *rapid.T) {
	by := r.user("by")
	title := rapid.SampledFrom([]string{"one", "two", " ", "三"}).Draw(t, "title")
	policy := chatv1.JoinPolicy(rapid.IntRange(1, 3).Draw(t, "policy"))
	want := r.m.acts(by, chatv1.Role_ROLE_ADMIN)
	if title == " " {
		want = "bad_title"
	}
	seq, err := r.node().UpdateGroup(context.Background(), r.c, by, &chatv1.UpdateGroupRequest{Title: &title, JoinPolicy: &policy})
	if !r.expect("update", err, want) {
		return
	}
	r.m.change(func(uint64) { r.m.title = title })
	r.m.change(func(uint64) { r.m.policy = policy })
	if seq != r.m.seq {
		r.Fatalf("the update is at %d, want %d", seq, r.m.seq)
	}
	r.syncNodes()
}

func (r *run) link(t *rapid.T) {
	by := r.user("by")
	want := ""
	if role := r.m.role(by); role == 0 {
		want = "no_conversation"
	} else if role < chatv1.Role_ROLE_ADMIN {
		want = "not_allowed"
	}
	if rapid.IntRange(0, 3).Draw(t, "revoke") == 0 {
		old := r.m.link
		if !r.expect("revoke", r.node().RevokeJoinLink(context.Background(), r.c, by), want) || old == "" {
			return
		}
		r.m.link = ""
		_, _, err := r.node().Join(context.Background(), r.user("who"), &chatv1.JoinRequest{Token: old})
		r.expect("join by a revoked link", err, "link_revoked")
		return
	}
	if want == "" && r.m.dissolved {
		want = "dissolved"
	}
	link, err := r.node().CreateJoinLink(context.Background(), r.c, by, 0)
	if r.expect("link", err, want) {
		r.m.link = link
	}
}

func (r *run) block(t *rapid.T) {
	a, b := r.user("a"), r.user("b")
	r.h.relations.set(r.h.relations.blocked, a, b, rapid.Bool().Draw(t, "blocked"))
}

func (r *run) dissolve(t *rapid.T) {
	if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		return
	}
	by := r.user("by")
	seq, err := r.node().Dissolve(context.Background(), r.c, by)
	r.changed("dissolve", seq, err, r.m.acts(by, chatv1.Role_ROLE_OWNER), func() { r.m.change(func(uint64) { r.m.dissolved = true }) })
}

// verify compares a service with the model.
func (r *run) verify(name string, s *chat.Service) {
	ctx := context.Background()
	must(r, s.AwaitApplied(ctx, r.c, 1))
	if first, err := s.FirstRetained(ctx, r.c); err != nil || first != 0 && first != r.m.kept(r.h.clock.ms.Load()) || first == 0 && r.m.retention != 0 {
		r.Fatalf("%s: the first retained seq is %d (%v), want %d", name, first, err, r.m.kept(r.h.clock.ms.Load()))
	}
	for seq := uint64(1); seq <= r.m.seq; seq++ {
		users, large, err := s.Audience(ctx, r.c, seq)
		if err != nil || !slices.Equal(users, r.m.audience[seq]) {
			r.Fatalf("%s: the audience of %d is %v, want %v (%v)", name, seq, users, r.m.audience[seq], err)
		}
		limit, paged := 1+int(seq%3), []id.User(nil)
		for after := id.User(0); ; {
			page, next, err := s.AudiencePage(ctx, r.c, seq, after, limit)
			if err != nil || len(page) > limit {
				r.Fatalf("%s: a page with limit %d of the audience of %d has %d users (%v)", name, limit, seq, len(page), err)
			}
			paged = append(paged, page...)
			if after = next; after == 0 {
				break
			}
		}
		if !slices.Equal(paged, users) {
			r.Fatalf("%s: the audience of %d is %v, but in pages of %d it is %v", name, seq, users, limit, paged)
		}
		if seq == r.m.seq && large && !r.m.large {
			r.Fatalf("%s: the audience of %d is said to be large", name, seq)
		}
	}
	for u := id.User(1); u <= modelUsers; u++ {
		r.verifyUser(name, s, u)
	}
	r.verifyBans(name, s)
}

func (r *run) verifyBans(name string, s *chat.Service) {
	for _, u := range r.m.current() {
		if r.m.role(u) < chatv1.Role_ROLE_ADMIN {
			_, err := s.ListBans(context.Background(), r.c, u, 0, "")
			r.expect(name+" bans", err, "not_allowed")
			continue
		}
		var got []id.User
		for page := ""; ; {
			list, err := s.ListBans(context.Background(), r.c, u, 2, page)
			must(r, err)
			for _, b := range list.Users {
				got = append(got, id.User(b))
			}
			if page = list.Next; page == "" {
				break
			}
		}
		if !slices.Equal(got, slices.Sorted(maps.Keys(r.m.banned))) {
			r.Fatalf("%s: banned are %v, want %v", name, got, r.m.banned)
		}
	}
}

func (r *run) verifyUser(name string, s *chat.Service, u id.User) {
	ctx := context.Background()
	want, ok := r.m.members[u]
	got, err := s.Describe(ctx, u, r.c)
	if !ok {
		r.expect(name+" describe", err, "no_conversation")
		_, err = s.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(r.c)})
		r.expect(name+" history", err, "no_conversation")
		return
	}
	first := r.m.kept(r.h.clock.ms.Load())
	see, muted := r.m.shown(), r.m.mutedAll > r.h.clock.ms.Load()
	if want.leave != 0 {
		see, muted = want.atLeave, false
	}
	if err != nil || (shown{got.Title, got.JoinPolicy, int(got.MemberCount), got.Large, got.Dissolved}) != see || got.MutedAll != muted ||
		got.JoinSeq != max(want.join, first) || got.LeaveSeq != want.leave || want.leave == 0 && (got.Role != want.role || got.RetentionSeconds != r.m.retention || got.MutedUntilMs != want.mutedUntil) {
		r.Fatalf("%s: user %d gets %v (%v), want %+v in %+v", name, u, got, err, want, r.m)
	}
	from, to := max(want.join, first), want.leave
	if to == 0 {
		to = r.m.seq
	}
	limit := uint32(rapid.IntRange(1, 7).Draw(r.T, "limit"))
	for _, forward := range []bool{true, false} {
		if seqs := r.walk(s, u, limit, forward, from); !slices.Equal(seqs, between(from, to)) {
			r.Fatalf("%s: user %d reads %v (forward: %v), want %d to %d", name, u, seqs, forward, from, to)
		}
	}
	if want.leave == 0 {
		list, err := s.ListMembers(ctx, r.c, u, 2, "")
		var seen []id.User
		for ; err == nil; list, err = s.ListMembers(ctx, r.c, u, 2, list.Next) {
			for _, m := range list.Members {
				seen = append(seen, id.User(m.User))
				if w := r.m.members[id.User(m.User)]; m.Role != w.role || m.JoinSeq != w.join || m.MutedUntilMs != w.mutedUntil {
					r.Fatalf("%s: member is %v, want %+v", name, m, w)
				}
			}
			if list.Next == "" {
				break
			}
		}
		if err != nil || !slices.Equal(seen, r.m.current()) {
			r.Fatalf("%s: members are %v (%v), want %v", name, seen, err, r.m.current())
		}
	}
}

func between(from, to uint64) (seqs []uint64) {
	for seq := from; seq <= to; seq++ {
		seqs = append(seqs, seq)
	}
	return seqs
}

// walk reads all pages that a user may read, and returns the seqs in ascending order.
func (r *run) walk(s *chat.Service, u id.User, limit uint32, forward bool, from uint64) (seqs []uint64) {
	q := &chatv1.HistoryRequest{Conversation: uint64(r.c), Limit: limit}
	if forward {
		q.After = max(from-1, 1)
	}
	for {
		page, err := s.History(context.Background(), u, q)
		must(r, err)
		var seqsOfPage []uint64
		for _, m := range page.Messages {
			seqsOfPage = append(seqsOfPage, m.Seq)
		}
		if forward {
			seqs = append(seqs, seqsOfPage...)
		} else {
			seqs = append(seqsOfPage, seqs...)
		}
		if !page.More {
			break
		}
		if len(seqsOfPage) != int(limit) {
			r.Fatalf("a page of %d is not the last, but the limit is %d", len(seqsOfPage), limit)
		}
		q.After, q.Before = 0, 0
		if forward {
			q.After = seqsOfPage[len(seqsOfPage)-1]
		} else {
			q.Before = seqsOfPage[0]
		}
	}
	if forward && from == 1 {
		seqs = append([]uint64{1}, seqs...) // a page cannot begin after 0
	}
	return seqs
}

func (r *run) verifyTimes(s *chat.Service) {
	u := slices.Sorted(maps.Keys(r.m.members))[0]
	from, to, err := s.ReadableRange(context.Background(), u, r.c)
	must(r, err)
	last := int64(0)
	for _, e := range r.h.entries(r, r.c) {
		if e.seq < r.m.firstSeq && e.control == nil {
			r.Fatalf("message %d is below the first seq, %d", e.seq, r.m.firstSeq)
		}
		if e.ID.Ms() < last {
			r.Fatalf("the id of message %d is lower than that of the message before", e.seq)
		}
		first := last != e.ID.Ms()
		last = e.ID.Ms()
		if !first || e.seq < from || e.seq > to {
			continue
		}
		page, err := s.History(context.Background(), u, &chatv1.HistoryRequest{Conversation: uint64(r.c), TimeMs: e.ID.Ms(), Limit: 1})
		if err != nil || len(page.Messages) != 1 || page.Messages[0].Seq != e.seq {
			r.Fatalf("a page from the time of %d is %v (%v)", e.seq, page, err)
		}
	}
}

// TestGroupAsModel does random operations through two nodes, and lets messages expire. It compares a simple model with these nodes, with
// one that loads from the rows, and with one that replays the log on an older copy of the rows.
func TestGroupAsModel(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{LargeGroupAbove: largeAbove})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	rapid.Check(t, func(rt *rapid.T) {
		h.relations.mu.Lock()
		clear(h.relations.blocked)
		h.relations.mu.Unlock()
		c, err := nodes[0].CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
		must(rt, err)
		m := &model{seq: 1, title: "g", policy: chatv1.JoinPolicy_JOIN_POLICY_INVITE, requested: map[id.User]bool{}, banned: map[id.User]bool{}, sent: map[id.User][]*message.Draft{},
			members: map[id.User]span{1: {role: chatv1.Role_ROLE_OWNER, join: 1}, 2: {role: chatv1.Role_ROLE_MEMBER, join: 1}, 3: {role: chatv1.Role_ROLE_MEMBER, join: 1}},
			texts:   map[uint64]string{}, audience: map[uint64][]id.User{1: {1, 2, 3}}}
		r := &run{T: rt, h: h, nodes: nodes, c: c, m: m, next: map[id.User]uint64{}}
		h.completeFanout(rt)
		m.fannedOut = 1
		m.stored(h.clock.ms.Load())
		for u := range r.next {
			r.next[u] = uint64(c)
		}
		operations := []func(*rapid.T){r.send, r.send, r.send, r.invite, r.invite, r.remove, r.ban, r.ban, r.unban, r.leave, r.join, r.join, r.answer, r.roles, r.transfer, r.mute, r.update, r.link, r.block, r.dissolve, r.retain, r.retain, r.sleep, r.expire}
		old := ""
		n := rapid.IntRange(1, 40).Draw(rt, "operations")
		at := rapid.IntRange(0, n-1).Draw(rt, "copy at")
		for i := range n {
			if i == at {
				old = sqltest.Copy(t, h.place)
			}
			h.clock.ms.Add(int64(rapid.IntRange(0, 5).Draw(rt, "later")))
			operations[rapid.IntRange(0, len(operations)-1).Draw(rt, "operation")](rt)
			m.stored(h.clock.ms.Load())
		}
		for i, s := range nodes {
			r.verify(fmt.Sprint("node ", i), s)
		}
		r.verify("after a restart", h.node(rt))
		r.verifyTimes(nodes[0])
		r.verifyOld(t, old)
	})
}

// verifyOld opens a service on an older copy of the rows. Its projection from the log must equal the present rows.
func (r *run) verifyOld(t *testing.T, place string) {
	db := openDB(t, place)
	s := r.h.nodeOn(r, db)
	r.verify("with older rows", s)
	r.verify("with older rows, the second time", r.h.nodeOn(r, db))
	for u := id.User(1); u <= modelUsers; u++ {
		was, err := s.MembershipsAfter(context.Background(), u, 0, 1000)
		must(r, err)
		now, err := r.nodes[0].MembershipsAfter(context.Background(), u, 0, 1000)
		must(r, err)
		mine := func(m chat.Membership) bool { return m.Conversation != r.c }
		if was, now := slices.DeleteFunc(was, mine), slices.DeleteFunc(now, mine); !slices.Equal(was, now) {
			r.Fatalf("the rows of user %d are %v, but after a replay %v", u, now, was)
		}
	}
	must(r, db.Close())
}
