package moderation_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/moderation"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

const (
	ofHeld   = moderationv1.ReportedKind_REPORTED_KIND_HELD
	rejected = moderationv1.Action_ACTION_REFUSE
)

// classified has webhooks that decide about messages and posts by their body.
func classified(t *testing.T, onFailure string, timeout time.Duration, answer func(body string, w http.ResponseWriter)) (*fixture, *atomic.Int64) {
	t.Helper()
	return classifiedParts(t, onFailure, "", timeout, answer)
}

// classifiedParts is classified with a setting of what readers see of streamed messages.
func classifiedParts(t *testing.T, onFailure, parts string, timeout time.Duration, answer func(body string, w http.ResponseWriter)) (*fixture, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Rialto-Signature") == "" {
			t.Errorf("the webhook got %q, %v", body, err)
		}
		if answer == nil { // it answers nothing until its caller has gone
			<-r.Context().Done()
			return
		}
		answer(string(body), w)
	}))
	t.Cleanup(server.Close)
	hook := webhook.Config{URL: server.URL, Secret: "a secret of the operator", Timeout: timeout}
	return openConfigured(t, 1, moderation.Config{BeforePublish: hook, BeforePublishOnFailure: onFailure}, chat.Config{BeforeSend: hook, BeforeSendOnFailure: onFailure, BeforeSendParts: parts}), &asked
}

// verdicts holds what has "hold" in it, and refuses what has "bad" in it.
func verdicts(body string, w http.ResponseWriter) {
	switch {
	case strings.Contains(body, "hold"):
		_, _ = io.WriteString(w, `{"hold":true,"reason":"perhaps spam\n"}`)
	case strings.Contains(body, "bad"):
		_, _ = io.WriteString(w, `{"allow":false,"reason":"be nice"}`)
	default:
		_, _ = io.WriteString(w, `{"allow":true}`)
	}
}

func (f *fixture) trySend(by id.User, c id.Conversation, token, text string) error {
	return f.trySendAs(by, c, token, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
}

func (f *fixture) trySendContent(by id.User, c id.Conversation, content *chatv1.Content) error {
	return f.trySendAs(by, c, f.token(), content)
}

func (f *fixture) trySendAs(by id.User, c id.Conversation, token string, content *chatv1.Content) error {
	raw, err := proto.Marshal(content)
	must(f.t, err)
	return f.chat.Send(f.t.Context(), &message.Draft{Conversation: c, Sender: by, Device: 1, ClientMsgID: token, Content: raw})
}

func (f *fixture) tryPost(by id.User, token, text string) (uint64, error) {
	p, err := f.feed.Publish(f.t.Context(), by, &feedv1.PublishRequest{ClientPostId: token, Content: &feedv1.PostContent{Text: text}})
	return p.GetId(), err
}

func (f *fixture) tryComment(by id.User, post uint64, token, text string) error {
	_, err := f.comments.CreateComment(f.t.Context(), by, &commentv1.CreateCommentRequest{ClientCommentId: token, SubjectKind: onPost, Subject: post, Content: &commentv1.CommentContent{Text: text}})
	return err
}

// postsOf returns the texts of a user's posts that a reader sees, and commentsOn those of the comments on a post; both are sorted.
func (f *fixture) postsOf(reader, author id.User) (texts []string) {
	f.t.Helper()
	page, err := f.feed.ListPosts(f.t.Context(), reader, &feedv1.ListPostsRequest{User: uint64(author)})
	must(f.t, err)
	for _, p := range page.Posts {
		texts = append(texts, p.Content.Text)
	}
	slices.Sort(texts)
	return texts
}

func (f *fixture) commentsOn(reader id.User, post uint64) (texts []string) {
	f.t.Helper()
	page, err := f.comments.ListComments(f.t.Context(), reader, &commentv1.ListCommentsRequest{SubjectKind: onPost, Subject: post})
	must(f.t, err)
	for _, c := range page.Comments {
		texts = append(texts, c.Content.GetText())
	}
	slices.Sort(texts)
	return texts
}

// What a webhook holds is a case with the content, once for all retries. If it is dismissed, the content is sent in the author's name, once; if it is refused, it is not, unless an appeal
// overturns that. What the webhook refuses is nowhere.
func TestModeratorsDecideWhatIsHeld(t *testing.T) {
	f, _ := classified(t, "", 5*time.Second, verdicts)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	post := f.post(bob, "a post")
	f.send(alice, g, "good")
	for range 2 { // a retry opens no second case
		if err := f.trySend(alice, g, "t1", "hold this message"); reason(err) != "held_for_review" {
			t.Fatalf("a held message: %v", err)
		}
	}
	if _, err := f.tryPost(alice, "t2", "hold this post"); reason(err) != "held_for_review" {
		t.Fatalf("a held post: %v", err)
	}
	if err := f.tryComment(alice, post, "t3", "hold this comment"); reason(err) != "held_for_review" {
		t.Fatalf("a held comment: %v", err)
	}
	if err := f.trySend(alice, g, "t4", "bad"); reason(err) != "refused_by_rules" || errs.Of(err).Message != "be nice" {
		t.Errorf("a refused message: %v", err)
	}
	if _, err := f.tryPost(alice, "t5", "bad"); reason(err) != "refused_by_rules" {
		t.Errorf("a refused post: %v", err)
	}
	list := f.cases(&moderationv1.ListCasesRequest{Kind: ofHeld})
	if len(list) != 3 || list[0].Excerpt != "hold this message" || list[0].About != uint64(alice) {
		t.Fatalf("held are %v", list)
	}
	full, err := f.GetCase(t.Context(), mia, &moderationv1.GetCaseRequest{Case: list[0].Id})
	must(t, err)
	if full.Content.GetHeld().GetMessage().GetContent().GetText() != "hold this message" || len(full.Reports) != 1 || full.Reports[0].Note != "perhaps spam" {
		t.Errorf("the case is %v", full)
	}
	if got := f.texts(bob, g); !slices.Equal(got, []string{"good"}) {
		t.Errorf("before the decision bob reads %q", got)
	}
	for range 2 { // as after a crash
		f.decide(list[0], dismiss, 0)
	}
	f.decide(list[1], dismiss, 0)
	f.decide(list[2], rejected, 0)
	if got := f.texts(bob, g); !slices.Equal(got, []string{"good", "hold this message"}) {
		t.Errorf("bob reads %q", got)
	}
	if got := f.postsOf(bob, alice); !slices.Equal(got, []string{"hold this post"}) {
		t.Errorf("the posts are %q", got)
	}
	if got := f.commentsOn(bob, post); len(got) != 0 {
		t.Errorf("the comments are %q", got)
	}
	mine, err := f.ListMyDecisions(t.Context(), alice, &moderationv1.ListMyDecisionsRequest{})
	must(t, err)
	if len(mine.Decisions) != 1 || mine.Decisions[0].Action != rejected {
		t.Fatalf("alice is told of %v", mine.Decisions)
	}
	a, err := f.AppealDecision(t.Context(), alice, &moderationv1.AppealDecisionRequest{Decision: mine.Decisions[0].Id, Text: "it is harmless"})
	must(t, err)
	_, err = f.DecideAppeal(t.Context(), moe, &moderationv1.DecideAppealRequest{Appeal: a.Appeal, Overturn: true})
	must(t, err)
	if got := f.commentsOn(bob, post); !slices.Equal(got, []string{"hold this comment"}) {
		t.Errorf("after the appeal the comments are %q", got)
	}
}

// At most 100 contents of a user wait for moderators.
func TestHeldContentsAreBounded(t *testing.T) {
	f, _ := classified(t, "", 5*time.Second, verdicts)
	alice := f.user()
	g := f.group(alice)
	for range 100 {
		if err := f.trySend(alice, g, f.token(), "hold"); reason(err) != "held_for_review" {
			t.Fatalf("error %v, want the reason held_for_review", err)
		}
	}
	if err := f.trySend(alice, g, f.token(), "hold"); reason(err) != "too_many_held" {
		t.Errorf("the 101st: %v", err)
	}
}

// A webhook that is slow, fails, lies, or answers too much decides nothing: the setting does.
func TestTheSettingDecidesIfTheWebhookDoesNot(t *testing.T) {
	hooks := map[string]func(string, http.ResponseWriter){
		"slow":     nil,
		"failing":  func(_ string, w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"lying":    func(_ string, w http.ResponseWriter) { _, _ = io.WriteString(w, `{"verdict":"allow"}`) },
		"not JSON": func(_ string, w http.ResponseWriter) { _, _ = io.WriteString(w, `<html>`) },
		"oversized": func(_ string, w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"allow":true,"reason":"`+strings.Repeat("x", 70<<10)+`"}`)
		},
	}
	for name, hook := range hooks {
		for onFailure, want := range map[string]string{"": "not_checked", "refuse": "not_checked", "allow": "", "hold": "held_for_review"} {
			t.Run(name+" "+onFailure, func(t *testing.T) {
				f, asked := classified(t, onFailure, 50*time.Millisecond, hook)
				alice := f.user()
				if err := f.trySend(alice, f.group(alice), "t", "a message"); reason(err) != want {
					t.Errorf("a message: %v, want %q", err, want)
				}
				_, err := f.tryPost(alice, "t", "a post")
				if reason(err) != want {
					t.Errorf("a post: %v, want %q", err, want)
				}
				if want == "not_checked" && errs.Of(err).Retry == 0 {
					t.Errorf("clients do not send it again: %v", err)
				}
				if asked.Load() == 0 {
					t.Error("the webhook was not asked")
				}
				if want == "held_for_review" {
					if list := f.cases(&moderationv1.ListCasesRequest{Kind: ofHeld}); len(list) != 2 {
						t.Errorf("held are %v", list)
					}
				}
			})
		}
	}
}

// A retry of a stored post gets the post, also if the webhook would refuse it by now.
func TestRetriesOfPostsAreNotAskedAbout(t *testing.T) {
	var strict atomic.Bool
	f, _ := classified(t, "", 5*time.Second, func(_ string, w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode(map[string]bool{"allow": !strict.Load()})
	})
	alice := f.user()
	first, err := f.tryPost(alice, "t", "a post")
	must(t, err)
	strict.Store(true)
	if again, err := f.tryPost(alice, "t", "a post"); err != nil || again != first {
		t.Errorf("a retry is answered with %d, %v", again, err)
	}
	if _, err := f.tryPost(alice, "u", "a post"); reason(err) != "refused_by_rules" {
		t.Errorf("a new post: %v", err)
	}
}

// Nobody is asked about an edit that its caller may not make, so that nothing is held in the name of somebody who did not write it.
func TestEditsOfOthersAreNotAskedAbout(t *testing.T) {
	f, asked := classified(t, "", 5*time.Second, verdicts)
	alice, bob := f.user(), f.user()
	post := f.post(alice, "a post")
	comment := f.comment(alice, post, 0, "a comment")
	before := asked.Load()
	editPost := func(by id.User, version uint32) error {
		_, err := f.feed.EditPost(t.Context(), by, &feedv1.EditPostRequest{Post: post, Version: version, Content: &feedv1.PostContent{Text: "hold this"}})
		return err
	}
	editComment := func(by id.User) error {
		_, err := f.comments.EditComment(t.Context(), by, &commentv1.EditCommentRequest{Comment: comment, Content: &commentv1.CommentContent{Text: "hold this"}})
		return err
	}
	for want, err := range map[string]error{"no_post": editPost(bob, 0), "version_changed": editPost(alice, 7), "no_comment": editComment(bob)} {
		if reason(err) != want {
			t.Errorf("the edit is answered with %v, want %s", err, want)
		}
	}
	if list := f.cases(&moderationv1.ListCasesRequest{}); asked.Load() != before || len(list) != 0 {
		t.Errorf("the webhook was asked %d times, and held are %v", asked.Load()-before, list)
	}
	for what, err := range map[string]error{"post": editPost(alice, 1), "comment": editComment(alice)} {
		if reason(err) != "held_for_review" {
			t.Errorf("its author's edit of a %s is answered with %v", what, err)
		}
	}
}

// hooksThatHold are a webhook that wants moderators to decide about everything, and one that is down while the setting is hold.
var hooksThatHold = map[string]func(string, http.ResponseWriter){
	"a verdict": func(_ string, w http.ResponseWriter) { _, _ = io.WriteString(w, `{"hold":true}`) },
	"down":      func(_ string, w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
}

func (f *fixture) tryStart(by id.User, c id.Conversation) (uint64, error) {
	d, err := f.chat.StartStreamed(f.t.Context(), id.Caller{User: by, Device: 1}, &chatv1.StartStreamedMessageRequest{Conversation: uint64(c), ClientMsgId: f.token()})
	if err != nil {
		return 0, err
	}
	return d.Seq, nil
}

// Of a message that is written in parts the whole text is held, at its end or when it is broken off, and the message ends without one. If the text is allowed, it is an edit of the message.
func TestTextsOfStreamedMessagesAreHeld(t *testing.T) {
	for name, hook := range hooksThatHold {
		t.Run(name, func(t *testing.T) {
			f, _ := classified(t, "hold", 5*time.Second, hook)
			alice, bob := f.user(), f.user()
			g := f.group(alice, bob)
			whole, err := f.tryStart(alice, g)
			must(t, err)
			text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "the whole text"}}
			if _, err := f.chat.EndStreamed(t.Context(), g, whole, bob, text); reason(err) != "not_sender" {
				t.Errorf("an end by somebody else: %v", err)
			}
			for _, want := range []string{"held_for_review", "id_reuse"} { // a retry finds that the message has ended
				if _, err := f.chat.EndStreamed(t.Context(), g, whole, alice, text); reason(err) != want {
					t.Errorf("the end is answered with %v, want %s", err, want)
				}
			}
			half, err := f.tryStart(alice, g)
			must(t, err)
			_, err = f.chat.BreakOffStreamed(t.Context(), g, half, alice, "half", &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_LOST})
			must(t, err)
			for seq, cause := range map[uint64]chatv1.BrokenOff_Cause{whole: chatv1.BrokenOff_CAUSE_HELD, half: chatv1.BrokenOff_CAUSE_LOST} {
				if end, at, err := f.chat.StreamedEnd(t.Context(), g, seq, alice); err != nil || at == 0 || end.GetText() != "" || end.GetBrokenOff().GetCause() != cause {
					t.Errorf("message %d ended with %v, %v; want %v", seq, end, err, cause)
				}
			}
			list := f.cases(&moderationv1.ListCasesRequest{Kind: ofHeld})
			if len(list) != 2 || list[0].Excerpt != "the whole text" || list[1].Excerpt != "half" {
				t.Fatalf("held are %v", list)
			}
			f.decide(list[0], dismiss, 0)
			f.decide(list[1], rejected, 0)
			if got := f.texts(bob, g); !slices.Equal(got, []string{"the whole text"}) {
				t.Errorf("bob reads %q", got)
			}
		})
	}
}

// Where readers see the parts, a message does not begin before the webhook has allowed it: while it does not answer, its sender tries again.
func TestStreamedMessagesWithVisiblePartsWait(t *testing.T) {
	for name, want := range map[string]string{"a verdict": "refused_by_rules", "down": "not_checked"} {
		f, _ := classifiedParts(t, "hold", "show", 5*time.Second, hooksThatHold[name])
		alice := f.user()
		if _, err := f.tryStart(alice, f.group(alice)); reason(err) != want {
			t.Errorf("%s: the beginning is answered with %v, want %s", name, err, want)
		}
	}
}

// What cannot be sent any more when it is allowed is not sent later either, and moderators see why: in the answer, and in the lists of cases and appeals.
func TestModeratorsSeeWhatCouldNotBeSent(t *testing.T) {
	f, _ := classified(t, "", 5*time.Second, verdicts)
	alice, bob := f.user(), f.user()
	g := f.group(bob, alice)
	for _, token := range []string{"t1", "t2"} {
		if err := f.trySend(alice, g, token, "hold "+token); reason(err) != "held_for_review" {
			t.Fatalf("error %v, want the reason held_for_review", err)
		}
	}
	_, err := f.chat.Remove(t.Context(), g, bob, []uint64{uint64(alice)})
	must(t, err)
	list := f.cases(&moderationv1.ListCasesRequest{Kind: ofHeld})
	failed := func(where string, d *moderationv1.Decision) {
		t.Helper()
		if d.GetFailure() != "no_conversation" || d.GetApplied() {
			t.Errorf("%s: the decision is %v", where, d)
		}
	}
	failed("the answer", f.decide(list[0], dismiss, 0))
	if d := f.decide(list[1], rejected, 0); d.Failure != "" || !d.Applied {
		t.Errorf("a refusal is %v", d)
	}
	mine, err := f.ListMyDecisions(t.Context(), alice, &moderationv1.ListMyDecisionsRequest{})
	must(t, err)
	a, err := f.AppealDecision(t.Context(), alice, &moderationv1.AppealDecisionRequest{Decision: mine.Decisions[0].Id, Text: "it is harmless"})
	must(t, err)
	decided, err := f.DecideAppeal(t.Context(), moe, &moderationv1.DecideAppealRequest{Appeal: a.Appeal, Overturn: true})
	must(t, err)
	failed("the appeal", decided.Decision)
	_, err = f.chat.Invite(t.Context(), g, bob, []uint64{uint64(alice)})
	must(t, err)
	must(t, f.Round(t.Context()))
	for _, c := range f.cases(&moderationv1.ListCasesRequest{State: moderationv1.CaseState_CASE_STATE_DECIDED}) {
		failed("the list", c.Decision)
	}
	if got := f.texts(bob, g); len(got) != 0 {
		t.Errorf("bob reads %q", got)
	}
}

// What was held and decided opens no second case when its author sends it again, so that it is not sent twice. An edit that is made again later does.
func TestWhatWasDecidedIsNotHeldAgain(t *testing.T) {
	f, _ := classified(t, "", 5*time.Second, verdicts)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	post := f.post(alice, "a post")
	hold := func(err error) *moderationv1.Case {
		t.Helper()
		if reason(err) != "held_for_review" {
			t.Fatalf("what is held is answered with %v", err)
		}
		list := f.cases(&moderationv1.ListCasesRequest{})
		if len(list) == 0 {
			return nil
		}
		return list[0]
	}
	edit := func(text string) error {
		_, err := f.feed.EditPost(t.Context(), alice, &feedv1.EditPostRequest{Post: post, Content: &feedv1.PostContent{Text: text}})
		return err
	}
	f.decide(hold(f.trySend(alice, g, "t1", "hold this")), dismiss, 0)
	f.decide(hold(f.trySend(alice, g, "t2", "hold that")), rejected, 0)
	for token, text := range map[string]string{"t1": "hold this", "t2": "hold that"} {
		if c := hold(f.trySend(alice, g, token, text)); c != nil {
			t.Errorf("%s, sent again, is the case %v", text, c)
		}
	}
	if got := f.texts(bob, g); !slices.Equal(got, []string{"hold this"}) {
		t.Errorf("bob reads %q", got)
	}
	f.decide(hold(edit("hold one")), dismiss, 0)
	must(t, edit("another"))
	if c := hold(edit("hold one")); c == nil {
		t.Error("the edit that is made again is no case")
	}
}
