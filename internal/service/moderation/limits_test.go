package moderation_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// limit limits a user until a time, 0: for ever.
func (f *fixture) limit(u id.User, endsMs int64) *moderationv1.Ban {
	f.t.Helper()
	b, err := f.BanTarget(f.t.Context(), mia, &moderationv1.BanTargetRequest{Target: &moderationv1.Target{Of: &moderationv1.Target_LimitedUser{LimitedUser: uint64(u)}}, EndsMs: endsMs, Reason: spam, Note: "spam again"})
	must(f.t, err)
	return b
}

func (f *fixture) direct(a, b id.User) id.Conversation {
	f.t.Helper()
	c, err := f.chat.OpenDirect(f.t.Context(), a, b)
	must(f.t, err)
	return c
}

func (f *fixture) befriend(a, b id.User) {
	f.t.Helper()
	_, err := f.accounts.RequestFriend(f.t.Context(), a, b, "")
	must(f.t, err)
	_, err = f.accounts.AnswerFriend(f.t.Context(), b, a, true)
	must(f.t, err)
}

// A limit ends by itself, or when a moderator lifts it, and is in the audit log. Its user is not banned, and is told of nothing, neither in the list of decisions nor in an export.
func TestLimits(t *testing.T) {
	f := open(t, 2)
	alice := f.user()
	end := f.clock.Now().Add(time.Hour).UnixMilli()
	b := f.limit(alice, end)
	if f.LimitedSince(alice) == 0 || b.Target.GetLimitedUser() != uint64(alice) || !b.Active || b.About != uint64(alice) {
		t.Fatalf("since %d, %v", f.LimitedSince(alice), b)
	}
	if err := f.CheckUser(t.Context(), alice); err != nil {
		t.Errorf("the user is banned: %v", err)
	}
	if mine, err := f.ListMyDecisions(t.Context(), alice, &moderationv1.ListMyDecisionsRequest{}); err != nil || len(mine.Decisions) != 0 {
		t.Errorf("the user is told of %v, %v", mine, err)
	}
	if _, err := f.AppealDecision(t.Context(), alice, &moderationv1.AppealDecisionRequest{Decision: b.Decision, Text: "why"}); reason(err) != "no_decision" {
		t.Errorf("an appeal: %v", err)
	}
	var exported records
	must(t, f.UserData().ExportUser(t.Context(), alice, &exported))
	if len(exported.list) != 0 {
		t.Errorf("exported is %q", exported.list)
	}
	f.clock.Advance(time.Hour)
	if f.LimitedSince(alice) != 0 {
		t.Error("the limit does not end")
	}
	b = f.limit(alice, 0)
	_, err := f.LiftBan(t.Context(), moe, &moderationv1.LiftBanRequest{Ban: b.Id, Note: "enough"})
	must(t, err)
	if f.LimitedSince(alice) != 0 {
		t.Error("the limit is not lifted")
	}
	if lines := strings.Join(f.audited(), "\n"); strings.Count(lines, "mia; limit.add; ") != 2 || !strings.Contains(lines, "max; limit.lift; limited; lifted; enough") {
		t.Errorf("the audit log is\n%s", lines)
	}
	_, err = f.BanTarget(t.Context(), mia, &moderationv1.BanTargetRequest{Target: &moderationv1.Target{Of: &moderationv1.Target_LimitedUser{LimitedUser: 1 << 40}}, Reason: spam})
	if reason(err) != "no_target" {
		t.Errorf("a user who does not exist: %v", err)
	}
}

// Each node has limited users in memory: there are at most 10,000, with a reason of their own.
func TestLimitsAreBounded(t *testing.T) {
	f := open(t, 1)
	alice := f.user()
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO moderation_bans (id, decision, target, about, made_ms, ends_ms, limited)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i, i, 'limit', i, 0, 0, TRUE FROM n`)
		return err
	}))
	r := &moderationv1.BanTargetRequest{Target: &moderationv1.Target{Of: &moderationv1.Target_LimitedUser{LimitedUser: uint64(alice)}}, Reason: spam}
	if _, err := f.BanTarget(t.Context(), mia, r); reason(err) != "too_many_limits" {
		t.Errorf("one limit more: %v", err)
	}
}

// A limit is a decision about a case as well.
func TestCasesEndWithALimit(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	f.report(bob, subject(ofUser, uint64(alice), 0))
	f.decide(f.onlyCase(), moderationv1.Action_ACTION_LIMIT, f.clock.Now().Add(time.Hour).UnixMilli())
	if f.LimitedSince(alice) == 0 {
		t.Error("the user is not limited")
	}
	if f.LimitedSince(bob) != 0 {
		t.Error("another user is limited")
	}
}

// Whatever a limited user writes, the user reads all of it. Others read what came to friends, to those who have written, and to groups that the user was in before; and what was written
// before and after the limit.
func TestWhoSeesWhatALimitedUserWrites(t *testing.T) {
	f := open(t, 1)
	alice, friend, known, unknown, answers := f.user(), f.user(), f.user(), f.user(), f.user()
	f.befriend(alice, friend)
	type place struct {
		c     id.Conversation
		other id.User
		open  bool // others see what is written during the limit
	}
	places := map[string]*place{
		"a friend":            {f.direct(alice, friend), friend, true},
		"one who had written": {f.direct(alice, known), known, true},
		"an unknown user":     {f.direct(alice, unknown), unknown, false},
		"an old group":        {f.group(known, alice, unknown), unknown, true},
		"one who answers":     {f.direct(alice, answers), answers, false},
	}
	f.send(known, places["one who had written"].c, "hello")
	f.clock.Advance(time.Second)
	seen, own := map[string][]string{"one who had written": {"hello"}}, map[string][]string{"one who had written": {"hello"}}
	write := func(name, text string, visible bool) {
		f.send(alice, places[name].c, text)
		own[name] = append(own[name], text)
		if visible {
			seen[name] = append(seen[name], text)
		}
	}
	write("an unknown user", "before", true)
	b := f.limit(alice, 0)
	f.clock.Advance(time.Second)
	places["a new group"] = &place{f.group(alice, friend, unknown), unknown, false}
	names := []string{"a friend", "one who had written", "an unknown user", "an old group", "one who answers", "a new group"}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		if i == 30 { // from now on the two have a conversation
			f.send(answers, places["one who answers"].c, "an answer")
			own["one who answers"] = append(own["one who answers"], "an answer")
			seen["one who answers"] = append(seen["one who answers"], "an answer")
			places["one who answers"].open = true
		}
		name := names[random.IntN(len(names))]
		write(name, fmt.Sprint("text ", i), places[name].open)
	}
	_, err := f.LiftBan(t.Context(), mia, &moderationv1.LiftBanRequest{Ban: b.Id})
	must(t, err)
	for _, name := range names {
		write(name, "after", true)
	}
	for _, name := range names {
		p := places[name]
		if got := f.texts(alice, p.c); !slices.Equal(newestFirst(got), newestFirst(own[name])) {
			t.Errorf("%s: alice reads %q, want %q", name, got, own[name])
		}
		if got := f.texts(p.other, p.c); !slices.Equal(newestFirst(got), newestFirst(seen[name])) {
			t.Errorf("%s: the other reads %q, want %q", name, got, seen[name])
		}
	}
}

// newestFirst sorts texts, so that the order of a page does not matter.
func newestFirst(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// Nobody can react to, reply to, or fetch a message that only its sender sees. What its sender does to it stays hidden as well.
func TestUpdatesOfLimitedMessages(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	c := f.direct(alice, bob)
	f.limit(alice, 0)
	seq := f.send(alice, c, "buy this")
	react := &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: seq}, Emoji: "👍"}}}
	if err := f.trySendContent(bob, c, react); reason(err) != "no_message" {
		t.Errorf("bob reacts: %v", err)
	}
	must(t, f.trySendContent(alice, c, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "buy that"}}}}}))
	for u, want := range map[id.User]int{alice: 2, bob: 0} {
		page, err := f.chat.GetMessages(t.Context(), u, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{seq, seq + 1}})
		must(t, err)
		if len(page.Messages) != want {
			t.Errorf("%v gets %v, want %d messages", u, page.Messages, want)
		}
	}
	if got := f.texts(alice, c); !slices.Contains(got, "buy that") {
		t.Errorf("alice reads %q", got)
	}
}

// Posts for everyone and comments of a limited user are seen by nobody else, and no count has them, during the limit and after it. Those for friends are seen by friends.
func TestPostsAndCommentsOfALimitedUser(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	post := f.post(bob, "a post of bob")
	early := f.post(alice, "before, as it was")
	f.comment(alice, post, 0, "before")
	b := f.limit(alice, 0)
	if _, err := f.feed.EditPost(t.Context(), alice, &feedv1.EditPostRequest{Post: early, Content: &feedv1.PostContent{Text: "before", Audience: feedv1.Audience_AUDIENCE_EVERYONE}}); err != nil {
		t.Fatal(err)
	}
	limited := f.post(alice, "during")
	f.comment(alice, post, 0, "during")
	check := func(when string, others, own []string) {
		t.Helper()
		if got := f.postsOf(bob, alice); !slices.Equal(got, others) {
			t.Errorf("%s: bob sees the posts %q, want %q", when, got, others)
		}
		if got := f.postsOf(alice, alice); !slices.Equal(got, own) {
			t.Errorf("%s: alice sees the posts %q, want %q", when, got, own)
		}
		if got := f.commentsOn(bob, post); !slices.Equal(got, others) {
			t.Errorf("%s: bob sees the comments %q, want %q", when, got, others)
		}
		if got := f.commentsOn(alice, post); !slices.Equal(got, own) {
			t.Errorf("%s: alice sees the comments %q, want %q", when, got, own)
		}
		counts, err := f.comments.CountComments(t.Context(), bob, &commentv1.CountCommentsRequest{SubjectKind: onPost, Subjects: []uint64{post}})
		must(t, err)
		if counts.Counts[0].Comments != uint32(len(others)) {
			t.Errorf("%s: %v comments are counted, want %d", when, counts, len(others))
		}
	}
	check("during", []string{"before"}, []string{"before", "during"})
	if err := f.tryComment(bob, limited, "t", "first"); reason(err) != "no_subject" {
		t.Errorf("bob comments on a post that he does not see: %v", err)
	}
	_, err := f.LiftBan(t.Context(), mia, &moderationv1.LiftBanRequest{Ban: b.Id})
	must(t, err)
	f.post(alice, "later")
	f.comment(alice, post, 0, "later")
	check("after", []string{"before", "later"}, []string{"before", "during", "later"})
}
