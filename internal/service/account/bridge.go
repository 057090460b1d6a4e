package account

import (
	"context"
	"database/sql"
	"strings"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// randomHandle is that of a user who has chosen none.
func randomHandle() string {
	return "u" + strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(auth.NewSecret("")))[:15]
}

// parseBridgedName returns the name of somebody in another system in the form in which it is stored.
func (s *Service) parseBridgedName(name string) (string, error) {
	name, err := parseName(name, 64)
	if err == nil {
		_, err = s.checkWords(name)
	}
	return name, err
}

// CreateBridged creates the user of somebody in another system, who cannot log in: without a password and an external id, and CreateSession refuses such a user. with is called in the same
// transaction.
func (s *Service) CreateBridged(ctx context.Context, bridge, name string, with func(tx *sql.Tx, u id.User) error) (id.User, error) {
	name, err := s.parseBridgedName(name)
	if err != nil {
		return 0, err
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	u := id.User(n)
	return u, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO users (id, handle, display_name, folded, created_ms, bridge) VALUES ($1, $2, $3, $4, $5, $6)`,
			int64(u), randomHandle(), name, fold(name), s.nowMs(), bridge); err != nil {
			return err
		}
		if err := s.profileChanged(ctx, tx, u); err != nil {
			return err
		}
		return with(tx, u)
	})
}

// RenameBridged gives the user of somebody in another system another name.
func (s *Service) RenameBridged(ctx context.Context, bridge string, u id.User, name string) error {
	name, err := s.parseBridgedName(name)
	if err != nil {
		return err
	}
	_, err = s.changeUser(ctx, u, func(_ *sql.Tx, u *accountv1.User) error {
		if u.Bridge != bridge {
			return errs.New(errs.NotFound, "no_user", "there is no such user")
		}
		u.DisplayName = name
		return nil
	})
	return err
}
