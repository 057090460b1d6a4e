package verify

import (
	"fmt"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// inboxes checks every event stream, every user's stream, and that it contains what was stored while the user was a member.
func (c *check) inboxes() error {
	wanted := map[uint64][]uint64{} // by user
	for n, v := range c.conversations {
		for u := range v.members {
			wanted[u] = append(wanted[u], n)
		}
	}
	err := c.eachKey(timeline.Inbox, "streams", func(k timeline.Key) error {
		defer delete(wanted, k.ID)
		return c.damaged(fmt.Sprintf("stream of user %d", k.ID), c.inbox(k, wanted[k.ID]))
	})
	if err != nil {
		return err
	}
	for u, list := range wanted {
		c.missing(u, list, nil)
	}
	return nil
}

func (c *check) inbox(k timeline.Key, conversations []uint64) error {
	where := fmt.Sprintf("stream of user %d", k.ID)
	c.report.Inboxes++
	tail, err := c.log.Tail(c.ctx, k)
	if err != nil {
		return err
	}
	seen := map[uint64]map[uint64]struct{}{}
	highest := map[uint64]uint64{}
	at := uint64(0)
	for {
		entries, err := c.log.Read(c.ctx, k, at, page)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			c.report.InboxEntries++
			if at != 0 && e.Prev != at {
				c.report.violate("inbox", where, "event %d claims to follow %d, but follows %d", e.Seq, e.Prev, at)
			}
			at = e.Seq
			conversation, seq, event, err := message.DecodeInbox(e.Payload)
			switch {
			case err != nil:
				c.report.violate("inbox", where, "event %d cannot be read: %v", e.Seq, err)
			case seq == 0:
				if proto.Unmarshal(event, &chatv1.Event{}) != nil {
					c.report.violate("inbox", where, "event %d cannot be decoded", e.Seq)
				}
			default:
				c.reference(where, k, uint64(conversation), seq)
				if seen[uint64(conversation)] == nil {
					seen[uint64(conversation)] = map[uint64]struct{}{}
				}
				if _, again := seen[uint64(conversation)][seq]; !again && seq < highest[uint64(conversation)] {
					c.report.violate("inbox", where, "entry %d of conversation %v comes after %d", seq, conversation, highest[uint64(conversation)])
				}
				seen[uint64(conversation)][seq] = struct{}{}
				highest[uint64(conversation)] = max(highest[uint64(conversation)], seq)
			}
		}
		if len(entries) < page {
			break
		}
	}
	if trimmed := at == 0 && tail.FirstSeq > tail.Seq; tail.Seq != at && tail.Seq != 0 && !trimmed {
		c.report.violate("inbox", where, "the tail is at %d, but the last event is %d", tail.Seq, at)
	}
	if tail.FirstSeq == 0 && !k.IsEventStream() { // the beginning of a trimmed stream is missing by intent
		c.missing(k.ID, conversations, seen)
	}
	return nil
}

// reference checks that an event refers to an entry that its user may read. An event stream names all entries.
func (c *check) reference(where string, stream timeline.Key, conversation, seq uint64) {
	v := c.conversations[conversation]
	if v != nil && v.unreadable {
		return
	}
	if v == nil || seq > v.tail {
		c.report.violate("inbox", where, "entry %d of conversation %d does not exist", seq, conversation)
		return
	}
	if !stream.IsEventStream() && !v.member(stream.ID, seq) {
		c.report.violate("inbox", where, "entry %d of conversation %d was stored while the user was not a member", seq, conversation)
	}
}

// missing reports entries that a member's stream should contain, but does not.
func (c *check) missing(u uint64, conversations []uint64, seen map[uint64]map[uint64]struct{}) {
	for _, n := range conversations {
		v := c.conversations[n]
		if v.unreadable {
			continue
		}
		for _, i := range v.members[u] {
			to := i.to
			if to == 0 {
				to = v.tail
			}
			for seq := i.from; seq <= to; seq++ {
				_, inNoStream := v.inNoStream[seq]
				own := seq == i.from || seq == i.to // the entries by which the user joined and left are in the stream, even of large groups
				// Expired entries may be missing.
				if _, ok := seen[n][seq]; ok || seq < v.head || inNoStream || v.isLarge(seq) && !own || c.isUndelivered(n, seq) {
					continue
				}
				c.report.violate("delivery", fmt.Sprintf("stream of user %d", u), "entry %d of conversation %d is missing", seq, n)
			}
		}
	}
}
