package moderation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// A user reports what the user may read, and nothing else.
func TestOnlyWhatOneMayReadIsReported(t *testing.T) {
	f := open(t, 1)
	alice, bob, eve := f.user(), f.user(), f.user()
	g := f.group(alice, bob)
	seq := f.send(alice, g, "buy this")
	p := f.post(alice, "a post")
	n := f.comment(bob, p, 0, "a comment")
	if _, err := f.accounts.SetBlock(t.Context(), alice, eve, true); err != nil {
		t.Fatal(err)
	}
	message, post, comment := subject(ofMessage, uint64(g), seq), subject(ofPost, p, 0), subject(ofComment, n, 0)
	for _, test := range []struct {
		by   id.User
		of   *moderationv1.ReportedThing
		want string
	}{
		{bob, message, ""}, {eve, message, "no_conversation"}, {alice, message, "own_content"}, {bob, subject(ofMessage, uint64(g), seq+1), "no_message"}, {bob, subject(ofMessage, uint64(g), 1), "no_message"},
		{bob, post, ""}, {eve, post, "no_post"}, {alice, post, "own_content"},
		{alice, comment, ""}, {eve, comment, "no_comment"}, {bob, comment, "own_content"},
		{bob, subject(ofUser, uint64(alice), 0), ""}, {bob, subject(ofUser, uint64(bob), 0), "own_content"}, {bob, subject(ofUser, 1<<50, 0), "no_user"},
		{bob, subject(ofGroup, uint64(g), 0), ""}, {eve, subject(ofGroup, uint64(g), 0), "no_conversation"},
		{bob, subject(ofMessage, uint64(g), 0), "bad_report"}, {bob, subject(ofPost, p, 1), "bad_report"}, {bob, subject(0, p, 0), "bad_report"}, {bob, subject(6, p, 0), "bad_report"}, {bob, nil, "bad_report"},
	} {
		_, err := f.ReportContent(t.Context(), test.by, &moderationv1.ReportContentRequest{Subject: test.of, Reason: spam})
		if got := reason(err); got != test.want {
			t.Errorf("user %d reports %v: %q (%v), want %q", test.by, test.of, got, err, test.want)
		}
	}
	if _, err := f.ReportContent(t.Context(), eve, &moderationv1.ReportContentRequest{Subject: subject(ofUser, uint64(alice), 0)}); reason(err) != "bad_report" {
		t.Errorf("a report without a reason is answered with %v", err)
	}
	if got := f.cases(&moderationv1.ListCasesRequest{}); len(got) != 5 {
		t.Errorf("%d cases are open, want 5", len(got))
	}
	if got := f.cases(&moderationv1.ListCasesRequest{Kind: ofPost}); len(got) != 1 || got[0].About != uint64(alice) || got[0].Excerpt != "a post" {
		t.Errorf("the cases of posts are %v", got)
	}
	if got := f.cases(&moderationv1.ListCasesRequest{About: uint64(bob)}); len(got) != 1 || got[0].Subject.Kind != ofComment {
		t.Errorf("the cases about bob are %v", got)
	}
}

// The copy has the entries before the message that its reporter may read, as they were, also after they are gone.
func TestReportsHaveTheirContext(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	g := f.group(alice)
	f.send(alice, g, "before bob came")
	if _, err := f.chat.Invite(t.Context(), g, alice, []uint64{uint64(bob)}); err != nil {
		t.Fatal(err)
	}
	for n := range 12 {
		f.send(alice, g, fmt.Sprint("message ", n))
	}
	seq := f.send(alice, g, "buy this")
	f.send(alice, g, "and that")
	f.report(bob, subject(ofMessage, uint64(g), seq))
	must(t, f.chat.RecallForModerators(t.Context(), g, seq-1))
	texts := func() (list []string) {
		for _, m := range f.onlyCase().Content.Messages {
			list = append(list, m.Content.GetText())
		}
		return list
	}
	if got := texts(); len(got) != 11 || got[10] != "buy this" || got[9] != "message 11" || got[0] != "message 2" {
		t.Errorf("the context is %q", got)
	}
	// Of large messages before it only some are copied.
	large := make([]byte, 30<<10)
	for i := range large {
		large[i] = 'x'
	}
	for range 4 {
		f.send(alice, g, string(large))
	}
	f.decide(f.onlyCase(), dismiss, 0)
	f.report(bob, subject(ofMessage, uint64(g), f.send(alice, g, "again")))
	if got := texts(); len(got) != 3 || got[2] != "again" {
		t.Errorf("%d messages are copied", len(got))
	}
	// What bob cannot read is not among them.
	h := f.group(alice)
	f.send(alice, h, "a secret")
	if _, err := f.chat.Invite(t.Context(), h, alice, []uint64{uint64(bob)}); err != nil {
		t.Fatal(err)
	}
	f.decide(f.onlyCase(), dismiss, 0)
	f.report(bob, subject(ofMessage, uint64(h), f.send(alice, h, "hello")))
	if got := texts(); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("the context is %q", got)
	}
}

// A user reports a thing once; reports of several users are one case; each sees the outcome.
func TestReportsOfOneThingAreOneCase(t *testing.T) {
	f := open(t, 1)
	alice, bob, eve := f.user(), f.user(), f.user()
	p := f.post(alice, "buy this")
	first := f.report(bob, subject(ofPost, p, 0))
	if again := f.report(bob, subject(ofPost, p, 0)); again.Id != first.Id || again.Reporter != 0 {
		t.Errorf("a second report is %v, want %v", again, first)
	}
	if _, err := f.ReportContent(t.Context(), eve, &moderationv1.ReportContentRequest{Subject: subject(ofPost, p, 0), Reason: hate, Note: "look"}); err != nil {
		t.Fatal(err)
	}
	c := f.onlyCase()
	if c.ReportCount != 2 || !slices.Equal(c.Reasons, []moderationv1.ReportReason{spam, hate}) || len(c.Reports) != 2 || c.Reports[0].Note != "look" || c.Reports[0].Reporter != uint64(eve) || c.Content.Post.Content.Text != "buy this" {
		t.Errorf("the case is %v", c)
	}
	outcomes := func(u id.User) (list []string) {
		r, err := f.ListMyReports(t.Context(), u, &moderationv1.ListMyReportsRequest{})
		must(t, err)
		for _, report := range r.Reports {
			if report.Reporter != 0 {
				t.Errorf("a user sees %v", report)
			}
			list = append(list, report.State.String())
		}
		return list
	}
	if got := outcomes(bob); !slices.Equal(got, []string{"REPORT_STATE_OPEN"}) {
		t.Errorf("before the decision: %q", got)
	}
	f.decide(c, dismiss, 0)
	if again := f.report(bob, subject(ofPost, p, 0)); again.Id != first.Id || again.State != moderationv1.ReportState_REPORT_STATE_DISMISSED {
		t.Errorf("a report after the decision is %v", again)
	}
	user := subject(ofUser, uint64(alice), 0)
	one := f.report(bob, user)
	f.decide(f.onlyCase(), warn, 0)
	if two := f.report(bob, user); two.Id == one.Id {
		t.Error("a user cannot be reported again")
	}
	if got := outcomes(bob); !slices.Equal(got, []string{"REPORT_STATE_OPEN", "REPORT_STATE_ACTED", "REPORT_STATE_DISMISSED"}) {
		t.Errorf("bob sees %q", got)
	}
}

// Reports are limited; repeated ones do not count.
func TestReportsAreLimited(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		p := subject(ofPost, f.post(alice, "x"), 0)
		for range 2 {
			if _, err = f.ReportContent(t.Context(), bob, &moderationv1.ReportContentRequest{Subject: p, Reason: spam}); err != nil {
				break
			}
		}
	}
	if n != 21 || reason(err) != "too_many_reports" {
		t.Errorf("report %d is answered with %v", n, err)
	}
	f.clock.Advance(time.Hour)
	f.report(bob, subject(ofUser, uint64(alice), 0))
}

// What moderators decide is done to the content, and recorded.
func TestDecisions(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	seq := f.send(alice, g, "bad")
	p := f.post(alice, "a post")
	top := f.comment(alice, p, 0, "a comment")
	f.comment(bob, p, top, "a reply")
	count := func() uint32 {
		r, err := f.comments.CountComments(t.Context(), bob, &commentv1.CountCommentsRequest{SubjectKind: onPost, Subjects: []uint64{p}})
		must(t, err)
		return r.Counts[0].Comments
	}

	f.report(bob, subject(ofMessage, uint64(g), seq))
	f.clock.Advance(48 * time.Hour) // beyond the time in which its sender could recall it
	d := f.decide(f.onlyCase(), recall, 0)
	if got := f.texts(bob, g); !slices.Equal(got, []string{"-"}) || !d.Applied {
		t.Errorf("after the recall bob reads %q (%v)", got, d)
	}
	m, err := f.chat.GetMessages(t.Context(), bob, &chatv1.GetMessagesRequest{Conversation: uint64(g), Seqs: []uint64{seq}})
	must(t, err)
	if m.Messages[0].RecalledBy != 0 || m.Messages[0].Content != nil {
		t.Errorf("the recalled message is %v", m.Messages[0])
	}
	must(t, f.chat.RecallForModerators(t.Context(), g, seq)) // a retry

	f.report(bob, subject(ofComment, top, 0))
	f.decide(f.onlyCase(), hide, 0)
	if c, err := f.comments.GetComment(t.Context(), alice, top); err != nil || !c.Deleted || c.Content != nil || c.Author != 0 || count() != 1 {
		t.Errorf("the hidden comment is %v, and %d are counted (%v)", c, count(), err)
	}

	f.report(bob, subject(ofPost, p, 0))
	f.decide(f.onlyCase(), hide, 0)
	if _, err := f.feed.GetPost(t.Context(), alice, p); reason(err) != "no_post" {
		t.Errorf("a hidden post is answered with %v", err)
	}
	notices, err := f.ListMyDecisions(t.Context(), alice, &moderationv1.ListMyDecisionsRequest{Limit: 2})
	must(t, err)
	if len(notices.Decisions) != 2 || notices.Next == "" || notices.Decisions[1].Excerpt != "a comment" || notices.Decisions[0].Explanation != "it breaks the rules" || notices.Decisions[0].Reason != hate {
		t.Errorf("alice is told %v", notices)
	}
	if got := f.cases(&moderationv1.ListCasesRequest{State: moderationv1.CaseState_CASE_STATE_DECIDED}); len(got) != 3 || got[0].Subject.Kind != ofPost || got[0].Decision.By != "mia" {
		t.Errorf("decided cases are %v", got)
	}
	want := []string{
		fmt.Sprintf("mia; case.decide; open; recall message in conversation %d seq %d of user %d; seen twice", g, seq, alice),
		fmt.Sprintf("mia; case.decide; open; hide comment %d of user %d; seen twice", top, alice),
		fmt.Sprintf("mia; case.decide; open; hide post %d of user %d; seen twice", p, alice),
	}
	if got := f.audited(); !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// A case is decided once. A retry is harmless, and another moderator is refused.
func TestCasesAreDecidedOnce(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	f.report(bob, subject(ofMessage, uint64(g), f.send(alice, g, "bad")))
	c := f.onlyCase()
	for action, want := range map[moderationv1.Action]string{hide: "bad_decision", 0: "bad_decision", 9: "bad_decision"} {
		if _, err := f.Decide(t.Context(), mia, &moderationv1.DecideRequest{Case: c.Id, Action: action, Reason: spam}); reason(err) != want {
			t.Errorf("action %v is answered with %v", action, err)
		}
	}
	past := f.clock.Now().UnixMilli()
	for _, r := range []*moderationv1.DecideRequest{{Action: warn}, {Action: dismiss, Reason: spam}, {Action: warn, Reason: spam, BanEndsMs: past + 1}, {Action: ban, Reason: spam, BanEndsMs: past}, {Action: warn, Reason: spam, Note: string(make([]byte, 3000))}} {
		r.Case = c.Id
		if _, err := f.Decide(t.Context(), mia, r); reason(err) != "bad_decision" {
			t.Errorf("%v is answered with %v", r, err)
		}
	}
	d := f.decide(c, warn, 0)
	if again := f.decide(c, warn, 0); again.Id != d.Id {
		t.Errorf("a retry makes decision %d, want %d", again.Id, d.Id)
	}
	if _, err := f.Decide(t.Context(), moe, &moderationv1.DecideRequest{Case: c.Id, Action: dismiss}); reason(err) != "case_decided" {
		t.Errorf("another moderator is answered with %v", err)
	}
	if got := f.audited(); len(got) != 1 {
		t.Errorf("the audit log has %q", got)
	}
}

// A decision that cannot be applied, or whose node stops, is applied later.
func TestDecisionsAreApplied(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	first, second := f.post(alice, "one"), f.post(alice, "two")
	f.broken.Store(true)
	for _, p := range []uint64{first, second} {
		f.report(bob, subject(ofPost, p, 0))
		if d := f.decide(f.onlyCase(), hide, 0); d.Applied {
			t.Fatal("it is applied")
		}
	}
	if err := f.Round(t.Context()); reason(err) != "storage" {
		t.Errorf("a failed round is %v", err)
	}
	f.broken.Store(false)
	must(t, f.feed.DeletePost(t.Context(), alice, second)) // what is gone needs nothing
	must(t, f.Round(t.Context()))
	if _, err := f.feed.GetPost(t.Context(), alice, first); reason(err) != "no_post" {
		t.Errorf("the post is shown (%v)", err)
	}
	for _, c := range f.cases(&moderationv1.ListCasesRequest{State: moderationv1.CaseState_CASE_STATE_DECIDED}) {
		if !c.Decision.Applied {
			t.Errorf("%v is not applied", c.Decision)
		}
	}
}

// The copy of what was reported is deleted long after the decision, and not before.
func TestCopiesAreDeleted(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	f.report(bob, subject(ofPost, f.post(alice, "one"), 0))
	c := f.onlyCase()
	f.clock.Advance(365 * 24 * time.Hour)
	must(t, f.Round(t.Context()))
	if f.onlyCase().Content.GetPost() == nil {
		t.Error("the copy of an open case is gone")
	}
	f.decide(c, warn, 0)
	has := func() bool {
		got, err := f.GetCase(t.Context(), mia, &moderationv1.GetCaseRequest{Case: c.Id})
		must(t, err)
		return got.Content != nil
	}
	f.clock.Advance(180 * 24 * time.Hour)
	must(t, f.Round(t.Context()))
	if !has() {
		t.Error("the copy is gone too early")
	}
	f.clock.Advance(time.Millisecond)
	must(t, f.Round(t.Context()))
	if has() {
		t.Error("the copy is kept")
	}
}
