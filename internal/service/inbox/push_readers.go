package inbox

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/interest"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

const (
	readersInterval = time.Second // between pushes
	// maxPushedReaders is how many users one push names. If more have read a message, the client is told to ask again.
	maxPushedReaders = 50
	// readerPushers is how many lists are pushed at once. Each reads the database.
	readerPushers = 4
)

// publishRead tells the nodes with open lists of cursors that were stored.
func (s *Service) publishRead(moved []interest.Change) {
	if s.deps.Interest == nil {
		s.ReadersMoved(moved)
		return
	}
	s.deps.Interest.Publish(moved)
}

// ReadersMoved is called with read cursors that moved on any node. It does not block.
func (s *Service) ReadersMoved(list []interest.Change) {
	for _, c := range list {
		s.readerLists.shard(id.Conversation(c.Key)).moved(c)
	}
}

// moved notes a cursor in the lists of the messages that it passed.
func (s *readerShard) moved(c interest.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := s.of[id.Conversation(c.Key)]
	for _, l := range lists[firstFrom(lists, c.From+1):] {
		if l.seq > c.To {
			return
		}
		if c.User == l.by || slices.Contains(l.users, c.User) {
			continue
		}
		if len(l.users) < maxPushedReaders {
			l.users = append(l.users, c.User)
		} else {
			l.more = true
		}
		s.changed[l] = struct{}{}
	}
}

// ReadersMissed is called where calls of ReadersMoved may be missing: all clients with open lists ask again. It does not block.
func (s *Service) ReadersMissed() {
	for i := range s.readerLists.shards {
		s.readerLists.shards[i].missed()
	}
}

func (s *readerShard) missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lists := range s.of {
		for _, l := range lists {
			l.more = true
			s.changed[l] = struct{}{}
		}
	}
}

// take adds what changed since the last call to due.
func (s *readerShard) take(due []dueReaders) []dueReaders {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.changed {
		due = append(due, dueReaders{l, *l})
		l.users, l.more = nil, false
	}
	clear(s.changed)
	return due
}

// dueReaders is a list that is pushed, and what it had.
type dueReaders struct {
	list *readerList
	had  readerList
}

// runReaders pushes changes of open lists until ctx ends.
func (s *Service) runReaders(ctx context.Context) {
	tick := time.NewTicker(readersInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.pushReaders(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) pushReaders(ctx context.Context) {
	var due []dueReaders
	for i := range s.readerLists.shards {
		due = s.readerLists.shards[i].take(due)
	}
	var next atomic.Int64
	var pushers sync.WaitGroup
	for range min(readerPushers, len(due)) {
		pushers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(due) && ctx.Err() == nil; i = next.Add(1) - 1 {
				s.pushList(ctx, &due[i])
			}
		})
	}
	pushers.Wait()
}

// pushList pushes the new readers of a message. What fails is pushed later.
func (s *Service) pushList(ctx context.Context, d *dueReaders) {
	update, err := s.readersUpdate(ctx, &d.had)
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		s.deps.Logger.Warn("new readers of a message are pushed later", "conversation", d.list.conversation, "seq", d.list.seq, "error", err)
		s.readerLists.shard(d.list.conversation).retry(d.list)
	case update != nil:
		d.list.push(update)
	}
}

// retry makes the client ask again, with the next push.
func (s *readerShard) retry(l *readerList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.of[l.conversation], l) { // it may be closed by now
		l.more = true
		s.changed[l] = struct{}{}
	}
}

// readersUpdate returns what is pushed of a list, nil for nothing. It names only users whom ListReaders would list now.
func (s *Service) readersUpdate(ctx context.Context, l *readerList) (*gatewayv1.ReadersUpdate, error) {
	err := s.checkSender(ctx, l.by, l.conversation, l.seq)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Denied) {
		return nil, nil // the user may not read the message any more, or it has expired
	}
	if err != nil {
		return nil, err
	}
	_, blocked, err := s.deps.Conversations.Peer(ctx, l.by, l.conversation)
	if err != nil || blocked {
		return nil, err
	}
	members, err := s.inAudience(ctx, l)
	if err != nil {
		return nil, err
	}
	update := &gatewayv1.ReadersUpdate{Conversation: uint64(l.conversation), Seq: l.seq, More: l.more}
	if len(members) > 0 {
		read, err := s.showAsRead(ctx, l.conversation, members, l.seq)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if read[m] {
				update.Users = append(update.Users, uint64(m))
			}
		}
	}
	if len(update.Users) == 0 && !update.More {
		return nil, nil
	}
	return update, nil
}

// inAudience returns those of a list's users who received the message, by id. A user may have joined later, and read on from there.
func (s *Service) inAudience(ctx context.Context, l *readerList) (members []id.User, err error) {
	users := slices.Sorted(slices.Values(l.users))
	for _, u := range users {
		page, _, err := s.deps.Conversations.AudiencePage(ctx, l.conversation, l.seq, u-1, 1)
		if err != nil {
			return nil, err
		}
		if slices.Contains(page, u) {
			members = append(members, u)
		}
	}
	return members, nil
}
