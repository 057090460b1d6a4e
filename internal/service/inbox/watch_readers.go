package inbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/interest"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

const (
	// maxWatchedReaders is how many lists of readers one connection watches.
	maxWatchedReaders = 8
	// maxListsOf is how many lists of one conversation are open on a node. A cursor that moves far concerns all of them.
	maxListsOf = 256
	// readerShards divide the conversations with open lists, so that cursors of one do not wait for another's.
	readerShards = 16
)

var errManyLists = &errs.Error{Kind: errs.Exhausted, Reason: "busy", Message: "too many lists of readers are open on this node; read the list again now and then", Retry: 10 * time.Second}

// Interest tells this node of cursors that move on any node, in conversations that it is interested in.
type Interest interface {
	// Add makes ReadersMoved be called for a conversation, until Remove. It is false if there is no room.
	Add(ctx context.Context, c interest.Key) bool
	Remove(c interest.Key)
	// Publish does not block.
	Publish(list []interest.Change)
}

// readerLists are the lists of readers that clients of this node have open.
type readerLists struct {
	mu     sync.Mutex           // guards held; taken before a shard's
	held   map[any]*heldReaders // by connection
	shards [readerShards]readerShard
}

// readerShard has the open lists of some conversations.
type readerShard struct {
	mu      sync.Mutex                        // guards all below, and what changes in the lists
	of      map[id.Conversation][]*readerList // by seq
	changed map[*readerList]struct{}          // since the last push
}

func (r *readerLists) init() {
	r.held = map[any]*heldReaders{}
	for i := range r.shards {
		r.shards[i].of, r.shards[i].changed = map[id.Conversation][]*readerList{}, map[*readerList]struct{}{}
	}
}

func (r *readerLists) shard(c id.Conversation) *readerShard {
	return &r.shards[uint64(c)*0x9E3779B97F4A7C15>>60]
}

// heldReaders are the lists of one connection.
type heldReaders struct {
	turn  uint32 // of the newest request: an earlier one that is handled later changes nothing
	lists []*readerList
}

// readerList is the list of one message's readers, open in one client.
type readerList struct {
	by           id.User
	conversation id.Conversation
	seq          uint64
	push         func(*gatewayv1.ReadersUpdate)
	users        []id.User // who moved their cursors past seq since the last push
	more         bool      // there are more, or some may have been missed
}

// WatchReaders replaces the set of the user's own messages whose new readers are pushed to a connection, by calls of push that must not block.
// It fails unless the user may list the readers of all of them. turn counts the connection's requests, since they may be handled in
// another order. It lasts until UnwatchReaders, which is called after ctx has ended.
func (s *Service) WatchReaders(ctx context.Context, u id.User, connection any, turn uint32, messages []*gatewayv1.WatchedMessage, push func(*gatewayv1.ReadersUpdate)) error {
	if len(messages) > maxWatchedReaders {
		return errs.New(errs.Invalid, "too_many_lists", "watch the readers of at most 8 messages")
	}
	lists := make([]*readerList, 0, len(messages))
	for _, m := range messages {
		l := &readerList{by: u, conversation: id.Conversation(m.Conversation), seq: m.Seq, push: push}
		if err := s.checkSender(ctx, u, l.conversation, l.seq); err != nil {
			return err
		}
		lists = append(lists, l)
	}
	for i, l := range lists { // before they are open, so that no list is open of which other nodes do not know
		if !s.addInterest(ctx, l.conversation) {
			s.removeInterests(lists[:i])
			return errManyLists
		}
	}
	old, err := s.readerLists.replace(ctx, connection, turn, lists)
	if err != nil {
		s.removeInterests(lists)
		return err
	}
	s.removeInterests(old)
	return nil
}

// UnwatchReaders ends what a connection watches.
func (s *Service) UnwatchReaders(connection any) {
	r := &s.readerLists
	r.mu.Lock()
	var old []*readerList
	if h := r.held[connection]; h != nil {
		old = h.lists
		r.close(old)
		delete(r.held, connection)
	}
	r.mu.Unlock()
	s.removeInterests(old)
}

func (s *Service) addInterest(ctx context.Context, c id.Conversation) bool {
	return s.deps.Interest == nil || s.deps.Interest.Add(ctx, interest.Key(c))
}

func (s *Service) removeInterests(lists []*readerList) {
	if s.deps.Interest == nil {
		return
	}
	for _, l := range lists {
		s.deps.Interest.Remove(interest.Key(l.conversation))
	}
}

// replace returns the lists that are not open any more: the connection's former ones, or the given ones if a later request was handled.
func (r *readerLists) replace(ctx context.Context, connection any, turn uint32, lists []*readerList) (old []*readerList, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil { // only now: UnwatchReaders follows the end of ctx
		return nil, err
	}
	h := r.held[connection]
	if h == nil {
		h = &heldReaders{}
		r.held[connection] = h
	}
	if int32(turn-h.turn) < 0 {
		return lists, nil
	}
	for i, l := range lists {
		if !r.shard(l.conversation).open(l) {
			r.close(lists[:i])
			return nil, errManyLists
		}
	}
	old = h.lists
	r.close(old)
	h.turn, h.lists = turn, lists
	return old, nil
}

// close removes open lists. The caller holds mu.
func (r *readerLists) close(lists []*readerList) {
	for _, l := range lists {
		r.shard(l.conversation).close(l)
	}
}

// open adds a list, unless its conversation has too many.
func (s *readerShard) open(l *readerList) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := s.of[l.conversation]
	if len(lists) >= maxListsOf {
		return false
	}
	s.of[l.conversation] = slices.Insert(lists, firstFrom(lists, l.seq), l)
	return true
}

// close removes a list.
func (s *readerShard) close(l *readerList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.changed, l)
	left := slices.DeleteFunc(s.of[l.conversation], func(o *readerList) bool { return o == l })
	if s.of[l.conversation] = left; len(left) == 0 {
		delete(s.of, l.conversation)
	}
}

// firstFrom returns the index of the first list of a seq or a later one.
func firstFrom(lists []*readerList, seq uint64) int {
	i, _ := slices.BinarySearchFunc(lists, seq, func(l *readerList, seq uint64) int { return cmp.Compare(l.seq, seq) })
	return i
}
