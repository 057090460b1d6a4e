package search_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/searchindextest"
	"github.com/rialto-im/rialto/internal/service/search"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// has reports whether the index has a word of a message in a conversation.
func has(t *testing.T, f *fixture, c id.Conversation, word string) bool {
	t.Helper()
	r, err := f.Index().Search(t.Context(), &searchindex.Query{Kind: searchindex.Message, Terms: []searchindex.Term{{Word: word}}, Access: []string{search.AccessOf(c)}, Limit: 1})
	must(t, err)
	return len(r.Hits) > 0
}

// With a dictionary, the index has words in place of pairs, and the same is found. An index that was built with another one is built again, and says so until it is complete.
func TestAnIndexOfAnotherDictionaryIsBuiltAgain(t *testing.T) {
	f := open(t, 2)
	c := f.group(f.users[0], "group", f.users[1])
	f.send(c, f.users[0], "已添加为好友")
	compare := func(word, pair bool) {
		t.Helper()
		f.catchUp()
		for _, query := range []string{"添加", "已添加为好友", "加为好", "友"} {
			if found := f.findAll(f.users[1], query, searchv1.HitKind_HIT_KIND_MESSAGE, false); len(found) != 1 {
				t.Errorf("%s finds %v", query, found)
			}
		}
		if !f.Complete() || has(t, f, c, "添加为") != word || has(t, f, c, "为好") != pair {
			t.Errorf("the index is complete: %v, it has the word: %v, and the pair: %v", f.Complete(), has(t, f, c, "添加为"), has(t, f, c, "为好"))
		}
	}
	compare(false, true)
	f.dictionary = searchindextest.Dictionary(t)
	var logged strings.Builder
	f.logger = slog.New(slog.NewTextHandler(&logged, nil))
	f.restart()
	if text := logged.String(); strings.Contains(text, "ERROR") || strings.Count(text, "WARN") != 1 || !strings.Contains(text, "search.dictionary") {
		t.Errorf("what an operator asked for is logged as %s", text)
	}
	f.logger = nil
	if f.Complete() {
		t.Error("an index without words of the dictionary says that it is complete")
	}
	compare(true, false)
	f.restart()
	if !f.Complete() {
		t.Error("an index with the same dictionary is built again")
	}
	f.dictionary = nil
	f.restart()
	compare(false, true)
}

// The writer of a shared index builds it again with its dictionary. A node with another one says that its answers are incomplete.
func TestASharedIndexOfAnotherDictionary(t *testing.T) {
	f, s := open(t, 2), startServers(t)
	c := f.group(f.users[0], "group", f.users[1])
	f.send(c, f.users[0], "已添加为好友")
	first := s.mustStart(f)
	first.grant(1)
	eventually.True(t, "the message is found", func() bool { return first.found(f.users[1], "添加为") == 1 })
	f.dictionary = searchindextest.Dictionary(t)
	second := s.mustStart(f)
	eventually.True(t, "the node follows the index", func() bool { return second.Serves() })
	if n := second.found(f.users[1], "添加为"); n != -1 {
		t.Errorf("by an index without words of the dictionary, %d messages are found, and the answer does not say that it is incomplete", n)
	}
	first.stop()
	second.grant(2)
	eventually.True(t, "the message is found with the dictionary", func() bool { return second.found(f.users[1], "添加为") == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != 2 || len(s.generations) != 1 {
		t.Errorf("%d generations were made, and %d are there", s.made, len(s.generations))
	}
}
