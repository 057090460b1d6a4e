package push

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
)

const (
	// maxChanged bounds the users whose streams wait to be examined. The sweep finds the others.
	maxChanged = 100_000
	// gatherDelay is how long changes are gathered, so that few transactions store them.
	gatherDelay = 20 * time.Millisecond
	// unknownDelay is the delay before users are examined again whose directory does not know yet who is connected.
	unknownDelay = time.Second
	// settleTime: what a device has acknowledged is not pushed, unless it is younger. A device in the background may have acknowledged it before it was
	// examined, and does not keep it from the others.
	settleTime = 30 * time.Second

	usersAtOnce   = 200 // that are examined, and stored in a transaction
	streamsAtOnce = 8
	pageEvents    = 200 // of a stream that are examined together
	// A sweep rests between its pages, and at its end.
	sweepPause, sweepRest = 100 * time.Millisecond, 5 * time.Second
)

// StreamChanged records that an event was posted to a user's stream. It is called for each post, and does no I/O.
func (s *Service) StreamChanged(u id.User) {
	if s.some.Load() {
		s.changed.Add(u)
	}
}

// Departed reports that users have no connection any more. Events that they have not acknowledged are then pushed.
func (s *Service) Departed(users []id.User) {
	if s.some.Load() && len(users) > 0 {
		s.changed.Add(users...)
	}
}

// addUnknown has users examined again in a while, as far as there is room.
func (s *Service) addUnknown(users []id.User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown = append(s.unknown, users[:min(len(users), maxChanged-len(s.unknown))]...)
}

func (s *Service) takeUnknown() []id.User {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := s.unknown
	s.unknown = nil
	return users
}

// runTrigger examines the streams of users who changed, until ctx ends.
func (s *Service) runTrigger(ctx context.Context) {
	again := time.NewTicker(unknownDelay)
	defer again.Stop()
	for {
		select {
		case <-s.changed.Woken():
		case <-again.C:
			if unknown := s.takeUnknown(); len(unknown) > 0 {
				s.changed.Add(unknown...)
			}
			continue
		case <-ctx.Done():
			return
		}
		if backoff.Sleep(ctx, gatherDelay) != nil {
			return
		}
		for some := range slices.Chunk(s.changed.Take(), usersAtOnce) {
			if err := s.examineUsers(ctx, some); err != nil && ctx.Err() == nil {
				s.deps.Logger.Warn("streams could not be examined for push notifications; the sweep tries again", "users", len(some), "error", err)
			}
		}
	}
}

// runSweep examines what was forgotten, until ctx ends.
func (s *Service) runSweep(ctx context.Context) {
	for after := id.User(0); ; {
		next, err := s.sweepPage(ctx, after)
		pause := sweepPause
		if err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("a sweep for push notifications failed; it is tried again", "error", err)
			pause = sweepRest
		} else if after = next; after == 0 {
			pause = sweepRest
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// Sweep examines the streams of all users of this node that have events above their positions.
func (s *Service) Sweep(ctx context.Context) error {
	for after := id.User(0); ; {
		next, err := s.sweepPage(ctx, after)
		if err != nil || next == 0 {
			return err
		}
		after = next
	}
}

// sweepPage examines the next users after one, and returns the last of them, 0 at the end.
func (s *Service) sweepPage(ctx context.Context, after id.User) (next id.User, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, position FROM push_users WHERE owner > $1 ORDER BY owner LIMIT $2`, int64(after), usersAtOnce)
	var users []id.User
	var positions []message.Position
	n := 0
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var at message.Position
		err := rows.Scan(&u, &at)
		if next, n = u, n+1; s.deps.OwnsUser == nil || s.deps.OwnsUser(u) {
			users, positions = append(users, u), append(positions, at)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if s.some.Store(n > 0 || after > 0); n < usersAtOnce {
		next = 0
	}
	if len(users) == 0 {
		return next, nil
	}
	tails, err := s.deps.Inbox.Tails(ctx, users)
	if err != nil {
		return 0, err
	}
	behind := users[:0]
	for i, u := range users {
		if tails[i] > positions[i] {
			behind = append(behind, u)
		}
	}
	return next, s.examineUsers(ctx, behind)
}

// isActive reports whether a device of a user shows what happens. known: this node knows.
func (s *Service) isActive(u id.User) (active, known bool) {
	status, owned := s.deps.Directory.CachedStatus(u)
	if !owned || !status.Known {
		return false, false
	}
	return !status.Away && len(s.deps.Directory.Locate(u)) > 0, true // without a connection, a user still counts as online for a while
}

// examined is what a part of a user's stream says.
type examined struct {
	owner    id.User
	from, to message.Position
	newest   map[id.Conversation]uint64 // the newest message of each conversation that is to be pushed
	more     bool                       // the stream goes on
}

// examineUsers examines the streams of those of some users who have subscriptions and no active device, and stores what is to be pushed.
func (s *Service) examineUsers(ctx context.Context, users []id.User) error {
	var idle, unknown []id.User
	for _, u := range users {
		active, known := s.isActive(u)
		switch {
		case !known:
			if s.deps.OwnsUser == nil || s.deps.OwnsUser(u) {
				unknown = append(unknown, u)
			}
		case !active:
			idle = append(idle, u)
		}
	}
	s.addUnknown(unknown)
	positions, err := s.positionsOf(ctx, idle)
	if err != nil || len(positions) == 0 {
		return err
	}
	idle = slices.DeleteFunc(idle, func(u id.User) bool { _, subscribed := positions[u]; return !subscribed })
	acked, err := s.deps.Inbox.Acknowledged(ctx, idle)
	if err != nil {
		return err
	}
	list := make([]*examined, len(idle))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(streamsAtOnce)
	for i, u := range idle {
		group.Go(func() (err error) {
			if list[i], err = s.examine(within, u, positions[u], acked[u]); err != nil && ctx.Err() == nil { // others do not wait for this one
				s.deps.Logger.Warn("a stream could not be examined for push notifications; the sweep tries again", "user", u, "error", err)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.storeExamined(ctx, list)
}

// positionsOf returns the positions of those of some users who have subscriptions.
func (s *Service) positionsOf(ctx context.Context, users []id.User) (map[id.User]message.Position, error) {
	if len(users) == 0 {
		return nil, nil
	}
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, position FROM push_users WHERE owner IN (`+marks+`)`, args...)
	return sqldb.Pairs[id.User, message.Position](rows, err)
}

// examine reads a page of a user's stream after a position.
func (s *Service) examine(ctx context.Context, u id.User, from, acked message.Position) (*examined, error) {
	e := &examined{owner: u, from: from, newest: map[id.Conversation]uint64{}}
	raw, err := s.deps.Inbox.AppendSync(ctx, nil, u, from, pageEvents)
	if err != nil {
		return nil, err
	}
	page := &chatv1.SyncResponse{}
	if err := proto.Unmarshal(raw, page); err != nil {
		return nil, err
	}
	e.to, e.more = message.Position(page.Next.GetSeq()), page.More
	settled := s.deps.Clock.Now().Add(-settleTime).UnixMilli()
	for _, event := range page.Events {
		m := event.GetMessage()
		if m == nil || !isPushed(m, u) || message.Position(event.Seq) <= acked && m.TimeMs < settled {
			continue
		}
		c := id.Conversation(m.Conversation)
		e.newest[c] = max(e.newest[c], m.Seq)
	}
	return e, nil
}

// isPushed reports whether a user is pushed a message: one that another user wrote, and that has not been recalled.
func isPushed(m *chatv1.Message, u id.User) bool {
	if m.Sender == 0 || id.User(m.Sender) == u || m.RecallSeq != 0 {
		return false
	}
	switch m.Content.GetKind().(type) {
	case *chatv1.Content_Text, *chatv1.Content_Image, *chatv1.Content_File, *chatv1.Content_Voice, *chatv1.Content_Video, *chatv1.Content_Album,
		*chatv1.Content_Location, *chatv1.Content_Card, *chatv1.Content_Custom, *chatv1.Content_Forward:
		return true
	}
	return false
}

// storeExamined stores what is to be pushed, and moves the positions of the users, unless they have moved meanwhile.
func (s *Service) storeExamined(ctx context.Context, list []*examined) error {
	queued := false
	var more []id.User
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		queued, more = false, nil
		for _, e := range list {
			if e == nil || e.to == e.from {
				continue
			}
			moved, err := tx.ExecContext(ctx, `UPDATE push_users SET position = $3 WHERE owner = $1 AND position = $2`, int64(e.owner), int64(e.from), int64(e.to))
			if err != nil {
				return err
			}
			if n, err := moved.RowsAffected(); err != nil || n == 0 {
				continue
			}
			if e.more {
				more = append(more, e.owner)
			}
			if len(e.newest) == 0 {
				continue
			}
			some, err := s.queue(ctx, tx, e.owner, e.newest)
			if err != nil {
				return err
			}
			queued = queued || some
		}
		return s.reached("before-commit")
	})
	if err != nil {
		return err
	}
	if queued {
		s.deps.Jobs.Wake()
	}
	if len(more) > 0 {
		s.changed.Add(more...)
	}
	return nil
}
