package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// maxBehind is how many entries of a conversation the index may lack while it is compared.
const maxBehind = 256

// messageComparison compares the messages, and the titles of groups, with the index.
type messageComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (messageComparison) Name() string { return "search_messages" }

// Repair is a reconciliation.Comparison's: all nodes index the messages of the conversation again.
func (s messageComparison) Repair(ctx context.Context, subject string) error {
	c, err := numberOf(subject, "conversation")
	if err != nil {
		return err
	}
	return s.indexAgain(ctx, ChangedConversation, c)
}

// messagePosition is behind the last entry that was compared.
type messagePosition struct {
	conversation id.Conversation
	seq          uint64
	ended        bool // all of the conversation was compared
}

func (p messagePosition) String() string {
	if p.ended {
		return fmt.Sprint(uint64(p.conversation))
	}
	return fmt.Sprint(uint64(p.conversation), " ", p.seq)
}

func parseMessagePosition(text string) (p messagePosition, err error) {
	if text == "" {
		return messagePosition{ended: true}, nil
	}
	conversation, seq, within := strings.Cut(text, " ")
	c, err := strconv.ParseUint(conversation, 10, 64)
	if err == nil && within {
		p.seq, err = strconv.ParseUint(seq, 10, 64)
	}
	p.conversation, p.ended = id.Conversation(c), !within
	return p, err
}

// Compare is a reconciliation.Comparison's. A conversation is an item, and so is each of its entries.
func (s messageComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at, err := parseMessagePosition(after)
	if err != nil {
		return step, err
	}
	g, err := s.comparable()
	if err != nil {
		return step, err
	}
	x := newIndexer(s.Service, g)
	x.onlyReads = true // only entries are compared that the index has read, and it applied their updates before
	var keys []timeline.Key
	progress := false
	for step.Items < limit {
		if at.ended {
			if len(keys) == 0 {
				if keys, err = s.deps.Log.Keys(ctx, timeline.Conversation, uint64(at.conversation), min(s.sizes.keys, limit)); err != nil || len(keys) == 0 {
					return step, err
				}
			}
			at, keys = messagePosition{conversation: id.Conversation(keys[0].ID)}, keys[1:]
			step.Items++
		}
		from := at
		items, missing, err := s.compareEntries(ctx, x, &at, min(s.sizes.entries, limit-step.Items+1))
		if err != nil && progress { // the time of the step is over, perhaps: the next one begins here
			step.Next = from.String()
			return step, nil
		}
		if err != nil {
			return step, err
		}
		progress = true
		step.Items += items
		if d := differenceOf(at.conversation, missing); len(missing) > 0 && !slices.ContainsFunc(step.Differences, func(o reconciliation.Difference) bool { return o.Subject == d.Subject }) {
			step.Differences = append(step.Differences, d)
		}
	}
	step.Next = at.String()
	return step, nil
}

// differenceOf describes documents of a conversation that the index lacks.
func differenceOf(c id.Conversation, missing []searchindex.ID) reconciliation.Difference {
	d := reconciliation.Difference{Subject: fmt.Sprint("conversation ", uint64(c)), What: "the search index lacks the group, or has another title"}
	for _, m := range missing {
		if m.Kind == searchindex.Message {
			d.What = fmt.Sprintf("the search index lacks messages, or has other texts of them; the first is number %d", m.Number)
			break
		}
	}
	return d
}

// compareEntries compares the next entries of a conversation, at most most, and returns the documents that the index lacks. It leaves out what the index has not read yet, and what is changed by an entry
// that it has not read. A conversation that cannot be read is left out: rialto verify reports it.
func (s messageComparison) compareEntries(ctx context.Context, x *indexer, at *messagePosition, most int) (items int, missing []searchindex.ID, err error) {
	c := at.conversation
	read, err := x.index.Checkpoints(ctx, []string{conversationPoint(c), changesPoint}) // before the entries
	if err != nil {
		return 0, nil, err
	}
	items, docs, err := s.documents(ctx, x, at, read[0], most)
	if errors.Is(err, timeline.ErrCorrupt) || errs.Is(err, errs.NotFound) {
		at.ended = true
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	for _, d := range docs {
		found, err := isFound(ctx, x.index, d)
		if err != nil {
			return 0, nil, err
		}
		if found {
			continue
		}
		pending := false
		if d.Author != 0 { // a title has none
			if pending, err = s.isPending(ctx, read[1], ErasedAuthor, d.Author); err != nil {
				return 0, nil, err
			}
		}
		if !pending {
			missing = append(missing, d.ID)
		}
	}
	if len(missing) == 0 {
		return items, nil, nil
	}
	if pending, err := s.isPending(ctx, read[1], ChangedConversation, uint64(c)); err != nil || pending { // such as a repair
		return items, nil, err
	}
	missing, err = s.settled(ctx, c, read[0], missing)
	return items, missing, err
}

// documents makes those that the index is to have of the next entries of a conversation, through a seq.
func (s messageComparison) documents(ctx context.Context, x *indexer, at *messagePosition, through uint64, most int) (items int, docs []searchindex.Document, err error) {
	c, from := at.conversation, at.seq
	entries, err := s.deps.Log.Read(ctx, logKey(c), from, most)
	if err != nil {
		return 0, nil, err
	}
	at.ended = len(entries) < most
	for len(entries) > 0 && entries[len(entries)-1].Seq > through {
		entries, at.ended = entries[:len(entries)-1], true
	}
	if len(entries) == 0 {
		return 0, nil, nil
	}
	parent, err := x.parent(ctx, c)
	if err != nil {
		return 0, nil, err
	}
	list, changed, err := x.decode(ctx, c, from, entries)
	if err != nil {
		return 0, nil, err
	}
	b := newBuilder(x.service.deps.Dictionary, most)
	for len(list) > 0 {
		n, err := x.current(ctx, list)
		if err != nil {
			return 0, nil, err
		}
		for _, m := range list[:n] {
			b.message(m, parent)
		}
		list = list[n:]
	}
	if changed {
		if err := x.indexTitle(ctx, c, b); err != nil {
			return 0, nil, err
		}
	}
	at.seq = entries[len(entries)-1].Seq
	return len(entries), b.batch.Put, nil
}

// settled returns those of some documents of a conversation that no entry after a seq changes, and that have not expired. It is called after they were looked for: what has changed meanwhile is among those
// entries. If there are too many of them, none is settled.
func (s messageComparison) settled(ctx context.Context, c id.Conversation, through uint64, list []searchindex.ID) (settled []searchindex.ID, err error) {
	later, err := s.deps.Log.Read(ctx, logKey(c), through, maxBehind)
	if errors.Is(err, timeline.ErrCorrupt) || len(later) == maxBehind {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return nil, err
	}
	changed, title := map[uint64]bool{}, false
	for i := range later {
		var e message.Entry
		if e.Decode(later[i].Payload) == nil {
			changed[e.Updates], title = true, title || e.Control
		}
	}
	for _, d := range list {
		isSettled := !title
		if d.Kind == searchindex.Message {
			isSettled = !changed[d.Number] && d.Number >= tail.FirstSeq
		}
		if isSettled && !slices.Contains(settled, d) { // a message that was edited twice was looked for twice
			settled = append(settled, d)
		}
	}
	return settled, nil
}
