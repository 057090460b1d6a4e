package inbox

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

const (
	gather    = 20 * time.Millisecond // so long marks gather before they are written together
	together  = 500                   // marks, or places of streams, in one transaction
	ackEvery  = time.Second           // also: so long marks wait after a failure
	trimEvery = time.Hour
)

// Mark moves a user's cursors forward, soon. Marks of those who may not read are left out.
func (s *Service) Mark(u id.User, c id.Conversation, delivered, read uint64) {
	p := place{u, c}
	s.mu.Lock()
	m, ok := s.marks[p]
	if ok || len(s.marks) < queued {
		s.marks[p] = mark{max(m.delivered, delivered), max(m.read, read)}
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// MarkSync moves a user's cursors forward, and gives the user's view afterwards.
func (s *Service) MarkSync(ctx context.Context, u id.User, c id.Conversation, delivered, read uint64) (*chatv1.ConversationState, error) {
	r, err := s.resolve(ctx, place{u, c}, mark{delivered, read})
	if err != nil {
		return nil, err
	}
	if err := s.write(ctx, []*resolved{r}); err != nil {
		return nil, err
	}
	v, err := s.shown(ctx, s.deps.DB.Read(), u, c, r.from)
	return v.state, err
}

// Run writes marks and acknowledgements, and trims streams, until ctx ends. What waits then is written first.
func (s *Service) Run(ctx context.Context) error {
	var trimming sync.WaitGroup
	defer trimming.Wait()
	trimming.Go(func() { s.trimAll(ctx) }) // apart: it goes over all streams, and marks must not wait for that
	acks := time.NewTicker(ackEvery)
	defer acks.Stop()
	for {
		select {
		case <-s.wake:
			pause(ctx, gather)
			s.writeMarks(context.WithoutCancel(ctx))
		case <-acks.C:
			s.writeAcks(context.WithoutCancel(ctx))
			s.writeMarks(context.WithoutCancel(ctx)) // those that came back after a failure
		case <-ctx.Done():
			s.writeMarks(context.WithoutCancel(ctx))
			s.writeAcks(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *Service) writeMarks(ctx context.Context) {
	s.mu.Lock()
	marks := s.marks
	s.marks = map[place]mark{}
	s.mu.Unlock()
	var list []*resolved
	for p, m := range marks {
		r, err := s.resolve(ctx, p, m)
		switch {
		case err == nil:
			list = append(list, r)
		case errs.Is(err, errs.Unavailable) || errs.Is(err, errs.Exhausted):
			s.deps.Logger.Warn("a mark is written later", "user", p.user, "conversation", p.conversation, "error", err)
			s.back(p, m)
		case !errs.Is(err, errs.NotFound):
			s.deps.Logger.Error("a mark was lost", "user", p.user, "conversation", p.conversation, "error", err)
		}
	}
	for len(list) > 0 {
		n := min(len(list), together)
		if err := s.write(ctx, list[:n]); err != nil {
			s.deps.Logger.Warn("marks are written later", "marks", n, "error", err)
			for _, r := range list[:n] {
				s.back(r.place, r.mark)
			}
		}
		list = list[n:]
	}
}

// back has a mark written with the next ones.
func (s *Service) back(p place, m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.marks[p]
	s.marks[p] = mark{max(m.delivered, o.delivered), max(m.read, o.read)}
}

// resolved is a mark within what its user may read, with the running number at it.
type resolved struct {
	place
	mark
	from    uint64 // the first that the user may read
	counted uint64
	peer    id.User // who is told; 0: nobody
	hides   bool
}

func (s *Service) resolve(ctx context.Context, p place, m mark) (*resolved, error) {
	from, to, err := s.deps.Conversations.May(ctx, p.user, p.conversation)
	if err != nil {
		return nil, err
	}
	tail, err := s.deps.Log.Tail(ctx, logOf(p.conversation))
	if err != nil {
		return nil, err
	}
	to = min(to, tail.Seq)
	// What is read has been delivered.
	r := &resolved{place: p, from: from, mark: mark{delivered: min(max(m.delivered, m.read), to), read: min(m.read, to)}}
	if r.read < from {
		r.read = 0
	}
	if r.delivered < from {
		r.delivered = 0
	}
	if r.read != 0 {
		if r.counted, err = s.countedAt(ctx, p.conversation, r.read); err != nil {
			return nil, err
		}
	}
	var apart bool
	if r.peer, apart, err = s.deps.Conversations.Peer(ctx, p.user, p.conversation); err != nil || r.peer == 0 {
		return r, err
	}
	if apart {
		r.peer = 0 // is not told
		return r, nil
	}
	r.hides, err = s.deps.HidesRead(ctx, p.user)
	return r, err
}

var errDamaged = errs.Wrap(errs.Internal, "damaged", "the server's store is damaged; its operator must run rialto verify", timeline.ErrDamaged)

// countedAt gives the running number at a seq.
func (s *Service) countedAt(ctx context.Context, c id.Conversation, seq uint64) (uint64, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(c), From: seq, To: seq}})
	if err != nil {
		return 0, err
	}
	if len(entries) != 1 {
		if err := s.expired(ctx, c, seq); err != nil {
			return 0, err
		}
		return 0, errs.New(errs.NotFound, "no_message", "this message has expired")
	}
	return entries[0].Counted, nil
}

// write moves cursors and puts the events of it, in one transaction.
func (s *Service) write(ctx context.Context, list []*resolved) error {
	moved := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		moved = false
		for _, r := range list {
			var read, delivered uint64
			err := tx.QueryRowContext(ctx, `SELECT read_seq, delivered_seq FROM views WHERE owner = $1 AND conversation = $2`, int64(r.user), int64(r.conversation)).Scan(&read, &delivered)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if r.read <= read && r.delivered <= delivered {
				continue
			}
			moved = true
			if _, err := tx.ExecContext(ctx, `INSERT INTO views (owner, conversation, read_seq, read_counted, delivered_seq) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (owner, conversation) DO UPDATE SET read_counted = CASE WHEN $3 > views.read_seq THEN $4 ELSE views.read_counted END,
				read_seq = CASE WHEN $3 > views.read_seq THEN $3 ELSE views.read_seq END, delivered_seq = CASE WHEN $5 > views.delivered_seq THEN $5 ELSE views.delivered_seq END`,
				int64(r.user), int64(r.conversation), int64(r.read), int64(r.counted), int64(r.delivered)); err != nil {
				return err
			}
			now := mark{max(delivered, r.delivered), max(read, r.read)}
			if err := s.tell(ctx, tx, r, now, now.delivered > delivered, now.read > read); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && moved {
		s.deps.Outbox.Wake()
	}
	return err
}

// tell puts the events of moved cursors: to the user's own devices, and to the other of a one-to-one conversation.
// One who hides does not tell when they read either.
func (s *Service) tell(ctx context.Context, tx *sql.Tx, r *resolved, now mark, deliveredMoved, readMoved bool) error {
	if readMoved {
		v, err := s.shown(ctx, tx, r.user, r.conversation, r.from)
		if err != nil {
			return err
		}
		if err := s.put(ctx, tx, r.user, message.FieldConversation, v.state); err != nil {
			return err
		}
	}
	if r.peer == 0 || r.hides && !deliveredMoved {
		return nil
	}
	m := &chatv1.MemberMark{Conversation: uint64(r.conversation), User: uint64(r.user), DeliveredSeq: now.delivered, ReadSeq: now.read}
	if r.hides {
		m.ReadSeq = 0
	}
	return s.put(ctx, tx, r.peer, message.FieldMark, m)
}

func (s *Service) put(ctx context.Context, tx *sql.Tx, u id.User, field int, m proto.Message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: u, Body: message.AppendBody(nil, field, b)})
}
