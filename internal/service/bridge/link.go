package bridge

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	pending = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_PENDING
	active  = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE
	refused = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_REFUSED
)

var (
	errLinkedElsewhere = errs.New(errs.Conflict, "address_linked", "another group is linked with this room")
	errOtherAddress    = errs.New(errs.Conflict, "already_linked", "this group is linked with another room of the same bridge; unlink it first")
	errTooManyLinks    = errs.New(errs.Exhausted, "too_many_links", "a group has at most 5 links, and a bridge 10,000; unlink one first")
	errTooManyOfUser   = errs.New(errs.Exhausted, "too_many_links_of_user", "you have linked as many groups by this bridge as one user may; unlink one first, or have another admin link this group")
	errLinkState       = errs.New(errs.Invalid, "bad_link_state", "report that a link is active or refused")
	errMayNotUnlink    = errs.New(errs.Denied, "not_allowed", "admins and the owner end the links of a group")
	errListLimit       = errs.New(errs.Invalid, "bad_limit", "limit is at most 200")
)

// undoTimeout bounds how long a link is taken back whose bot could not become a member.
const undoTimeout = 10 * time.Second

// botRemoved is the reason of a link whose bot is no member any more.
const botRemoved = "bot_removed"

// linkColumns selects an empty room for NULL.
const linkColumns = `bridge, conversation, address, state, reason, text, linked_by, created_ms, COALESCE(room, '')`

func scanLink(scan func(...any) error) (*bridgev1.BridgeLink, error) {
	l := &bridgev1.BridgeLink{}
	return l, scan(&l.Bridge, &l.Conversation, &l.Address, &l.State, &l.Reason, &l.Text, &l.LinkedBy, &l.CreatedMs, &l.Room)
}

// pageOfLinks returns links of a bridge, of all users or of the one who made them, with conversations above one.
func (s *Service) pageOfLinks(ctx context.Context, bridge string, linkedBy, after uint64, limit uint32) (links []*bridgev1.BridgeLink, more bool, err error) {
	if limit > 200 {
		return nil, false, errListLimit
	}
	most := outputlimit.PageSize(limit)
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+linkColumns+` FROM bridge_links WHERE bridge = $1 AND conversation > $2 AND ($3 OR linked_by = $4) ORDER BY conversation LIMIT $5`,
		bridge, int64(min(after, math.MaxInt64)), linkedBy == 0, int64(min(linkedBy, math.MaxInt64)), most+1)
	if links, err = sqldb.Collect(rows, err, scanLink); err != nil {
		return nil, false, err
	}
	return links[:min(most, len(links))], len(links) > most, nil
}

// LinkBridge links a group with a room of another system. The row comes first: the bridge looks for it when its bot becomes a member.
func (s *Service) LinkBridge(ctx context.Context, by id.Caller, r *bridgev1.LinkBridgeRequest) (*bridgev1.BridgeLink, error) {
	c := id.Conversation(r.Conversation)
	if err := s.deps.Chat.MayLink(ctx, c, by.User); err != nil {
		return nil, err
	}
	address := strings.TrimSpace(r.Address) // with spaces around it, it would be another one for the database and the same for the bridge
	if !isForeign(address) {
		return nil, errAddress
	}
	l := &bridgev1.BridgeLink{Bridge: r.Bridge, Conversation: r.Conversation, Address: address, State: pending, LinkedBy: uint64(by.User), CreatedMs: s.nowMs()}
	var bot id.User
	var was *bridgev1.BridgeLink
	write := func() error {
		return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			b, err := bridgeOf(ctx, tx, r.Bridge)
			if err != nil {
				return err
			}
			bot = id.User(b.Bot)
			was, err = s.insertLink(ctx, tx, l)
			return err
		})
	}
	err := write()
	if isRoomTaken(err) {
		if free, err := s.freeRoom(ctx, l, otherLinkOf); err != nil {
			return nil, err
		} else if !free {
			return nil, errLinkedElsewhere
		}
		if err = write(); isRoomTaken(err) { // another group was first
			return nil, errLinkedElsewhere
		}
	}
	if err != nil {
		return nil, err
	}
	if err := s.deps.Chat.AddBridge(ctx, c, by.User, bot); err != nil {
		return nil, errors.Join(err, s.undoLink(ctx, l, was))
	}
	return l, nil
}

// insertLink inserts a link, or makes one that is there pending again, and returns what that was. It keeps its age, by which it has its room, unless it was refused: then it begins anew.
func (s *Service) insertLink(ctx context.Context, tx *sql.Tx, l *bridgev1.BridgeLink) (was *bridgev1.BridgeLink, err error) {
	was, err = scanLink(tx.QueryRowContext(ctx, `SELECT `+linkColumns+` FROM bridge_links WHERE bridge = $1 AND conversation = $2`, l.Bridge, int64(l.Conversation)).Scan)
	switch {
	case err == nil && was.Address != l.Address:
		return nil, errOtherAddress
	case err == nil:
		if was.LinkedBy != l.LinkedBy { // otherwise a second admin would make room for the first one
			if err := s.checkLinksOfUser(ctx, tx, l); err != nil {
				return nil, err
			}
		}
		if l.Room = was.Room; was.State != refused {
			l.CreatedMs = was.CreatedMs
		}
		return was, updateLink(ctx, tx, l)
	case !errors.Is(err, sql.ErrNoRows):
		return nil, err
	}
	switch _, err := otherLinkOf(ctx, tx, l); {
	case err == nil:
		return nil, errRoomTaken
	case !errors.Is(err, sql.ErrNoRows):
		return nil, err
	}
	var here, all int64
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM bridge_links WHERE conversation = $1), (SELECT COUNT(*) FROM bridge_links WHERE bridge = $2)`, int64(l.Conversation), l.Bridge).Scan(&here, &all); err != nil {
		return nil, err
	}
	if here >= s.most.links || all >= s.most.allLinks {
		return nil, errTooManyLinks
	}
	if err := s.checkLinksOfUser(ctx, tx, l); err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO bridge_links (bridge, conversation, address, state, linked_by, created_ms) VALUES ($1, $2, $3, $4, $5, $6)`,
		l.Bridge, int64(l.Conversation), l.Address, l.State, int64(l.LinkedBy), l.CreatedMs)
	return nil, err
}

// checkLinksOfUser fails if who makes a link has made as many by the same bridge as one user may.
func (s *Service) checkLinksOfUser(ctx context.Context, tx *sql.Tx, l *bridgev1.BridgeLink) error {
	var n int64
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM bridge_links WHERE linked_by = $1 AND bridge = $2`, int64(l.LinkedBy), l.Bridge).Scan(&n); err != nil {
		return err
	}
	if n >= s.most.userLinks {
		return errTooManyOfUser
	}
	return nil
}

func updateLink(ctx context.Context, tx *sql.Tx, l *bridgev1.BridgeLink) error {
	_, err := tx.ExecContext(ctx, `UPDATE bridge_links SET state = $3, reason = $4, text = $5, linked_by = $6, created_ms = $7 WHERE bridge = $1 AND conversation = $2`,
		l.Bridge, int64(l.Conversation), l.State, l.Reason, l.Text, int64(l.LinkedBy), l.CreatedMs)
	return err
}

// undoLink takes a link back whose bot could not become a member, also if the call has ended, unless the link was changed since. was is what it was before; nil: it is new.
func (s *Service) undoLink(ctx context.Context, l, was *bridgev1.BridgeLink) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		deleted, err := deleteLinkAsRead(ctx, tx, l)
		if err != nil || !deleted {
			return err
		}
		if was == nil {
			return deletePermissions(ctx, tx, l.Bridge, id.Conversation(l.Conversation))
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO bridge_links (bridge, conversation, address, state, reason, text, linked_by, created_ms, room) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULLIF($9, ''))`,
			was.Bridge, int64(was.Conversation), was.Address, was.State, was.Reason, was.Text, int64(was.LinkedBy), was.CreatedMs, was.Room)
		return err
	})
}

// UnlinkBridge ends a link.
func (s *Service) UnlinkBridge(ctx context.Context, by id.Caller, r *bridgev1.UnlinkBridgeRequest) error {
	c := id.Conversation(r.Conversation)
	switch role, err := s.deps.Chat.MemberRole(ctx, c, by.User); {
	case err != nil:
		return err
	case role < chatv1.Role_ROLE_ADMIN:
		return errMayNotUnlink
	}
	b, err := bridgeOf(ctx, s.deps.DB.Read(), r.Bridge)
	if err != nil {
		return err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := deleteLink(ctx, tx, b.Name, c)
		return err
	})
	if err != nil {
		return err
	}
	users, err := s.membersOf(ctx, b, c)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(users, batch) {
		if err := s.deps.Chat.RemoveBridge(ctx, c, by.User, some); err != nil {
			return err
		}
	}
	return s.leave(ctx, b, c) // a bot that owns the group
}

// deleteLink deletes the link of a group, with the answers about its members. It returns nil if there is none.
func deleteLink(ctx context.Context, tx *sql.Tx, bridge string, c id.Conversation) (*bridgev1.BridgeLink, error) {
	if err := deletePermissions(ctx, tx, bridge, c); err != nil {
		return nil, err
	}
	l, err := scanLink(tx.QueryRowContext(ctx, `DELETE FROM bridge_links WHERE bridge = $1 AND conversation = $2 RETURNING `+linkColumns, bridge, int64(c)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return l, err
}

// ListBridgeLinks returns the links of a conversation to a member.
func (s *Service) ListBridgeLinks(ctx context.Context, by id.Caller, r *bridgev1.ListBridgeLinksRequest) (*bridgev1.ListBridgeLinksResponse, error) {
	c := id.Conversation(r.Conversation)
	if _, err := s.deps.Chat.MemberRole(ctx, c, by.User); err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+linkColumns+` FROM bridge_links WHERE conversation = $1 ORDER BY bridge`, int64(c))
	links, err := sqldb.Collect(rows, err, scanLink)
	if err != nil {
		return nil, err
	}
	res := &bridgev1.ListBridgeLinksResponse{}
	for _, l := range links {
		b, err := bridgeOf(ctx, s.deps.DB.Read(), l.Bridge)
		if err != nil {
			return nil, err
		}
		switch _, err := s.deps.Chat.MemberRole(ctx, c, id.User(b.Bot)); {
		case errs.Is(err, errs.NotFound):
			l.State, l.Reason, l.Text = refused, botRemoved, ""
		case err != nil:
			return nil, err
		}
		if l.Permission, err = s.permission(ctx, l.Bridge, c, by.User); err != nil {
			return nil, err
		}
		res.Links, res.Bridges = append(res.Links, l), append(res.Bridges, b)
	}
	return res, nil
}

// checkLinked fails unless the other system has accepted a link of the caller's bridge. Whether its bot is still a member is checked with what it does.
func (s *Service) checkLinked(ctx context.Context, by id.Caller, c id.Conversation) error {
	var state bridgev1.BridgeLinkState
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT state FROM bridge_links WHERE bridge = $1 AND conversation = $2`, by.Bridge, int64(c)).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) || err == nil && state != active {
		err = message.ErrNotLinked
	}
	return err
}
