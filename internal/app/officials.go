package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/officialaccount"
)

// openOfficialAccounts makes the service of official accounts.
func (n *Node) openOfficialAccounts(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.officials, err = officialaccount.New(ctx, officialaccount.Deps{DB: n.db, Chat: n.chat, Streams: n.inbox, Accounts: n.accounts, IDs: ids, Bus: n.bus, Clock: n.clock,
		IsCoordinator: n.isCoordinator, Logger: n.logger}, n.config.OfficialAccounts)
	return err
}
