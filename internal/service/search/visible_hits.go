package search

import (
	"context"
	"database/sql"
	"maps"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

func foldHandle(handle string) string { return message.FoldHandle(handle) }

// check reads what the index has found as the reader may read it now. It returns a hit for each, or nil: the reader may not read it, or what the reader may
// read does not match.
func (q *request) check(ctx context.Context, kind searchv1.HitKind, found []searchindex.Hit) ([]*searchv1.Hit, error) {
	if len(found) == 0 {
		return nil, nil
	}
	hits := make([]*searchv1.Hit, len(found))
	var err error
	switch kind {
	case userKind:
		err = q.checkUsers(ctx, found, hits)
	case conversationKind:
		err = q.checkConversations(ctx, found, hits)
	case messageKind:
		err = q.checkMessages(ctx, found, hits, q.checkText)
	case fileKind:
		err = q.checkMessages(ctx, found, hits, q.checkFile)
	case postKind:
		err = q.checkPosts(ctx, found, hits)
	case videoKind:
		err = q.checkVideos(ctx, found, hits)
	}
	return hits, err
}

// hit makes a hit of a text, or nil if it does not match.
func (q *request) hit(f *searchindex.Hit, s searchText) *searchv1.Hit {
	parts, ok := q.pattern.Match(s.text, s.names...)
	if !ok {
		return nil
	}
	h := &searchv1.Hit{Score: &searchv1.Score{Total: f.Score.Total, Text: f.Score.Text, Recency: f.Score.Recency, Popularity: f.Score.Popularity, Preference: 1}}
	h.Text, h.Highlights = show(s.text, parts)
	return h
}

// admits reports whether the filters admit something that was written.
func (q *request) admits(author id.User, timeMs int64, link bool) bool {
	p := q.query
	from := len(p.from) == 0
	for _, u := range p.from {
		from = from || u == uint64(author)
	}
	return from && timeMs >= p.after && (p.until == 0 || timeMs < p.until) && (link || !p.link)
}

// blockedAmong returns those of some users with whom there is a block.
func (q *request) blockedAmong(ctx context.Context, users map[id.User]bool) (map[id.User]bool, error) {
	list := make([]id.User, 0, len(users))
	for u := range users {
		if u != 0 && u != q.reader {
			list = append(list, u)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return q.service.deps.Accounts.BlockedAmong(ctx, q.reader, list)
}

func (q *request) checkUsers(ctx context.Context, found []searchindex.Hit, hits []*searchv1.Hit) error {
	ids, among := make([]uint64, len(found)), map[id.User]bool{}
	for i := range found {
		ids[i] = found[i].ID.Number
		among[id.User(ids[i])] = true
	}
	list, err := q.service.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: ids})
	if err != nil {
		return err
	}
	blocked, err := q.blockedAmong(ctx, among)
	if err != nil {
		return err
	}
	users := map[uint64]*accountv1.User{}
	for _, u := range list {
		users[u.Id] = u
	}
	for i, u := range ids {
		if users[u] == nil || blocked[id.User(u)] {
			continue
		}
		if hits[i] = q.hit(&found[i], plainText(textOfUser(users[u]))); hits[i] != nil {
			hits[i].User = users[u]
		}
	}
	return nil
}

func (q *request) checkConversations(ctx context.Context, found []searchindex.Hit, hits []*searchv1.Hit) error {
	for i := range found {
		if !q.present[found[i].ID.Number] {
			continue
		}
		c, err := q.service.deps.Chat.Describe(ctx, q.reader, id.Conversation(found[i].ID.Number))
		if errs.Is(err, errs.NotFound) || err == nil && (c.LeaveSeq != 0 || c.Dissolved) {
			continue
		}
		if err != nil {
			return err
		}
		if hits[i] = q.hit(&found[i], plainText(c.Title)); hits[i] != nil {
			hits[i].Conversation = c
		}
	}
	return nil
}

// place of a message.
type place struct{ conversation, seq uint64 }

// checkText makes a hit of a message with a text, or nil if it does not match.
func (q *request) checkText(f *searchindex.Hit, c *chatv1.Content) *searchv1.Hit {
	s := textOf(c)
	if s.text == "" {
		return nil
	}
	return q.hit(f, s)
}

// checkMessages reads messages by chat's own read for readers, which honours recalls, edits, deletions, expiry and memberships, and makes hits of their contents.
func (q *request) checkMessages(ctx context.Context, found []searchindex.Hit, hits []*searchv1.Hit, hitOf func(*searchindex.Hit, *chatv1.Content) *searchv1.Hit) error {
	seqs := map[uint64][]uint64{}
	for i := range found {
		seqs[found[i].ID.Parent] = append(seqs[found[i].ID.Parent], found[i].ID.Number)
	}
	messages, senders := map[place]*chatv1.Message{}, map[id.User]bool{}
	for c, list := range seqs {
		if err := q.readMessages(ctx, c, list, messages); err != nil {
			return err
		}
	}
	for _, m := range messages {
		senders[id.User(m.Sender)] = true
	}
	blocked, err := q.blockedAmong(ctx, senders)
	if err != nil {
		return err
	}
	for i := range found {
		m := messages[place{found[i].ID.Parent, found[i].ID.Number}]
		if m == nil || m.Content == nil || blocked[id.User(m.Sender)] || q.query.in != 0 && m.Conversation != q.query.in {
			continue
		}
		if !q.admits(id.User(m.Sender), m.TimeMs, hasLink(m.Content, textOf(m.Content).text)) {
			continue
		}
		if hits[i] = hitOf(&found[i], m.Content); hits[i] != nil {
			hits[i].Message = m
		}
	}
	return nil
}

// readMessages adds the messages of a conversation that the reader may read.
func (q *request) readMessages(ctx context.Context, c uint64, seqs []uint64, to map[place]*chatv1.Message) error {
	for {
		r, err := q.service.deps.Chat.GetMessages(ctx, q.reader, &chatv1.GetMessagesRequest{Conversation: c, Seqs: seqs})
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Denied) {
			return nil
		}
		if err != nil {
			return err
		}
		last := uint64(0)
		for _, m := range r.Messages {
			to[place{c, m.Seq}] = m
			last = max(last, m.Seq)
		}
		if !r.More || last == 0 {
			return nil
		}
		var rest []uint64
		for _, seq := range seqs {
			if seq > last {
				rest = append(rest, seq)
			}
		}
		if seqs = rest; len(seqs) == 0 {
			return nil
		}
	}
}

// visible returns those of some posts that were found which the reader may see and the filters admit, as of a transaction.
func (q *request) visible(ctx context.Context, tx *sql.Tx, found []searchindex.Hit) (map[uint64]*feedv1.Post, error) {
	list := make([]uint64, len(found))
	for i := range found {
		list[i] = found[i].ID.Number
	}
	posts, err := q.service.deps.Posts.VisiblePosts(ctx, tx, q.reader, list)
	maps.DeleteFunc(posts, func(_ uint64, p *feedv1.Post) bool {
		return !q.admits(id.User(p.Author), p.CreatedMs, postHasLink(p.Content))
	})
	return posts, err
}

func (q *request) checkPosts(ctx context.Context, found []searchindex.Hit, hits []*searchv1.Hit) error {
	var posts map[uint64]*feedv1.Post
	err := q.service.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		posts, err = q.visible(ctx, tx, found)
		return err
	})
	if err != nil {
		return err
	}
	for i := range found {
		p := posts[found[i].ID.Number]
		if p == nil {
			continue
		}
		if hits[i] = q.hit(&found[i], plainText(textOfPost(p.Content))); hits[i] != nil {
			hits[i].Post = p
		}
	}
	return nil
}

// checkVideos reads posts, and the videos that they show, as of one transaction.
func (q *request) checkVideos(ctx context.Context, found []searchindex.Hit, hits []*searchv1.Hit) error {
	if q.service.deps.Videos == nil {
		return nil
	}
	return q.service.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		posts, err := q.visible(ctx, tx, found)
		if err != nil {
			return err
		}
		shown := map[uint64]uint64{}
		for n, p := range posts {
			if v := p.Content.GetVideo(); v != 0 {
				shown[n] = v
			}
		}
		videos, err := q.service.deps.Videos.ShownVideos(ctx, tx, q.reader, shown)
		if err != nil {
			return err
		}
		for i := range found {
			n := found[i].ID.Number
			if videos[n] == nil {
				continue
			}
			if hits[i], err = q.checkVideo(ctx, tx, &found[i], posts[n].Content); err != nil {
				return err
			}
			if hits[i] != nil {
				hits[i].Post, hits[i].Video = posts[n], videos[n]
			}
		}
		return nil
	})
}

// checkVideo makes a hit of a post with a video, or nil if neither its text nor the subtitles match.
func (q *request) checkVideo(ctx context.Context, tx *sql.Tx, f *searchindex.Hit, c *feedv1.PostContent) (*searchv1.Hit, error) {
	text := textOfPost(c)
	if h := q.hit(f, plainText(text)); h != nil {
		return h, nil
	}
	said, err := q.service.deps.Videos.SubtitlesText(ctx, tx, c.GetVideo(), searchindex.MaxText)
	if err != nil || said == "" {
		return nil, err
	}
	return q.hit(f, plainText(lines(text, said))), nil
}
