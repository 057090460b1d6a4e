package bridge

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

var errPermission = errs.New(errs.Invalid, "bad_permission", "a permission must end in the future, within 24 hours")

// PutBridgePermission stores whether a user may write in the other system.
func (s *Service) PutBridgePermission(ctx context.Context, by id.Caller, r *bridgev1.PutBridgePermissionRequest) error {
	p := r.Permission
	if now := s.nowMs(); p.GetUntilMs() <= now || p.UntilMs > now+maxPermission.Milliseconds() {
		return errPermission
	}
	if err := checkReason(!p.Allowed, p.Reason, p.Text); err != nil {
		return err
	}
	c := id.Conversation(r.Conversation)
	if err := s.checkLinked(ctx, by, c); err != nil {
		return err
	}
	switch _, err := s.deps.Chat.MemberRole(ctx, c, by.User); {
	case errs.Is(err, errs.NotFound): // removing the bot ends the link
		return message.ErrNotLinked
	case err != nil:
		return err
	}
	if r.User != 0 { // so that there are not more rows than members
		if _, err := s.deps.Chat.MemberRole(ctx, c, id.User(r.User)); err != nil {
			return err
		}
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO bridge_permissions (bridge, conversation, member, allowed, reason, text, until_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (bridge, conversation, member) DO UPDATE SET allowed = $4, reason = $5, text = $6, until_ms = $7`, by.Bridge, int64(c), int64(r.User), p.Allowed, p.Reason, p.Text, p.UntilMs)
		return err
	})
}

// GetBridgePermission returns the answer about a user.
func (s *Service) GetBridgePermission(ctx context.Context, by id.Caller, r *bridgev1.GetBridgePermissionRequest) (*bridgev1.GetBridgePermissionResponse, error) {
	c := id.Conversation(r.Conversation)
	if err := s.checkLinked(ctx, by, c); err != nil {
		return nil, err
	}
	p, err := s.permission(ctx, by.Bridge, c, id.User(r.User))
	return &bridgev1.GetBridgePermissionResponse{Permission: p}, err
}

// permission returns the answer about a user, or about everybody; nil if there is none, or it has ended.
func (s *Service) permission(ctx context.Context, bridge string, c id.Conversation, u id.User) (*bridgev1.BridgePermission, error) {
	p := &bridgev1.BridgePermission{}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT allowed, reason, text, until_ms FROM bridge_permissions WHERE bridge = $1 AND conversation = $2 AND member IN ($3, 0) AND until_ms > $4 ORDER BY member DESC LIMIT 1`,
		bridge, int64(c), int64(u), s.nowMs()).Scan(&p.Allowed, &p.Reason, &p.Text, &p.UntilMs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return p, err
}

// CleanUp deletes the links of dissolved groups, and answers that have ended.
func (s *Service) CleanUp(ctx context.Context) error {
	if err := s.deleteDissolved(ctx); err != nil {
		return err
	}
	for {
		var n int64
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			done, err := tx.ExecContext(ctx, `DELETE FROM bridge_permissions WHERE (bridge, conversation, member) IN (SELECT bridge, conversation, member FROM bridge_permissions WHERE until_ms <= $1 ORDER BY until_ms LIMIT $2)`, s.nowMs(), batch)
			if err == nil {
				n, err = done.RowsAffected()
			}
			return err
		})
		if err != nil || n < batch {
			return err
		}
	}
}
