package messagetrace

import (
	"context"
	"fmt"
	"sync"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"golang.org/x/sync/errgroup"
)

// An id has a time. Entries of a conversation, and of an event stream, are almost in the order of their times, so an entry is searched for by halves,
// and then among those around that time.
const (
	slackMs      = 5000   // by which neighbours may be out of order
	maxScanned   = 20_000 // entries of one timeline around the time
	scanPage     = 200
	searchAtOnce = 8 // event streams
)

var errUnknown = errs.New(errs.NotFound, "no_message", "no node remembers this message, and no event stream names it: it does not exist, or it is older than they go back. Name its conversation as well")

// find returns where a message is.
func (s *Service) find(ctx context.Context, m id.Message, c id.Conversation) (id.Conversation, uint64, error) {
	if c != 0 {
		return s.findIn(ctx, m, c)
	}
	conversation, seq := uint64(0), uint64(0)
	s.askAll(ctx, appendFind(nil, m), func(node string, answer []byte) {
		if answer == nil {
			return
		}
		switch found, at, err := readFound(answer); {
		case err != nil:
			s.deps.Logger.Warn("a node's answer about a message cannot be read", "node", node, "error", err)
		case found != 0:
			conversation, seq = found, at
		}
	})
	if conversation != 0 {
		return id.Conversation(conversation), seq, nil
	}
	return s.findInEvents(ctx, m)
}

// findIn finds a message in a conversation.
func (s *Service) findIn(ctx context.Context, m id.Message, c id.Conversation) (id.Conversation, uint64, error) {
	if !isOf(m, uint64(c)) {
		return 0, 0, errs.New(errs.NotFound, "no_message", fmt.Sprintf("this id is not of a message of conversation %d", c))
	}
	seq := uint64(0)
	key := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
	err := s.around(ctx, key, m.Ms(), storedMs, func(e *timeline.Entry) (bool, error) {
		var stored message.Entry
		if stored.Decode(e.Payload) == nil && stored.ID == m {
			seq = e.Seq
		}
		return seq == 0, nil
	})
	if err == nil && seq == 0 {
		err = errs.New(errs.NotFound, "no_message", fmt.Sprintf("conversation %d has no message with this id: it does not exist, or it has expired", c))
	}
	return c, seq, err
}

// findInEvents finds a message by the event streams.
func (s *Service) findInEvents(ctx context.Context, m id.Message) (c id.Conversation, seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	var mu sync.Mutex // guards c and seq
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(searchAtOnce)
	for p := range uint16(timeline.Partitions) {
		group.Go(func() error {
			return s.around(ctx, timeline.EventStream(p), m.Ms(), s.eventMs, func(e *timeline.Entry) (bool, error) {
				in, at, _, err := message.DecodeInbox(e.Payload)
				if err != nil || at == 0 || !isOf(m, uint64(in)) {
					return true, nil
				}
				stored, ok, err := s.entry(ctx, in, at)
				if err != nil || !ok || stored.ID != m {
					return true, err
				}
				mu.Lock()
				defer mu.Unlock()
				c, seq = in, at
				return false, nil
			})
		})
	}
	if err = group.Wait(); err == nil && seq == 0 {
		err = errUnknown
	}
	return c, seq, err
}

// entry reads an entry of a conversation. It reports whether it is there, and can be read.
func (s *Service) entry(ctx context.Context, c id.Conversation, seq uint64) (stored message.Entry, ok bool, err error) {
	key := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
	list, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: key, From: seq, To: seq}})
	if err != nil || len(list) == 0 {
		return stored, false, err
	}
	return stored, stored.Decode(list[0].Payload) == nil, nil
}

func storedMs(_ context.Context, e *timeline.Entry) (int64, error) {
	return message.StoredMs(e.Payload), nil
}

// eventMs is the time of the entry that an event stream names; 0 if it has expired.
func (s *Service) eventMs(ctx context.Context, e *timeline.Entry) (int64, error) {
	c, seq, _, err := message.DecodeInbox(e.Payload)
	if err != nil || seq == 0 {
		return 0, nil //nolint:nilerr // it cannot be read: it has no time
	}
	stored, ok, err := s.entry(ctx, c, seq)
	if err != nil || !ok {
		return 0, err
	}
	return stored.ID.Ms(), nil
}

// around calls visit with the entries of a timeline whose times are near one, in order, until it returns false. msOf returns the time of an entry, 0 if
// it has none.
func (s *Service) around(ctx context.Context, key timeline.Key, ms int64, msOf func(context.Context, *timeline.Entry) (int64, error), visit func(*timeline.Entry) (bool, error)) error {
	tail, err := s.deps.Log.Tail(ctx, key)
	if err != nil || tail.Seq == 0 {
		return err
	}
	low, high := tail.FirstSeq, tail.Seq+1 // the first entry that is not earlier is in between
	for low < high {
		middle := low + (high-low)/2
		at, last, err := s.timeAfter(ctx, key, middle, msOf)
		switch {
		case err != nil:
			return err
		case last != 0 && at < ms-slackMs: // the oldest may have expired, and have no time
			low = max(last, middle) + 1
		default:
			high = middle
		}
	}
	after := max(low, 1) - 1
	for read := 0; read < maxScanned; {
		list, err := s.deps.Log.Read(ctx, key, after, scanPage)
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if more, err := visit(&list[i]); err != nil || !more {
				return err
			}
		}
		after, read = list[len(list)-1].Seq, read+len(list)
		at, err := msOf(ctx, &list[len(list)-1])
		if err != nil || at > ms+slackMs {
			return err
		}
	}
	return nil
}

// timeAfter returns the time of the first entry from a seq on, of the next few, that has one, and its seq. If none of them has, it returns the seq of the
// last one, which is 0 at the end.
func (s *Service) timeAfter(ctx context.Context, key timeline.Key, from uint64, msOf func(context.Context, *timeline.Entry) (int64, error)) (ms int64, seq uint64, err error) {
	list, err := s.deps.Log.Read(ctx, key, max(from, 1)-1, 16)
	for i := range list {
		if ms, err = msOf(ctx, &list[i]); err != nil || ms != 0 {
			return ms, list[i].Seq, err
		}
		seq = list[i].Seq
	}
	return 0, seq, err
}
