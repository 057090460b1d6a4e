package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// searchHeadings are the kinds of hits that /search shows.
var searchHeadings = map[searchv1.HitKind]string{
	searchv1.HitKind_HIT_KIND_USER: "People:", searchv1.HitKind_HIT_KIND_CONVERSATION: "Groups:", searchv1.HitKind_HIT_KIND_MESSAGE: "Messages:", searchv1.HitKind_HIT_KIND_POST: "Posts:",
	searchv1.HitKind_HIT_KIND_VIDEO: "Videos:", searchv1.HitKind_HIT_KIND_FILE: "Files:",
}

// search shows what a query finds, the best hits of each kind.
func (s *screen) search(ctx context.Context, words string) error {
	if words == "" {
		return errorf("give words to search for, and perhaps from:@handle, in:@handle, kind:video, kind:file, type:image, before:2026-01-31, after:2026-01-31 or has:link")
	}
	r, err := call(ctx, s.client.Search().Search, &searchv1.SearchRequest{Query: words})
	if err != nil {
		return err
	}
	if r.Incomplete {
		s.say("The server's search index is being built: some hits may be missing.")
	}
	shown := false
	for _, g := range withoutRepeats(r.Groups) {
		if searchHeadings[g.Kind] == "" || len(g.Hits) == 0 {
			continue
		}
		shown = true
		s.say("%s", phrase(searchHeadings[g.Kind]))
		for _, h := range g.Hits {
			s.say("  %s", s.hit(ctx, h))
		}
		if g.Next != "" {
			s.say("  … and more: narrow the search, or give a kind")
		}
	}
	if !shown {
		s.say("Nothing found.")
	}
	return nil
}

// withoutRepeats leaves out the messages whose files are among the hits, and the posts whose videos are: one line of each is enough.
func withoutRepeats(groups []*searchv1.HitGroup) []*searchv1.HitGroup {
	messages, posts := map[[2]uint64]bool{}, map[uint64]bool{}
	for _, g := range groups {
		for _, h := range g.Hits {
			if g.Kind == searchv1.HitKind_HIT_KIND_FILE {
				messages[[2]uint64{h.Message.GetConversation(), h.Message.GetSeq()}] = true
			}
			if g.Kind == searchv1.HitKind_HIT_KIND_VIDEO {
				posts[h.Post.GetId()] = true
			}
		}
	}
	for _, g := range groups {
		g.Hits = slices.DeleteFunc(g.Hits, func(h *searchv1.Hit) bool {
			return g.Kind == searchv1.HitKind_HIT_KIND_MESSAGE && messages[[2]uint64{h.Message.GetConversation(), h.Message.GetSeq()}] ||
				g.Kind == searchv1.HitKind_HIT_KIND_POST && posts[h.Post.GetId()]
		})
	}
	return groups
}

// hit formats a hit in one line, with what opens it.
func (s *screen) hit(ctx context.Context, h *searchv1.Hit) string {
	text := s.highlighted(h)
	switch {
	case h.User != nil:
		s.keepName(h.User)
		return text
	case h.Conversation != nil:
		return text
	case h.Message != nil:
		m := h.Message
		if h.File != nil {
			text = s.foundFile(h.File, text)
		}
		return fmt.Sprintf("%s  %s #%d  %s: %s", dated(time.UnixMilli(m.TimeMs), "2 January 15:04"), s.chatName(ctx, m.Conversation), m.Seq, s.name(ctx, m.Sender), text)
	}
	if h.Video != nil && h.Video.DurationMs > 0 {
		text += fmt.Sprintf(" (%s)", (time.Duration(h.Video.DurationMs) * time.Millisecond).Round(time.Second))
	}
	return fmt.Sprintf("%s  %s: %s", dated(time.UnixMilli(h.Post.GetCreatedMs()), "2 January 15:04"), s.name(ctx, h.Post.GetAuthor()), text)
}

// foundFile formats a file that was found by a text.
func (s *screen) foundFile(f *searchv1.FoundFile, text string) string {
	text += fmt.Sprintf(" (%s)", size(f.Media.GetSize()))
	if f.Others > 0 {
		text += phrasef(", and %d more", f.Others)
	}
	return text
}

// unbroken keeps a text in one line, with its spaces: it is a part of a longer one.
var unbroken = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ", "\u2028", " ", "\u2029", " ")

// chatName returns the title of the chat that a message is in, or its id if it cannot be read.
func (s *screen) chatName(ctx context.Context, conversation uint64) string {
	c, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: conversation})
	if err != nil {
		return fmt.Sprint(conversation)
	}
	return s.title(ctx, c)
}

// highlighted returns the text of a hit in one line, with its matches in bold.
func (s *screen) highlighted(h *searchv1.Hit) (out string) {
	runes, at := []rune(h.Text), 0
	part := func(end int, st style) {
		if end = min(max(end, at), len(runes)); end > at {
			out += s.paint(st, unbroken.Replace(plain(string(runes[at:end]))))
			at = end
		}
	}
	for _, l := range h.Highlights {
		part(int(l.Start), "")
		part(int(l.Start+l.Length), bold)
	}
	part(len(runes), "")
	return out
}
