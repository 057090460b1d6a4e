package verify

import (
	"crypto/sha256"
	"fmt"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// interval of seqs in which a user was a member; to 0 is open.
type interval struct{ from, to uint64 }

// conversation as its log says.
type conversation struct {
	id     uint64
	tail   uint64
	head   uint64 // below it, what counts has expired
	access uint64
	// of each user, rising.
	members map[uint64][]interval
	// large phases: from the entry after LARGE to SMALL; to 0 is open.
	large []interval
	// untold entries, of access: in no stream.
	untold map[uint64]struct{}
}

func (v *conversation) where() string { return fmt.Sprintf("conversation %d", v.id) }

func (v *conversation) isLarge(seq uint64) bool {
	for _, l := range v.large {
		if seq > l.from && (l.to == 0 || seq <= l.to) {
			return true
		}
	}
	return false
}

const page = 2000

func (c *check) readConversations() error {
	above := uint64(0)
	for {
		keys, err := c.log.Keys(c.ctx, timeline.Conversation, above, 1000)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return c.later.all(c)
		}
		for _, k := range keys {
			if err := c.conversation(k); err != nil {
				return err
			}
			above = k.ID
		}
	}
}

func (c *check) conversation(k timeline.Key) error {
	v := &conversation{id: k.ID, members: map[uint64][]interval{}, untold: map[uint64]struct{}{}}
	c.conversations[k.ID] = v
	c.report.Conversations++
	tail, err := c.log.Tail(c.ctx, k)
	if err != nil {
		return err
	}
	v.head = tail.Head
	if v.head > tail.Seq+1 {
		c.report.violate("sequence", v.where(), "entries below %d have expired, and the tail is %d", v.head, tail.Seq)
	}
	var counted uint64
	ids := map[id.Message]struct{}{}
	tokens := map[[sha256.Size]byte]uint64{}
	authors := map[uint64]timeline.Place{}
	highest := map[timeline.Device]uint64{}
	for {
		entries, err := c.log.Read(c.ctx, k, v.tail, page)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			c.report.Entries++
			// What expired is missing: each of it counted, and was below the head.
			counted += c.gone(v, e.Seq)
			if e.Seq != v.tail+1 {
				c.report.violate("sequence", v.where(), "seq %d is followed by %d", v.tail, e.Seq)
			}
			v.tail = e.Seq
			var m message.Entry
			if err := m.Decode(e.Payload); err != nil {
				c.report.violate("sequence", v.where(), "entry %d cannot be read: %v", e.Seq, err)
				continue
			}
			if !m.Control {
				counted++
				if e.Seq < v.head {
					c.report.violate("sequence", v.where(), "message %d is below the head, %d, and has not expired", e.Seq, v.head)
				}
			}
			if e.Counted != counted {
				c.report.violate("counts", v.where(), "entry %d has the running number %d instead of %d", e.Seq, e.Counted, counted)
				counted = e.Counted
			}
			if _, ok := ids[m.ID]; ok {
				c.report.violate("duplicate", v.where(), "entry %d repeats the id %v", e.Seq, m.ID)
			}
			ids[m.ID] = struct{}{}
			if m.Control {
				c.control(v, e.Seq, &m)
				continue
			}
			authors[uint64(m.Sender)] = timeline.Place{Seq: e.Seq, Counted: e.Counted}
			if m.ClientSeq != 0 {
				s := timeline.Device{Sender: uint64(m.Sender), Device: uint64(m.Device)}
				highest[s] = max(highest[s], m.ClientSeq)
				sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", m.Sender, m.Device, m.ClientSeq))
				if was, ok := tokens[sum]; ok {
					c.report.violate("duplicate", v.where(), "entries %d and %d are one message of user %v", was, e.Seq, m.Sender)
				}
				tokens[sum] = e.Seq
				t := timeline.Token{Sender: uint64(m.Sender), Device: uint64(m.Device), Counter: m.ClientSeq}
				if err := c.later.token(c, retry{v, e.Seq, timeline.Stored{Key: k, Token: t}}); err != nil {
					return err
				}
			}
			if !v.member(uint64(m.Sender), e.Seq) {
				c.report.violate("access", v.where(), "entry %d is of user %v, who was no member then", e.Seq, m.Sender)
			}
		}
		if len(entries) < page {
			break
		}
	}
	counted += c.gone(v, tail.Seq+1)
	if tail.Seq != v.tail || tail.Counted != counted || tail.Access != v.access {
		c.report.violate("sequence", v.where(), "the tail says seq %d, counted %d, access %d; the entries say %d, %d, %d", tail.Seq, tail.Counted, tail.Access, v.tail, counted, v.access)
	}
	for u, l := range authors {
		if err := c.later.author(c, author{v, timeline.Writer{Key: k, Author: u}, l}); err != nil {
			return err
		}
	}
	for d, n := range highest {
		if err := c.later.device(c, device{v, d, n}); err != nil {
			return err
		}
	}
	return nil
}

// gone passes over what has expired between the last entry and the one at next, and says how many those are.
func (c *check) gone(v *conversation, next uint64) uint64 {
	end := min(next, v.head)
	if end <= v.tail+1 {
		return 0
	}
	n := end - v.tail - 1
	v.tail += n
	c.report.Expired += n
	return n
}

// control replays a change of the members.
func (c *check) control(v *conversation, seq uint64, m *message.Entry) {
	var content chatv1.Content
	if err := proto.Unmarshal(m.Content, &content); err != nil || content.GetControl() == nil {
		c.report.violate("access", v.where(), "entry %d is marked as a control entry, and is none", seq)
		return
	}
	ctl := content.GetControl()
	if ctl.PrevAccess != v.access {
		c.report.violate("access", v.where(), "control entry %d follows %d, and says it follows %d", seq, v.access, ctl.PrevAccess)
	}
	v.access = seq
	users := ctl.Users
	switch ctl.Action {
	case chatv1.Control_ACTION_CREATED, chatv1.Control_ACTION_JOINED:
		if ctl.Action == chatv1.Control_ACTION_CREATED && ctl.Actor != 0 {
			users = append(users, ctl.Actor)
		}
		for _, u := range users {
			if list := v.members[u]; len(list) == 0 || list[len(list)-1].to != 0 {
				v.members[u] = append(list, interval{from: seq})
			}
		}
	case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		for _, u := range users {
			if list := v.members[u]; len(list) > 0 && list[len(list)-1].to == 0 {
				list[len(list)-1].to = seq
			}
		}
	case chatv1.Control_ACTION_ACCESS:
		v.untold[seq] = struct{}{}
	case chatv1.Control_ACTION_LARGE:
		v.large = append(v.large, interval{from: seq})
	case chatv1.Control_ACTION_SMALL:
		if n := len(v.large); n > 0 {
			v.large[n-1].to = seq
		}
	}
}

// member tells whether a user was a member when seq was stored.
func (v *conversation) member(u, seq uint64) bool {
	for _, i := range v.members[u] {
		if seq >= i.from && (i.to == 0 || seq <= i.to) {
			return true
		}
	}
	return false
}
