package chat

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A user follows a thread by starting it, by being the sender of its root, by writing to it, by being mentioned in it, and by joining it. The
// entry by which writers and mentioned users begin to follow comes before the message, so that the message counts as unread for who is mentioned.

// followThread makes a user who may read a thread follow it. st has the parent's state.
func (s *Service) followThread(ctx context.Context, st *state, u id.User) error {
	if _, ok := st.replier(u); !ok {
		return errNoConversation
	}
	_, err := s.change(ctx, st.id, func(st *state) (*chatv1.Control, error) {
		switch {
		case st.role(u) != 0:
			return nil, nil
		case len(st.activeMembers) >= maxThreadFollowers:
			return nil, errThreadFull
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Actor: uint64(u), Users: []uint64{uint64(u)}}, nil
	})
	return err
}

// unfollowThread ends that a user follows a thread, and returns the seq of the entry, 0 if the user did not. st has the parent's state.
func (s *Service) unfollowThread(ctx context.Context, st *state, u id.User) (uint64, error) {
	if _, ok := st.replier(u); !ok {
		return 0, errNoConversation
	}
	return s.change(ctx, st.id, func(st *state) (*chatv1.Control, error) {
		if st.role(u) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_LEFT, Actor: uint64(u), Users: []uint64{uint64(u)}}, nil
	})
}

// mayAddFollowers reports whether a thread must perhaps have more followers before a draft is appended.
func (s *state) mayAddFollowers(d *message.Draft) bool {
	if s.kind != thread || len(s.activeMembers) >= maxThreadFollowers {
		return false
	}
	if d.Mentions && namesRole(mentionsOf(contentOf(d))) {
		return true // who has the role is known to the parent
	}
	return slices.ContainsFunc(followersFrom(d), func(u id.User) bool { return s.role(u) == 0 })
}

// followersFrom returns who follows a thread because of a draft: the sender of a message, and who is mentioned by name.
func followersFrom(d *message.Draft) (users []id.User) {
	c := contentOf(d)
	if c == nil || targetOf(c) == nil && c.GetSignal() == nil {
		users = append(users, d.Sender)
	}
	for _, m := range mentionsOf(c) {
		if m.User != 0 {
			users = append(users, id.User(m.User))
		}
	}
	return users
}

// addFollowersFor makes those follow a thread who follow it because of the queued drafts, as far as the parent lets them. The caller owns the
// mailbox and holds changeMu. st is the thread's state.
func (s *Service) addFollowersFor(ctx context.Context, c *conversation, st *state) error {
	for {
		with, err := withParent(ctx, st, s.sendableState)
		if err != nil {
			return err
		}
		c.mu.Lock()
		users := with.newFollowers(slices.Concat(c.mailbox.stale, c.mailbox.queue), s.deps.Clock.Now().UnixMilli())
		c.mu.Unlock()
		if len(users) == 0 {
			return nil
		}
		_, err = s.appendControl(ctx, c, st, &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: users})
		if !errors.Is(err, timeline.ErrStale) {
			return err
		}
		c.invalidate() // another node changed it
		if st, err = s.loadState(ctx, c); err != nil {
			return err
		}
	}
}

// newFollowers returns who follows a thread because of some drafts and does not yet: writers who may write, and whom they mention. The state has
// the parent's.
func (s *state) newFollowers(drafts []*message.Draft, nowMs int64) (users []uint64) {
	for _, d := range drafts {
		if s.canReply(d.Sender, nowMs) != nil {
			continue
		}
		named := followersFrom(d)
		if d.Mentions && namesRole(mentionsOf(contentOf(d))) {
			for _, u := range s.mentionedAdmins() {
				named = append(named, id.User(u))
			}
		}
		for _, u := range named {
			if s.role(u) == 0 && s.mayBeMentioned(u) && !slices.Contains(users, uint64(u)) {
				users = append(users, uint64(u))
			}
		}
	}
	return users[:min(len(users), max(0, maxThreadFollowers-len(s.activeMembers)))]
}
