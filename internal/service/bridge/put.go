package bridge

import (
	"context"
	"database/sql"
	"errors"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

var (
	errBridge         = errs.New(errs.Invalid, "bad_bridge", "a bridge has a display name of 1 to 64 characters, in one line")
	errBridgeTaken    = errs.New(errs.Conflict, "bridge_taken", "another bot is registered as this bridge; create its key with the same --bot, or another --bridge")
	errTooManyBridges = errs.New(errs.Exhausted, "too_many_bridges", "there are 100 bridges, which is the maximum")
)

// PutBridge registers the bridge of a key, or changes it.
func (s *Service) PutBridge(ctx context.Context, by id.Caller, r *bridgev1.PutBridgeRequest) (*bridgev1.Bridge, error) {
	if !message.IsName(r.DisplayName) || utf8.RuneCountInString(r.DisplayName) > 64 {
		return nil, errBridge
	}
	b := &bridgev1.Bridge{Name: by.Bridge, DisplayName: r.DisplayName, Bot: uint64(by.User), Edits: r.Edits, Recalls: r.Recalls, Reactions: r.Reactions, Files: r.Files}
	return b, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		switch was, err := bridgeOf(ctx, tx, b.Name); {
		case err == nil && was.Bot != b.Bot:
			return errBridgeTaken
		case errs.Is(err, errs.NotFound):
			var n int64
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM bridges`).Scan(&n); err != nil {
				return err
			}
			if n >= s.most.bridges {
				return errTooManyBridges
			}
		case err != nil:
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO bridges (name, bot, display_name, edits, recalls, reactions, files) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (name) DO UPDATE SET display_name = $3, edits = $4, recalls = $5, reactions = $6, files = $7`, b.Name, int64(b.Bot), b.DisplayName, b.Edits, b.Recalls, b.Reactions, b.Files)
		return err
	})
}

const bridgeColumns = `name, bot, display_name, edits, recalls, reactions, files`

func scanBridge(scan func(...any) error) (*bridgev1.Bridge, error) {
	b := &bridgev1.Bridge{}
	return b, scan(&b.Name, &b.Bot, &b.DisplayName, &b.Edits, &b.Recalls, &b.Reactions, &b.Files)
}

// bridgeOf returns a bridge by its name.
func bridgeOf(ctx context.Context, q sqldb.Querier, name string) (*bridgev1.Bridge, error) {
	if !message.IsLine(name) { // PostgreSQL refuses some characters
		return nil, errNoBridge
	}
	b, err := scanBridge(q.QueryRowContext(ctx, `SELECT `+bridgeColumns+` FROM bridges WHERE name = $1`, name).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoBridge
	}
	return b, err
}

// ListBridges returns all bridges, by name.
func (s *Service) ListBridges(ctx context.Context) (*bridgev1.ListBridgesResponse, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+bridgeColumns+` FROM bridges ORDER BY name`)
	list, err := sqldb.Collect(rows, err, scanBridge)
	return &bridgev1.ListBridgesResponse{Bridges: list}, err
}

// Bots returns the names of bridges by their bots.
func (s *Service) Bots(ctx context.Context) (map[id.User]string, error) {
	all, err := s.ListBridges(ctx)
	if err != nil {
		return nil, err
	}
	bots := make(map[id.User]string, len(all.Bridges))
	for _, b := range all.Bridges {
		bots[id.User(b.Bot)] = b.Name
	}
	return bots, nil
}
