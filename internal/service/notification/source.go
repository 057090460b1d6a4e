package notification

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// The methods of this file are called in the transaction of an operation, by the service that does it. They may run again after a failed commit.

// Like of a post or a comment.
type Like struct {
	SubjectKind notificationv1.NotificationSubject
	Subject     uint64
	Author      id.User // of the subject
	By          id.User
	Present     bool // false: it was taken back
}

// Liked notifies the authors of what was liked. Of a like that was taken back nothing is stored: reads find that it is gone.
func (s *Service) Liked(ctx context.Context, tx *sql.Tx, likes []Like) error {
	list := make([]*cause, 0, len(likes))
	for _, l := range likes {
		if l.Present {
			list = append(list, &cause{owner: l.Author, topic: topic{likeKind, l.SubjectKind, l.Subject}, actor: l.By})
		}
	}
	return s.record(ctx, tx, list)
}

// Comment that was created or edited.
type Comment struct {
	ID, Post      uint64
	Author        id.User
	PostAuthor    id.User // 0: it was edited
	ReplyTo       uint64  // 0: none
	ReplyToAuthor id.User
	Mentioned     []id.User // in this version, and not in the one before
	Unmentioned   []id.User // in the one before, and not in this one
}

// Commented notifies those whom a comment concerns, each of one thing: who is mentioned of that, otherwise whose comment it answers, otherwise the
// author of the post. Kinds that are off are passed over.
func (s *Service) Commented(ctx context.Context, tx *sql.Tx, c Comment) error {
	mention := func(u id.User) *cause {
		return &cause{owner: u, topic: topic{mentionKind, ofComment, c.ID}, actor: c.Author, item: c.ID}
	}
	var removed, list []*cause
	for _, u := range c.Unmentioned {
		removed = append(removed, mention(u))
	}
	if err := s.remove(ctx, tx, removed); err != nil {
		return err
	}
	for _, u := range c.Mentioned {
		list = append(list, mention(u))
	}
	if c.ReplyTo != 0 {
		list = append(list, &cause{owner: c.ReplyToAuthor, topic: topic{replyKind, ofComment, c.ReplyTo}, actor: c.Author, item: c.ID})
	}
	list = append(list, &cause{owner: c.PostAuthor, topic: topic{commentKind, ofPost, c.Post}, actor: c.Author, item: c.ID})
	list, err := s.firstOfEach(ctx, tx, list)
	if err != nil {
		return err
	}
	return s.record(ctx, tx, list)
}

// firstOfEach returns the first cause of each owner that is not off.
func (s *Service) firstOfEach(ctx context.Context, tx *sql.Tx, list []*cause) (first []*cause, err error) {
	users := make([]id.User, len(list))
	for i, c := range list {
		users[i] = c.owner
	}
	owners, err := getOwners(ctx, tx, users)
	if err != nil {
		return nil, err
	}
	seen := map[id.User]bool{}
	for _, c := range list {
		if !seen[c.owner] && !owners[c.owner].isOff(c.kind) {
			seen[c.owner] = true
			first = append(first, c)
		}
	}
	return first, nil
}

// Relation of Other to Actor that Actor changed.
type Relation struct {
	Actor, Other id.User
	Followed     bool // Actor follows Other
	Requested    bool // Actor wants to be a friend of Other
	Answered     bool // Actor answered the request of Other
}

// Related notifies of follows and friend requests. A request that was answered may notify again.
func (s *Service) Related(ctx context.Context, tx *sql.Tx, r Relation) error {
	if r.Answered {
		if err := s.remove(ctx, tx, []*cause{{owner: r.Actor, topic: topic{kind: requestKind}, actor: r.Other}}); err != nil {
			return err
		}
	}
	var list []*cause
	if r.Followed {
		list = append(list, &cause{owner: r.Other, topic: topic{kind: followKind}, actor: r.Actor})
	}
	if r.Requested {
		list = append(list, &cause{owner: r.Other, topic: topic{kind: requestKind}, actor: r.Actor})
	}
	return s.record(ctx, tx, list)
}

// Post that was published, edited or deleted.
type Post struct {
	ID                 uint64
	Author             id.User
	Published, Deleted bool
	RepostOf           uint64 // 0: none
	RepostedAuthor     id.User
	Mentioned          []id.User // in this version, and not in the one before
	Unmentioned        []id.User // in the one before, and not in this one
}

// Posted notifies those whom a post concerns. Its author's subscribers are notified by jobs, which the caller wakes after the commit.
func (s *Service) Posted(ctx context.Context, tx *sql.Tx, p Post) error {
	if p.Deleted { // reads find that it is gone
		return nil
	}
	mention := func(u id.User) *cause {
		return &cause{owner: u, topic: topic{mentionKind, ofPost, p.ID}, actor: p.Author, item: p.ID}
	}
	var removed, list []*cause
	for _, u := range p.Unmentioned {
		removed = append(removed, mention(u))
	}
	if err := s.remove(ctx, tx, removed); err != nil {
		return err
	}
	for _, u := range p.Mentioned {
		list = append(list, mention(u))
	}
	if p.Published && p.RepostOf != 0 {
		list = append(list, &cause{owner: p.RepostedAuthor, topic: topic{repostKind, ofPost, p.RepostOf}, actor: p.Author, item: p.ID})
	}
	if err := s.record(ctx, tx, list); err != nil || !p.Published {
		return err
	}
	return s.startFanout(ctx, tx, p)
}
