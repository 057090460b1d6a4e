package search

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// everybody is the access term of what everybody may find.
const everybody = "*"

// conversationTerm is the access term of a conversation's members.
func conversationTerm(c id.Conversation) string {
	return string(binary.BigEndian.AppendUint64([]byte{'c'}, uint64(c)))
}

// currentAtOnce is of how many entries the present contents are read at once.
const currentAtOnce = 64

func logKey(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// position returns the last seq of a conversation that is indexed.
func (x *indexer) position(ctx context.Context, c id.Conversation, b *builder) (uint64, error) {
	if seq, ok := b.positions[c]; ok {
		return seq, nil
	}
	if seq, ok := x.positions[c]; ok {
		return seq, nil
	}
	at, err := x.index.Checkpoints(ctx, []string{conversationPoint(c)})
	if err != nil {
		return 0, err
	}
	return at[0], nil
}

// indexReadable is indexConversation that leaves out a conversation whose log is corrupt. A later sweep tries again.
func (x *indexer) indexReadable(ctx context.Context, c id.Conversation, b *builder) (more bool, err error) {
	more, err = x.indexConversation(ctx, c, b)
	if errors.Is(err, timeline.ErrCorrupt) || errs.Is(err, errs.NotFound) {
		x.service.deps.Logger.Error("a conversation is left out of the search index, because it cannot be read: run rialto verify", "conversation", c, "error", err)
		return false, nil
	}
	return more, err
}

// indexConversation adds the next entries of a conversation to a batch. more: there may be further ones.
func (x *indexer) indexConversation(ctx context.Context, c id.Conversation, b *builder) (more bool, err error) {
	from, err := x.position(ctx, c, b)
	if err != nil {
		return false, err
	}
	most := min(x.service.sizes.entries, b.most)
	entries, through, err := x.readEntries(ctx, c, from, most)
	if err != nil || through == from {
		return false, err
	}
	parent, err := x.parent(ctx, c)
	if err != nil {
		return false, err
	}
	list, changed, err := x.decode(ctx, c, from, entries)
	if err != nil {
		return false, err
	}
	for len(list) > 0 {
		n, err := x.current(ctx, list)
		if err != nil {
			return false, err
		}
		for _, m := range list[:n] {
			b.message(m, parent)
		}
		list = list[n:]
	}
	if changed {
		if err := x.indexTitle(ctx, c, b); err != nil {
			return false, err
		}
	}
	b.point(conversationPoint(c), through)
	b.positions[c] = through
	return len(entries) == most, nil
}

// indexFromBeginning has all messages of a conversation indexed again, after the batch.
func (x *indexer) indexFromBeginning(c id.Conversation, b *builder) {
	b.point(conversationPoint(c), 0)
	b.positions[c] = 0
	x.mark([]id.Conversation{c})
}

// readEntries reads at most some entries of a conversation after a seq. through is the last one that was read, or passed over because it is corrupt.
func (x *indexer) readEntries(ctx context.Context, c id.Conversation, from uint64, most int) (entries []timeline.Entry, through uint64, err error) {
	log := x.service.deps.Log
	entries, err = log.Read(ctx, logKey(c), from, most)
	if err == nil {
		if through = from; len(entries) > 0 {
			through = entries[len(entries)-1].Seq
		}
		return entries, through, nil
	}
	if !errors.Is(err, timeline.ErrCorrupt) {
		return nil, 0, err
	}
	for n := 1; n < most; n *= 2 { // the entries before the corrupt one
		some, serr := log.Read(ctx, logKey(c), from, n)
		if serr != nil || len(some) == 0 {
			break
		}
		entries = some
	}
	if len(entries) > 0 {
		return entries, entries[len(entries)-1].Seq, nil
	}
	x.service.deps.Logger.Error("a corrupt entry is left out of the search index: run rialto verify", "conversation", c, "seq", from+1, "error", err)
	return nil, from + 1, nil
}

// parent returns the conversation that a thread belongs to, 0 for others. Whoever reads that may read the thread as well.
func (x *indexer) parent(ctx context.Context, c id.Conversation) (id.Conversation, error) {
	if p, ok := x.parents[c]; ok {
		return p, nil
	}
	v, err := x.service.deps.Chat.Summary(ctx, c)
	if err != nil {
		return 0, err
	}
	if len(x.parents) > maxKnown {
		clear(x.parents)
	}
	x.parents[c] = id.Conversation(v.Parent)
	return x.parents[c], nil
}

// decode returns the messages of some entries, and those before them that the entries edit or recall. changed: the conversation has changed.
func (x *indexer) decode(ctx context.Context, c id.Conversation, from uint64, entries []timeline.Entry) (list []*message.Stored, changed bool, err error) {
	var updates []*message.Stored
	var earlier []timeline.Ref
	for i := range entries {
		m := &message.Stored{Conversation: c, Seq: entries[i].Seq, Counted: entries[i].Counted}
		switch err := m.Entry.Decode(entries[i].Payload); {
		case err != nil:
			x.service.deps.Logger.Error("a corrupt message is left out of the search index: run rialto verify", "conversation", c, "seq", m.Seq, "error", err)
		case m.Entry.Control:
			changed = true
		case m.Entry.Updates == 0:
			list = append(list, m)
		case changesText(m.Entry.Content):
			updates = append(updates, m)
			if m.Entry.Updates <= from {
				earlier = append(earlier, timeline.Ref{Key: logKey(c), From: m.Entry.Updates, To: m.Entry.Updates})
			}
		}
	}
	if len(updates) > 0 && !x.onlyReads {
		if _, err := x.service.deps.Chat.ApplyUpdates(ctx, updates); err != nil { // those that are corrupt have no effect on reads either
			return nil, false, err
		}
	}
	for _, ref := range earlier {
		found, err := x.service.deps.Log.Get(ctx, []timeline.Ref{ref})
		if err != nil && !errors.Is(err, timeline.ErrCorrupt) {
			return nil, false, err
		}
		for i := range found {
			m := &message.Stored{Conversation: c, Seq: found[i].Seq, Counted: found[i].Counted}
			if m.Entry.Decode(found[i].Payload) == nil && !m.Entry.Control && m.Entry.Updates == 0 {
				list = append(list, m)
			}
		}
	}
	return list, changed, nil
}

// changesText reports whether the content of an update is an edit or a recall.
func changesText(content []byte) bool {
	var c chatv1.Content
	return proto.Unmarshal(content, &c) == nil && (c.GetEdit() != nil || c.GetRecall() != nil)
}

// current gives the first of some messages their present contents, and returns how many.
func (x *indexer) current(ctx context.Context, list []*message.Stored) (n int, err error) {
	for n = min(len(list), currentAtOnce); ; n = (n + 1) / 2 {
		err := x.service.deps.Chat.Current(ctx, 0, list[:n], nil)
		if !errors.Is(err, timeline.ErrTooLarge) || n == 1 {
			return n, err
		}
	}
}

// message adds a message with its present content: one document, which is found as a message if it has a text, and as a file if it has files. What was recalled, or has
// neither, is removed.
func (b *builder) message(m *message.Stored, parent id.Conversation) {
	name := searchindex.ID{Kind: searchindex.Message, Parent: uint64(m.Conversation), Number: m.Seq}
	var c chatv1.Content
	if len(m.Entry.Content) == 0 || proto.Unmarshal(m.Entry.Content, &c) != nil {
		b.remove(name)
		return
	}
	said, list := textOf(&c), filesOf(&c)
	var kinds []searchindex.Kind
	if said.text != "" {
		kinds = append(kinds, searchindex.Message)
	}
	if len(list) > 0 {
		kinds = append(kinds, searchindex.File)
	}
	if len(kinds) == 0 {
		b.remove(name)
		return
	}
	access := []string{conversationTerm(m.Conversation)}
	if parent != 0 {
		access = append(access, conversationTerm(parent))
	}
	b.put(searchindex.Document{ID: name, Kinds: kinds, Text: said.text, Names: said.names, Author: uint64(m.Entry.Sender), Access: access, Link: hasLink(&c, said.text), Labels: list.labels(),
		TimeMs: m.Entry.ID.Ms()})
}

// indexTitle adds a group with its present title.
func (x *indexer) indexTitle(ctx context.Context, c id.Conversation, b *builder) error {
	v, err := x.service.deps.Chat.Summary(ctx, c)
	if err != nil {
		return err
	}
	name := searchindex.ID{Kind: searchindex.Conversation, Number: uint64(c)}
	if v.Kind != chatv1.ConversationKind_CONVERSATION_KIND_GROUP || v.Dissolved || v.Title == "" {
		b.remove(name)
		return nil
	}
	b.put(searchindex.Document{ID: name, Text: v.Title, Access: []string{conversationTerm(c)}, Popularity: uint64(v.MemberCount)})
	return nil
}
