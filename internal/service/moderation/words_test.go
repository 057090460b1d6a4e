package moderation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

var olga = id.Caller{Key: "olga", Role: id.Operator}

const (
	refuse = moderationv1.WordAction_WORD_ACTION_REFUSE
	queue  = moderationv1.WordAction_WORD_ACTION_QUEUE
)

func listed(action moderationv1.WordAction, texts ...string) (list []*moderationv1.ListedWord) {
	for _, text := range texts {
		list = append(list, &moderationv1.ListedWord{Text: text, Action: action})
	}
	return list
}

func (f *fixture) put(name string, version uint32, words ...*moderationv1.ListedWord) (*moderationv1.WordList, error) {
	return f.PutWordList(f.t.Context(), olga, &moderationv1.PutWordListRequest{Name: name, Version: version, Words: words, Note: "for tests"})
}

// Lists are replaced by those who have read them, hold on all nodes, and are recorded.
func TestWordLists(t *testing.T) {
	f := open(t, 2)
	other := f.nodes[1]
	if _, err := f.put("en", 0, listed(refuse, "casino", "poker")...); err != nil {
		t.Fatal(err)
	}
	l, err := f.put("zh", 0, listed(queue, "赌博")...)
	must(t, err)
	if l.Version != 1 || l.Count != 1 || l.ChangedBy != "olga" {
		t.Errorf("the list is %v", l)
	}
	if _, err := f.CheckText("a nice day", "the C.A.S.I.N.O"); reason(err) != "refused_by_rules" {
		t.Errorf("a refused word is answered with %v", err)
	}
	if word, err := f.CheckText("来赌 博吧"); err != nil || word != "赌博" {
		t.Errorf("a flagged word is %q (%v)", word, err)
	}
	if _, err := f.CheckText("赌博 casino"); reason(err) != "refused_by_rules" {
		t.Errorf("both are answered with %v", err)
	}
	eventually.True(t, "the other node has both lists", func() bool {
		_, refused := other.CheckText("casino")
		word, err := other.CheckText("赌博")
		return reason(refused) == "refused_by_rules" && err == nil && word != ""
	})
	for _, version := range []uint32{0, 2} {
		if _, err := f.put("en", version, listed(refuse, "x")...); reason(err) != "changed_meanwhile" {
			t.Errorf("version %d is answered with %v", version, err)
		}
	}
	if _, err := f.put("en", 1); err != nil {
		t.Fatal(err)
	}
	lists, err := f.ListWordLists(t.Context(), mia, nil)
	must(t, err)
	if len(lists.Lists) != 1 || lists.Lists[0].Name != "zh" || lists.Lists[0].Words != nil || lists.Lists[0].Count != 1 {
		t.Errorf("the lists are %v", lists)
	}
	if _, err := f.GetWordList(t.Context(), mia, &moderationv1.GetWordListRequest{Name: "en"}); reason(err) != "no_word_list" {
		t.Errorf("a deleted list is answered with %v", err)
	}
	eventually.True(t, "the other node has forgotten the list", func() bool { _, err := other.CheckText("casino"); return err == nil })
	again, err := f.put("en", 0, listed(refuse, "roulette")...)
	must(t, err)
	if got, err := f.GetWordList(t.Context(), mia, &moderationv1.GetWordListRequest{Name: "en"}); err != nil || got.Version != again.Version || len(got.Words) != 1 || got.Words[0].Text != "roulette" {
		t.Errorf("the new list is %v (%v)", got, err)
	}
	eventually.True(t, "the other node has the new list", func() bool { _, err := other.CheckText("roulette"); return reason(err) == "refused_by_rules" })
	if got := f.audited(); len(got) != 4 || got[0] != `olga; words.put; 0 words, version 0; 2 words, version 1; added: "casino" (refuse), "poker" (refuse); for tests` ||
		got[2] != `olga; words.put; 2 words, version 1; removed: "casino" (refuse), "poker" (refuse); 0 words, version 2; for tests` {
		t.Errorf("the audit log has %q", got)
	}
}

func TestWordListsAreChecked(t *testing.T) {
	f := open(t, 1)
	for want, r := range map[string]*moderationv1.PutWordListRequest{
		"bad_words":    {Name: "", Words: listed(refuse, "x")},
		"bad_words ":   {Name: "en", Words: listed(0, "x")},
		"bad_words  ":  {Name: "en", Words: listed(refuse, "...")},
		"bad_words   ": {Name: "en", Words: listed(refuse, strings.Repeat("x", 65))},
		"bad_decision": {Name: "en", Words: listed(refuse, "x"), Note: strings.Repeat("x", 501)},
	} {
		if _, err := f.PutWordList(t.Context(), olga, r); reason(err) != strings.TrimSpace(want) {
			t.Errorf("%v is answered with %v", r, err)
		}
	}
	texts := make([]string, 6000)
	for i := range texts {
		texts[i] = fmt.Sprint("word", i)
	}
	_, err := f.put("one", 0, listed(refuse, texts...)...)
	must(t, err)
	if _, err := f.put("two", 0, listed(refuse, texts...)...); reason(err) != "too_many_words" {
		t.Errorf("too many words are answered with %v", err)
	}
}

// What is flagged is put into the queue once, with its word, and a report of a user joins it.
func TestFlagsAreQueued(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	seq := f.send(alice, g, "来赌博吧")
	content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "来赌博吧"}}
	for range 2 {
		f.FlagMessage(&chatv1.Message{Conversation: uint64(g), Seq: seq, Sender: uint64(alice), Content: content}, "赌博")
	}
	f.FlagPost(&feedv1.Post{Id: 7, Author: uint64(alice), Content: &feedv1.PostContent{Text: "post"}}, "one")
	f.FlagComment(&commentv1.Comment{Id: 7, Author: uint64(bob), Content: &commentv1.CommentContent{Text: "comment"}}, "two")
	f.FlagUser(&accountv1.User{Id: uint64(bob), DisplayName: "name"}, "three")
	f.FlagGroup(g, "title", "four")
	var all []*moderationv1.Case
	eventually.True(t, "all are in the queue", func() bool {
		all = f.cases(&moderationv1.ListCasesRequest{})
		return len(all) == 5
	})
	got := []string{}
	for _, c := range all {
		c, err := f.GetCase(t.Context(), mia, &moderationv1.GetCaseRequest{Case: c.Id})
		must(t, err)
		got = append(got, fmt.Sprint(c.Subject.Kind, " ", c.About, " ", c.Excerpt, " ", c.Reports[0].Reporter, " ", c.Reports[0].Note, " ", len(c.Reports)))
	}
	want := []string{
		fmt.Sprintf("REPORTED_KIND_MESSAGE %d 来赌博吧 0 赌博 1", alice), fmt.Sprintf("REPORTED_KIND_POST %d post 0 one 1", alice), fmt.Sprintf("REPORTED_KIND_COMMENT %d comment 0 two 1", bob),
		fmt.Sprintf("REPORTED_KIND_USER %d name 0 three 1", bob), "REPORTED_KIND_GROUP 0 title 0 four 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the queue has %q, want %q", got, want)
	}
	f.report(bob, subject(ofMessage, uint64(g), seq))
	if all = f.cases(&moderationv1.ListCasesRequest{Kind: ofMessage}); len(all) != 1 || all[0].ReportCount != 2 {
		t.Errorf("the cases of messages are %v", all)
	}
	if n := f.DroppedFlags(); n != 0 {
		t.Errorf("%d are dropped", n)
	}
}
