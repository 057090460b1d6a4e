package chatroom

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// audience is a room's viewers on this node, and what those who enter are shown.
type audience struct {
	room        id.Room
	entered     *entered
	subscribing sync.Mutex // held while the owner is asked; taken before mu

	mu      sync.Mutex // guards all below; held while frames are put into the viewers' buffers, which keeps their order
	viewers map[message.RoomViewer]*membership
	users   map[id.User]int // connections of each user
	ready   bool            // the owner has answered
	epoch   uint64          // of the room at its owner; 0 before that has answered
	seq     uint64          // of the newest message
	state   *chatv1.Room
	recent  ring
	likes   uint64
	count   uint32                // viewers on all nodes, about
	early   []*chatv1.RoomMessage // before the owner has answered, of earlyEpoch

	earlyEpoch uint64

	newLikes    uint64 // not reported yet
	reported    time.Time
	reportedFor int // viewers
	gone        bool
}

// membership is one connection in a room.
type membership struct {
	user   id.User
	inside bool   // the entry was answered
	missed uint32 // messages, not told yet
}

// audienceOf returns the audience of a room, and creates it if there is none.
func (s *Service) audienceOf(room id.Room, create bool) (*audience, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.audiences[room]
	switch {
	case a != nil || !create:
		return a, nil
	case len(s.audiences) >= s.maxActive && !s.evictAudiences():
		return nil, errNodeFull
	}
	a = &audience{room: room, entered: &s.entered, viewers: map[message.RoomViewer]*membership{}, users: map[id.User]int{}}
	s.audiences[room] = a
	return a, nil
}

// deliver handles what the owners of rooms publish, for this node's viewers.
func (s *Service) deliver(data []byte) {
	h, body, err := parseHeader(data)
	if err != nil {
		s.deps.Logger.Error("an update of a room cannot be read", "error", err)
		return
	}
	a, _ := s.audienceOf(h.room, false) // it fails only where one is created
	if a == nil {
		return
	}
	if h.kind == wireRemove && len(body) >= 8 {
		a.mu.Lock()
		a.remove(id.User(binary.BigEndian.Uint64(body)))
		a.mu.Unlock()
		body = body[8:]
	}
	u := &chatv1.RoomUpdate{}
	if err := proto.Unmarshal(body, u); err != nil {
		s.deps.Logger.Error("an update of a room cannot be read", "room", h.room, "error", err)
		return
	}
	a.apply(h, u)
	s.deps.Flush()
}

// apply takes over an update, and passes it to the viewers.
func (a *audience) apply(h header, u *chatv1.RoomUpdate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ready { // merged with the answer of the owner
		if a.earlyEpoch != h.epoch {
			a.early, a.earlyEpoch = nil, h.epoch
		}
		if len(a.early) < maxRecent {
			a.early = append(a.early, u.Messages...)
		}
		return
	}
	if h.epoch != a.epoch { // of an earlier owner, or of one that this node has not subscribed to yet
		return
	}
	for len(u.Messages) > 0 && u.Messages[0].Seq <= a.seq {
		u.Messages = u.Messages[1:]
	}
	if h.seq > a.seq {
		a.miss(uint32(min(h.seq-a.seq, 1<<20)))
		a.seq = h.seq
	}
	urgent := u.Changed != nil || u.Left != 0
	for _, m := range u.Messages {
		a.seq = m.Seq
		a.recent.add(m)
		urgent = urgent || m.Moderator
	}
	if u.Likes != nil {
		a.likes = *u.Likes
	}
	if u.Viewers != nil {
		a.count = *u.Viewers
	}
	if u.Changed != nil && u.Changed.Revision >= a.state.Revision {
		a.state = u.Changed
	}
	a.push(u, urgent)
	if u.Left != 0 {
		a.removeAll()
	}
}

// miss records messages that no viewer got. The caller holds mu.
func (a *audience) miss(n uint32) {
	for _, m := range a.viewers {
		if m.inside {
			m.missed += n
		}
	}
}

// push passes an update to all viewers. Those that read too slowly miss it, and are told so with the next one. The caller holds mu.
func (a *audience) push(u *chatv1.RoomUpdate, urgent bool) {
	frame := message.NewRoomFrame(u)
	for v, m := range a.viewers {
		if !m.inside {
			continue
		}
		if !a.tellMissed(v, m, urgent) || !v.PushRoom(frame, urgent) {
			m.missed += uint32(len(u.Messages))
		}
	}
}

// tellMissed tells a viewer how many messages it missed, if any. The caller holds mu.
func (a *audience) tellMissed(v message.RoomViewer, m *membership, urgent bool) bool {
	if m.missed == 0 {
		return true
	}
	if !v.PushRoom(message.NewRoomFrame(&chatv1.RoomUpdate{Room: uint64(a.room), Missed: m.missed}), urgent) {
		return false
	}
	m.missed = 0
	return true
}

// remove takes a kicked user out. The caller holds mu.
func (a *audience) remove(u id.User) {
	if a.users[u] == 0 {
		return
	}
	frame := message.NewRoomFrame(&chatv1.RoomUpdate{Room: uint64(a.room), Left: chatv1.RoomLeft_ROOM_LEFT_KICKED})
	for v, m := range a.viewers {
		if m.user != u {
			continue
		}
		if m.inside {
			v.PushRoom(frame, true)
			v.RemovedFromRoom(a.room)
		}
		a.drop(v, m)
	}
}

// removeAll takes all out of a closed room. The caller holds mu.
func (a *audience) removeAll() {
	for v, m := range a.viewers {
		if m.inside {
			v.RemovedFromRoom(a.room)
		}
		a.drop(v, m)
	}
}

// drop removes a connection. The caller holds mu.
func (a *audience) drop(v message.RoomViewer, m *membership) {
	delete(a.viewers, v)
	if a.users[m.user]--; a.users[m.user] <= 0 {
		delete(a.users, m.user)
		a.entered.leave(m.user)
	}
}

// adopt takes over what the owner answered. The caller holds mu.
func (a *audience) adopt(p *snapshot) {
	changed := a.ready && (a.epoch != p.epoch || a.state.GetRevision() != p.entry.Room.GetRevision())
	var fresh []*chatv1.RoomMessage
	if a.epoch == p.epoch && a.ready {
		if p.seq <= a.seq { // updates came in before the answer
			p.entry.Recent = nil
		}
		for _, m := range p.entry.Recent {
			if m.Seq > a.seq {
				fresh = append(fresh, m)
			}
		}
		if first := a.seq + 1; p.seq > a.seq && (len(fresh) == 0 || fresh[0].Seq > first) {
			a.miss(uint32(min(p.seq-a.seq-uint64(len(fresh)), 1<<20)))
		}
	} else {
		a.recent, a.seq = ring{}, 0
		fresh = p.entry.Recent
	}
	if a.earlyEpoch != p.epoch {
		a.early = nil
	}
	for _, m := range append(fresh, a.early...) {
		if m.Seq > a.seq {
			a.recent.add(m)
			a.seq = m.Seq
		}
	}
	a.seq, a.early = max(a.seq, p.seq), nil
	a.epoch, a.state, a.likes, a.count, a.ready = p.epoch, p.entry.Room, p.entry.Likes, p.entry.Viewers, true
	for _, u := range p.kicked {
		a.remove(u)
	}
	if changed || len(fresh) > 0 {
		a.push(&chatv1.RoomUpdate{Room: uint64(a.room), Messages: fresh, Likes: proto.Uint64(a.likes), Changed: a.state}, true)
	}
}
