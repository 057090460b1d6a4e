package notification

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// causesPerRow cost a list as much as a notification does.
const causesPerRow = 20

// maxUnread is the highest count of unread notifications.
const maxUnread = 100

// ListNotifications returns a page of the notifications of a user.
func (s *Service) ListNotifications(ctx context.Context, reader id.User, r *notificationv1.ListNotificationsRequest) (out *notificationv1.ListNotificationsResponse, err error) {
	if r.Before == 0 {
		if err := s.markListed(ctx, reader); err != nil {
			return nil, err
		}
	}
	limit := outputlimit.SmallPageSize(r.Limit)
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &notificationv1.ListNotificationsResponse{}
		o, err := getOwner(ctx, tx, reader)
		if err != nil {
			return err
		}
		out.Position = o.listed
		if err := s.reached("list-began"); err != nil {
			return err
		}
		below := startOf(r.Before)
		for examined := 0; ; {
			rows, err := readRows(ctx, tx, reader, below, 0, s.sizes.rows)
			if err != nil {
				return err
			}
			views, causes, err := s.views(ctx, tx, o, rows, s.sizes.countedCauses)
			if err != nil {
				return err
			}
			for i, v := range views {
				if v == nil {
					continue
				}
				if len(out.Notifications) == limit {
					out.Next = rows[i].pos + 1
					return nil
				}
				out.Notifications = append(out.Notifications, v)
			}
			if len(rows) < s.sizes.rows {
				return nil
			}
			below = rows[len(rows)-1].pos
			for _, r := range rows {
				causes += min(r.causes, s.sizes.countedCauses)
			}
			if examined += len(rows) + causes/causesPerRow; examined >= s.sizes.examined {
				out.Next = below
				return nil
			}
		}
	})
	return out, err
}

// startOf returns the position below which a page begins. Any number may be asked for.
func startOf(before uint64) uint64 {
	if before == 0 {
		return math.MaxInt64
	}
	return min(before, math.MaxInt64)
}

// markListed stores that a list shows all there is. What happens from then on moves notifications above it.
func (s *Service) markListed(ctx context.Context, reader id.User) error {
	var listed bool
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		o, err := getOwner(ctx, tx, reader)
		listed = err == nil && o.listed == o.last
		return err
	})
	if err != nil || listed {
		return err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE notification_owners SET listed_pos = last_pos WHERE owner = $1 AND listed_pos < last_pos`, int64(reader))
		return err
	})
	if err != nil {
		return err
	}
	return s.reached("listed")
}

// UnreadNotifications returns how many notifications of a user are shown and not read.
func (s *Service) UnreadNotifications(ctx context.Context, reader id.User) (out *notificationv1.UnreadNotificationsResponse, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &notificationv1.UnreadNotificationsResponse{}
		o, err := getOwner(ctx, tx, reader)
		if err != nil {
			return err
		}
		out.Read = o.read
		below := startOf(0)
		for examined := 0; examined < s.sizes.examined && out.Count < maxUnread; {
			rows, err := readRows(ctx, tx, reader, below, o.read, s.sizes.rows)
			if err != nil {
				return err
			}
			shown, causes, err := s.areShown(ctx, tx, o, rows)
			if err != nil {
				return err
			}
			out.Count = min(out.Count+count(shown), maxUnread)
			if examined += len(rows) + causes/causesPerRow; len(rows) < s.sizes.rows {
				return nil
			}
			below = rows[len(rows)-1].pos
		}
		return nil
	})
	return out, err
}

func count(shown []bool) (n uint32) {
	for _, is := range shown {
		if is {
			n++
		}
	}
	return n
}

// areShown returns which notifications are shown, and of how many causes more than the first ones were read.
func (s *Service) areShown(ctx context.Context, tx *sql.Tx, o *owner, rows []*row) (shown []bool, causes int, err error) {
	views, causes, err := s.views(ctx, tx, o, rows, s.sizes.firstCauses)
	shown = make([]bool, len(views))
	for i, v := range views {
		shown[i] = v != nil
	}
	return shown, causes, err
}
