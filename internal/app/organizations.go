package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/organization"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// groups are the groups of the node's chat, which is made after the organizations.
type groups struct{ n *Node }

func (g groups) CreateGroupBy(ctx context.Context, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	return g.n.chat.CreateGroupBy(ctx, by, r)
}

func (g groups) AlignMembers(ctx context.Context, c id.Conversation, decide func(current []id.User) (want []id.User)) error {
	return g.n.chat.AlignMembers(ctx, c, decide)
}

// openOrganizations makes the service of organizations, before that of conversations, which it uses once it runs.
func (n *Node) openOrganizations(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.organizations, err = organization.New(ctx, organization.Deps{DB: n.db, IDs: ids, Accounts: n.accounts, Groups: groups{n}, MaxMembers: n.config.Chat.MaxMembers,
		ClusterEvents: n.events, Bus: n.bus, Node: n.name, Nodes: n.liveNodeNames, IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger})
	return err
}
