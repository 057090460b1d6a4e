package feed_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/feed"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

func request(token, text string) *feedv1.PublishRequest {
	return &feedv1.PublishRequest{ClientPostId: token, Content: &feedv1.PostContent{Text: text}}
}

// A retry stores nothing, also after an edit and after a deletion. A token belongs to one author and one content.
func TestARetryOfPublishIsHarmless(t *testing.T) {
	f := open(t, feed.Config{})
	ann, ben := f.user(), f.user()
	first, err := f.Publish(t.Context(), ann, request("a", "hello"))
	must(t, err)
	if again, err := f.Publish(t.Context(), ann, request("a", "hello")); err != nil || !proto.Equal(again, first) {
		t.Errorf("a retry is answered with %v, %v", again, err)
	}
	if _, err := f.Publish(t.Context(), ann, request("a", "other")); reason(err) != "id_reuse" {
		t.Errorf("another post with the token is answered with %v", err)
	}
	if other, err := f.Publish(t.Context(), ben, request("a", "hello")); err != nil || other.Id == first.Id {
		t.Errorf("the token of another author is answered with %v, %v", other, err)
	}
	_, err = f.EditPost(t.Context(), ann, &feedv1.EditPostRequest{Post: first.Id, Content: &feedv1.PostContent{Text: "edited"}})
	must(t, err)
	if again, err := f.Publish(t.Context(), ann, request("a", "hello")); err != nil || again.Id != first.Id || again.Content.Text != "edited" {
		t.Errorf("a retry after an edit is answered with %v, %v", again, err)
	}
	for range 2 {
		must(t, f.DeletePost(t.Context(), ann, first.Id))
	}
	if _, err := f.Publish(t.Context(), ann, request("a", "hello")); reason(err) != "no_post" {
		t.Errorf("a retry after the deletion is answered with %v", err)
	}
	if got := f.home(ann, 10); len(got) != 0 {
		t.Errorf("the timeline has %q", got)
	}
	p, err := f.GetFeedProfile(t.Context(), &feedv1.GetFeedProfileRequest{User: uint64(ann)})
	if err != nil || p.Posts != 0 {
		t.Errorf("the profile counts %v, %v", p, err)
	}
}

// The quota says when the next post is possible, and counts no retries and no refused posts.
func TestTheQuotaSaysWhenToPublishAgain(t *testing.T) {
	f := open(t, feed.Config{PostsPerDay: 2})
	ann := f.user()
	f.publish(ann, "one")
	f.clock.Advance(time.Hour)
	f.publish(ann, "two")
	f.publish(ann, "two") // a retry
	_, err := f.Publish(t.Context(), ann, request("three", "three"))
	if e := errs.Of(err); reason(err) != "post_quota" || e.Kind != errs.Exhausted || e.Retry != 23*time.Hour || !strings.Contains(e.Message, f.clock.Now().Add(23*time.Hour).UTC().Format(time.RFC3339)) {
		t.Fatalf("the third post is answered with %v, retry %v", err, e.Retry)
	}
	f.publish(ann, "two")
	f.clock.Advance(23*time.Hour - time.Millisecond)
	if _, err := f.Publish(t.Context(), ann, request("three", "three")); reason(err) != "post_quota" || errs.Of(err).Retry != time.Millisecond {
		t.Errorf("a moment too early: %v", err)
	}
	f.clock.Advance(time.Millisecond)
	f.publish(ann, "three")
	f.publish(f.user(), "of another author")
}

// Nothing is published that cannot be shown, or names what is not there.
func TestBadPostsAreRefused(t *testing.T) {
	f := open(t, feed.Config{})
	ann, ben := f.user(), f.user()
	f.pictures[1], f.pictures[2] = ann, ben
	image := func(n uint64) *chatv1.Media { return &chatv1.Media{Upload: n, Name: "x.png"} }
	many := func(n int) (list []*chatv1.Media) {
		for i := range n {
			list = append(list, image(uint64(i+1)))
		}
		return list
	}
	users := func(n int) (list []uint64) {
		for range n {
			list = append(list, uint64(ben))
		}
		return list
	}
	goods := func(n int, change func(*feedv1.Goods)) *feedv1.PostContent {
		c := &feedv1.PostContent{}
		for range n {
			c.Goods = append(c.Goods, &feedv1.Goods{Name: "Lamp", PriceMinor: 4_990, Currency: "EUR", Link: "https://example.com/lamp"})
		}
		if change != nil {
			change(c.Goods[0])
		}
		return c
	}
	chosen, except := feedv1.Audience_AUDIENCE_CHOSEN, feedv1.Audience_AUDIENCE_EXCEPT
	preview := &chatv1.LinkPreview{Url: "https://example.com", Title: "x", Signature: []byte(fmt.Sprint(ann))}
	stolen := &chatv1.LinkPreview{Url: "https://example.com", Title: "x", Signature: []byte(fmt.Sprint(ben))}
	for i, c := range []struct {
		want    string
		content *feedv1.PostContent
	}{
		{"bad_post", nil}, {"bad_post", &feedv1.PostContent{}}, {"bad_post", &feedv1.PostContent{Text: " \n"}}, {"bad_post", &feedv1.PostContent{Text: "a\x00b"}}, {"bad_post", &feedv1.PostContent{Text: "a\xff"}},
		{"bad_post", &feedv1.PostContent{Text: strings.Repeat("长", 10_001)}}, {"", &feedv1.PostContent{Text: strings.Repeat("长", 10_000)}}, {"bad_post", &feedv1.PostContent{Text: "\u202e"}},
		{"bad_post", &feedv1.PostContent{Title: "two\nlines"}}, {"bad_post", &feedv1.PostContent{Title: strings.Repeat("x", 121)}}, {"", &feedv1.PostContent{Title: strings.Repeat("x", 120)}},
		{"bad_post", &feedv1.PostContent{Link: "mailto:a@example.com"}}, {"bad_post", &feedv1.PostContent{Link: "javascript:alert(1)"}}, {"bad_post", &feedv1.PostContent{Link: "https://" + strings.Repeat("x", 2000)}}, {"", &feedv1.PostContent{Link: "https://example.com"}},
		{"bad_preview", &feedv1.PostContent{Link: "https://example.com/x", LinkPreview: preview}}, {"bad_preview", &feedv1.PostContent{Text: "x", LinkPreview: preview}}, {"bad_preview", &feedv1.PostContent{Link: "https://example.com", LinkPreview: stolen}}, {"", &feedv1.PostContent{Link: "https://example.com", LinkPreview: preview}},
		{"", &feedv1.PostContent{Images: many(1)}}, {"no_upload", &feedv1.PostContent{Images: []*chatv1.Media{image(2)}}}, {"no_upload", &feedv1.PostContent{Images: []*chatv1.Media{image(99)}}}, {"bad_post", &feedv1.PostContent{Images: many(19)}},
		{"bad_post", &feedv1.PostContent{Images: []*chatv1.Media{image(0)}}}, {"bad_post", &feedv1.PostContent{Images: []*chatv1.Media{image(1), image(1)}}}, {"bad_post", &feedv1.PostContent{Images: []*chatv1.Media{{Upload: 1, Name: "x", Caption: "x"}}}}, {"bad_post", &feedv1.PostContent{Images: []*chatv1.Media{nil}}},
		{"", &feedv1.PostContent{Cover: image(1)}}, {"no_upload", &feedv1.PostContent{Text: "x", Cover: image(2)}}, {"bad_post", &feedv1.PostContent{Text: "x", Cover: image(0)}}, {"bad_post", &feedv1.PostContent{Cover: &chatv1.Media{Upload: 1, Name: "x", Caption: "x"}}},
		{"", goods(10, nil)}, {"bad_post", goods(11, nil)}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Name = "" })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Name = "two\nlines" })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Name = strings.Repeat("x", 121) })},
		{"", goods(1, func(g *feedv1.Goods) { g.PriceMinor = 999_999_999_999 })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.PriceMinor = 1e12 })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Currency = "" })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Currency = "eur" })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Currency = "EURO" })},
		{"bad_post", goods(1, func(g *feedv1.Goods) { g.Link = "" })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Link = "http://example.com" })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Link = "https://" + strings.Repeat("x", 2000) })},
		{"", goods(1, func(g *feedv1.Goods) { g.Picture = image(1) })}, {"no_upload", goods(1, func(g *feedv1.Goods) { g.Picture = image(2) })}, {"bad_post", goods(1, func(g *feedv1.Goods) { g.Picture = image(0) })}, {"bad_post", &feedv1.PostContent{Goods: []*feedv1.Goods{nil}}},
		{"bad_post", &feedv1.PostContent{Text: "x", Audience: chosen}}, {"bad_post", &feedv1.PostContent{Text: "x", Audience: except}}, {"bad_post", &feedv1.PostContent{Text: "x", Audience: 99}}, {"bad_post", &feedv1.PostContent{Text: "x", Users: users(1)}},
		{"bad_post", &feedv1.PostContent{Text: "x", Audience: chosen, Users: users(501)}}, {"", &feedv1.PostContent{Text: "x", Audience: chosen, Users: users(500)}}, {"no_user", &feedv1.PostContent{Text: "x", Audience: chosen, Users: []uint64{1}}},
		{"bad_post", &feedv1.PostContent{Text: "x", Audience: chosen, Users: []uint64{uint64(ann)}}}, {"no_post", &feedv1.PostContent{RepostOf: 1}}, {"no_post", &feedv1.PostContent{RepostOf: 1<<64 - 1}},
	} {
		if _, err := f.Publish(t.Context(), ann, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(i), Content: c.content}); reason(err) != c.want {
			t.Errorf("%.100v is answered with %v, want %q", c.content, err, c.want)
		}
	}
	for _, token := range []string{"", strings.Repeat("x", 65), "a\x00", "ä"} {
		if _, err := f.Publish(t.Context(), ann, request(token, "x")); reason(err) != "bad_post" {
			t.Errorf("the token %q is answered with %v", token, err)
		}
	}
	for _, n := range []uint64{0, 1, 1 << 63, 1<<64 - 1} {
		if _, err := f.GetPost(t.Context(), ann, n); reason(err) != "no_post" {
			t.Errorf("post %d: %v", n, err)
		}
		if _, err := f.ListPosts(t.Context(), ann, &feedv1.ListPostsRequest{User: n}); reason(err) != "no_user" {
			t.Errorf("the posts of user %d: %v", n, err)
		}
		if _, err := f.HomeTimeline(t.Context(), ann, &feedv1.HomeTimelineRequest{Before: n, Limit: 1<<32 - 1}); err != nil {
			t.Errorf("the timeline below %d: %v", n, err)
		}
	}
}

// The author gets each version. An edit that is based on another version is refused.
func TestEditsKeepEarlierVersions(t *testing.T) {
	f := open(t, feed.Config{})
	ann, ben := f.user(), f.user()
	p := f.publish(ann, "v1")
	edit := func(by id.User, text string, version uint32) error {
		_, err := f.EditPost(t.Context(), by, &feedv1.EditPostRequest{Post: p.Id, Content: &feedv1.PostContent{Text: text}, Version: version})
		return err
	}
	if err := edit(ben, "x", 0); reason(err) != "no_post" {
		t.Errorf("another user's edit is answered with %v", err)
	}
	must(t, edit(ann, "v2", 1))
	if err := edit(ann, "x", 1); reason(err) != "version_changed" {
		t.Errorf("an edit of an old version is answered with %v", err)
	}
	big := strings.Repeat("长", 10_000)
	for n := uint32(3); n <= 100; n++ {
		must(t, edit(ann, fmt.Sprint(big[:len(big)-12], "v", n), n-1))
	}
	if err := edit(ann, "x", 100); reason(err) != "too_many_versions" {
		t.Errorf("one more edit is answered with %v", err)
	}
	var versions []uint32
	for before, pages := uint32(0), 1; ; pages++ {
		r, err := f.ListVersions(t.Context(), ann, &feedv1.ListVersionsRequest{Post: p.Id, Before: before})
		must(t, err)
		for _, v := range r.Versions {
			if versions = append(versions, v.Version); !strings.HasSuffix(v.Content.Text, fmt.Sprint("v", v.Version)) {
				t.Errorf("version %d ends with %q", v.Version, v.Content.Text[max(0, len(v.Content.Text)-9):])
			}
		}
		if before = r.Next; before == 0 {
			if pages < 4 {
				t.Errorf("3 MB are in %d pages", pages)
			}
			break
		}
	}
	if len(versions) != 100 || versions[0] != 100 || versions[99] != 1 || !slices.IsSortedFunc(versions, func(a, b uint32) int { return int(b) - int(a) }) {
		t.Errorf("the versions are %v", versions)
	}
	if _, err := f.ListVersions(t.Context(), ben, &feedv1.ListVersionsRequest{Post: p.Id}); reason(err) != "no_post" {
		t.Errorf("another user's list is answered with %v", err)
	}
}

// A repost shows the first post, as long as its reader may see that.
func TestReposts(t *testing.T) {
	f := open(t, feed.Config{})
	ann, ben, cleo := f.user(), f.user(), f.user()
	original := f.publish(ann, "original")
	repost := func(by id.User, token string, of uint64, text string) *feedv1.Post {
		t.Helper()
		p, err := f.Publish(t.Context(), by, &feedv1.PublishRequest{ClientPostId: token, Content: &feedv1.PostContent{RepostOf: of, Text: text}})
		must(t, err)
		return p
	}
	bare := repost(ben, "bare", original.Id, "")
	if second := repost(cleo, "second", bare.Id, ""); second.Content.RepostOf != original.Id || second.Reposted.GetContent().GetText() != "original" {
		t.Errorf("a repost of a bare repost is %v", second)
	}
	quote := repost(ben, "quote", original.Id, "look")
	if third := repost(cleo, "third", quote.Id, "well"); third.Content.RepostOf != quote.Id || third.Reposted.GetContent().GetText() != "look" || third.Reposted.Reposted != nil {
		t.Errorf("a repost of a quote is %v", third)
	}
	for token, own := range map[string]*feedv1.PostContent{
		"goods": {Goods: []*feedv1.Goods{{Name: "Lamp", Currency: "EUR", Link: "https://example.com"}}}, "cover": {Cover: &chatv1.Media{Upload: 1, Name: "x.png"}},
	} {
		f.pictures[1] = ben
		own.RepostOf = original.Id
		p, err := f.Publish(t.Context(), ben, &feedv1.PublishRequest{ClientPostId: token, Content: own})
		must(t, err)
		if again := repost(cleo, "of "+token, p.Id, ""); again.Content.RepostOf != p.Id {
			t.Errorf("a repost of one with %s is %v", token, again)
		}
	}
	must(t, f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: original.Id}))
	if p, err := f.GetPost(t.Context(), cleo, quote.Id); err != nil || p.Reposted != nil {
		t.Errorf("the quote of a hidden post is %v, %v", p, err)
	}
}

// Whoever sees a post gets its cover and the pictures of its goods, and no other files; each is kept once.
func TestFilesOfAPost(t *testing.T) {
	f := open(t, feed.Config{})
	ann, ben := f.user(), f.user()
	for n := id.Upload(1); n <= 4; n++ {
		f.pictures[n] = ann
	}
	image := func(n uint64) *chatv1.Media { return &chatv1.Media{Upload: n, Name: "x.png"} }
	goods := func(n uint64) *feedv1.Goods {
		return &feedv1.Goods{Name: "Lamp", PriceMinor: 4_990, Currency: "EUR", Link: "https://example.com", Picture: image(n)}
	}
	sent := &feedv1.PostContent{Images: []*chatv1.Media{image(1)}, Cover: image(2), Goods: []*feedv1.Goods{goods(3), goods(1)}}
	p, err := f.Publish(t.Context(), ann, &feedv1.PublishRequest{ClientPostId: "a", Content: sent})
	must(t, err)
	if want := proto.CloneOf(sent); !proto.Equal(p.Content.Cover, want.Cover) || len(p.Content.Goods) != 2 || !proto.Equal(p.Content.Goods[0], want.Goods[0]) {
		t.Errorf("the post is %v", p)
	}
	for n, want := range map[id.Upload]bool{1: true, 2: true, 3: true, 4: false, 0: false} {
		if names, err := f.NamesFile(t.Context(), ben, p.Id, n); err != nil || names != want {
			t.Errorf("the post names file %d: %v, %v", n, names, err)
		}
	}
}

// The first jobs of ordinary authors come before those of others, and so do the next ones.
func TestOrdinaryAuthorsComeFirst(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	ann, ben := f.user(), f.user()
	for range 3 {
		f.follow(f.user(), ann)
	}
	f.follow(f.user(), ben)
	f.follow(ann, ben)
	posts := []uint64{f.publish(ann, "of a celebrity").Id, f.publish(ben, "of an ordinary author").Id}
	for _, args := range f.jobs.args {
		must(t, f.RunJob(t.Context(), args)) // it inserts the second step
	}
	if want := []job.Priority{job.Normal, job.High, job.Normal, job.High}; !slices.Equal(f.jobs.priorities, want) {
		t.Errorf("the jobs have the priorities %v, want %v", f.jobs.priorities, want)
	}
	for i, want := range []int{3, 2} { // the author, and a batch of one follower, or two of a celebrity's
		told := 0
		for _, of := range f.told {
			told += strings.Count(fmt.Sprint(of), fmt.Sprint(posts[i]))
		}
		if told != want {
			t.Errorf("after a job, %d users are told of post %d, want %d", told, i, want)
		}
	}
}

// An id may need a write to the database, as that of a node which renews its lease of ids does, so none is drawn within a transaction.
func TestIDsMayNeedTheDatabase(t *testing.T) {
	f := open(t, feed.Config{})
	author := f.user()
	f.ids.before = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return f.db.Write(ctx, func(*sql.Tx) error { return nil })
	}
	published := make(chan error, 1)
	go func() {
		_, err := f.Publish(context.WithoutCancel(t.Context()), author, request("a", "hello"))
		published <- err
	}()
	must(t, eventually.Receive(t, "the post is stored", published))
}

// Ids of one author's posts rise, also where the nodes' clocks differ.
func TestPostIDsOfAnAuthorRise(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	ann := f.user()
	last := uint64(0)
	for i := range 20 {
		f.ids.set(1, uint64(i%2*20)) // every second post is of the node that is behind
		p := f.publish(ann, fmt.Sprint(i))
		if p.Id <= last {
			t.Errorf("post %d has the id %d after %d", i, p.Id, last)
		}
		last = p.Id
	}
}
