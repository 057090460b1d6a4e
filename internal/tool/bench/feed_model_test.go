package bench

import (
	"testing"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// feedStage has a reader, who follows authors 0 and 1 from moment 1 on and not author 2. Post 10 is of author 0, 11 of author 1, 12 of author 0, and 13 of author 2.
// The post 12 was sent at 40 and answered at 50.
func feedStage(t *testing.T) (*feedModel, map[uint64]*feedv1.Post) {
	t.Helper()
	texts, _, err := newCorpus("", 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := newFeedModel(texts, []uint64{100, 101, 102}, 1)
	for author := range 2 {
		m.following(0, author, true, 0)
		m.followed(0, author, 1)
	}
	views := map[uint64]*feedv1.Post{}
	for _, p := range []struct {
		id         uint64
		author     int
		sent, told moment
	}{{10, 0, 10, 20}, {11, 1, 21, 30}, {12, 0, 40, 50}, {13, 2, 60, 70}} {
		post := m.publishing(p.author, p.sent)
		text := string(texts.appendText(nil, uint32(p.author), uint32(post.n), 0))
		views[p.id] = &feedv1.Post{Id: p.id, Author: m.authors[p.author].user, Content: &feedv1.PostContent{Text: text}}
		if !m.published(post, p.id, p.told) {
			t.Fatal("a new post has another id")
		}
	}
	return m, views
}

// TestThePagesOfAFeedAreChecked: right and wrong pages, after changes of the naive feed.
func TestThePagesOfAFeedAreChecked(t *testing.T) {
	none := func(*feedModel) {}
	deletes := func(id uint64, from, to moment) func(*feedModel) {
		return func(m *feedModel) {
			m.deleting(m.ids[id], from)
			m.deleted(m.ids[id], to)
		}
	}
	unfollows := func(from, to moment) func(*feedModel) {
		return func(m *feedModel) {
			m.following(0, 1, false, from)
			m.followed(0, 1, to)
		}
	}
	for _, c := range []struct {
		name         string
		change       func(*feedModel)
		asked, got   moment
		before, next uint64
		posts        []uint64
		seen         []uint64
		want         feedFaults
	}{
		{"all", none, 80, 90, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{}},
		{"a page", none, 80, 90, 12, 11, []uint64{11}, nil, feedFaults{}},
		{"a post is missing", none, 80, 90, 0, 0, []uint64{12, 10}, nil, feedFaults{Wrong: 1, Gaps: 1}},
		{"all are missing", none, 80, 90, 0, 0, nil, nil, feedFaults{Wrong: 1, Gaps: 3}},
		{"a post comes twice", none, 80, 90, 0, 0, []uint64{12, 11, 11, 10}, nil, feedFaults{Wrong: 1, Repeats: 1}},
		{"a post was on an earlier page", none, 80, 90, 12, 0, []uint64{11, 10}, []uint64{11}, feedFaults{Wrong: 1, Repeats: 1}},
		{"another order", none, 80, 90, 0, 0, []uint64{11, 12, 10}, nil, feedFaults{Wrong: 1}},
		{"a post of the next page", none, 80, 90, 0, 11, []uint64{12, 11, 10}, nil, feedFaults{Wrong: 1}},
		{"a post of an author who is not followed", none, 80, 90, 0, 0, []uint64{13, 12, 11, 10}, nil, feedFaults{Wrong: 1}},
		{"before a post is sent", none, 35, 39, 0, 0, []uint64{11, 10}, nil, feedFaults{}},
		{"a post before it is sent", none, 35, 39, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{Wrong: 1}},
		{"while a post is sent, without it", none, 41, 60, 0, 0, []uint64{11, 10}, nil, feedFaults{}},
		{"while a post is sent, with it", none, 35, 41, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{}},
		{"a later post, and not the earlier one", none, 5, 90, 0, 0, []uint64{12, 10}, nil, feedFaults{Wrong: 1}},
		{"an earlier post, and not the later one", none, 5, 90, 0, 0, []uint64{11, 10}, nil, feedFaults{}},
		{"a deleted post", deletes(11, 81, 85), 86, 90, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{Wrong: 1}},
		{"without a deleted post", deletes(11, 81, 85), 86, 90, 0, 0, []uint64{12, 10}, nil, feedFaults{}},
		{"while a post is deleted, with it", deletes(11, 81, 85), 80, 82, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{}},
		{"while a post is deleted, without it", deletes(11, 81, 85), 80, 82, 0, 0, []uint64{12, 10}, nil, feedFaults{}},
		{"a post that was deleted before another one was sent", deletes(10, 31, 35), 25, 90, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{Wrong: 1}},
		{"an author who is not followed any more", unfollows(81, 85), 86, 90, 0, 0, []uint64{12, 11, 10}, nil, feedFaults{Wrong: 1}},
		{"without an author who is not followed any more", unfollows(81, 85), 86, 90, 0, 0, []uint64{12, 10}, nil, feedFaults{}},
		{"without an author, before the reader ceases to follow", unfollows(91, 95), 86, 90, 0, 0, []uint64{12, 10}, nil, feedFaults{Wrong: 1, Gaps: 1}},
		{"while the reader ceases to follow", unfollows(81, 95), 86, 90, 0, 0, []uint64{12, 10}, nil, feedFaults{}},
	} {
		m, views := feedStage(t)
		c.change(m)
		p, seen := &feedPage{asked: c.asked, got: c.got, before: c.before, next: c.next, limit: 20}, map[uint64]bool{}
		for _, id := range c.posts {
			p.posts = append(p.posts, views[id])
		}
		for _, id := range c.seen {
			seen[id] = true
		}
		if f, what := m.check(p, seen); f != c.want || (what == "") != (f.Wrong == 0) {
			t.Errorf("%s: the faults are %+v, want %+v (%s)", c.name, f, c.want, what)
		}
	}
}

// A post with another text, another author or a second id is wrong, and more posts than were asked for.
func TestForeignPostsAreFound(t *testing.T) {
	for name, change := range map[string]func(p *feedPage){
		"another text":   func(p *feedPage) { p.posts[0].Content.Text += "!" },
		"another author": func(p *feedPage) { p.posts[0].Author = 101 },
		"a second id":    func(p *feedPage) { p.posts[0].Id = 20 },
		"too many":       func(p *feedPage) { p.limit = 2 },
		"no progress":    func(p *feedPage) { p.before, p.next, p.posts = 10, 10, nil },
	} {
		m, views := feedStage(t)
		p := &feedPage{asked: 80, got: 90, limit: 20, posts: []*feedv1.Post{views[12], views[11], views[10]}}
		change(p)
		if f, what := m.check(p, map[uint64]bool{}); f.Wrong != 1 || what == "" {
			t.Errorf("%s: the faults are %+v (%s)", name, f, what)
		}
	}
}

// A post that a reader got was there from then on, although its answer is late.
func TestAPostThatAppearedStays(t *testing.T) {
	m, views := feedStage(t)
	late := m.publishing(1, 80)
	views[14] = &feedv1.Post{Id: 14, Author: 101, Content: &feedv1.PostContent{Text: string(m.corpus.appendText(nil, 1, uint32(late.n), 0))}}
	read := func(asked moment, ids ...uint64) feedFaults {
		p := &feedPage{asked: asked, got: asked + 2, limit: 20}
		for _, id := range ids {
			p.posts = append(p.posts, views[id])
		}
		f, _ := m.check(p, map[uint64]bool{})
		return f
	}
	for i, f := range []feedFaults{read(81, 12, 11, 10), read(84, 14, 12, 11, 10)} {
		if f != (feedFaults{}) {
			t.Errorf("page %d: %+v", i, f)
		}
	}
	if f := read(88, 12, 11, 10); f != (feedFaults{Wrong: 1, Gaps: 1}) {
		t.Errorf("a page without the post: %+v", f)
	}
	if m.published(late, 15, 100) {
		t.Error("a second id is not noticed")
	}
}

// Counts of profiles are compared with what was done.
func TestCountsOfProfilesAreCompared(t *testing.T) {
	m, _ := feedStage(t)
	l := &feedLoad{model: m}
	m.deleting(m.ids[10], 90)
	for user, c := range []struct {
		profile *feedv1.FeedProfile
		wrong   int
	}{{&feedv1.FeedProfile{Posts: 1, Followers: 1}, 0}, {&feedv1.FeedProfile{Posts: 2, Followers: 2, Following: 1}, 3}, {&feedv1.FeedProfile{Posts: 1}, 0}, {&feedv1.FeedProfile{Following: 2}, 0}} {
		if wrong := l.compareCounts(user, c.profile); len(wrong) != c.wrong {
			t.Errorf("user %d: %+v", user, wrong)
		}
	}
}
