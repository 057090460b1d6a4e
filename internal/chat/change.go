package chat

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// change appends the control entry that decide wants for the present state, in the conversation's order, and gives its seq. A
// nil control means that nothing is to change: seq 0. When it returns, the entry is durable and the rows are projected.
//
// Drafts that arrive meanwhile wait, so that a sender's order is kept.
func (s *Service) change(ctx context.Context, c id.Conversation, decide func(*state) (*chatv1.Control, error)) (uint64, error) {
	r := s.room(c)
	r.changing.Lock()
	defer r.changing.Unlock()
	for {
		st, err := s.fill(ctx, r)
		if err != nil {
			return 0, err
		}
		control, err := decide(st)
		if err != nil || control == nil { // no append tells whether the state was the newest
			if newer, nerr := s.newer(ctx, r); nerr == nil && newer {
				continue
			} else if err == nil {
				err = nerr
			}
			return 0, err
		}
		seq, err := s.appendControl(ctx, r, st, control)
		if errors.Is(err, timeline.ErrStale) {
			r.mu.Lock()
			r.state = nil // another node changed it
			r.mu.Unlock()
			continue
		}
		return seq, err
	}
}

func (s *Service) appendControl(ctx context.Context, r *room, st *state, control *chatv1.Control) (uint64, error) {
	control.PrevAccess = st.access
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: control}})
	if err != nil {
		return 0, err
	}
	a := &timeline.Append{Key: key(st.id), CheckAccess: true, IfAccess: st.access, SetAccess: true, Carry: true}
	if control.Action == chatv1.Control_ACTION_CREATED {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("created"), uint64(st.id)))
		copy(a.Token.Sum[:], sum[:])
	}
	// The relation of the two of a one-to-one conversation is looked up before the entry stands: from then on it holds.
	related, err := s.withRelation(ctx, st)
	if err != nil {
		return 0, err
	}
	var next *state
	var users []id.User
	defer s.settling.begin()()

	r.mu.Lock()
	own := !r.busy // else a load is under way, which waits for changing and releases afterwards
	r.busy = true
	r.mu.Unlock()
	// Drawn when no draft can come between: ids rise with seqs.
	number, err := s.deps.MessageIDs.Next(uint8(st.kind), st.id)
	if err != nil {
		if own {
			s.release(r, nil)
		}
		return 0, err
	}
	e := message.Entry{ID: number, Sender: id.User(control.Actor), Control: true, Content: content}
	a.Payload = e.Append(nil)
	done := make(chan struct{})
	late := false // guarded by r.mu: nobody waits for the entry any more
	a.Done = func(a *timeline.Append) {
		var n *state
		var changed []id.User
		if a.Err == nil && !a.Duplicate {
			n, changed = st.apply(a.Seq, control)
			n.blocked, n.unknown, n.relatedMs = related.blocked, related.unknown, related.relatedMs
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case n == nil:
		case late:
			if r.state != nil && r.state.access < n.access {
				r.state = nil // whoever asks next finds the entry in the log
			}
		default: // in the log's order: who asks for the audience of this entry finds the state after it
			next, users, r.state = n, changed, n
			r.settling = n.access
		}
		close(done)
	}
	s.deps.Log.Append(a)
	if !s.landedInTime(r, done, &late) {
		if own {
			s.release(r, nil) // should the entry come, those that it comes before are refused by the log, and look again
		}
		return 0, errNoAnswer
	}
	if a.Duplicate { // created at an earlier try that did not come to its end
		r.mu.Lock()
		r.state = nil
		r.mu.Unlock()
		_, err := s.fill(ctx, r)
		a.Err = err
	}
	if own {
		s.release(r, nil)
	}
	if a.Err != nil {
		return 0, a.Err
	}
	if a.Duplicate {
		return a.Seq, nil
	}
	// The entry is the truth; should this fail, the next load applies it.
	err = s.project(context.WithoutCancel(ctx), next, users)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settling = 0
	if err != nil {
		// Lists would not know of it yet, on any node: it is not answered as made.
		s.deps.Logger.Warn("a change of a conversation waits for its projection", "conversation", st.id, "seq", a.Seq, "error", err)
		r.state = nil
	}
	return a.Seq, err
}

// appendMost bounds the wait for a control entry: those who look at all conversations of a user wait for it too.
const appendMost = 10 * time.Second

var errNoAnswer = &errs.Error{Kind: errs.Unavailable, Reason: "no_answer", Message: "the store has not answered in time; the change may still be made: look, and try again", Retry: 1e9}

// landedInTime waits until the entry is stored, or refused. Where that takes too long it is late, and false.
func (s *Service) landedInTime(r *room, done <-chan struct{}, late *bool) bool {
	timer := time.NewTimer(s.appendMost)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-done: // in between
		return true
	default:
		*late = true
		return false
	}
}

// resize makes a group large or small when it passed the bound.
func (s *Service) resize(ctx context.Context, c id.Conversation) error {
	_, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		switch n := len(st.current); {
		case st.large == 0 && n > s.config.LargeAbove:
			return &chatv1.Control{Action: chatv1.Control_ACTION_LARGE}, nil
		case st.large != 0 && n < s.config.LargeAbove*9/10:
			return &chatv1.Control{Action: chatv1.Control_ACTION_SMALL}, nil
		}
		return nil, nil
	})
	return err
}

// FriendshipChanged is AccessChanged where only friends may write to each other.
func (s *Service) FriendshipChanged(ctx context.Context, a, b id.User) error {
	if s.config.WhoMayWrite != "friends" {
		return nil
	}
	return s.AccessChanged(ctx, a, b)
}

// AccessChanged makes every node look again at whether two users may write to each other, before it returns.
func (s *Service) AccessChanged(ctx context.Context, a, b id.User) error {
	c, err := s.findDirect(ctx, a, b)
	if err != nil || c == 0 {
		return err
	}
	_, err = s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		if st.access == 0 {
			// Its opening did not come to its end, or is under way: this ends it, so that whoever opens it looks again.
			return created(a, b), nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS}, nil
	})
	return err
}
