package bridge

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

var (
	errNoLink  = errs.New(errs.NotFound, "no_link", "this group is not linked by this bridge; FindBridgeLinks has the links")
	errRemoval = errs.New(errs.Invalid, "bad_change", fmt.Sprintf("a reason has at most %d characters%s", message.MaxReason, message.TextRule))
)

// FindBridgeLinks gives a moderator a page of the links of a bridge.
func (s *Service) FindBridgeLinks(ctx context.Context, _ id.Caller, r *bridgev1.FindBridgeLinksRequest) (*bridgev1.FindBridgeLinksResponse, error) {
	b, err := bridgeOf(ctx, s.deps.DB.Read(), r.Bridge)
	if err != nil {
		return nil, err
	}
	links, more, err := s.pageOfLinks(ctx, b.Name, r.LinkedBy, r.After, r.Limit)
	if err != nil {
		return nil, err
	}
	out := &bridgev1.FindBridgeLinksResponse{Links: links, More: more}
	return out, s.deps.DB.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM bridge_links WHERE bridge = $1`, b.Name).Scan(&out.Total)
}

// RemoveBridgeLink ends a link for a moderator. The bot and the people of the other system leave first: without its membership the link carries nothing, and a removal that is repeated after a crash finds the link.
func (s *Service) RemoveBridgeLink(ctx context.Context, by id.Caller, r *bridgev1.RemoveBridgeLinkRequest) (*bridgev1.RemoveBridgeLinkResponse, error) {
	if !message.IsReason(r.Reason) {
		return nil, errRemoval
	}
	b, err := bridgeOf(ctx, s.deps.DB.Read(), r.Bridge)
	if err != nil {
		return nil, err
	}
	c := id.Conversation(min(r.Conversation, math.MaxInt64))
	if linked, err := s.isLinked(ctx, b.Name, c); err != nil {
		return nil, err
	} else if !linked {
		return nil, errNoLink
	}
	if err := s.leave(ctx, b, c); err != nil {
		return nil, err
	}
	return &bridgev1.RemoveBridgeLinkResponse{}, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		l, err := deleteLink(ctx, tx, b.Name, c)
		if err != nil || l == nil {
			return err
		}
		before, err := describe(l)
		if err != nil {
			return err
		}
		return s.deps.Audit.Add(ctx, tx, auditlog.Entry{Who: by.Key, Action: "bridge.unlink", Subject: fmt.Sprint("conversation ", c, " bridge ", b.Name), Before: before, Reason: r.Reason})
	})
}

func (s *Service) isLinked(ctx context.Context, bridge string, c id.Conversation) (bool, error) {
	var linked bool
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM bridge_links WHERE bridge = $1 AND conversation = $2)`, bridge, int64(c)).Scan(&linked)
	return linked, err
}

// describe is a link in the audit log.
func describe(l *bridgev1.BridgeLink) (string, error) {
	text, err := json.Marshal(map[string]any{"address": l.Address, "room": l.Room, "state": strings.ToLower(strings.TrimPrefix(l.State.String(), "BRIDGE_LINK_STATE_")), "linkedBy": fmt.Sprint(l.LinkedBy), "createdMs": l.CreatedMs})
	return string(text), err
}
