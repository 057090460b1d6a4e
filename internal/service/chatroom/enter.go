package chatroom

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errEntering = &errs.Error{Kind: errs.Unavailable, Reason: "entering_room", Message: "this connection is entering the room, or left it meanwhile; try again", Retry: time.Second}
	errNotIn    = errs.New(errs.NotFound, "not_in_room", "enter the room first, on a socket of this server")
	errCount    = errs.New(errs.Invalid, "bad_likes", "a call has 1 to 100 likes")
)

// Enter puts a connection into a room. answer is called once, if it may enter, before any update is pushed; it must not block.
func (s *Service) Enter(ctx context.Context, u id.User, room id.Room, v message.RoomViewer, answer func(*chatv1.RoomEntry)) error {
	a, m, err := s.join(u, room, v)
	if err != nil {
		return err
	}
	err = s.complete(ctx, a, m, v, answer)
	if err != nil {
		a.mu.Lock()
		if a.viewers[v] == m { // not one of a later Enter
			a.drop(v, m)
		}
		a.mu.Unlock()
		s.forgetUnused(a)
	}
	return err
}

// forgetUnused drops an audience that nobody could enter, as of a room that does not exist.
func (s *Service) forgetUnused(a *audience) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.audiences[a.room] == a && a.forget() {
		delete(s.audiences, a.room)
	}
}

// join adds a connection, which gets nothing yet. From here on a kick removes it, so that one that comes later than the check of the rows holds.
func (s *Service) join(u id.User, room id.Room, v message.RoomViewer) (*audience, *membership, error) {
	for {
		a, err := s.audienceOf(room, true)
		if err != nil {
			return nil, nil, err
		}
		a.mu.Lock()
		if a.gone { // since
			a.mu.Unlock()
			continue
		}
		m := a.viewers[v]
		switch {
		case m == nil && a.users[u] == 0 && !s.entered.enter(u):
			err = errEntered
		case m == nil:
			m = &membership{user: u}
			a.viewers[v] = m
			a.users[u]++
		case !m.inside:
			err = errEntering
		}
		a.mu.Unlock()
		if err != nil {
			s.forgetUnused(a)
		}
		return a, m, err
	}
}

// complete checks whether a connection may enter, and answers it.
func (s *Service) complete(ctx context.Context, a *audience, m *membership, v message.RoomViewer, answer func(*chatv1.RoomEntry)) error {
	x, err := readRestriction(ctx, s.deps.DB.Read(), a.room, m.user)
	if err != nil {
		return err
	}
	now := s.nowMs()
	if x = x.at(now); x.kickedMs > 0 {
		return denied(errKicked, x.kickedMs-now)
	}
	if err := s.subscribe(ctx, a, false); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.state.Closed:
		return errClosed
	case a.viewers[v] != m:
		return errEntering
	}
	m.inside, m.missed = true, 0
	answer(&chatv1.RoomEntry{Room: a.state, Recent: a.recent.list, Likes: a.likes, Viewers: max(a.count, uint32(len(a.users))), MutedUntilMs: x.mutedMs})
	return nil
}

// subscribe asks the owner for the room's updates, if it was not asked before, or again.
func (s *Service) subscribe(ctx context.Context, a *audience, again bool) error {
	a.subscribing.Lock()
	defer a.subscribing.Unlock()
	a.mu.Lock()
	ready, viewers := a.ready, len(a.users)
	a.mu.Unlock()
	if ready && !again {
		return nil
	}
	b, err := s.ask(ctx, request{askSubscribe, a.room, 0, append(binary.AppendUvarint(nil, uint64(viewers)), s.deps.Node...)})
	if err != nil {
		return err
	}
	p, err := parseSnapshot(b)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.adopt(p)
	a.reported, a.reportedFor = time.Now(), viewers
	a.mu.Unlock()
	return nil
}

// Leave takes a connection out of a room, unless it enters the room again.
func (s *Service) Leave(room id.Room, v message.RoomViewer) {
	a, _ := s.audienceOf(room, false) // it fails only where one is created
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := a.viewers[v]; m != nil && !v.EntersRoom(room) {
		a.drop(v, m)
	}
}

// Like adds likes of a user who is in a room on this node.
func (s *Service) Like(u id.User, room id.Room, count uint32) error {
	if count == 0 || count > maxLikes {
		return errCount
	}
	a, _ := s.audienceOf(room, false) // it fails only where one is created
	if a == nil {
		return errNotIn
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users[u] == 0 || !a.ready {
		return errNotIn
	}
	if wait := s.likes.Allow(roomUser{room, u}, int(count)); wait > 0 {
		return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_likes", Message: "at most 20 likes a second; these were not counted", Retry: wait}
	}
	a.newLikes += uint64(count)
	return nil
}
