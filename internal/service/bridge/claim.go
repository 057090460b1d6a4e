package bridge

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// maxPending is how long a link that the other system has not answered keeps its room from other groups.
const maxPending = 24 * time.Hour

// errRoomTaken says that a link of another group has the address or the room.
var errRoomTaken = errors.New("another group is linked with this room")

// isRoomTaken reports whether a link could not be stored since another one has its address or its room.
func isRoomTaken(err error) bool { return errors.Is(err, errRoomTaken) || sqldb.IsUnique(err) }

// otherLinkOf returns the link of another group with the address or the room of a link. A link that was reported without a room has its room by the address as it is written.
func otherLinkOf(ctx context.Context, q sqldb.Querier, l *bridgev1.BridgeLink) (*bridgev1.BridgeLink, error) {
	return scanLink(q.QueryRowContext(ctx, `SELECT `+linkColumns+` FROM bridge_links WHERE bridge = $1 AND conversation <> $2 AND (address IN ($3, $4) OR room IN ($3, $4)) ORDER BY created_ms, conversation LIMIT 1`,
		l.Bridge, int64(l.Conversation), l.Address, l.Room).Scan)
}

// otherLinkWithRoom returns the link of another group that has the room of a report. An active link that was reported without a room has it by its address; one that
// waits for its own report has none yet.
func otherLinkWithRoom(ctx context.Context, q sqldb.Querier, l *bridgev1.BridgeLink) (*bridgev1.BridgeLink, error) {
	return scanLink(q.QueryRowContext(ctx, `SELECT `+linkColumns+` FROM bridge_links WHERE bridge = $1 AND conversation <> $2 AND (room = $3 OR address = $3 AND state = $4) ORDER BY created_ms, conversation LIMIT 1`,
		l.Bridge, int64(l.Conversation), l.Room, active).Scan)
}

// freeRoom deletes the link that find returns, if it claims its room no more. It returns false if it still does.
func (s *Service) freeRoom(ctx context.Context, of *bridgev1.BridgeLink, find func(ctx context.Context, q sqldb.Querier, l *bridgev1.BridgeLink) (*bridgev1.BridgeLink, error)) (bool, error) {
	l, err := find(ctx, s.deps.DB.Read(), of)
	if errors.Is(err, sql.ErrNoRows) { // it was ended meanwhile
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if claims, err := s.claimsRoom(ctx, l); claims || err != nil {
		return false, err
	}
	return true, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if deleted, err := deleteLinkAsRead(ctx, tx, l); err != nil || !deleted {
			return err
		}
		return deletePermissions(ctx, tx, l.Bridge, id.Conversation(l.Conversation))
	})
}

// claimsRoom reports whether a link keeps its room from other groups: it was not refused, does not wait for an answer too long, and its group is there, with the bot once the link is active.
func (s *Service) claimsRoom(ctx context.Context, l *bridgev1.BridgeLink) (bool, error) {
	if l.State == refused || l.State == pending && l.CreatedMs <= s.nowMs()-maxPending.Milliseconds() {
		return false, nil
	}
	c := id.Conversation(l.Conversation)
	if gone, err := s.deps.Chat.DissolvedAmong(ctx, []id.Conversation{c}); err != nil || len(gone) > 0 {
		return false, err
	}
	if l.State == pending { // its bot may become a member only now
		return true, nil
	}
	b, err := bridgeOf(ctx, s.deps.DB.Read(), l.Bridge)
	if err != nil {
		return false, err
	}
	_, err = s.deps.Chat.MemberRole(ctx, c, id.User(b.Bot))
	if errs.Is(err, errs.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// deleteLinkAsRead deletes the row of a link, unless it was changed since it was read.
func deleteLinkAsRead(ctx context.Context, tx *sql.Tx, l *bridgev1.BridgeLink) (deleted bool, err error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM bridge_links WHERE bridge = $1 AND conversation = $2 AND address = $3 AND state = $4 AND linked_by = $5 AND created_ms = $6`,
		l.Bridge, int64(l.Conversation), l.Address, l.State, int64(l.LinkedBy), l.CreatedMs)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

func deletePermissions(ctx context.Context, tx *sql.Tx, bridge string, c id.Conversation) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM bridge_permissions WHERE bridge = $1 AND conversation = $2`, bridge, int64(c))
	return err
}

// linkedAfter returns some linked groups, in order.
func (s *Service) linkedAfter(ctx context.Context, after id.Conversation) ([]id.Conversation, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT DISTINCT conversation FROM bridge_links WHERE conversation > $1 ORDER BY conversation LIMIT $2`, int64(after), batch)
	return sqldb.Column[id.Conversation](rows, err)
}

// deleteDissolved deletes the links of groups that were dissolved.
func (s *Service) deleteDissolved(ctx context.Context) error {
	for after := id.Conversation(0); ; {
		groups, err := s.linkedAfter(ctx, after)
		if err != nil || len(groups) == 0 {
			return err
		}
		gone, err := s.deps.Chat.DissolvedAmong(ctx, groups)
		if err != nil {
			return err
		}
		for _, c := range gone {
			if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return deleteLinksOf(ctx, tx, c) }); err != nil {
				return err
			}
		}
		after = groups[len(groups)-1]
	}
}

func deleteLinksOf(ctx context.Context, tx *sql.Tx, c id.Conversation) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM bridge_permissions WHERE conversation = $1`, int64(c)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM bridge_links WHERE conversation = $1`, int64(c))
	return err
}
