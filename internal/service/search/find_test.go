package search_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// What is no query gets an error that says so, and costs nothing.
func TestBadQueries(t *testing.T) {
	f := open(t, 2)
	message := []searchv1.HitKind{searchv1.HitKind_HIT_KIND_MESSAGE}
	for _, r := range []*searchv1.SearchRequest{{}, {Query: " "}, {Query: "?!"}, {Query: strings.Repeat("x", 257)}, {Query: strings.Repeat("x ", 17)}, {Query: strings.Repeat("界", 200)}, {Query: "a\x00b"}, {Query: "a\xff"},
		{Query: "from:"}, {Query: "in:here"}, {Query: "in:@"}, {Query: "in:0"}, {Query: "kind:wish"}, {Query: "type:"}, {Query: "type:pdf"}, {Query: "kind:file"}, {Query: "x", FileTypes: []searchv1.FileType{99}}, {Query: "before:yesterday"}, {Query: "after:2026-02-30"}, {Query: "has:wings"}, {Query: "x", BeforeMs: -1},
		{Query: "x", From: make([]uint64, 21)}, {Query: "x", Kinds: []searchv1.HitKind{99}}, {Query: "x", Page: "!", Kinds: message}, {Query: "x", Page: "AAAA", Kinds: message}, {Query: "x", Page: "AAAA"}} {
		if _, err := f.Search(context.Background(), f.users[0], r); !errs.Is(err, errs.Invalid) || errs.Of(err).Reason != "bad_query" {
			t.Errorf("%q: got %v", r, err)
		}
	}
	for _, query := range []string{"a:b", "https://example.com", "*", `"`, `""`, "a* OR b?", `"open`, "from:me", "from:@nobody x", "in:@nobody x", "has:link", "(((", strings.Repeat("*", 200) + "a"} {
		if _, err := f.Search(context.Background(), f.users[0], &searchv1.SearchRequest{Query: query}); err != nil && errs.Of(err).Reason != "bad_query" {
			t.Errorf("%q: got %v", query, err)
		}
	}
}

// A page is good for its reader and query only.
func TestPagesAreSealed(t *testing.T) {
	f := open(t, 2)
	for n := range 3 {
		f.publish(f.users[0], &feedv1.PostContent{Text: fmt.Sprint("some words ", n)})
	}
	f.catchUp()
	r := &searchv1.SearchRequest{Query: "words", Kinds: []searchv1.HitKind{searchv1.HitKind_HIT_KIND_POST}, Limit: 1}
	_, out := f.find(f.users[1], r)
	r.Page = out.Groups[0].Next
	if r.Page == "" {
		t.Fatal("there is no next page")
	}
	if _, err := f.Search(context.Background(), f.users[1], r); err != nil {
		t.Error(err)
	}
	if _, err := f.Search(context.Background(), f.users[0], r); !errs.Is(err, errs.Invalid) {
		t.Errorf("another reader: %v", err)
	}
	r.Query = "some"
	if _, err := f.Search(context.Background(), f.users[1], r); !errs.Is(err, errs.Invalid) {
		t.Errorf("another query: %v", err)
	}
}

// Filters find what they say.
func TestFilters(t *testing.T) {
	f := open(t, 3)
	ana, ben := f.users[0], f.users[1]
	direct, err := f.chat.OpenDirect(t.Context(), ana, ben)
	must(t, err)
	c := f.group(ana, "Plans", ben)
	first, linked := f.send(c, ana, "one plan"), f.send(c, ben, "two plans https://example.com")
	private := f.send(direct, ana, "a private plan")
	f.clock.Advance(48 * time.Hour)
	late := f.send(c, ana, "one more plan")
	f.catchUp()
	day := f.clock.Now().UTC().Format("2006-01-02")
	for query, want := range map[string][]string{
		"plan from:@person1 kind:message":          {fmt.Sprint("m", c, "/", first), fmt.Sprint("m", direct, "/", private), fmt.Sprint("m", c, "/", late)},
		"kind:message from:me has:link":            {fmt.Sprint("m", c, "/", linked)},
		"plan in:@person1":                         {fmt.Sprint("m", direct, "/", private)},
		fmt.Sprint("plan from:@person1 in:", c):    {fmt.Sprint("m", c, "/", first), fmt.Sprint("m", c, "/", late)},
		"plan after:" + day:                        {fmt.Sprint("m", c, "/", late)},
		"plan from:me from:@person1 before:" + day: {fmt.Sprint("m", c, "/", first), fmt.Sprint("m", c, "/", linked), fmt.Sprint("m", direct, "/", private)},
		`"one more" kind:message`:                  {fmt.Sprint("m", c, "/", late)},
		"plan from:@nobody9":                       {},
		"persn1":                                   {},
		"persom kind:user":                         {fmt.Sprint("u", ana), fmt.Sprint("u", ben), fmt.Sprint("u", f.users[2])},
	} {
		found, _ := f.find(ben, &searchv1.SearchRequest{Query: query, Limit: 50})
		for _, n := range want {
			if !found[n] {
				t.Errorf("%q does not find %s, but %v", query, n, found)
			}
		}
		if len(found) != len(want) {
			t.Errorf("%q found %v, want %v", query, found, want)
		}
	}
}

// An index that missed changes reads all users and posts again, and says that it is incomplete meanwhile.
func TestMissedChanges(t *testing.T) {
	f := open(t, 2)
	n := f.publish(f.users[0], &feedv1.PostContent{Text: "an old word"})
	f.catchUp()
	must(t, f.CloseIndex())
	_, err := f.feed.EditPost(t.Context(), f.users[0], &feedv1.EditPostRequest{Post: n, Content: &feedv1.PostContent{Text: "a new sentence"}})
	must(t, err)
	f.clock.Advance(8 * 24 * time.Hour)
	must(t, f.Trim(t.Context()))
	f.restart()
	if _, out := f.find(f.users[1], &searchv1.SearchRequest{Query: "sentence"}); !out.Incomplete {
		t.Error("the answer is complete although changes were missed")
	}
	f.catchUp()
	if found, out := f.find(f.users[1], &searchv1.SearchRequest{Query: "sentence"}); out.Incomplete || !found[fmt.Sprint("p", n)] {
		t.Errorf("found %v, incomplete: %v", found, out.Incomplete)
	}
}

// A page reads as many hits as it has room for, and more only in place of those that the reader may not see.
func TestAPageReadsWhatItShows(t *testing.T) {
	f := open(t, 2)
	var posts []uint64
	for n := range uint64(14) {
		f.setVideo(n+1, "some words", true)
		posts = append(posts, f.publish(f.users[0], &feedv1.PostContent{Video: n + 1}))
		f.clock.Advance(time.Hour)
	}
	f.catchUp()
	r := &searchv1.SearchRequest{Query: "words", Kinds: []searchv1.HitKind{searchv1.HitKind_HIT_KIND_VIDEO}, Limit: 5}
	for _, hidden := range []int{0, 3} {
		for n := range uint64(hidden) { // the index does not know it yet
			delete(f.videos.said, 14-n)
		}
		f.videos.read.Store(0)
		found, out := f.find(f.users[1], r)
		newest := posts[:len(posts)-hidden]
		for _, p := range newest[len(newest)-5:] {
			if !found[fmt.Sprint("v", p)] {
				t.Errorf("%d hidden: found %v", hidden, found)
			}
		}
		if n := f.videos.read.Load(); len(found) != 5 || out.Groups[0].Next == "" || n > 7 {
			t.Errorf("%d hidden: the page has %d hits, of %d videos that were read, and the next is %q", hidden, len(found), n, out.Groups[0].Next)
		}
	}
	if all := f.findAll(f.users[1], "words", searchv1.HitKind_HIT_KIND_VIDEO, false); len(all) != 11 {
		t.Errorf("all pages have %d hits", len(all))
	}
}
