package account

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

// maxStatusText bounds the text of a custom status, in characters.
const maxStatusText = 100

// SettingsOf returns the settings of those users who exist, with one query for each 200.
func (s *Service) SettingsOf(ctx context.Context, users []id.User) (map[id.User]*accountv1.Settings, error) {
	settings := make(map[id.User]*accountv1.Settings, len(users))
	for batch := range slices.Chunk(users, idsPerQuery) {
		if err := addSettings(ctx, s.deps.DB.Read(), batch, settings); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// WithoutPersonalization returns those of some users who have turned personalization off, as of a transaction.
func (s *Service) WithoutPersonalization(ctx context.Context, tx *sql.Tx, among []id.User) (map[id.User]bool, error) {
	off := map[id.User]bool{}
	for batch := range slices.Chunk(among, idsPerQuery) {
		settings := make(map[id.User]*accountv1.Settings, len(batch))
		if err := addSettings(ctx, tx, batch, settings); err != nil {
			return nil, err
		}
		for u, set := range settings {
			if set.NoPersonalization {
				off[u] = true
			}
		}
	}
	return off, nil
}

func addSettings(ctx context.Context, q sqldb.Reader, users []id.User, to map[id.User]*accountv1.Settings) error {
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	rows, err := q.QueryContext(ctx, `SELECT id, settings FROM users WHERE id IN (`+marks+`)`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var u id.User
		var raw []byte
		if err := rows.Scan(&u, &raw); err != nil {
			return err
		}
		set := &accountv1.Settings{}
		if err := proto.Unmarshal(raw, set); err != nil {
			return err
		}
		to[u] = set
	}
	return rows.Err()
}

// checkPresenceSettings checks what a user chose to show of themself.
func checkPresenceSettings(set *accountv1.Settings) error {
	if accountv1.WhoMaySee_name[int32(set.WhoMaySeePresence)] == "" {
		return errs.New(errs.Invalid, "bad_settings", "who_may_see_presence has a value that does not exist")
	}
	if presencev1.Availability_name[int32(set.Availability)] == "" {
		return errs.New(errs.Invalid, "bad_settings", "availability has a value that does not exist")
	}
	c := set.CustomStatus
	switch {
	case c == nil:
	case c.Emoji != "" && !message.IsEmoji(c.Emoji):
		return errs.New(errs.Invalid, "bad_settings", "the emoji of a custom status is one emoji, of at most 32 bytes")
	case !message.IsText(c.Text, maxStatusText, message.IsLine):
		return errs.New(errs.Invalid, "bad_settings", "the text of a custom status is one line of at most 100 characters, at least one of them visible")
	case c.UntilMs < 0:
		return errs.New(errs.Invalid, "bad_settings", "a custom status ends at a time in milliseconds since 1970, or 0 for never")
	}
	return nil
}
