package search_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/searchindextest"
	"github.com/rialto-im/rialto/internal/service/search"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// history is a random history of conversations and posts.
type history struct {
	*fixture
	rng    *rand.Rand
	groups []id.Conversation
	seqs   map[id.Conversation]uint64 // the last seq of each
	posts  []uint64
	author map[uint64]id.User
}

var words = []string{"hello", "hallo", "world", "已添加为好友", "好友", "カナ", "Café", "report", "reports", "https://example.com"}

func (h *history) text() string {
	list := make([]string, 1+h.rng.IntN(3))
	for i := range list {
		list[i] = words[h.rng.IntN(len(words))]
	}
	return strings.Join(list, " ")
}

// fileNames have words of texts in all forms of names.
var fileNames = []string{"hello_world.pdf", "helloWorld.PNG", "好友名单.pdf", "QuarterlyReport2026.docx", "report.hallo.zip", "IMG_2034.jpg", "カナ.mp4", "Café.txt", ""}

// content makes a content of any kind that search knows.
func (h *history) content() *chatv1.Content {
	media := func() *chatv1.Media {
		m := &chatv1.Media{Upload: 1, Name: fileNames[h.rng.IntN(len(fileNames))], MimeType: "application/octet-stream", Size: 7}
		if h.rng.IntN(3) == 0 {
			m.Caption = h.text()
		}
		return m
	}
	switch h.rng.IntN(8) {
	case 0, 1:
		return &chatv1.Content{Kind: &chatv1.Content_File{File: media()}}
	case 2:
		return &chatv1.Content{Kind: &chatv1.Content_Image{Image: media()}}
	case 3:
		album := &chatv1.Album{Caption: h.text()}
		for range 2 {
			m := media()
			m.Caption = ""
			album.Items = append(album.Items, &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Image{Image: m}})
		}
		return &chatv1.Content{Kind: &chatv1.Content_Album{Album: album}}
	}
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: h.text()}}
}

func (h *history) someone() id.User { return h.users[h.rng.IntN(len(h.users))] }

// step does something random. What is refused has no effect.
func (h *history) step() {
	ctx := context.Background()
	u, other, c := h.someone(), h.someone(), h.groups[h.rng.IntN(len(h.groups))]
	target := &chatv1.Ref{Seq: 1 + h.rng.Uint64N(h.seqs[c]+1)}
	sent := func(seq uint64, err error) {
		if err == nil {
			h.seqs[c] = max(h.seqs[c], seq)
		}
	}
	switch h.rng.IntN(18) {
	case 0, 1, 2, 3, 4:
		sent(h.sendContent(c, u, h.content()))
	case 5:
		sent(h.sendContent(c, u, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: target, Content: h.content()}}}))
	case 6:
		sent(h.sendContent(c, u, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: target}}}))
	case 7:
		sent(h.chat.Invite(ctx, c, u, []uint64{uint64(other)}))
	case 8:
		sent(h.chat.Leave(ctx, c, u))
	case 9:
		sent(h.chat.Remove(ctx, c, u, []uint64{uint64(other)}))
	case 10:
		_, _ = h.chat.DeleteMessages(ctx, u, &chatv1.DeleteMessagesRequest{Conversation: uint64(c), Seqs: []uint64{target.Seq}})
	case 11:
		_, _ = h.chat.ClearHistory(ctx, u, &chatv1.ClearHistoryRequest{Conversation: uint64(c), ThroughSeq: target.Seq / 2})
	case 12:
		_, _ = h.accounts.SetBlock(ctx, u, other, h.rng.IntN(3) == 0)
	case 13:
		title := h.text()
		sent(h.chat.UpdateGroup(ctx, c, u, &chatv1.UpdateGroupRequest{Title: &title}))
	case 14:
		_, _ = h.accounts.RequestFriend(ctx, u, other, "")
		_, _ = h.accounts.AnswerFriend(ctx, other, u, true)
	case 15: // forwards what the user may read, files among it
		_, _ = h.sendContent(c, u, &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Conversation: uint64(h.groups[h.rng.IntN(len(h.groups))]), Seqs: []uint64{target.Seq}}}})
	default:
		h.stepPosts(u, other)
	}
}

func (h *history) stepPosts(u, other id.User) {
	ctx := context.Background()
	audiences := []feedv1.Audience{feedv1.Audience_AUDIENCE_EVERYONE, feedv1.Audience_AUDIENCE_FRIENDS, feedv1.Audience_AUDIENCE_CHOSEN, feedv1.Audience_AUDIENCE_EXCEPT}
	content := &feedv1.PostContent{Text: h.text(), Audience: audiences[h.rng.IntN(4)], Video: uint64(h.rng.IntN(4))}
	if content.Audience >= feedv1.Audience_AUDIENCE_CHOSEN {
		if u == other {
			return
		}
		content.Users = []uint64{uint64(other)}
	}
	if len(h.posts) == 0 || h.rng.IntN(2) == 0 {
		n := h.publish(u, content)
		h.posts, h.author[n] = append(h.posts, n), u
		return
	}
	n := h.posts[h.rng.IntN(len(h.posts))]
	switch h.rng.IntN(4) {
	case 0:
		_, _ = h.feed.EditPost(ctx, h.author[n], &feedv1.EditPostRequest{Post: n, Content: content})
	case 1:
		_ = h.feed.DeletePost(ctx, h.author[n], n)
	case 2:
		h.setVideo(1+h.rng.Uint64N(3), h.text(), h.rng.IntN(4) > 0)
	default:
		_ = h.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: n, Show: h.rng.IntN(2) == 0})
	}
}

// scan returns all that a user may read now and that matches, and all that the user may read.
func (h *history) scan(u id.User, p *searchindex.Pattern) map[string]bool {
	h.t.Helper()
	found := map[string]bool{}
	ctx := context.Background()
	blocked, err := h.accounts.BlockedAmong(ctx, u, h.users)
	must(h.t, err)
	list, err := h.chat.MembershipsAfter(ctx, u, 0, 1000)
	must(h.t, err)
	for _, m := range list {
		h.scanConversation(u, m.Conversation, p, blocked, found)
		if v, err := h.chat.Describe(ctx, u, m.Conversation); err == nil && m.Leave == 0 && !m.Deleted {
			if _, ok := p.Match(v.Title); ok {
				found[fmt.Sprint("c", m.Conversation)] = true
			}
		}
	}
	for _, other := range h.users {
		v, err := h.accounts.GetUser(ctx, other)
		must(h.t, err)
		if _, ok := p.Match(search.TextOfUser(v)); ok && !blocked[other] {
			found[fmt.Sprint("u", other)] = true
		}
	}
	must(h.t, h.db.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		posts, err := h.feed.VisiblePosts(ctx, tx, u, h.posts)
		for n, v := range posts {
			if _, ok := p.Match(search.TextOfPost(v.Content)); ok {
				found[fmt.Sprint("p", n)] = true
			}
			said, ok := h.videos.said[v.Content.Video]
			if _, matches := p.Match(search.TextOfPost(v.Content) + "\n" + said); ok && matches {
				found[fmt.Sprint("v", n)] = true
			}
		}
		return err
	}))
	return found
}

func (h *history) scanConversation(u id.User, c id.Conversation, p *searchindex.Pattern, blocked map[id.User]bool, found map[string]bool) {
	h.t.Helper()
	for after := uint64(0); ; {
		r, err := h.chat.History(context.Background(), u, &chatv1.HistoryRequest{Conversation: uint64(c), After: after, Limit: 50})
		must(h.t, err)
		for _, m := range r.Messages {
			after = m.Seq
			if text, names := search.TextOf(m.Content); text != "" && !blocked[id.User(m.Sender)] {
				if _, ok := p.Match(text, names...); ok {
					found[fmt.Sprint("m", m.Conversation, "/", m.Seq)] = true
				}
			}
			if text, names, ok := filesText(m.Content); ok && !blocked[id.User(m.Sender)] {
				if _, ok := p.Match(text, names...); ok {
					found[fmt.Sprint("f", m.Conversation, "/", m.Seq)] = true
				}
			}
		}
		if !r.More {
			return
		}
	}
}

// filesText returns the names and captions of the files of a message, each in a line, and where the names are; false: it has no files.
func filesText(c *chatv1.Content) (text string, names []searchindex.Range, ok bool) {
	add := func(line string, isName bool) {
		if line == "" {
			return
		}
		if text != "" {
			text += "\n"
		}
		from := len([]rune(text))
		if text += line; isName {
			names = append(names, searchindex.Range{Start: from, End: len([]rune(text))})
		}
	}
	contents := []*chatv1.Content{c}
	for _, i := range c.GetForward().GetItems() {
		contents = append(contents, i.GetContent())
	}
	for _, c := range contents {
		for _, m := range []*chatv1.Media{c.GetFile(), c.GetImage()} {
			if m != nil {
				ok = true
				add(m.Name, true)
				add(m.Caption, false)
			}
		}
		for _, i := range c.GetAlbum().GetItems() {
			ok = true
			add(i.GetImage().GetName(), true)
		}
		add(c.GetAlbum().GetCaption(), false)
	}
	return text, names, ok
}

func openHistory(t *testing.T, seed uint64) *history {
	h := &history{fixture: open(t, 5), rng: rand.New(rand.NewPCG(seed, 1)), seqs: map[id.Conversation]uint64{}, author: map[uint64]id.User{}}
	for n := range 3 {
		h.groups = append(h.groups, h.group(h.users[n], words[n], h.users[(n+1)%5]))
	}
	direct, err := h.chat.OpenDirect(t.Context(), h.users[0], h.users[1])
	must(t, err)
	h.groups = append(h.groups, direct)
	return h
}

// compare compares what each user finds with a scan of all that the user may read. While the index is behind, nothing else is found; otherwise all of it is.
func (h *history) compare(behind bool) {
	h.t.Helper()
	word := words[h.rng.IntN(len(words)-1)]
	typing := h.rng.IntN(2) == 0
	for _, u := range h.users {
		want := h.scan(u, searchindex.NewPattern([]string{word}, typing))
		got := map[string]bool{}
		for kind := searchv1.HitKind_HIT_KIND_USER; kind <= searchv1.HitKind_HIT_KIND_FILE; kind++ {
			maps.Copy(got, h.findAll(u, word, kind, typing))
		}
		for n := range got {
			if !want[n] {
				h.t.Errorf("user %d finds %s by %q, which a scan of what the user may read does not have (behind: %v)", u, n, word, behind)
			}
		}
		for n := range want {
			if !behind && !got[n] {
				h.t.Errorf("user %d does not find %s by %q", u, n, word)
			}
		}
	}
}

// Users find what a scan of all that they may read finds, and nothing else, whatever has happened and however far the index is behind.
func TestSearchIsAScanOfWhatTheReaderMayRead(t *testing.T) {
	for seed := range uint64(3) {
		h := openHistory(t, seed)
		if seed == 2 {
			h.dictionary = searchindextest.Dictionary(t)
			h.restart()
		}
		for n := range 120 {
			h.step()
			switch {
			case n%20 == 9:
				h.compare(true)
			case n%20 == 19:
				h.catchUp()
				h.compare(false)
			case n%50 == 33: // what was not told is found by a sweep; a new process goes on
				h.Forget()
				h.restart()
			}
		}
		h.catchUp()
		h.compare(false)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Each way to take something back holds before the index has heard of it.
func TestWhatIsTakenBackIsNotFoundWhileTheIndexIsBehind(t *testing.T) {
	ctx := context.Background()
	f := open(t, 3)
	ana, ben, cleo := f.users[0], f.users[1], f.users[2]
	c := f.group(ana, "Canary birds", ben, cleo)
	edited, recalled, deleted := f.send(c, ana, "canary edited"), f.send(c, ana, "canary recalled"), f.send(c, ana, "canary deleted")
	kept := f.send(c, ana, "canary kept")
	own := f.send(c, ben, "canary of ben")
	hidden, everyone := f.publish(ana, &feedv1.PostContent{Text: "canary hidden"}), f.publish(ana, &feedv1.PostContent{Text: "canary for all"})
	f.catchUp()
	m := func(seq uint64) string { return fmt.Sprint("m", c, "/", seq) }
	check := func(what string, u id.User, want ...string) {
		t.Helper()
		found, _ := f.find(u, &searchv1.SearchRequest{Query: "canary", Limit: 50})
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: found %v, want %v", what, got, want)
		}
	}
	all := []string{m(edited), m(recalled), m(deleted), m(kept), m(own), fmt.Sprint("c", c), fmt.Sprint("p", hidden), fmt.Sprint("p", everyone)}
	check("before", ben, all...)
	_, err := f.sendContent(c, ana, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: edited}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "another bird"}}}}})
	must(t, err)
	_, err = f.sendContent(c, ana, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: recalled}}}})
	must(t, err)
	_, err = f.chat.DeleteMessages(ctx, ben, &chatv1.DeleteMessagesRequest{Conversation: uint64(c), Seqs: []uint64{deleted}})
	must(t, err)
	must(t, f.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: hidden}))
	check("after edit, recall, deletion and hiding", ben, m(kept), m(own), fmt.Sprint("c", c), fmt.Sprint("p", everyone))
	check("the deletion is ben's alone", cleo, m(kept), m(own), m(deleted), fmt.Sprint("c", c), fmt.Sprint("p", everyone))
	_, err = f.accounts.SetBlock(ctx, ana, ben, true)
	must(t, err)
	check("after a block", ben, m(own), fmt.Sprint("c", c))
	_, err = f.chat.Leave(ctx, c, cleo)
	must(t, err)
	f.send(c, ben, "canary after cleo left")
	check("after leaving", cleo, m(kept), m(own), m(deleted), fmt.Sprint("p", everyone))
	f.catchUp()
	check("with the index, ben", ben, m(own), m(own+4), fmt.Sprint("c", c))
	check("with the index, cleo", cleo, m(kept), m(own), m(deleted), fmt.Sprint("p", everyone))
}
