package app

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// accountSettings returns the settings of accounts. Where none are set, passkeys belong to the public URL, unless there are several nodes, whose URLs differ.
func accountSettings(c *config.Config) account.Config {
	a := c.Account
	if len(a.PasskeyOrigins) == 0 && !c.Clustered() && account.CanHavePasskeys(c.Public.URL) {
		a.PasskeyOrigins = []string{c.Public.URL}
	}
	return a
}

// openAccounts makes the service of users and sessions.
func (n *Node) openAccounts(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.accounts, err = account.New(ctx, account.Deps{DB: n.db, Outbox: n.outbox, Jobs: n.jobs, IDs: ids, Calls: n.outgoing, KeyReads: n.caches.metrics.Reads("api_keys"), FollowReads: n.caches.metrics.Reads("followed"), Clock: n.clock, Logger: n.logger,
		SingleNode: !n.config.Clustered(), ClusterEvents: n.events, Nodes: n.liveNodes, IsCoordinator: n.isCoordinator, Active: n.activity.Seen,
		SessionEnded: func(e account.Ended) {
			n.directory.LoggedOut(e.User)
			n.gateway.EndSession(e.User, e.Session, e.Reason)
		},
		AccessChanged: func(ctx context.Context, a, b id.User) error {
			n.directory.VisibilityChanged(a) // nobody sees whom they blocked, or who blocked them
			n.directory.VisibilityChanged(b)
			return n.chat.AccessChanged(ctx, a, b)
		},
		FriendshipChanged: func(ctx context.Context, a, b id.User) error {
			n.directory.VisibilityChanged(a) // to b, and the other way round: friends see each other
			n.directory.VisibilityChanged(b)
			return n.chat.FriendshipChanged(ctx, a, b)
		},
		FriendshipEvent: func(a, b id.User) {
			n.directory.VisibilityChanged(a)
			n.directory.VisibilityChanged(b)
		},
		SettingsChanged: func(u id.User) { n.directory.VisibilityChanged(u) },
		CheckText:       func(texts ...string) (string, error) { return n.moderation.CheckText(texts...) },
		Flagged:         func(u *accountv1.User, word string) { n.moderation.FlagUser(u, word) },
		CheckBan: func(ctx context.Context, q sqldb.Reader, u id.User, device id.Device) error {
			return n.moderation.CheckBan(ctx, q, u, device)
		},
		OnRelation: n.onRelation,
		OnProfile:  n.onProfile,
		KeepPicture: func(ctx context.Context, tx *sql.Tx, by id.User, picture id.Upload) error {
			return n.media.KeepPictureWith(ctx, tx, by, picture)
		},
	}, accountSettings(n.config))
	return err
}
