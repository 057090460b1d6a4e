package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/canary"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// openCanary makes the delivery canary, if this node has one: it sends through its own sockets.
func (n *Node) openCanary() {
	if !n.config.Canary.Runs(n.config.Clustered()) || !n.config.Has(config.RoleGateway) {
		return
	}
	n.canary = canary.New(canary.Deps{Accounts: n.accounts, Conversations: canaryConversations{n.chat}, Node: n.name, Targets: n.canaryTargets, Draining: n.leaving.Load, Clock: n.clock, Logger: n.logger}, n.config.Canary)
	n.registry.MustRegister(n.canary.Metrics())
}

// startCanary starts the canary last, so that it is the first to stop.
func (n *Node) startCanary() {
	if n.canary != nil {
		n.stack.Start("delivery canary", n.canary.Run)
	}
}

// canaryTargets are the nodes with sockets. Clients reach them by the same addresses, where they have some of their own.
func (n *Node) canaryTargets() (list []canary.Target) {
	for _, g := range n.cluster.Gateways() {
		t := canary.Target{Node: g.Node, URL: g.WS}
		switch {
		case t.URL != "":
		case g.Node == n.name:
			t.URL, t.Fingerprint = n.internalURL, n.internalCert
		default:
			t.URL, t.Fingerprint = g.Internal, g.InternalCert
		}
		if t.URL != "" && !g.Draining {
			list = append(list, t)
		}
	}
	return list
}

// canaryConversations are groups without other members.
type canaryConversations struct{ *chat.Service }

func (c canaryConversations) Open(ctx context.Context, u id.User) (id.Conversation, error) {
	return c.CreateGroupFor(ctx, "canary", id.Caller{User: u, Server: true}, &chatv1.CreateGroupRequest{Title: "Delivery canary", Key: "probes"})
}
