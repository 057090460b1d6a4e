package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/service/presence"
)

// openPresence makes the connection directory, and the presence above it.
func (n *Node) openPresence(ctx context.Context) (err error) {
	n.clocks = cluster.NewClockOffsets(n.name, n.clock)
	n.directory = directory.New(directory.Deps{
		StatusChanged: func(u id.User, visibility bool) { n.presence.StatusChanged(u, visibility) },
		SessionEnded:  func(c id.Caller, generation uint32) { n.presence.SessionEnded(c, generation) },
		Departed: func(ctx context.Context, list []directory.Departure) {
			n.presence.Departed(ctx, list)
			n.pushDeparted(list)
		},
		Clock: n.clock, Logger: n.logger, Node: n.name, Cluster: n.directoryCluster()}, n.config.Presence)
	n.presence, err = presence.New(ctx, presence.Deps{DB: n.db, Directory: n.directory, FriendsAmong: n.accounts.FriendsAmong, BlockedAmong: n.accounts.BlockedAmong, SettingsOf: n.accounts.SettingsOf,
		Transient: func(users []id.User, frame []byte) { n.gateway.Transient(users, frame) }, Clock: n.clock, Logger: n.logger})
	return err
}
