package notification

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

var errKinds = errs.New(errs.Invalid, "bad_settings", "off may only name kinds of notifications that exist, each once")

// SetNotificationSettings replaces the kinds that do not notify a user.
func (s *Service) SetNotificationSettings(ctx context.Context, by id.User, set *notificationv1.NotificationSettings) (*notificationv1.NotificationSettings, error) {
	off := int64(0)
	for _, k := range set.Off {
		if k <= 0 || k > repostKind || off>>uint(k)&1 == 1 {
			return nil, errKinds
		}
		off |= 1 << uint(k)
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO notification_owners (owner, kinds_off) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET kinds_off = $2`, int64(by), off)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &notificationv1.NotificationSettings{Off: slices.Sorted(slices.Values(set.Off))}, nil
}

// GetNotificationSettings returns the kinds that do not notify a user.
func (s *Service) GetNotificationSettings(ctx context.Context, by id.User) (set *notificationv1.NotificationSettings, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		set = &notificationv1.NotificationSettings{}
		o, err := getOwner(ctx, tx, by)
		if err != nil {
			return err
		}
		for k := likeKind; k <= repostKind; k++ {
			if o.isOff(k) {
				set.Off = append(set.Off, k)
			}
		}
		return nil
	})
	return set, err
}
