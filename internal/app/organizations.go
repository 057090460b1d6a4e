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

func (g groups) CreateGroupFor(ctx context.Context, service string, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	return g.n.chat.CreateGroupFor(ctx, service, by, r)
}

func (g groups) AlignMembers(ctx context.Context, c id.Conversation, decide func(current []id.User) (want []id.User)) error {
	return g.n.chat.AlignMembers(ctx, c, decide)
}

func (g groups) ReplaceOwner(ctx context.Context, c id.Conversation, successor id.User, leaves func(owner id.User) (bool, error)) error {
	return g.n.chat.ReplaceOwner(ctx, c, successor, leaves)
}

func (g groups) DissolvedAmong(ctx context.Context, list []id.Conversation) ([]id.Conversation, error) {
	return g.n.chat.DissolvedAmong(ctx, list)
}

// openOrganizations makes the service of organizations, before that of conversations, which it uses once it runs.
func (n *Node) openOrganizations(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.organizations, err = organization.New(ctx, organization.Deps{DB: n.db, IDs: ids, Accounts: n.accounts, Groups: groups{n}, Outbox: n.outbox, MaxMembers: n.config.Chat.MaxMembers,
		ClusterEvents: n.events, Bus: n.bus, Node: n.name, Nodes: n.liveNodeNames, IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger})
	return err
}
