package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/chatroom"
)

// openRooms makes the service of chat rooms.
func (n *Node) openRooms(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.rooms, err = chatroom.New(ctx, chatroom.Deps{DB: n.db, IDs: ids, Accounts: n.accounts, IsCoordinator: n.isCoordinator, Bus: n.bus, Node: n.name, Partition: partition,
		Owner: func(p int) string { return n.partitionOwner(uint16(p)) }, Flush: func() { n.gateway.Flush() }, Clock: n.clock, Logger: n.logger})
	return err
}
