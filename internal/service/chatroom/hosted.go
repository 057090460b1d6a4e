package chatroom

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// host has the rooms that this node owns. Locks are taken in this order: a room's changing, its mu, host's mu.
type host struct {
	mu      sync.Mutex // guards all below
	grants  map[int]cluster.Grant
	rooms   map[id.Room]*hosted
	dirty   map[*hosted]bool // rooms with pending messages
	active  map[id.User]int  // loaded rooms of each creator
	evicted time.Time        // when idle rooms were last looked for
}

func (h *host) init() {
	h.grants, h.rooms, h.dirty, h.active = map[int]cluster.Grant{}, map[id.Room]*hosted{}, map[*hosted]bool{}, map[id.User]int{}
}

// remove forgets a room. The caller holds mu.
func (h *host) remove(room id.Room, r *hosted) {
	if h.rooms[room] != r {
		return
	}
	delete(h.rooms, room)
	delete(h.dirty, r)
	if r.creator == 0 {
		return
	}
	if h.active[r.creator]--; h.active[r.creator] == 0 {
		delete(h.active, r.creator)
	}
}

func (h *host) setDirty(r *hosted) {
	h.mu.Lock()
	h.dirty[r] = true
	h.mu.Unlock()
}

// hosted is a room that this node owns.
type hosted struct {
	grant    cluster.Grant
	creator  id.User    // 0 until it is counted in host.active; guarded by host's mu
	changing sync.Mutex // held while the room's rows are read and changed; guards kicked
	kicked   id.User    // by the change under way

	mu         sync.Mutex // guards all below; held while updates are published, which keeps their order
	*roomState            // nil until it is loaded
	gone       bool       // no longer in host: it must be looked up again
	epoch      uint64     // of this loading of the room, in which seqs count up from 1; no other has it
	seq        uint64     // of the newest message
	sentSeq    uint64     // of the newest message that was published
	recent     ring
	pending    []*chatv1.RoomMessage // not published yet; at most what the limits allow in flushInterval
	flushed    time.Time             // when messages were last published
	nodes      map[string]*viewerNode
	likes      uint64
	sentLikes  uint64
	sentCount  uint32 // viewers, as last published
	countSent  time.Time
	used       time.Time // last message, or change of the nodes
}

// viewerNode is a node with viewers.
type viewerNode struct {
	viewers  int
	reported time.Time
}

func (h *hosted) room() id.Room { return id.Room(h.Id) }

// Assigned makes this node serve the rooms of a partition. It does not block.
func (s *Service) Assigned(g cluster.Grant) {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.grants[g.Part] = g
}

// Revoked drops the rooms of a partition. It does not block: nobody is told, because the next owner asks the nodes to subscribe again.
func (s *Service) Revoked(part int) {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	delete(s.host.grants, part)
	for room, h := range s.host.rooms {
		if h.grant.Part == part {
			s.host.remove(room, h)
		}
	}
}

// lookup returns a room that this node owns, which may not be loaded.
func (s *Service) lookup(room id.Room) (*hosted, error) {
	part := s.deps.Partition(uint64(room))
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	g, ok := s.host.grants[part]
	h := s.host.rooms[room]
	switch {
	case !ok || !g.Held():
		return nil, errMoving
	case h != nil && h.grant.Term == g.Term:
		return h, nil
	case h != nil: // of an earlier term
		s.host.remove(room, h)
	case len(s.host.rooms) >= s.maxActive:
		return nil, errNodeFull
	}
	h = &hosted{grant: g, nodes: map[string]*viewerNode{}, used: time.Now()}
	s.host.rooms[room] = h
	return h, nil
}

// hostedRoom returns a room that this node owns, and loads it if necessary.
func (s *Service) hostedRoom(ctx context.Context, room id.Room) (*hosted, error) {
	h, err := s.lookup(room)
	if errors.Is(err, errNodeFull) && s.evictIdle(0) {
		h, err = s.lookup(room)
	}
	if err != nil {
		return nil, err
	}
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	loaded, gone := h.roomState != nil, h.gone
	h.mu.Unlock()
	switch {
	case gone:
		return nil, errGone
	case loaded:
		return h, nil
	}
	if err := h.load(ctx, s, room); err != nil {
		s.drop(room, h)
		return nil, err
	}
	return h, nil
}

// load reads the room's rows, after no earlier owner can change them any more. The caller holds changing.
func (h *hosted) load(ctx context.Context, s *Service, room id.Room) error {
	epoch, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return err
	}
	if err := claim(ctx, s.deps.DB, room, h.grant); err != nil {
		return err
	}
	st, err := readState(ctx, s.deps.DB.Read(), room, s.nowMs())
	if err != nil {
		return err
	}
	if err := s.countActive(h, room, id.User(st.Owner)); err != nil {
		return err
	}
	h.mu.Lock()
	h.roomState, h.epoch = st, epoch
	h.mu.Unlock()
	return nil
}

// drop forgets a room, which is loaded again when it is used.
func (s *Service) drop(room id.Room, h *hosted) {
	h.mu.Lock()
	h.gone = true
	h.mu.Unlock()
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.remove(room, h)
}

// flush publishes pending messages. The caller holds mu.
func (h *hosted) flush(s *Service) {
	if len(h.pending) == 0 {
		return
	}
	u := &chatv1.RoomUpdate{Room: h.Id, Messages: h.pending}
	h.pending, h.flushed = nil, time.Now()
	h.publish(s, u)
	h.sentSeq = h.seq
}

// publish sends an update to all nodes with viewers. The caller holds mu, and changing if the room has changed.
func (h *hosted) publish(s *Service, u *chatv1.RoomUpdate) {
	body, err := proto.Marshal(u)
	if err != nil {
		s.deps.Logger.Error("an update of a room cannot be encoded", "room", h.Id, "error", err)
		return
	}
	if u.Changed != nil && h.kicked != 0 {
		h.sendToNodes(s, appendRemove(nil, header{wireRemove, h.room(), h.epoch, h.sentSeq}, h.kicked, body))
		return
	}
	h.sendToNodes(s, appendUpdate(nil, header{wireUpdate, h.room(), h.epoch, h.sentSeq}, body))
}

// sendToNodes sends one message to each node with viewers. The caller holds mu.
func (h *hosted) sendToNodes(s *Service, data []byte) {
	if !h.grant.Held() {
		return
	}
	for node := range h.nodes {
		if err := s.deps.Bus.Publish(subject(node), data); err != nil {
			s.deps.Logger.Debug("an update of a room was not sent", "room", h.Id, "node", node, "error", err)
		}
	}
}

// flushRooms publishes the messages that wait for their interval.
func (s *Service) flushRooms() {
	s.host.mu.Lock()
	dirty := make([]*hosted, 0, len(s.host.dirty))
	for h := range s.host.dirty {
		dirty = append(dirty, h)
	}
	clear(s.host.dirty)
	s.host.mu.Unlock()
	for _, h := range dirty {
		h.mu.Lock()
		h.flush(s)
		h.mu.Unlock()
	}
}

// tickHosted publishes likes and viewers, and forgets nodes that do not report and rooms that nobody uses.
func (s *Service) tickHosted() {
	s.host.mu.Lock()
	all := make(map[id.Room]*hosted, len(s.host.rooms))
	for room, h := range s.host.rooms {
		all[room] = h
	}
	s.host.mu.Unlock()
	for room, h := range all {
		if h.tick(s) {
			s.drop(room, h)
		}
	}
}

// tick reports whether nobody has used the room for so long that it may be forgotten.
func (h *hosted) tick(s *Service) (unused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.roomState == nil {
		return false
	}
	now := time.Now()
	count := uint32(0)
	for node, n := range h.nodes {
		if now.Sub(n.reported) > nodeTimeout {
			delete(h.nodes, node)
			continue
		}
		count += uint32(n.viewers)
	}
	u, news := &chatv1.RoomUpdate{Room: h.Id}, false
	if h.likes != h.sentLikes {
		h.sentLikes, news = h.likes, true
		u.Likes = proto.Uint64(h.likes)
	}
	if count != h.sentCount && now.Sub(h.countSent) >= viewersInterval {
		h.sentCount, h.countSent, news = count, now, true
		u.Viewers = proto.Uint32(count)
	}
	if news {
		h.publish(s, u)
	}
	unused = len(h.nodes) == 0 && now.Sub(h.used) > idleTimeout
	h.gone = h.gone || unused // it stays gone if it was dropped meanwhile: another may be loaded
	return unused
}

// subscribe adds a node with viewers, and returns what its viewers are shown.
func (h *hosted) subscribe(s *Service, node string, viewers int) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.gone:
		return nil, errGone
	case h.Closed:
		return nil, errClosed
	}
	h.flush(s) // to the others, so that this node gets no message twice
	h.nodes[node] = &viewerNode{viewers, time.Now()}
	h.used = time.Now()
	count := 0
	for _, n := range h.nodes {
		count += n.viewers
	}
	snap := &snapshot{epoch: h.epoch, seq: h.seq, entry: &chatv1.RoomEntry{Room: h.Room, Recent: h.recent.list, Likes: h.likes, Viewers: uint32(count)}}
	now := s.nowMs()
	for _, u := range sortedUsers(h.restrictions) {
		if h.restrictions[u].at(now).kickedMs > 0 {
			snap.kicked = append(snap.kicked, u)
		}
	}
	return snap.append(nil)
}

// respond answers a request of a node, this one included.
func (s *Service) respond(data []byte) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	answer, err := s.answer(ctx, data)
	if err != nil {
		if errs.Of(err).Kind == errs.Internal {
			s.deps.Logger.Error("a request to a room failed", "error", err)
		}
		return message.AppendError([]byte{wireError}, err)
	}
	return append([]byte{wireAnswer}, answer...)
}

var errRequest = errors.New("malformed request to a room")

func (s *Service) answer(ctx context.Context, data []byte) ([]byte, error) {
	q, err := parseRequest(data)
	if err != nil {
		return nil, err
	}
	if q.kind == askReport {
		return s.answerReport(q.body)
	}
	for {
		answer, err := s.answerHosted(ctx, q)
		if !errors.Is(err, errGone) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// errGone is returned where a room was forgotten since it was looked up.
var errGone = errors.New("the room is no longer loaded")

func (s *Service) answerHosted(ctx context.Context, q request) ([]byte, error) {
	h, err := s.hostedRoom(ctx, q.room)
	if err != nil {
		return nil, err
	}
	switch q.kind {
	case askSubscribe:
		viewers, n := binary.Uvarint(q.body)
		if n <= 0 {
			return nil, errRequest
		}
		return h.subscribe(s, string(q.body[n:]), int(viewers))
	case askSend:
		answer, err := execute(q.body, func(r *chatv1.SendRoomMessageRequest) (proto.Message, error) { return h.send(ctx, s, q.by, r) })
		if err != nil {
			return nil, err
		}
		return proto.Marshal(answer)
	}
	return h.change(ctx, s, q)
}

// execute decodes a request, and does what it asks for.
func execute[T any, P interface {
	*T
	proto.Message
}](body []byte, do func(P) (proto.Message, error)) (proto.Message, error) {
	r := P(new(T))
	if err := proto.Unmarshal(body, r); err != nil {
		return nil, err
	}
	return do(r)
}
