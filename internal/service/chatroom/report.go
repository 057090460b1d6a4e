package chatroom

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	maxReported      = 1000            // rooms of a report
	reportTimeout    = 3 * time.Second // of a round of reports, with what is subscribed again
	subscribesAtOnce = 16
)

// A reported room is answered by one of these.
const (
	reportOK        byte = 0
	reportUnknown   byte = 1 // the owner does not know the room or the node: subscribe, and report the likes again
	reportDifferent byte = 2 // likes were counted; the node has another state of the room: subscribe
)

// reported is what a node says of a room.
type reported struct {
	room     id.Room
	viewers  uint64
	likes    uint64
	epoch    uint64
	revision uint64
}

func (r reported) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(r.room))
	for _, n := range []uint64{r.viewers, r.likes, r.epoch, r.revision} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func parseReported(b []byte) (r reported, rest []byte, err error) {
	if len(b) < 8 {
		return r, nil, errRequest
	}
	r.room, b = id.Room(binary.BigEndian.Uint64(b)), b[8:]
	for _, field := range []*uint64{&r.viewers, &r.likes, &r.epoch, &r.revision} {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return r, nil, errRequest
		}
		*field, b = v, b[n:]
	}
	return r, b, nil
}

// report tells the owners how many viewers their rooms have here, and new likes. It is how an owner that died, or lost this node, is found out.
func (s *Service) report(ctx context.Context) {
	s.mu.Lock()
	all := make([]*audience, 0, len(s.audiences))
	for room, a := range s.audiences {
		if a.forget() {
			delete(s.audiences, room)
			continue
		}
		all = append(all, a)
	}
	s.mu.Unlock()
	byOwner := map[string][]*audience{}
	for _, a := range all {
		if a.isDue() {
			node := s.deps.Owner(s.deps.Partition(uint64(a.room)))
			byOwner[node] = append(byOwner[node], a)
		}
	}
	delete(byOwner, "")                                      // they are reported when there is one
	round, cancel := context.WithTimeout(ctx, reportTimeout) // a slow owner must not keep this node from reporting to the others
	defer cancel()
	var owners sync.WaitGroup
	unknown := make([][]*audience, 0, len(byOwner))
	for node, list := range byOwner {
		unknown = append(unknown, nil)
		again := &unknown[len(unknown)-1]
		owners.Go(func() {
			for len(list) > 0 && round.Err() == nil {
				n := min(len(list), maxReported)
				*again = append(*again, s.reportTo(round, node, list[:n])...)
				list = list[n:]
			}
		})
	}
	owners.Wait()
	s.resubscribeAll(round, slices.Concat(unknown...))
	s.deps.Flush()
}

// resubscribeAll asks the owners again, some at once. Those that there is no time for come with the next report.
func (s *Service) resubscribeAll(ctx context.Context, list []*audience) {
	var group sync.WaitGroup
	free := make(chan struct{}, subscribesAtOnce)
	for _, a := range list {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			group.Wait()
			return
		}
		group.Go(func() {
			defer func() { <-free }()
			s.resubscribe(ctx, a)
		})
	}
	group.Wait()
}

// forget reports whether nobody is in the room any more, and the owner knows it. The caller holds Service.mu.
func (a *audience) forget() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = len(a.viewers) == 0 && a.reportedFor == 0 && a.newLikes == 0
	return a.gone
}

// isDue reports whether the owner is to be told something. It also tells viewers what they missed.
func (a *audience) isDue() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for v, m := range a.viewers {
		if m.inside {
			a.tellMissed(v, m, false)
		}
	}
	return a.ready && (a.newLikes > 0 || len(a.users) != a.reportedFor || time.Since(a.reported) >= reportInterval)
}

// reportTo reports to one owner. It returns the audiences that must subscribe again.
func (s *Service) reportTo(ctx context.Context, node string, list []*audience) (again []*audience) {
	body := append(binary.AppendUvarint(nil, uint64(len(s.deps.Node))), s.deps.Node...)
	sent := make([]reported, len(list))
	for i, a := range list {
		a.mu.Lock()
		sent[i] = reported{a.room, uint64(len(a.users)), a.newLikes, a.epoch, a.state.GetRevision()}
		a.newLikes = 0 // where the answer is lost, they may have been counted
		a.mu.Unlock()
		body = sent[i].append(body)
	}
	answer, err := s.askNode(ctx, node, request{kind: askReport, body: body})
	if err == nil && len(answer) != len(list) {
		err = errRequest
	}
	if err != nil {
		s.deps.Logger.Debug("a report about rooms failed", "node", node, "error", err)
	}
	for i, a := range list {
		a.mu.Lock()
		switch {
		case errors.Is(err, bus.ErrNoResponder) || err == nil && answer[i] == reportUnknown:
			a.newLikes += sent[i].likes
		case err == nil:
			a.reported, a.reportedFor = time.Now(), int(sent[i].viewers)
		}
		if err == nil && sent[i].viewers == 0 {
			a.reportedFor, a.newLikes = 0, 0
		}
		a.mu.Unlock()
		if err == nil && answer[i] != reportOK && sent[i].viewers > 0 {
			again = append(again, a)
		}
	}
	return again
}

// resubscribe asks the owner again. If the room is closed, its viewers are told.
func (s *Service) resubscribe(ctx context.Context, a *audience) {
	err := s.subscribe(ctx, a, true)
	if err == nil {
		return
	}
	s.deps.Logger.Debug("a node could not subscribe to a room", "room", a.room, "error", err)
	if errs.Of(err).Reason != errClosed.Reason {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	closed := proto.Clone(a.state).(*chatv1.Room)
	closed.Closed = true
	a.state = closed
	a.push(&chatv1.RoomUpdate{Room: uint64(a.room), Changed: closed, Left: chatv1.RoomLeft_ROOM_LEFT_CLOSED}, true)
	a.removeAll()
}

// answerReport takes a node's report, as the owner.
func (s *Service) answerReport(body []byte) ([]byte, error) {
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return nil, errRequest
	}
	node, list := string(body[n:n+int(size)]), body[n+int(size):]
	var answer []byte
	for len(list) > 0 {
		r, rest, err := parseReported(list)
		if err != nil {
			return nil, err
		}
		list = rest
		s.host.mu.Lock()
		h := s.host.rooms[r.room]
		s.host.mu.Unlock()
		result := reportUnknown
		if h != nil {
			result = h.reported(node, r)
		}
		answer = append(answer, result)
	}
	return answer, nil
}

// reported records a node's viewers and likes.
func (h *hosted) reported(node string, r reported) byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.nodes[node]
	if h.gone || h.roomState == nil || n == nil || !h.grant.Held() || r.epoch != h.epoch {
		return reportUnknown
	}
	h.likes += r.likes
	n.viewers, n.reported, h.used = int(r.viewers), time.Now(), time.Now()
	if r.viewers == 0 {
		delete(h.nodes, node)
		return reportOK
	}
	if r.revision != h.Revision {
		return reportDifferent
	}
	return reportOK
}
