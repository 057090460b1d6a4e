package push

import (
	"context"
	"database/sql"
	"errors"
	"time"
	_ "time/tzdata" // a container may have no time zones

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
	"google.golang.org/protobuf/proto"
)

// maxTimeZone in bytes: the longest name has 32.
const maxTimeZone = 64

// GetSettings returns a user's push settings.
func (s *Service) GetSettings(ctx context.Context, u id.User) (*pushv1.PushSettings, error) {
	var raw []byte
	set := &pushv1.PushSettings{}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT settings FROM push_settings WHERE owner = $1`, int64(u)).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return set, nil
	}
	return set, errors.Join(err, proto.Unmarshal(raw, set))
}

// SetSettings replaces a user's push settings.
func (s *Service) SetSettings(ctx context.Context, u id.User, set *pushv1.PushSettings) (*pushv1.PushSettings, error) {
	if err := checkSettings(set); err != nil {
		return nil, err
	}
	set.ProtoReflect().SetUnknown(nil)
	if q := set.QuietHours; q != nil {
		q.ProtoReflect().SetUnknown(nil)
	}
	raw, err := proto.Marshal(set)
	if err != nil {
		return nil, err
	}
	return set, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO push_settings (owner, settings) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET settings = $2`, int64(u), notNil(raw))
		return err
	})
}

func checkSettings(set *pushv1.PushSettings) error {
	bad := func(what string) error { return errs.New(errs.Invalid, "bad_push_settings", what) }
	q := set.QuietHours
	switch {
	case set.PausedUntilMs < 0:
		return bad("paused_until_ms is a time in milliseconds since 1970, or 0")
	case q == nil:
		return nil
	case q.From >= 24*60 || q.To >= 24*60 || q.From == q.To:
		return bad("quiet hours are from and to two different minutes of a day, 0 to 1,439")
	}
	if _, err := time.LoadLocation(q.TimeZone); err != nil || q.TimeZone == "" || q.TimeZone == "Local" || len(q.TimeZone) > maxTimeZone {
		return bad("time_zone is the name of a time zone, such as Europe/Zurich")
	}
	return nil
}

// isQuiet reports whether a user wants no push at a time.
func isQuiet(set *pushv1.PushSettings, now time.Time) bool {
	if set.PausedUntilMs > now.UnixMilli() {
		return true
	}
	q := set.QuietHours
	if q == nil {
		return false
	}
	zone, err := time.LoadLocation(q.TimeZone)
	if err != nil { // checked when it was stored; a later build may know fewer zones
		zone = time.UTC
	}
	local := now.In(zone)
	minute := uint32(local.Hour()*60 + local.Minute())
	if q.From < q.To {
		return q.From <= minute && minute < q.To
	}
	return q.From <= minute || minute < q.To
}
