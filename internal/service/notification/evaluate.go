package notification

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// maxActors that a notification names.
const maxActors = 3

// evaluation finds out what of some notifications is shown to their user, as of a transaction.
type evaluation struct {
	service *Service
	tx      *sql.Tx
	reader  id.User

	posts     map[uint64]id.User // that the reader sees, with their authors
	comments  map[uint64]uint64  // that the reader sees, with their posts
	silenced  map[id.User]bool
	followers map[id.User]bool
	asking    map[id.User]bool
}

// views returns notifications as their user sees them; nil for those that are not shown. The newest causes of each, first in number, are enough for most. All
// causes are read of the others; it returns how many that may be.
func (s *Service) views(ctx context.Context, tx *sql.Tx, o *owner, rows []*row, first int) (views []*notificationv1.Notification, causes int, err error) {
	if views, err = s.evaluate(ctx, tx, o, rows, first); err != nil {
		return nil, 0, err
	}
	var rest []*row
	var places []int
	for i, v := range views {
		if v == nil && rows[i].causes > first {
			rest, places = append(rest, rows[i]), append(places, i)
			causes += rows[i].causes
		}
	}
	if len(rest) == 0 {
		return views, 0, nil
	}
	others, err := s.evaluate(ctx, tx, o, rest, s.sizes.causes)
	for i, v := range others {
		views[places[i]] = v
	}
	return views, causes, err
}

// evaluate returns notifications as their user sees them, from at most the newest causes of each; nil for those that are not shown.
func (s *Service) evaluate(ctx context.Context, tx *sql.Tx, o *owner, rows []*row, most int) ([]*notificationv1.Notification, error) {
	e := &evaluation{service: s, tx: tx, reader: o.user}
	causes := make([][]*cause, len(rows))
	var all []*cause
	for i, r := range rows {
		var err error
		if causes[i], err = readCauses(ctx, tx, o.user, r, most); err != nil {
			return nil, err
		}
		all = append(all, causes[i]...)
	}
	if err := e.load(ctx, all); err != nil {
		return nil, err
	}
	list := make([]*notificationv1.Notification, len(rows))
	for i, r := range rows {
		shown, err := e.shown(ctx, r, causes[i])
		if err != nil {
			return nil, err
		}
		if len(shown) > 0 {
			list[i] = e.view(r, shown)
			list[i].Read = r.pos <= o.read
			list[i].MoreActors = r.causes > most || r.causes >= s.sizes.causes
		}
	}
	return list, nil
}

// load reads what causes name: a few statements for all of them.
func (e *evaluation) load(ctx context.Context, all []*cause) (err error) {
	posts, comments := map[uint64]bool{}, map[uint64]bool{}
	var following, asking []*cause
	for _, c := range all {
		switch c.kind {
		case followKind:
			following = append(following, c)
		case requestKind:
			asking = append(asking, c)
		case commentKind, replyKind:
			comments[c.item] = true
		case postKind:
			posts[c.item] = true
		case repostKind:
			posts[c.item], posts[c.subject] = true, true
		case likeKind, mentionKind:
			if c.subjectKind == ofComment {
				comments[c.subject] = true
			} else {
				posts[c.subject] = true
			}
		}
	}
	graph, users := e.service.deps.Graph, actorsOf(all)
	if e.silenced, err = graph.MutedOrBlockedAmong(ctx, e.tx, e.reader, users); err != nil {
		return err
	}
	if e.followers, err = graph.FollowersAmong(ctx, e.tx, e.reader, actorsOf(following)); err != nil {
		return err
	}
	if e.asking, err = graph.RequestersAmong(ctx, e.tx, e.reader, actorsOf(asking)); err != nil {
		return err
	}
	e.posts, e.comments = map[uint64]id.User{}, map[uint64]uint64{}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(posts)), maxIDs) {
		found, err := e.service.deps.Posts.VisibleAuthors(ctx, e.tx, e.reader, some)
		if err != nil {
			return err
		}
		maps.Copy(e.posts, found)
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(comments)), maxIDs) {
		found, err := e.service.deps.Comments.VisibleSubjects(ctx, e.tx, e.reader, some)
		if err != nil {
			return err
		}
		maps.Copy(e.comments, found)
	}
	return nil
}

// shown returns those causes of a notification whose operations are there and visible.
func (e *evaluation) shown(ctx context.Context, r *row, causes []*cause) (shown []*cause, err error) {
	for _, c := range causes {
		if !e.silenced[c.actor] && e.isThere(c) {
			shown = append(shown, c)
		}
	}
	if r.kind != likeKind || len(shown) == 0 {
		return shown, nil
	}
	likers, err := e.service.deps.Likes.LikersAmong(ctx, e.tx, r.subjectKind, r.subject, actorsOf(shown))
	return slices.DeleteFunc(shown, func(c *cause) bool { return !likers[c.actor] }), err
}

// isThere reports whether the reader sees what a cause names.
func (e *evaluation) isThere(c *cause) bool {
	switch c.kind {
	case followKind:
		return e.followers[c.actor]
	case requestKind:
		return e.asking[c.actor]
	case commentKind, replyKind:
		return e.comments[c.item] != 0
	case postKind:
		return e.posts[c.item] != 0
	case repostKind:
		return e.posts[c.item] != 0 && e.posts[c.subject] != 0
	case likeKind, mentionKind:
		if c.subjectKind == ofComment {
			return e.comments[c.subject] != 0
		}
		return e.posts[c.subject] != 0
	}
	return false
}

// view returns a notification of the causes that are shown, the newest first.
func (e *evaluation) view(r *row, shown []*cause) *notificationv1.Notification {
	n := &notificationv1.Notification{Id: r.id, Position: r.pos, Kind: r.kind, SubjectKind: r.subjectKind, Subject: r.subject, TimeMs: shown[0].at, Item: shown[0].item, Post: e.postOf(shown[0])}
	seen := map[id.User]bool{}
	for _, c := range shown {
		if c.item != 0 {
			n.ItemCount++
		}
		if seen[c.actor] {
			continue
		}
		seen[c.actor] = true
		if n.ActorCount++; len(n.Actors) < maxActors {
			n.Actors = append(n.Actors, uint64(c.actor))
		}
	}
	return n
}

// postOf returns the post that shows a cause; 0 if there is none.
func (e *evaluation) postOf(c *cause) uint64 {
	switch {
	case c.kind == postKind:
		return c.item
	case c.kind == replyKind:
		return e.comments[c.item]
	case c.subjectKind == ofComment:
		return e.comments[c.subject]
	case c.subjectKind == ofPost:
		return c.subject
	}
	return 0
}
