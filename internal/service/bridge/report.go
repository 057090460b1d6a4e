package bridge

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// roomTaken is the reason of a link whose room another group is linked with.
const roomTaken, roomTakenText = "room_taken", "Another group is linked with this room."

// ListLinkedConversations returns a page of the links of the caller's bridge.
func (s *Service) ListLinkedConversations(ctx context.Context, by id.Caller, r *bridgev1.ListLinkedConversationsRequest) (*bridgev1.ListLinkedConversationsResponse, error) {
	links, more, err := s.pageOfLinks(ctx, by.Bridge, 0, r.After, r.Limit)
	if err != nil {
		return nil, err
	}
	return &bridgev1.ListLinkedConversationsResponse{Links: links, More: more}, nil
}

// ReportBridgeLink stores whether the other system accepts a link, and which room that is. If another group has the room, the link is refused.
func (s *Service) ReportBridgeLink(ctx context.Context, by id.Caller, r *bridgev1.ReportBridgeLinkRequest) (*bridgev1.BridgeLink, error) {
	if r.State != active && r.State != refused {
		return nil, errLinkState
	}
	if err := checkReason(r.State == refused, r.Reason, r.Text); err != nil {
		return nil, err
	}
	if r.Room != "" && (r.State == refused || !isForeign(r.Room)) {
		return nil, errRoom
	}
	reported := &bridgev1.BridgeLink{Bridge: by.Bridge, Conversation: r.Conversation, State: r.State, Reason: r.Reason, Text: strings.TrimSpace(r.Text), Room: r.Room}
	l, err := s.storeReport(ctx, reported)
	if !isRoomTaken(err) {
		return l, err
	}
	switch free, err := s.freeRoom(ctx, reported, otherLinkWithRoom); {
	case err != nil:
		return nil, err
	case free:
		if l, err := s.storeReport(ctx, reported); !isRoomTaken(err) {
			return l, err
		}
	}
	return s.storeReport(ctx, &bridgev1.BridgeLink{Bridge: by.Bridge, Conversation: r.Conversation, State: refused, Reason: roomTaken, Text: roomTakenText})
}

// storeReport stores the state of a link. A link that is refused has no room, so that it keeps no other group from it.
func (s *Service) storeReport(ctx context.Context, r *bridgev1.BridgeLink) (l *bridgev1.BridgeLink, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if r.Room != "" {
			switch _, err := otherLinkWithRoom(ctx, tx, r); {
			case err == nil:
				return errRoomTaken
			case !errors.Is(err, sql.ErrNoRows):
				return err
			}
		} else if r.State == active { // an older report has named the room that is taken: without a room, this one does not say that it is another
			var taken bool
			if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM bridge_links WHERE bridge = $1 AND conversation = $2 AND state = $3 AND reason = $4)`, r.Bridge, int64(r.Conversation), refused, roomTaken).Scan(&taken); err != nil {
				return err
			}
			if taken {
				return errRoomTaken
			}
		}
		l, err = scanLink(tx.QueryRowContext(ctx, `UPDATE bridge_links SET state = $3, reason = $4, text = $5, room = CASE WHEN $6 THEN NULL ELSE COALESCE(NULLIF($7, ''), room) END WHERE bridge = $1 AND conversation = $2 RETURNING `+linkColumns,
			r.Bridge, int64(r.Conversation), r.State, r.Reason, r.Text, r.State == refused, r.Room).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			err = message.ErrNotLinked
		}
		return err
	})
	return l, err
}
