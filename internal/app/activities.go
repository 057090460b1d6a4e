package app

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/activity"
)

// openActivity makes the service that knows on which days users were active.
func (n *Node) openActivity(ctx context.Context) (err error) {
	n.activity, err = activity.New(ctx, activity.Deps{DB: n.db, Connected: func() []id.User { return n.gateway.Users() },
		ErasedAmong: func(ctx context.Context, tx *sql.Tx, users []id.User) ([]id.User, error) {
			return n.accounts.ErasedAmong(ctx, tx, users)
		}, IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger})
	return err
}

// registerActivityMetrics registers how many users were active, and came back. They are 0 on all nodes but the coordinator.
func (n *Node) registerActivityMetrics() {
	for i, days := range activity.Spans {
		telemetry.GaugeBy(n.registry, "users_active", "Users who were active on any of the last days that are over.", "days", strconv.Itoa(days), func() float64 { return float64(n.activity.Counts().Active[i]) })
		telemetry.GaugeBy(n.registry, "users_returned_ratio", "Of the users who were active some days before yesterday, how many were active yesterday.", "days", strconv.Itoa(days), func() float64 {
			c := n.activity.Counts()
			return share(c.Returned[i], c.Base[i])
		})
	}
}

// share returns a part of a whole; 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// percent formats the share of users who came back; - if the day is not over.
func percent(part, whole int) string {
	if part < 0 || whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*share(part, whole))
}
