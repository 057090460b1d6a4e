package notification

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// ReadNotifications marks what a list has shown as read. Nothing above the last list can be marked.
func (s *Service) ReadNotifications(ctx context.Context, by id.User, r *notificationv1.ReadNotificationsRequest) (*notificationv1.ReadNotificationsResponse, error) {
	var read uint64
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		o, err := getOwner(ctx, tx, by)
		if err != nil {
			return err
		}
		to := min(r.Position, o.listed)
		if read = 0; to <= o.read {
			return nil
		}
		read = to
		_, err = tx.ExecContext(ctx, `UPDATE notification_owners SET read_pos = $2 WHERE owner = $1`, int64(by), int64(to))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.reached("read-committed"); err != nil {
		return nil, err
	}
	if read != 0 {
		s.notify([]id.User{by}, read)
	}
	return &notificationv1.ReadNotificationsResponse{}, nil
}
