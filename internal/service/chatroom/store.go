package chatroom

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var migrations = []string{
	`CREATE TABLE rooms (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, title TEXT NOT NULL, announcement TEXT NOT NULL DEFAULT '', muted BOOLEAN NOT NULL DEFAULT FALSE,
		closed BOOLEAN NOT NULL DEFAULT FALSE, created_ms BIGINT NOT NULL, revision BIGINT NOT NULL DEFAULT 1)`,
	`CREATE INDEX rooms_by_owner ON rooms (owner, id)`,
	`CREATE TABLE room_moderators (room BIGINT NOT NULL, moderator BIGINT NOT NULL, PRIMARY KEY (room, moderator))`,
	`CREATE INDEX room_moderators_by_user ON room_moderators (moderator, room)`,
	`CREATE TABLE room_restrictions (room BIGINT NOT NULL, restricted BIGINT NOT NULL, kicked_until_ms BIGINT NOT NULL, muted_until_ms BIGINT NOT NULL, PRIMARY KEY (room, restricted))`,
	`ALTER TABLE rooms ADD COLUMN term BIGINT NOT NULL DEFAULT 0`, // of the owner that may change the room
	`ALTER TABLE rooms ADD COLUMN closed_ms BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX rooms_closed ON rooms (closed_ms, id) WHERE closed`,
}

// restriction says until when a user is kept out of a room, and from writing.
type restriction struct{ kickedMs, mutedMs int64 }

// roomState is what the database has of a room.
type roomState struct {
	*chatv1.Room
	restrictions map[id.User]restriction
}

// isModerator reports whether a user moderates the room or owns it.
func (r *roomState) isModerator(u id.User) bool { return r.rank(u) > 0 }

// rank compares users: the owner is above moderators, and these are above others.
func (r *roomState) rank(u id.User) int { return rankIn(r.Room, u) }

func rankIn(r *chatv1.Room, u id.User) int {
	if id.User(r.Owner) == u {
		return 2
	}
	for _, m := range r.Moderators {
		if id.User(m) == u {
			return 1
		}
	}
	return 0
}

const roomColumns = `id, owner, title, announcement, muted, closed, created_ms, revision`

func scanRoom(scan func(...any) error) (*chatv1.Room, error) {
	r := &chatv1.Room{}
	return r, scan(&r.Id, &r.Owner, &r.Title, &r.Announcement, &r.Muted, &r.Closed, &r.CreatedMs, &r.Revision)
}

// readRoom returns a room with its moderators.
func readRoom(ctx context.Context, q sqldb.Querier, room id.Room) (*chatv1.Room, error) {
	r, err := scanRoom(q.QueryRowContext(ctx, `SELECT `+roomColumns+` FROM rooms WHERE id = $1`, int64(room)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoRoom
	}
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `SELECT moderator FROM room_moderators WHERE room = $1 ORDER BY moderator`, int64(room))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m uint64
		if err := rows.Scan(&m); err != nil {
			return nil, err
		}
		r.Moderators = append(r.Moderators, m)
	}
	return r, rows.Err()
}

// readState returns a room with the restrictions that hold at a time.
func readState(ctx context.Context, q sqldb.Querier, room id.Room, nowMs int64) (*roomState, error) {
	r, err := readRoom(ctx, q, room)
	if err != nil {
		return nil, err
	}
	st := &roomState{Room: r, restrictions: map[id.User]restriction{}}
	rows, err := q.QueryContext(ctx, `SELECT restricted, kicked_until_ms, muted_until_ms FROM room_restrictions WHERE room = $1 AND (kicked_until_ms > $2 OR muted_until_ms > $2)
		ORDER BY restricted LIMIT $3`, int64(room), nowMs, maxRestricted)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var u id.User
		var x restriction
		if err := rows.Scan(&u, &x.kickedMs, &x.mutedMs); err != nil {
			return nil, err
		}
		st.restrictions[u] = x
	}
	return st, rows.Err()
}

// readRestriction returns what restricts a user in a room, whether or not it is over.
func readRestriction(ctx context.Context, q sqldb.Querier, room id.Room, u id.User) (x restriction, err error) {
	err = q.QueryRowContext(ctx, `SELECT kicked_until_ms, muted_until_ms FROM room_restrictions WHERE room = $1 AND restricted = $2`, int64(room), int64(u)).Scan(&x.kickedMs, &x.mutedMs)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return x, err
}
