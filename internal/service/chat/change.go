package chat

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// change appends the control entry that decide returns for the present state, and returns its seq. If decide returns nil, change appends
// nothing and returns 0. When change returns, the entry is durable and the rows are projected.
//
// Drafts that arrive meanwhile wait, so that each sender's order is kept.
func (s *Service) change(ctx context.Context, c id.Conversation, decide func(*state) (*chatv1.Control, error)) (uint64, error) {
	conv := s.conversation(c)
	conv.changeMu.Lock()
	defer conv.changeMu.Unlock()
	for {
		st, err := s.loadState(ctx, conv)
		if err != nil {
			return 0, err
		}
		control, err := decide(st)
		if err != nil || control == nil { // without an append, only the log's tail shows whether the state is the newest
			if stale, staleErr := s.invalidateStale(ctx, conv); staleErr == nil && stale {
				continue
			} else if err == nil {
				err = staleErr
			}
			return 0, err
		}
		var imported *importedControl
		if st.importing && st.access != 0 {
			if imported, err = s.whileImporting(ctx, st, control); err != nil {
				return 0, err
			}
		}
		seq, err := s.appendControlAs(ctx, conv, st, control, imported)
		if errors.Is(err, timeline.ErrStale) {
			conv.invalidate() // another node changed it
			continue
		}
		return seq, err
	}
}

// invalidate drops the state. The next caller loads it.
func (c *conversation) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = nil
}

// controlAppend is a control entry on its way to the log.
type controlAppend struct {
	conversation *conversation
	control      *chatv1.Control
	before       *state
	relation     relation // of a one-to-one conversation, looked up before the entry is stored
	imported     *importedControl
	done         chan struct{}

	// Guarded by conversation.mu until done is closed.
	abandoned bool      // nobody waits for the entry any more
	after     *state    // nil: the entry was rejected, is a duplicate, or came too late
	users     []id.User // whose rows change
}

// appendControl stores a control entry and projects it. The caller holds changeMu.
func (s *Service) appendControl(ctx context.Context, conv *conversation, st *state, control *chatv1.Control) (uint64, error) {
	return s.appendControlAs(ctx, conv, st, control, nil)
}

// appendControlAs is appendControl of an entry that is imported, if imported is not nil.
func (s *Service) appendControlAs(ctx context.Context, conv *conversation, st *state, control *chatv1.Control, imported *importedControl) (uint64, error) {
	control.PrevAccess = st.access
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: control}})
	if err != nil {
		return 0, err
	}
	related, err := s.withCurrentRelation(ctx, st)
	if err != nil {
		return 0, err
	}
	defer s.projections.begin()()
	p := &controlAppend{conversation: conv, control: control, before: st, relation: related.relation, imported: imported, done: make(chan struct{})}
	seq, ms, err := s.storeControl(ctx, p, content)
	if err != nil || p.after == nil {
		return seq, err
	}
	return seq, s.projectControl(ctx, p, ms)
}

// storeControl appends the entry, and returns its seq and its time. Drafts wait meanwhile.
func (s *Service) storeControl(ctx context.Context, p *controlAppend, content []byte) (seq uint64, ms int64, err error) {
	conv, st := p.conversation, p.before
	conv.mu.Lock()
	owner := conv.mailbox.startChange()
	conv.mu.Unlock()
	if owner {
		// If the entry is stored after its timeout, the log rejects the drafts that this delivers as stale, and they are checked again.
		defer func() { s.deliver(conv, nil) }()
	}
	number, err := s.controlID(p) // while no draft can be appended: ids rise with seqs
	if err != nil {
		return 0, 0, err
	}
	e := message.Entry{ID: number, Sender: id.User(p.control.Actor), Control: true, Content: content}
	a := &timeline.AppendRequest{Key: logKey(st.id), Payload: e.Append(nil), CheckAccess: true, ExpectedAccess: st.access, SetAccess: true, NeedsFanout: true, Done: p.completed}
	if p.control.Action == chatv1.Control_ACTION_CREATED {
		a.Token = createdToken(st.id)
	}
	if p.imported != nil {
		a.Token, a.NeedsFanout = p.imported.token, p.imported.fanout
	}
	s.deps.Log.Append(a)
	if !s.awaitControl(p) {
		return 0, 0, errNoAnswer
	}
	if a.Err == nil && a.Duplicate { // an earlier attempt stored it and did not finish
		conv.invalidate()
		_, a.Err = s.loadState(ctx, conv)
	}
	if a.Err != nil {
		return 0, 0, a.Err
	}
	return a.Seq, number.Ms(), nil
}

// controlID returns the id of a control entry.
func (s *Service) controlID(p *controlAppend) (id.Message, error) {
	if p.imported != nil {
		return p.imported.id, nil
	}
	return s.deps.MessageIDs.Next(uint8(p.before.kind), p.before.id)
}

// createdToken is that of the first entry of a conversation.
func createdToken(c id.Conversation) (t timeline.Token) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("created"), uint64(c)))
	copy(t.Sum[:], sum[:])
	return t
}

// completed is called by the log.
func (p *controlAppend) completed(a *timeline.AppendRequest) {
	var after *state
	var users []id.User
	if a.Err == nil && !a.Duplicate {
		after, users = p.before.apply(a.Seq, p.control)
		after.relation = p.relation
	}
	conv := p.conversation
	conv.mu.Lock()
	defer conv.mu.Unlock()
	switch {
	case after == nil:
	case p.abandoned:
		conv.invalidateBefore(after.access) // the next load finds the entry in the log
	default: // in the log's order: a caller that asks for the audience of this entry sees the state after it
		p.after, p.users, conv.state = after, users, after
		conv.projecting = after.access
	}
	close(p.done)
}

// defaultControlTimeout bounds the wait for a control entry. Queries over all conversations of a user also wait for it.
const defaultControlTimeout = 10 * time.Second

var errNoAnswer = &errs.Error{Kind: errs.Unavailable, Reason: "no_answer", Message: "the store has not answered in time; the change may still be made: look, and try again", Retry: 1e9}

// awaitControl waits until the log has completed the append. After the timeout it abandons the entry and returns false.
func (s *Service) awaitControl(p *controlAppend) bool {
	timer := time.NewTimer(s.controlTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	}
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	select {
	case <-p.done: // between the timeout and the lock
		return true
	default:
		p.abandoned = true
		return false
	}
}

// projectControl writes the rows of a stored control entry. If that fails, the next load writes them from the log.
func (s *Service) projectControl(ctx context.Context, p *controlAppend, ms int64) error {
	err := s.project(context.WithoutCancel(ctx), p.after, p.control, p.users, ms)
	conv := p.conversation
	conv.mu.Lock()
	defer conv.mu.Unlock()
	conv.projecting = 0
	if err != nil {
		// No node's lists have the change yet, so the caller must not get a success.
		s.deps.Logger.Warn("the rows of a conversation's change are written at the next load", "conversation", conv.id, "seq", p.after.access, "error", err)
		conv.state = nil
	}
	return err
}
