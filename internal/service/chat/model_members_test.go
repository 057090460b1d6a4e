package chat_test

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"pgregory.net/rapid"
)

func (r *run) invite(t *rapid.T) {
	by, users := r.user("by"), rapid.SliceOfN(rapid.Uint64Range(1, modelUsers), 1, 3).Draw(t, "users")
	var bring []id.User
	for _, u := range users {
		if id.User(u) != by && !r.m.in(id.User(u)) && !slices.Contains(bring, id.User(u)) {
			bring = append(bring, id.User(u))
		}
	}
	least := chatv1.Role_ROLE_ADMIN
	if r.m.policy == chatv1.JoinPolicy_JOIN_POLICY_OPEN {
		least = chatv1.Role_ROLE_MEMBER
	}
	want := r.m.acts(by, least)
	for _, u := range users {
		if blocked, _ := r.h.relations.Blocked(context.Background(), by, id.User(u)); blocked && id.User(u) != by {
			want = "blocked"
		}
		if want == "" && r.m.banned[id.User(u)] {
			want = "banned"
		}
	}
	seq, err := r.node().Invite(context.Background(), r.c, by, users)
	r.changed("invite", seq, err, want, func() {
		if len(bring) > 0 {
			r.m.join(bring...)
		}
	})
}

func (r *run) remove(t *rapid.T) {
	by, users := r.user("by"), rapid.SliceOfN(rapid.Uint64Range(1, modelUsers), 1, 3).Draw(t, "users")
	want := r.m.acts(by, chatv1.Role_ROLE_ADMIN)
	var out []id.User
	for _, u := range users {
		if role := r.m.role(id.User(u)); role != 0 && role >= r.m.role(by) && want == "" {
			want = "not_allowed"
		} else if role != 0 && !slices.Contains(out, id.User(u)) {
			out = append(out, id.User(u))
		}
	}
	seq, err := r.node().Remove(context.Background(), r.c, by, users)
	r.changed("remove", seq, err, want, func() {
		if len(out) > 0 {
			r.m.leave(true, out...)
		}
	})
}

func (r *run) ban(t *rapid.T) {
	by, users := r.user("by"), rapid.SliceOfN(rapid.Uint64Range(1, modelUsers), 1, 3).Draw(t, "users")
	want := r.m.acts(by, chatv1.Role_ROLE_ADMIN)
	var added, out []id.User
	for _, n := range users {
		u := id.User(n)
		if want == "" && r.m.role(u) >= r.m.role(by) {
			want = "not_allowed"
		}
		if !r.m.banned[u] && !slices.Contains(added, u) {
			added = append(added, u)
		}
		if r.m.in(u) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	seq, err := r.node().Ban(context.Background(), r.c, by, users)
	if !r.expect("ban", err, want) {
		return
	}
	last := uint64(0)
	if len(added) > 0 {
		r.m.change(func(uint64) {})
		last = r.m.seq
	}
	for _, u := range added {
		r.m.banned[u] = true
	}
	if len(out) > 0 {
		last = r.m.seq + 1
		r.m.leave(true, out...)
	}
	if seq != last {
		r.Fatalf("the ban is at %d, want %d", seq, last)
	}
	r.syncNodes()
}

func (r *run) unban(t *rapid.T) {
	by, u := r.user("by"), r.user("who")
	seq, err := r.node().Unban(context.Background(), r.c, by, []uint64{uint64(u), uint64(u)})
	r.changed("unban", seq, err, r.m.acts(by, chatv1.Role_ROLE_ADMIN), func() {
		if r.m.banned[u] {
			r.m.change(func(uint64) { delete(r.m.banned, u) })
		}
	})
}

func (r *run) leave(*rapid.T) {
	u := r.user("who")
	want := ""
	if !r.m.in(u) {
		want = "no_conversation"
	} else if r.m.role(u) == chatv1.Role_ROLE_OWNER && !r.m.dissolved {
		want = "owner_stays"
	}
	seq, err := r.node().Leave(context.Background(), r.c, u)
	r.changed("leave", seq, err, want, func() { r.m.leave(false, u) })
}

func (r *run) join(t *rapid.T) {
	u := r.user("who")
	q := &chatv1.JoinRequest{Conversation: uint64(r.c)}
	byLink := rapid.Bool().Draw(t, "by link") && r.m.link != ""
	if byLink {
		q = &chatv1.JoinRequest{Token: r.m.link}
	}
	joined, c, err := r.node().Join(context.Background(), u, q)
	want, in, requests := "", r.m.in(u), false
	switch {
	case r.m.dissolved:
		want = "dissolved"
	case in:
	case r.m.banned[u]:
		want = "banned"
	case r.m.policy == chatv1.JoinPolicy_JOIN_POLICY_APPROVAL:
		requests = !byLink || r.m.members[u].removed
	case !byLink && r.m.policy == chatv1.JoinPolicy_JOIN_POLICY_INVITE:
		want = "no_conversation"
	case r.m.members[u].removed:
		want = "removed"
	}
	if !r.expect("join", err, want) {
		return
	}
	if c != r.c || joined == requests {
		r.Fatalf("join returned %v, conversation %d", joined, c)
	}
	if requests {
		r.m.requested[u] = true
	} else if !in {
		r.m.join(u)
		r.syncNodes()
	}
}

func (r *run) answer(t *rapid.T) {
	by, u, accept := r.user("by"), r.user("who"), rapid.Bool().Draw(t, "accept")
	want := ""
	switch role := r.m.role(by); {
	case role == 0:
		want = "no_conversation"
	case role < chatv1.Role_ROLE_ADMIN:
		want = "not_allowed"
	case !r.m.requested[u]:
		want = "no_request"
	case accept && r.m.dissolved:
		want = "dissolved"
	case accept && by != u:
		if blocked, _ := r.h.relations.Blocked(context.Background(), by, u); blocked {
			want = "blocked"
		}
		if r.m.dissolved {
			want = "dissolved"
		}
	}
	if want == "" && accept && r.m.banned[u] {
		want = "banned"
	}
	seq, err := r.node().AnswerJoinRequest(context.Background(), r.c, by, u, accept)
	r.changed("answer", seq, err, want, func() {
		delete(r.m.requested, u)
		if accept && !r.m.in(u) {
			r.m.join(u)
		}
	})
}
