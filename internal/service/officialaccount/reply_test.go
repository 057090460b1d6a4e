package officialaccount_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	exact    = chatv1.KeywordRule_MATCH_EXACT
	prefix   = chatv1.KeywordRule_MATCH_PREFIX
	contains = chatv1.KeywordRule_MATCH_CONTAINS
)

// The first rule that matches answers. Case, width and spaces do not matter; Chinese has no words to split.
func TestTheFirstRuleThatMatchesAnswers(t *testing.T) {
	w := open(t)
	w.write(ann, "hours") // before there are rules: not answered
	w.replies(&chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{
		rule(exact, "9 to 5", "Hours", "营业时间"), rule(prefix, "order", "order "), rule(contains, "refund", "退款", "ＲＥＦＵＮＤ"), rule(contains, "never", "hours")}})
	for _, body := range []string{"hours", "  ＨＯＵＲＳ ", "营业时间", "Order  42", "reorder", "我要退款谢谢", "a Refund?", "opening hours", "nothing"} {
		w.write(ann, body)
	}
	w.answer()
	w.check(ann, "9 to 5", "9 to 5", "9 to 5", "order", "refund", "refund", "never")
	w.answer()
	w.check(ann, "9 to 5", "9 to 5", "9 to 5", "order", "refund", "refund", "never")
}

// The fallback comes once an hour, and replies at most ten times in a minute.
func TestRepliesAreBounded(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{rule(exact, "pong", "ping")}, Fallback: text("what?")})
	w.write(ann, "a")
	w.write(ann, "b")
	w.answer()
	w.check(ann, "what?")
	w.pass(time.Hour)
	w.write(ann, "c")
	w.answer()
	w.check(ann, "what?", "what?")
	for range 30 {
		w.write(ann, "ping")
	}
	w.answer()
	if got := len(w.said(ann)); got != 11 { // with one fallback in this minute
		t.Errorf("ann got %d replies", got)
	}
	w.pass(time.Minute)
	w.write(ann, "ping")
	w.answer()
	if got := len(w.said(ann)); got != 12 {
		t.Errorf("after a minute ann has %d replies", got)
	}
}

// Neither an account's own messages nor those of another official account are answered, nor what is no message.
func TestRepliesAnswerNoReplies(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
	w.write(rival, "buy here")
	w.write(shop, "a note")
	w.write(ann, "hi")
	w.stream[2].GetMessage().Content = &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{}}}
	w.answer()
	w.check(rival)
	w.check(ann)
}

// A node that dies at any point leaves replies that are neither lost nor repeated, and two nodes at once do not repeat any.
func TestACrashLosesAndRepeatsNoReply(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{rule(prefix, "got it", "n")}})
	for i := range 5 {
		w.write(ann, fmt.Sprint("n", i))
	}
	ctx, crash := context.WithCancel(t.Context())
	must(t, w.AnswerMessages(ctx))
	sent := 0
	w.afterSend = func(*message.Draft) error { // dies after the third is stored
		if sent++; sent == 3 {
			crash()
			return ctx.Err()
		}
		return nil
	}
	if err := w.SendReplies(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first round: %v", err)
	}
	w.afterSend = nil
	next := w.another()
	must(t, next.AnswerMessages(t.Context()))
	must(t, w.AnswerMessages(t.Context()))
	must(t, next.SendReplies(t.Context()))
	w.answer()
	w.check(ann, "got it", "got it", "got it", "got it", "got it")
}

// What cannot be stored for now is sent later, and what is refused is dropped.
func TestRepliesAreTriedAgain(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
	w.onSend = func(*message.Draft) error { return errs.New(errs.Unavailable, "busy", "") }
	w.write(ann, "hi")
	w.answer()
	w.check(ann)
	w.onSend = nil
	w.answer()
	w.check(ann)
	w.pass(10 * time.Second)
	w.answer()
	w.check(ann, "hello")
	w.onSend = func(*message.Draft) error { return errs.New(errs.Denied, "blocked", "") }
	w.pass(time.Hour)
	w.write(ann, "hi")
	w.answer()
	w.onSend = nil
	w.pass(time.Minute)
	w.answer()
	w.check(ann, "hello")
}

func (w *fixture) follow(u id.User, follows bool) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *sql.Tx) error {
		return w.FollowChanged(w.t.Context(), tx, id.Conversation(channel+shop), u, follows)
	}))
	w.followers = slices.DeleteFunc(w.followers, func(f id.User) bool { return f == u })
	if follows {
		w.followers = append(w.followers, u)
		slices.Sort(w.followers)
	}
}

// Who begins to follow is welcomed, once a day. Each change is announced where following decides who may write.
func TestFollowersAreWelcomed(t *testing.T) {
	w := open(t)
	w.follow(ann, true) // without a welcome
	w.replies(&chatv1.OfficialReplies{Welcome: text("welcome")})
	for _, follows := range []bool{false, true, false, true} {
		w.pass(time.Second)
		w.follow(ann, follows)
		w.answer()
	}
	w.check(ann, "welcome")
	if w.announced != 5 {
		t.Errorf("%d changes were announced, want 5", w.announced)
	}
	w.pass(24 * time.Hour)
	w.follow(ann, false)
	w.follow(ann, true)
	w.answer()
	w.check(ann, "welcome", "welcome")
	for pair, want := range map[[2]id.User]bool{{ann, shop}: true, {shop, ann}: true, {ann, clerk}: false, {shop, clerk}: false} {
		if got, err := w.Follows(t.Context(), pair[0], pair[1]); err != nil || got != want {
			t.Errorf("Follows(%v) = %v %v", pair, got, err)
		}
	}
}

// A tap on a menu item sends its reply, once for each key.
func TestTapsSendTheReplyOfAnItem(t *testing.T) {
	w := open(t)
	item := func(title string) *chatv1.OfficialMenuItem {
		return &chatv1.OfficialMenuItem{Title: title, Action: &chatv1.OfficialMenuItem_Reply{Reply: text("about " + title)}}
	}
	menu := &chatv1.OfficialMenu{Entries: []*chatv1.OfficialMenuEntry{{Item: item("us")}, {Item: &chatv1.OfficialMenuItem{Title: "more"}, Items: []*chatv1.OfficialMenuItem{
		{Title: "site", Action: &chatv1.OfficialMenuItem_Url{Url: "https://example.com"}}, item("jobs")}}}}
	_, err := w.Update(t.Context(), clerk, &chatv1.UpdateOfficialAccountRequest{User: uint64(shop), Menu: menu})
	must(t, err)
	tap := func(entry, item uint32, key string) error {
		_, err := w.Tap(t.Context(), ann, &chatv1.TapOfficialMenuRequest{User: uint64(shop), Entry: entry, Item: item, Key: key})
		return err
	}
	must(t, tap(0, 0, "one"))
	must(t, tap(0, 0, "one"))
	w.answer()
	must(t, tap(0, 0, "one"))
	must(t, tap(1, 2, "two"))
	w.answer()
	w.check(ann, "about us", "about jobs")
	for _, bad := range []struct {
		entry, item uint32
		key         string
	}{{1, 0, "k"}, {1, 1, "k"}, {1, 3, "k"}, {2, 0, "k"}, {0, 1, "k"}, {0, 0, ""}, {0, 0, "a b"}} {
		if err := tap(bad.entry, bad.item, bad.key); reason(err) != "bad_tap" {
			t.Errorf("%v: error %v, want the reason bad_tap", bad, err)
		}
	}
	for i := range 6 {
		must(t, tap(0, 0, fmt.Sprint("more", i)))
	}
	if err := tap(0, 0, "eleventh"); reason(err) != "too_many_taps" {
		t.Errorf("the eleventh tap: %v", err)
	}
}
