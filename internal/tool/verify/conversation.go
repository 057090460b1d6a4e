package verify

import (
	"crypto/sha256"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// interval of seqs in which a user was a member; to is 0 if the user still is.
type interval struct{ from, to uint64 }

// conversation according to its log.
type conversation struct {
	id     uint64
	tail   uint64
	head   uint64 // counted entries below it have expired
	access uint64
	// members has the intervals of each user's membership, in ascending order.
	members map[uint64][]interval
	// large phases: from the entry after LARGE to SMALL; to is 0 if the group is still large.
	large []interval
	// inNoStream has the entries of access changes and of imports, which are in no stream.
	inNoStream map[uint64]struct{}
	// importing: the entries from the first on are those of an import, which are in no stream, and whose senders may have left before.
	importing bool
	// unreadable: a part of it is corrupt, so nothing is compared with it.
	unreadable bool
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
	err := c.eachKey(timeline.Conversation, "conversations", func(k timeline.Key) error {
		err := c.conversation(k)
		v := c.conversations[k.ID]
		v.unreadable = err != nil
		return c.damaged(v.where(), err)
	})
	if err != nil {
		return err
	}
	return c.pending.all(c)
}

// replay is the state while a conversation is read from its first entry to its last.
type replay struct {
	*conversation
	key     timeline.Key
	counted uint64 // messages so far
	ids     map[id.Message]struct{}
	tokens  map[[sha256.Size]byte]uint64 // seqs of the messages by their tokens
	authors map[uint64]timeline.Position // the last message of each author
	highest map[timeline.Device]uint64   // highest client_seq of each device
}

func (c *check) conversation(k timeline.Key) error {
	v := &replay{conversation: &conversation{id: k.ID, members: map[uint64][]interval{}, inNoStream: map[uint64]struct{}{}}, key: k,
		ids: map[id.Message]struct{}{}, tokens: map[[sha256.Size]byte]uint64{}, authors: map[uint64]timeline.Position{}, highest: map[timeline.Device]uint64{}}
	c.conversations[k.ID] = v.conversation
	c.report.Conversations++
	tail, err := c.log.Tail(c.ctx, k)
	if err != nil {
		return err
	}
	v.head = tail.FirstSeq
	if v.head > tail.Seq+1 {
		c.report.violate("sequence", v.where(), "entries below %d have expired, and the tail is %d", v.head, tail.Seq)
	}
	for {
		entries, err := c.log.Read(c.ctx, k, v.tail, page)
		if err != nil {
			return err
		}
		for i := range entries {
			if err := c.entry(v, &entries[i]); err != nil {
				return err
			}
		}
		if len(entries) < page && (len(entries) == 0 || !c.hasMoreCold(k, v.tail)) {
			break
		}
	}
	v.afterExpired(c.skipExpired(v.conversation, tail.Seq+1), tail.Counted)
	if tail.Seq != v.tail || tail.Counted != v.counted || tail.Access != v.access {
		c.report.violate("sequence", v.where(), "the tail has seq %d, counted %d, access %d; the entries give %d, %d, %d", tail.Seq, tail.Counted, tail.Access, v.tail, v.counted, v.access)
	}
	for u, l := range v.authors {
		if err := c.pending.author(c, author{v.conversation, timeline.AuthorKey{Key: k, Author: u}, l}); err != nil {
			return err
		}
	}
	for d, n := range v.highest {
		if err := c.pending.device(c, device{v.conversation, d, n}); err != nil {
			return err
		}
	}
	return nil
}

// entry checks one entry of a conversation against the previous ones.
func (c *check) entry(v *replay, e *timeline.Entry) error {
	c.report.Entries++
	expired := c.skipExpired(v.conversation, e.Seq)
	if e.Seq != v.tail+1 {
		c.report.violate("sequence", v.where(), "seq %d is followed by %d", v.tail, e.Seq)
	}
	v.tail = e.Seq
	var m message.Entry
	if err := m.Decode(e.Payload); err != nil {
		c.report.violate("sequence", v.where(), "entry %d cannot be read: %v", e.Seq, err)
		return nil
	}
	counts := uint64(0)
	if m.Counts() {
		counts = 1
	}
	v.afterExpired(expired, e.Counted-min(e.Counted, counts))
	v.counted += counts
	if !m.Control {
		if e.Seq < v.head {
			c.report.violate("sequence", v.where(), "message %d is below the first seq, %d, but has not expired", e.Seq, v.head)
		}
	}
	if e.Counted != v.counted {
		c.report.violate("counts", v.where(), "entry %d has the count %d, want %d", e.Seq, e.Counted, v.counted)
		v.counted = e.Counted
	}
	if _, ok := v.ids[m.ID]; ok {
		c.report.violate("duplicate", v.where(), "entry %d repeats the id %v", e.Seq, m.ID)
	}
	v.ids[m.ID] = struct{}{}
	if m.Control {
		c.control(v.conversation, e.Seq, &m)
		return nil
	}
	if counts == 1 {
		v.authors[uint64(m.Sender)] = timeline.Position{Seq: e.Seq, Counted: e.Counted}
	} else if m.Updates >= e.Seq && m.Updates != 0 {
		c.report.violate("sequence", v.where(), "entry %d updates entry %d, which is not before it", e.Seq, m.Updates)
	}
	if v.importing {
		v.inNoStream[e.Seq] = struct{}{}
	} else if !v.member(uint64(m.Sender), e.Seq) && !mayComeFromOutside(&m) {
		c.report.violate("access", v.where(), "entry %d is by user %v, who was not a member", e.Seq, m.Sender)
	}
	return c.clientSeq(v, e.Seq, &m)
}

// afterExpired adds the expired entries to the running count, given the count after them. Messages counted and updates did not, and the number
// of each is no longer known.
func (v *replay) afterExpired(entries, counted uint64) {
	if counted >= v.counted && counted <= v.counted+entries {
		v.counted = counted
	} else {
		v.counted += entries
	}
}

// clientSeq checks that a client_seq is used once, and queues the look-up of its token.
func (c *check) clientSeq(v *replay, seq uint64, m *message.Entry) error {
	if m.ClientSeq == 0 {
		return nil
	}
	d := timeline.Device{Sender: uint64(m.Sender), Device: uint64(m.Device)}
	v.highest[d] = max(v.highest[d], m.ClientSeq)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", m.Sender, m.Device, m.ClientSeq))
	if first, ok := v.tokens[sum]; ok {
		c.report.violate("duplicate", v.where(), "entries %d and %d are the same message of user %v", first, seq, m.Sender)
	}
	v.tokens[sum] = seq
	t := timeline.Token{Sender: uint64(m.Sender), Device: uint64(m.Device), Counter: m.ClientSeq}
	return c.pending.token(c, retry{v.conversation, seq, timeline.TokenKey{Key: v.key, Token: t}})
}

// skipExpired counts the expired entries before the one at next.
func (c *check) skipExpired(v *conversation, next uint64) uint64 {
	end := min(next, v.head)
	if end <= v.tail+1 {
		return 0
	}
	n := end - v.tail - 1
	v.tail += n
	c.report.Expired += n
	return n
}

// control replays a membership change.
func (c *check) control(v *conversation, seq uint64, m *message.Entry) {
	var content chatv1.Content
	if err := proto.Unmarshal(m.Content, &content); err != nil || content.GetControl() == nil {
		c.report.violate("access", v.where(), "entry %d is marked as a control entry, but is not one", seq)
		return
	}
	ctl := content.GetControl()
	if ctl.PrevAccess != v.access {
		c.report.violate("access", v.where(), "control entry %d follows %d, but claims to follow %d", seq, v.access, ctl.PrevAccess)
	}
	v.access = seq
	users := ctl.Users
	if v.importing = v.importing || ctl.Importing; v.importing {
		v.inNoStream[seq] = struct{}{}
	}
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
		v.inNoStream[seq], v.importing = struct{}{}, ctl.Importing
	case chatv1.Control_ACTION_LARGE:
		v.large = append(v.large, interval{from: seq})
	case chatv1.Control_ACTION_SMALL:
		if n := len(v.large); n > 0 {
			v.large[n-1].to = seq
		}
	}
}

// mayComeFromOutside reports whether an entry may be by a user who is no member: a bridge brought it, or an erasure recalls what a former member wrote.
func mayComeFromOutside(m *message.Entry) bool {
	var c chatv1.Content
	if proto.Unmarshal(m.Content, &c) != nil {
		return false
	}
	return c.Bridge != "" || m.Updates != 0 && c.GetRecall() != nil
}

// member reports whether a user was a member when seq was stored.
func (v *conversation) member(u, seq uint64) bool {
	for _, i := range v.members[u] {
		if seq >= i.from && (i.to == 0 || seq <= i.to) {
			return true
		}
	}
	return false
}
