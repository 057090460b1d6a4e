package app

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/transport/gateway"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	"github.com/rialto-im/rialto/internal/transport/stomp"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// openTransports makes the servers of calls and sockets.
func (n *Node) openTransports() (err error) {
	n.input, n.unauthenticated = inputlimit.NewMemory(n.config.Input.Memory), n.config.Input.Connections().OnHeavyHitter(n.proxySigns.heavyHitter)
	n.fileRequests, n.streams = n.config.Input.Files(), n.config.Input.Streams()
	n.openDiscovery()
	n.rpc = rpc.New(rpc.Deps{Accounts: n.accounts, Discovery: n.discovery, Chat: n.chat, Inbox: n.inbox, Presence: n.presence, Schedule: n.schedule, Streamed: n.streamed, Rooms: n.rooms, Organizations: n.organizations, Officials: n.officials, HelpDesks: n.helpDesks, Feed: n.feed, Comments: n.comments, Engagement: n.engagement, Ranking: n.ranking, Details: n.details, Notifications: n.notifications, Pushes: n.pushes, Videos: n.videos, Search: n.search, ServerEvents: n.serverEvents, Transactions: n.transactions, Bridges: n.bridges, Privacy: n.privacy, MessageTraces: n.traces, Operations: n.operations, Interchange: n.interchange, Moderation: n.moderation, Media: n.media, Previews: n.previews, IDs: n.ids, Calls: n.calls,
		Proxied: n.config.Plaintext, Input: n.input, Connections: n.unauthenticated, Overload: n.work, Limits: n.limits, Await: n.await, Observe: n.proxySigns.account, Answers: n.answers, Nodes: n.liveNodes, Tracer: n.tracer, Clock: n.clock, Logger: n.logger})
	n.gateway, err = gateway.New(gateway.Deps{Chat: n.chat, Inbox: n.inbox, Directory: n.directory, Presence: n.presence, Rooms: n.rooms, Posts: n.feed, Accounts: n.accounts, Invoker: n.rpc, Bus: n.bus, Recorder: n.recorder, Tracer: n.tracer,
		Calls: n.calls, Overload: n.work, SocketWork: n.rpc.SocketWork, Limits: n.limits, Answers: n.answers, Proxied: n.config.Plaintext, Input: n.input, Connections: n.unauthenticated, Clock: n.clock, Logger: n.logger, Node: n.name, MapURL: n.config.Chat.MapURL, Partition: partition, CheckAddress: n.moderation.CheckAddress, ClockBehind: n.clocks.Behind, PushWithin: n.pushWithin(), PacingAccepts: n.admission.pacing, MoreThreads: n.threads.more, Yield: n.yield}, n.config.Gateway)
	if err != nil {
		return err
	}
	n.stomp = stomp.New(stomp.Deps{Gateway: n.gateway, Inbox: n.inbox, Input: n.input, Limits: n.limits, Proxied: n.config.Plaintext})
	stats := n.gateway.Stats()
	// The listener still counts the connections of WebSockets that run over net/http.
	n.open = &openConnections{most: maxOpenConnections(), gateway: func() int64 { return stats.Connections.Load() - stats.Streams.Load() }}
	return nil
}

// await is the gateway's; the gateway is made after the server of calls.
func (n *Node) await(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) error {
	return n.gateway.Await(ctx, c, r)
}

// awaitPushes returns when what fan-out found current before the call is pushed: it may be under way to the gateway, or wait there.
func (n *Node) awaitPushes(ctx context.Context) error {
	if err := n.fanout.AwaitRounds(ctx); err != nil {
		return err
	}
	return n.gateway.AwaitPushes(ctx)
}

// pushWithin returns how old a text may be that a cluster pushes to many. A single node waits for its pushes instead, before it acknowledges an edit or a recall.
func (n *Node) pushWithin() time.Duration {
	if n.config.Clustered() {
		return message.PushWindow
	}
	return 0
}
