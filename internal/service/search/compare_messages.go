package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

// messageStep is one step of the comparison. Of up to sizes.keys conversations it reads the positions of the index at once, and it asks the index for the documents of several conversations at once.
type messageStep struct {
	messageComparison
	x       *indexer
	step    reconciliation.Step
	at      messagePosition
	keys    []timeline.Key    // conversations that follow
	read    map[uint64]uint64 // of these: the last seq that is indexed
	changes uint64            // changesPoint, read with these, before the entries
	waiting []comparedEntries // what the index is to be asked for
	items   int               // of them
	docs    int               // of them
	asked   messagePosition   // what is before was compared
}

// comparedEntries are the documents that the index is to have of some entries of a conversation.
type comparedEntries struct {
	conversation     id.Conversation
	through, changes uint64 // what the index had read before they were read: the seq, and changesPoint
	docs             []searchindex.Document
}

// Compare is a reconciliation.Comparison's. A conversation is an item, and so is each of its entries.
func (s messageComparison) Compare(ctx context.Context, after string, limit int) (reconciliation.Step, error) {
	at, err := parseMessagePosition(after)
	if err != nil {
		return reconciliation.Step{}, err
	}
	g, err := s.comparable()
	if err != nil {
		return reconciliation.Step{}, err
	}
	m := &messageStep{messageComparison: s, x: newIndexer(s.Service, g), at: at, asked: at}
	m.x.onlyReads = true // only entries are compared that the index has read, and it applied their updates before
	ended, err := m.run(ctx, limit)
	if err == nil || m.items > 0 {
		if asked := m.ask(ctx); err == nil {
			err = asked
		}
	}
	switch {
	case err != nil && m.step.Items == 0:
		return reconciliation.Step{}, err
	case err != nil: // the time of the step is over, perhaps: the next one begins here
		m.step.Next = m.asked.String()
	case !ended:
		m.step.Next = m.at.String()
	}
	return m.step, nil
}

// firstHalf returns a context that ends when half the time of ctx is over. Entries are read in it: the other half is for the index, so that what was read is compared, however slow the reads are.
func firstHalf(ctx context.Context) (context.Context, context.CancelFunc) {
	ends, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	now := time.Now()
	return context.WithDeadline(ctx, now.Add(ends.Sub(now)/2))
}

// run compares until the step has as many items as limit, or ended is true: no conversation follows. After an error, what waits was read completely.
func (m *messageStep) run(ctx context.Context, limit int) (ended bool, err error) {
	asking := ctx
	ctx, cancel := firstHalf(ctx)
	defer cancel()
	if !m.at.ended {
		if err := m.readPositions(ctx, []timeline.Key{logKey(m.at.conversation)}); err != nil {
			return false, err
		}
		m.keys = nil
	}
	for m.step.Items+m.items < limit {
		if m.at.ended {
			if len(m.keys) == 0 {
				keys, err := m.deps.Log.Keys(ctx, timeline.Conversation, uint64(m.at.conversation), min(m.sizes.keys, limit))
				if err != nil || len(keys) == 0 {
					return true, err
				}
				if err := m.readPositions(ctx, keys); err != nil {
					return false, err
				}
			}
			m.at, m.keys = messagePosition{conversation: id.Conversation(m.keys[0].ID)}, m.keys[1:]
			m.items++
		}
		if err := m.addEntries(ctx, min(m.sizes.entries, limit-m.step.Items-m.items+1)); err != nil {
			return false, err
		}
		if m.docs >= m.sizes.entries {
			if err := m.ask(asking); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// readPositions reads how far the index is with some conversations, which are those that follow.
func (m *messageStep) readPositions(ctx context.Context, keys []timeline.Key) error {
	names := []string{changesPoint}
	for _, k := range keys {
		names = append(names, conversationPoint(id.Conversation(k.ID)))
	}
	read, err := m.x.index.Checkpoints(ctx, names)
	if err != nil {
		return err
	}
	m.keys, m.changes, m.read = keys, read[0], map[uint64]uint64{}
	for i, k := range keys {
		m.read[k.ID] = read[i+1]
	}
	return nil
}

// addEntries adds the next entries of the conversation, at most most. It leaves out what the index has not read yet. A conversation that cannot be read is left out: rialto verify reports it.
func (m *messageStep) addEntries(ctx context.Context, most int) error {
	c := comparedEntries{conversation: m.at.conversation, through: m.read[uint64(m.at.conversation)], changes: m.changes}
	before := m.at
	items, docs, err := m.documents(ctx, m.x, &m.at, c.through, most)
	if err != nil {
		m.at = before
	}
	if errors.Is(err, timeline.ErrCorrupt) || errs.Is(err, errs.NotFound) {
		m.at.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	m.items += items
	if c.docs = docs; len(docs) > 0 {
		m.waiting = append(m.waiting, c)
		m.docs += len(docs)
	}
	return nil
}

// ask asks the index for the documents that wait, and adds those that it lacks to the step.
func (m *messageStep) ask(ctx context.Context) error {
	docs := make([]searchindex.Document, 0, m.docs)
	for _, c := range m.waiting {
		docs = append(docs, c.docs...)
	}
	lacking := map[searchindex.ID]bool{}
	if len(docs) > 0 {
		list, err := m.x.index.Missing(ctx, docs)
		if err != nil {
			return err
		}
		for _, d := range list {
			lacking[d] = true
		}
	}
	var found []reconciliation.Difference
	for _, c := range m.waiting {
		missing, err := m.missing(ctx, c, lacking)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			found = append(found, differenceOf(c.conversation, missing))
		}
	}
	for _, d := range found {
		if !slices.ContainsFunc(m.step.Differences, func(o reconciliation.Difference) bool { return o.Subject == d.Subject }) {
			m.step.Differences = append(m.step.Differences, d)
		}
	}
	m.step.Items += m.items
	m.waiting, m.items, m.docs, m.asked = nil, 0, 0, m.at
	return nil
}

// missing returns those documents of a conversation that the index lacks, and that it was to have by what it has read.
func (s messageComparison) missing(ctx context.Context, c comparedEntries, lacking map[searchindex.ID]bool) (missing []searchindex.ID, err error) {
	for _, d := range c.docs {
		if !lacking[d.ID] {
			continue
		}
		pending := false
		if d.Author != 0 { // a title has none
			if pending, err = s.isPending(ctx, c.changes, ErasedAuthor, d.Author); err != nil {
				return nil, err
			}
		}
		if !pending {
			missing = append(missing, d.ID)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	if pending, err := s.isPending(ctx, c.changes, ChangedConversation, uint64(c.conversation)); err != nil || pending { // such as a repair
		return nil, err
	}
	return s.settled(ctx, c.conversation, c.through, missing)
}

// differenceOf describes documents of a conversation that the index lacks.
func differenceOf(c id.Conversation, missing []searchindex.ID) reconciliation.Difference {
	d := reconciliation.Difference{Subject: fmt.Sprint("conversation ", uint64(c)), Reason: reconciliation.IndexLacksGroup}
	for _, m := range missing {
		if m.Kind == searchindex.Message {
			d.Reason, d.Values = reconciliation.IndexLacksMessage, reconciliation.Values{"first": fmt.Sprint(m.Number)}
			break
		}
	}
	return d
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
