package search

import (
	"context"
	"database/sql"
	"encoding/binary"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Access terms of posts: everybody, the friends of an author, and single users.
func friendsTerm(author id.User) string {
	return string(binary.BigEndian.AppendUint64([]byte{'f'}, uint64(author)))
}

func userTerm(u id.User) string {
	return string(binary.BigEndian.AppendUint64([]byte{'u'}, uint64(u)))
}

// videoTerm is the access term by which the indexer finds the posts that show a video. No reader has it.
func videoTerm(video uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte{'v'}, video))
}

// indexChanges indexes the users, posts and videos that have changed.
func (x *indexer) indexChanges(ctx context.Context, b *builder) (busy bool, err error) {
	if time.Now().Before(x.nextPoll) {
		return false, nil
	}
	before, size, lost := x.reader.checkpoint(), x.service.sizes, x.reader.lost
	list, more, err := x.reader.read(ctx, x.service.deps.DB, size)
	if err == nil {
		err = x.indexSubjects(ctx, list, b)
	}
	if err != nil {
		return false, err // all is read again
	}
	if !more {
		x.nextPoll = time.Now().Add(pollInterval)
	}
	if lost == 0 && x.reader.lost != 0 {
		x.service.deps.Logger.Warn("too many numbers of changes are missing for the search index; it reads all users and posts again when no transaction can have them any more", "first", x.reader.lost, "after", size.transaction)
	}
	if x.reader.isLost(size.transaction) {
		x.reader.lost = 0
		x.readAllAgain(b)
	}
	if at := x.reader.checkpoint(); at != before {
		b.point(changesPoint, at+1)
	}
	return more, nil
}

// readAllAgain makes the first pass begin again.
func (x *indexer) readAllAgain(b *builder) {
	x.generation.complete.Store(false)
	x.users, x.posts = 0, 0
	b.point(usersPoint, 0)
	b.point(postsPoint, 0)
	b.point(completePoint, 0)
}

// indexSubjects indexes some users, posts and videos.
func (x *indexer) indexSubjects(ctx context.Context, list []change, b *builder) error {
	seen := map[change]bool{}
	var users, posts []uint64
	for _, c := range list {
		if seen[c] {
			continue
		}
		seen[c] = true
		switch c.kind {
		case ChangedUser:
			users = append(users, c.subject)
		case ChangedPost:
			posts = append(posts, c.subject)
		case ChangedVideo:
			shown, err := x.postsOfVideo(ctx, c.subject)
			if err != nil {
				return err
			}
			posts = append(posts, shown...)
		case ErasedAuthor:
			if err := x.removeMessagesBy(ctx, id.User(c.subject), b); err != nil {
				return err
			}
		case ChangedConversation:
			x.indexFromBeginning(id.Conversation(c.subject), b)
		}
	}
	if err := x.indexUsers(ctx, users, b); err != nil {
		return err
	}
	for some := range slices.Chunk(posts, postsPerQuery) { // a video may be in many posts
		if err := x.indexPosts(ctx, some, b); err != nil {
			return err
		}
	}
	return nil
}

// postsOfVideo returns the posts that the index has with a video. One that it does not have yet is read with the video as it is then.
func (x *indexer) postsOfVideo(ctx context.Context, video uint64) (posts []uint64, err error) {
	ask := &searchindex.Query{Kind: searchindex.Video, Access: []string{videoTerm(video)}, Limit: x.service.sizes.rows}
	for {
		found, err := x.index.Search(ctx, ask)
		if err != nil {
			return nil, err
		}
		for _, h := range found.Hits {
			posts = append(posts, h.ID.Number)
			ask.After = &searchindex.Cursor{Total: h.Score.Total, ID: h.ID}
		}
		if !found.More {
			return posts, nil
		}
	}
}

// conversationsOfAuthor is how many conversations a query for messages of an author names.
const conversationsOfAuthor = 200

// removeMessagesBy removes the messages of an author from the index. Those that it does not have yet are read as erased ones then.
func (x *indexer) removeMessagesBy(ctx context.Context, author id.User, b *builder) error {
	for after := id.Conversation(0); ; {
		list, err := x.service.deps.Chat.ConversationsOf(ctx, author, after, conversationsOfAuthor)
		if err != nil || len(list) == 0 {
			return err
		}
		access := make([]string, len(list))
		for i, c := range list {
			access[i], after = conversationTerm(c), c
		}
		for _, kind := range []searchindex.Kind{searchindex.Message, searchindex.File} {
			ask := &searchindex.Query{Kind: kind, Authors: []uint64{uint64(author)}, Access: access, Limit: x.service.sizes.rows}
			for more := true; more; {
				found, err := x.index.Search(ctx, ask)
				if err != nil {
					return err
				}
				for _, h := range found.Hits {
					b.remove(h.ID)
					ask.After = &searchindex.Cursor{Total: h.Score.Total, ID: h.ID}
				}
				more = found.More
			}
		}
	}
}

// indexFirstPass indexes the users and posts that were there before the index.
func (x *indexer) indexFirstPass(ctx context.Context, b *builder) (busy bool, err error) {
	if x.users != finished {
		return true, x.pass(ctx, b, usersPoint, &x.users, x.service.deps.Accounts.UsersAfter, x.indexUsers)
	}
	if x.posts != finished {
		return true, x.pass(ctx, b, postsPoint, &x.posts, x.service.deps.Posts.PostsAfter, x.indexPosts)
	}
	return false, nil
}

// pass indexes the next rows of a kind. A failed batch is retried from the index's checkpoint.
func (x *indexer) pass(ctx context.Context, b *builder, point string, at *uint64, after func(context.Context, uint64, int) ([]uint64, error), index func(context.Context, []uint64, *builder) error) error {
	stored, err := x.index.Checkpoints(ctx, []string{point})
	if err != nil {
		return err
	}
	if *at = stored[0]; *at == finished {
		return nil
	}
	list, err := after(ctx, *at, x.service.sizes.rows)
	if err != nil {
		return err
	}
	next := uint64(finished)
	if len(list) > 0 {
		next = list[len(list)-1]
	}
	b.point(point, next)
	return index(ctx, list, b)
}

// usersPerQuery and postsPerQuery are how many users and posts are read at once.
const (
	usersPerQuery = 200
	postsPerQuery = 200
)

// indexUsers adds some users, and removes those that are gone.
func (x *indexer) indexUsers(ctx context.Context, list []uint64, b *builder) error {
	if len(list) == 0 {
		return nil
	}
	found := map[uint64]*accountv1.User{}
	for from := 0; from < len(list); from += usersPerQuery {
		users, err := x.service.deps.Accounts.UsersToIndex(ctx, list[from:min(len(list), from+usersPerQuery)])
		if err != nil {
			return err
		}
		for _, u := range users {
			found[u.Id] = u
		}
	}
	return x.service.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		for _, u := range list {
			name := searchindex.ID{Kind: searchindex.User, Number: u}
			if found[u] == nil {
				b.remove(name)
				continue
			}
			followers, _, err := x.service.deps.Accounts.FollowCounts(ctx, tx, id.User(u))
			if err != nil {
				return err
			}
			b.put(searchindex.Document{ID: name, Text: textOfUser(found[u]), Access: []string{everybody}, Popularity: followers})
		}
		return nil
	})
}

// indexPosts adds some posts, and removes those that are deleted or hidden.
func (x *indexer) indexPosts(ctx context.Context, list []uint64, b *builder) error {
	if len(list) == 0 {
		return nil
	}
	return x.service.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		posts, err := x.service.deps.Posts.ToIndex(ctx, tx, list)
		if err != nil {
			return err
		}
		var likes map[uint64]uint64
		if x.service.deps.Likes != nil {
			if likes, err = x.service.deps.Likes(ctx, tx, list); err != nil {
				return err
			}
		}
		said := map[uint64]string{} // by video: its author may show one in all of these posts
		shown := map[searchindex.ID]bool{}
		put := func(d searchindex.Document) {
			shown[d.ID] = true
			b.put(d)
		}
		for _, p := range posts {
			text := textOfPost(p.Content)
			if text != "" {
				put(postDocument(p, text, likes[p.Id]))
			}
			if p.Content.GetVideo() != 0 && x.service.deps.Videos != nil {
				v := p.Content.Video
				if _, read := said[v]; !read {
					if said[v], err = x.service.deps.Videos.SubtitlesText(ctx, tx, v, searchindex.MaxText); err != nil {
						return err
					}
				}
				put(videoDocument(p, lines(text, said[v]), likes[p.Id]))
			}
		}
		for _, n := range list {
			for _, kind := range []searchindex.Kind{searchindex.Post, searchindex.Video} {
				if name := (searchindex.ID{Kind: kind, Number: n}); !shown[name] {
					b.remove(name)
				}
			}
		}
		return nil
	})
}

// postDocument makes the document of a post. Whom an audience excepts is checked when a hit is read.
func postDocument(p *feedv1.Post, text string, likes uint64) searchindex.Document {
	access := []string{userTerm(id.User(p.Author))}
	switch p.Content.GetAudience() {
	case feedv1.Audience_AUDIENCE_FRIENDS:
		access = append(access, friendsTerm(id.User(p.Author)))
	case feedv1.Audience_AUDIENCE_CHOSEN:
		for _, u := range p.Content.GetUsers() {
			access = append(access, userTerm(id.User(u)))
		}
	default:
		access = append(access, everybody)
	}
	return searchindex.Document{ID: searchindex.ID{Kind: searchindex.Post, Number: p.Id}, Text: text, Author: p.Author, Access: access,
		Link: postHasLink(p.Content), TimeMs: p.CreatedMs, Popularity: likes}
}

// videoDocument makes the document of a video that a post shows: whoever may see the post may see the video. That the video is there is checked when a hit is read.
func videoDocument(p *feedv1.Post, text string, likes uint64) searchindex.Document {
	d := postDocument(p, text, likes)
	d.ID.Kind = searchindex.Video
	d.Access = append(d.Access, videoTerm(p.Content.GetVideo()))
	return d
}
