package chat

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Audience returns the users who receive the entry at seq, and whether the conversation is large. The slice is shared.
func (s *Service) Audience(ctx context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error) {
	st, err := s.ownerState(ctx, c)
	if err != nil {
		return nil, false, err
	}
	users, whole := st.audience(seq)
	if !whole {
		users, err = s.audienceFromLog(ctx, st, seq, st.allMembers, math.MaxInt)
	}
	return st.readers(users), st.large != 0 && seq > st.large, err
}

// JoinedAfter returns those of some members who joined after the entry at seq, and may not read it, in their order.
func (s *Service) JoinedAfter(ctx context.Context, c id.Conversation, seq uint64, members []id.User) (later []id.User, err error) {
	st, err := s.ownerState(ctx, c)
	if err != nil || st.kind == thread || st.channel || st.ticket != 0 { // their members also read what was said before they joined
		return nil, err
	}
	for _, u := range members {
		if seq < st.members[u].joinSeq {
			later = append(later, u)
		}
	}
	return later, nil
}

// maxControlWalk is how many control entries AudiencePage reads, one after another.
const maxControlWalk = 128

// AudiencePage returns one page of the users who receive the entry at seq. It examines at most limit present and former members, by id,
// after a user. next is the start of the following page, or 0 at the end. A page may have no users although more pages follow. Its cost does
// not depend on the history: users who left and came back after seq are not returned if more than maxControlWalk control entries follow it.
func (s *Service) AudiencePage(ctx context.Context, c id.Conversation, seq uint64, after id.User, limit int) (users []id.User, next id.User, err error) {
	st, err := s.ownerState(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	if st.channel {
		return s.channelAudiencePage(ctx, c, after, limit)
	}
	users, unclear, next := st.audiencePage(seq, after, limit)
	if len(unclear) > 0 {
		more, err := s.audienceFromLog(ctx, st, seq, unclear, maxControlWalk)
		if err != nil {
			return nil, 0, err
		}
		users = append(users, more...)
		slices.Sort(users)
	}
	return st.readers(users), next, nil
}

// audienceFromLog returns the users from a list of present and former members who were members at seq. It walks the control entries back
// from the state to seq, and undoes their changes. If there are more than maxEntries, it returns nobody.
func (s *Service) audienceFromLog(ctx context.Context, st *state, seq uint64, of []id.User, maxEntries int) ([]id.User, error) {
	in := make(map[id.User]bool, len(of))
	for _, u := range of {
		in[u] = st.members[u].leaveSeq == 0
	}
	set := func(users []uint64, is bool) {
		for _, u := range users {
			if _, listed := in[id.User(u)]; listed {
				in[id.User(u)] = is
			}
		}
	}
	read := 0
	for at := st.access; at >= seq && at != 0; read++ {
		if read == maxEntries {
			return nil, nil
		}
		control, err := s.readControl(ctx, st.id, at)
		if err != nil {
			return nil, err
		}
		switch control.Action {
		case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED: // the interval includes the leave entry: a user who leaves receives it
			set(control.Users, true)
		case chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_CREATED:
			if at > seq {
				set(control.Users, false)
			}
		}
		at = control.PrevAccess
	}
	maps.DeleteFunc(in, func(_ id.User, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(in)), nil
}

// AwaitApplied returns when the control entry at seq is applied: to the state of this node, so that Audience includes it, and to the
// rows, so that the lists of all nodes include it. A reader of the log can see an entry before its append returns, and on another node
// at any time.
func (s *Service) AwaitApplied(ctx context.Context, c id.Conversation, seq uint64) error {
	r := s.conversation(c)
	r.mu.Lock()
	// Check the present state: a state whose rows could not be written has been dropped.
	known := r.state != nil && r.state.access >= seq && (s.deps.SingleNode || r.projecting == 0)
	r.mu.Unlock()
	if known {
		return nil
	}
	r.changeMu.Lock() // wait for a change in progress
	defer r.changeMu.Unlock()
	r.mu.Lock()
	if r.state != nil && r.state.access < seq {
		r.state = nil
	}
	r.mu.Unlock()
	st, err := s.loadState(ctx, r)
	if err == nil && st.access < seq {
		err = errCorrupt
	}
	return err
}

// HighestCounter returns the highest number of a device's messages. The device continues from there.
func (s *Service) HighestCounter(ctx context.Context, c id.Caller) (uint64, error) {
	return s.deps.Log.HighestCounter(ctx, uint64(c.User), uint64(c.Device))
}
