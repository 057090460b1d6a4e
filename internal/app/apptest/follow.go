package apptest

import (
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Request numbers above those of tests: the stream's own pings have one, and its syncs are numbered from there.
const (
	ownPing  = 1 << 62
	ownSyncs = ownPing + 1
)

// heartbeat is how often a socket pings, also while the test does not read.
const heartbeat = 5 * time.Second

// keepAlive pings until the connection or the test ends.
func (s *Socket) keepAlive() {
	for backoff.Sleep(s.t.Context(), heartbeat) == nil {
		if s.write(&gatewayv1.ClientFrame{Request: ownPing, Ping: &gatewayv1.Ping{}}) != nil {
			return
		}
	}
}

// stream follows a user's stream over one connection as docs/protocol.md tells clients to. A hint may come in place of any event, for
// example while partitions move or because an event took longer than a second; a test that waits for the event must sync then.
type stream struct {
	who      *Person
	at       *chatv1.Position
	large    map[uint64]uint64 // the last seq that was returned of each large group
	requests uint64            // the number of the last sync
	syncing  bool
}

func newStream(who *Person, tail *chatv1.Position) *stream {
	if tail == nil {
		tail = &chatv1.Position{}
	}
	return &stream{who: who, at: tail, large: map[uint64]uint64{}, requests: ownSyncs}
}

// follow replaces the events of a frame by those that come next in the stream, and removes hints and the answers to its own requests. It
// reports whether anything of the frame is left.
func (s *Socket) follow(f *gatewayv1.ServerFrame) (more bool, err error) {
	k, pushed := s.stream, f.Events
	f.Events, f.Accepted = nil, nil
	s.repeatRefused(f)
	for _, e := range pushed {
		if err := s.pushed(f, e); err != nil {
			return false, err
		}
	}
	if h := f.Hint; h != nil {
		s.Hints++
		f.Hint = nil
		for _, l := range h.Conversations {
			if err := k.readLarge(s, f, l.Conversation, l.LastSeq); err != nil {
				return false, err
			}
		}
		if err := s.sync(); err != nil {
			return false, err
		}
	}
	if k.syncing && f.Request == k.requests {
		if err := s.synced(f); err != nil {
			return false, err
		}
	}
	if f.Pong != nil && f.Request == ownPing {
		f.Pong, f.Request = nil, 0
	}
	return proto.Size(f) > 0, nil
}

// pushed adds a pushed event to the frame, or starts a sync if others are missing before it.
func (s *Socket) pushed(f *gatewayv1.ServerFrame, e *chatv1.Event) error {
	k := s.stream
	switch {
	case e.Seq == 0:
		m := e.GetMessage()
		if last, known := k.large[m.GetConversation()]; known && m.GetSeq() > last+1 {
			return k.readLarge(s, f, m.GetConversation(), m.GetSeq())
		} else if !known || m.GetSeq() > last {
			k.large[m.GetConversation()] = m.GetSeq()
			f.Events = append(f.Events, e)
		}
	case k.syncing || e.Seq <= k.at.Seq: // the answer without more contains it, or it was returned
	case e.Prev == k.at.Seq:
		k.at = &chatv1.Position{Epoch: e.Epoch, Seq: e.Seq}
		f.Events = append(f.Events, e)
	default:
		return s.sync()
	}
	return nil
}

// sync requests the page after the position, unless a request is under way.
func (s *Socket) sync() error {
	if s.stream.syncing {
		return nil
	}
	s.stream.syncing = true
	return s.write(s.stream.request())
}

func (k *stream) request() *gatewayv1.ClientFrame {
	k.requests++
	return &gatewayv1.ClientFrame{Request: k.requests, Sync: &chatv1.SyncRequest{After: k.at, Limit: 2000}}
}

// synced adds the events of a page to the frame with the page. A request that is refused for a time is repeated after it, while frames are
// still read.
func (s *Socket) synced(f *gatewayv1.ServerFrame) error {
	k, page := s.stream, f.Sync
	if wait := time.Duration(f.Error.GetRetryMs()) * time.Millisecond; wait > 0 {
		f.Request, f.Error = 0, nil
		again := k.request()
		go func() { // ends with the wait
			if backoff.Sleep(s.t.Context(), wait) == nil {
				_ = s.write(again) // the reader gets the error of a broken connection as well
			}
		}()
		return nil
	}
	if page == nil || page.Reset_ {
		return fmt.Errorf("sync from %v: got %v", k.at, f)
	}
	f.Request, f.Sync, k.syncing = 0, nil, false
	for _, e := range page.Events {
		if e.Seq > k.at.Seq {
			f.Events = append(f.Events, e)
		}
	}
	if page.Next.GetSeq() > k.at.Seq {
		k.at = page.Next
	}
	if page.More {
		return s.sync()
	}
	for _, l := range page.Large {
		if err := k.readLarge(s, f, l.Conversation, l.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// readLarge adds the messages of a large group to the frame that were not returned yet, up to a seq.
func (k *stream) readLarge(s *Socket, f *gatewayv1.ServerFrame, group, upTo uint64) error {
	for k.large[group] < upTo {
		h := k.who.Server
		page, err := h.Chat().History(s.t.Context(), As(k.who, &chatv1.HistoryRequest{Conversation: group, After: max(k.large[group], 1), Limit: 200}))
		if err != nil {
			return err
		}
		if len(page.Msg.Messages) == 0 {
			return fmt.Errorf("history of group %d after %d: got nothing, want messages up to %d", group, k.large[group], upTo)
		}
		for _, m := range page.Msg.Messages {
			f.Events = append(f.Events, &chatv1.Event{Body: &chatv1.Event_Message{Message: m}})
			k.large[group] = m.Seq
		}
	}
	return nil
}
