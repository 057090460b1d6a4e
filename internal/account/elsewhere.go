package account

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/news"
)

// Kinds of what the nodes are told.
const (
	endedNews      = "session_ended"
	friendshipNews = "friendship"
	settingsNews   = "settings"
)

// Told is called with what a node's room tells: this node's connections, and what is kept in memory, follow. What this node did is told
// too: where nobody knew whether its commit was stored, nothing else tells.
func (s *Service) Told(i news.Item) {
	switch i.Kind {
	case endedNews:
		s.tellEnded(Ended{User: i.User, Session: id.Session(i.Other), Reason: i.Text})
	case friendshipNews:
		if s.deps.FriendshipElsewhere != nil {
			s.deps.FriendshipElsewhere(i.User, id.User(i.Other))
		}
	case settingsNews:
		s.tellSettings(i.User)
	}
}

// put has other nodes told, once the transaction is committed. Call sent afterwards.
func (s *Service) put(ctx context.Context, tx *sql.Tx, items ...news.Item) error {
	if s.deps.News == nil {
		return nil
	}
	return s.deps.News.Put(ctx, tx, items...)
}

func (s *Service) sent() {
	if s.deps.News != nil {
		s.deps.News.Sent()
	}
}

func (s *Service) putEnded(ctx context.Context, tx *sql.Tx, ended []Ended) error {
	items := make([]news.Item, len(ended))
	for i, e := range ended {
		items[i] = news.Item{Kind: endedNews, User: e.User, Other: uint64(e.Session), Text: e.Reason}
	}
	return s.put(ctx, tx, items...)
}

// tell of sessions that ended here.
func (s *Service) tell(ended []Ended) {
	if len(ended) == 0 {
		return
	}
	s.sent()
	for _, e := range ended {
		s.tellEnded(e)
	}
}

func (s *Service) tellEnded(e Ended) {
	if s.deps.SessionEnded != nil {
		s.deps.SessionEnded(e)
	}
}

func (s *Service) tellSettings(user id.User) {
	if s.deps.SettingsChanged != nil {
		s.deps.SettingsChanged(user)
	}
}

// Over gives those of some sessions that do not go on: for who missed what other nodes told.
func (s *Service) Over(ctx context.Context, sessions []id.Session) (over []id.Session, err error) {
	for len(sessions) > 0 {
		n := min(len(sessions), 200)
		args := make([]any, n)
		going := make(map[id.Session]bool, n)
		for i, session := range sessions[:n] {
			args[i] = int64(session)
		}
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM sessions WHERE id IN (`+marks(n, 1)+`) AND ended_ms = 0`, args...)
		if err != nil {
			return nil, err
		}
		if err := eachID(rows, func(n int64) { going[id.Session(n)] = true }); err != nil {
			return nil, err
		}
		for _, session := range sessions[:n] {
			if !going[session] {
				over = append(over, session)
			}
		}
		sessions = sessions[n:]
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
