package account

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

// Kinds of cluster events.
const (
	sessionEndedEvent = "session_ended"
	friendshipEvent   = "friendship"
	settingsEvent     = "settings"
)

// HandleEvent applies an event of any node to this node's connections and caches. A node handles its own events as
// well: if the outcome of its commit was unknown, the event is the only notice.
func (s *Service) HandleEvent(i clusterevent.Event) {
	switch i.Kind {
	case sessionEndedEvent:
		s.sessionEnded(Ended{User: i.User, Session: id.Session(i.Other), Reason: i.Detail})
	case friendshipEvent:
		if s.deps.FriendshipEvent != nil {
			s.deps.FriendshipEvent(i.User, id.User(i.Other))
		}
	case settingsEvent:
		s.settingsChanged(i.User)
	case erasureBeganEvent, erasureEndedEvent:
		s.setErasing(i.User, i.Kind == erasureBeganEvent)
	}
}

// addEvents stores events in the transaction. Call notifyNodes after its commit.
func (s *Service) addEvents(ctx context.Context, tx *sql.Tx, items ...clusterevent.Event) error {
	if s.deps.ClusterEvents == nil {
		return nil
	}
	return s.deps.ClusterEvents.Add(ctx, tx, items...)
}

func (s *Service) notifyNodes() {
	if s.deps.ClusterEvents != nil {
		s.deps.ClusterEvents.Notify()
	}
}

func (s *Service) addSessionEndedEvents(ctx context.Context, tx *sql.Tx, ended []Ended) error {
	items := make([]clusterevent.Event, len(ended))
	for i, e := range ended {
		items[i] = clusterevent.Event{Kind: sessionEndedEvent, User: e.User, Other: uint64(e.Session), Detail: e.Reason}
	}
	return s.addEvents(ctx, tx, items...)
}

// announceEnded reports sessions that this node ended, to this node and to the others.
func (s *Service) announceEnded(ended []Ended) {
	if len(ended) == 0 {
		return
	}
	s.notifyNodes()
	for _, e := range ended {
		s.sessionEnded(e)
	}
}

func (s *Service) sessionEnded(e Ended) {
	if s.deps.SessionEnded != nil {
		s.deps.SessionEnded(e)
	}
}

func (s *Service) settingsChanged(user id.User) {
	if s.deps.SettingsChanged != nil {
		s.deps.SettingsChanged(user)
	}
}

// EndedSessions returns the sessions among the given ones that have ended. A node calls it when it missed cluster events.
func (s *Service) EndedSessions(ctx context.Context, sessions []id.Session) (over []id.Session, err error) {
	for batch := range slices.Chunk(sessions, idsPerQuery) {
		marks, args := sqldb.Placeholders(1, batch, func(s id.Session) int64 { return int64(s) })
		live := make(map[id.Session]bool, len(batch))
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM sessions WHERE id IN (`+marks+`) AND ended_ms = 0`, args...)
		if err != nil {
			return nil, err
		}
		if err := eachID(rows, func(n int64) { live[id.Session(n)] = true }); err != nil {
			return nil, err
		}
		for _, session := range batch {
			if !live[session] {
				over = append(over, session)
			}
		}
	}
	return over, nil
}

func eachID(rows *sql.Rows, each func(int64)) error {
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return err
		}
		each(n)
	}
	return rows.Err()
}
