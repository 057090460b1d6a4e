// Package app is the site plan: it opens the engines, builds the rooms, runs them, and stops them from the top down. Nobody
// imports it but the command and tests.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/blob"
	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/natsbus"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/cluster"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/gateway"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/inbox"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/lifecycle"
	"github.com/rialto-im/rialto/internal/media"
	"github.com/rialto-im/rialto/internal/news"
	"github.com/rialto-im/rialto/internal/presence"
	"github.com/rialto-im/rialto/internal/rpc"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/telemetry"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Names in a data directory.
const (
	recordsFile  = "records.db"
	timelinesDir = "timeline"
	filesDir     = "blobs"
	lockFile     = "LOCK"
)

const (
	// stopTime that all parts have to stop, one after the other, also where the database hangs.
	stopTime = 15 * time.Second
	// closeTime that the engines have then.
	closeTime = 10 * time.Second
)

// House is one node: everything in one process.
type House struct {
	config   *config.Config
	clock    clock.Clock
	logger   *slog.Logger
	registry *prometheus.Registry
	stack    *lifecycle.Stack
	closers  []func() error // of the engines, in the order they were opened

	node     string // its name
	dir      *dataDir
	db       *sqldb.DB
	log      timeline.Log
	files    blob.Store
	bus      bus.Bus
	nats     *natsbus.Bus // the bus, where there are other nodes, or could be
	leases   *idgen.Leases
	ids      *idgen.Service
	accounts *account.Service
	chat     *chat.Service
	inbox    *inbox.Service
	presence *presence.Service
	cluster  *cluster.Service
	media    *media.Service
	fanout   *fanout.Worker
	gateway  *gateway.Server
	rpc      *rpc.Server
	outbox   *job.Outbox
	news     *news.Service
	behind   behind
	turn     *job.Turn // at the outbox

	listener, adminListener net.Listener
	leaving                 atomic.Bool
}

// Open opens the engines, builds the rooms, and starts all. The caller must Close it.
func Open(ctx context.Context, c *config.Config, logger *slog.Logger) (*House, error) {
	return OpenAt(ctx, c, logger, clock.System{})
}

// OpenAt is Open with a clock that a test moves.
func OpenAt(ctx context.Context, c *config.Config, logger *slog.Logger, now clock.Clock) (_ *House, err error) {
	h := &House{config: c, clock: now, logger: logger, registry: telemetry.NewRegistry(), stack: lifecycle.New(), behind: make(behind, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.engines(ctx); err != nil {
		return nil, err
	}
	if err := h.rooms(ctx); err != nil {
		return nil, err
	}
	h.measure()
	return h, h.start(ctx)
}

// committed is told of each batch of the log: receipts leave, and fan-out goes on. No append comes before all rooms stand.
func (h *House) committed(commits []timeline.Commit) {
	h.gateway.Flush()
	h.fanout.Committed(commits)
}

func (h *House) rooms(ctx context.Context) (err error) {
	system := h.clock
	ids, messages, err := h.generators(ctx)
	if err != nil {
		return err
	}
	if h.outbox, err = job.NewOutbox(ctx, h.db, h.logger); err != nil {
		return err
	}
	if err := h.hear(ctx); err != nil {
		return err
	}
	h.accounts, err = account.New(ctx, account.Deps{DB: h.db, Outbox: h.outbox, IDs: ids, Clock: system, Logger: h.logger,
		Alone: !h.config.Clustered(), News: h.news, Nodes: func() int { return len(h.cluster.Nodes()) }, Mine: h.first,
		SessionEnded: func(e account.Ended) {
			h.presence.LoggedOut(e.User)
			h.gateway.EndSession(e.User, e.Session, e.Reason)
		},
		AccessChanged: func(ctx context.Context, a, b id.User) error { return h.chat.AccessChanged(ctx, a, b) },
		FriendshipChanged: func(ctx context.Context, a, b id.User) error {
			h.presence.Changed(a) // to b, and the other way round: friends see each other
			h.presence.Changed(b)
			return h.chat.FriendshipChanged(ctx, a, b)
		},
		FriendshipElsewhere: func(a, b id.User) {
			h.presence.Changed(a)
			h.presence.Changed(b)
		},
		SettingsChanged: func(u id.User) { h.presence.Changed(u) },
	}, h.config.Account)
	if err != nil {
		return err
	}
	if err := h.connect(ctx); err != nil {
		return err
	}
	secret, err := h.accounts.Secret(ctx, "media")
	if err != nil {
		return err
	}
	h.media, err = media.New(ctx, media.Deps{DB: h.db, Store: h.files, IDs: ids, Message: h.message, Mine: h.first, Secret: secret, Clock: system, Logger: h.logger}, h.config.Media)
	if err != nil {
		return err
	}
	transient := func(users []id.User, frame []byte) { h.fanout.Transient(users, frame) }
	h.chat, err = chat.New(ctx, chat.Deps{Log: h.log, DB: h.db, IDs: ids, MessageIDs: messages, Relations: h.accounts,
		Clock: system, Logger: h.logger, Alone: !h.config.Clustered(), Mine: h.mine, Uploads: h.media.Use, Expired: h.media.Expired, Outbox: h.outbox, Transient: transient, ExternalIDs: h.accounts.ExternalIDs}, h.config.Chat)
	if err != nil {
		return err
	}
	h.presence, err = presence.New(ctx, presence.Deps{DB: h.db, Friends: h.accounts.Friends, Hides: h.hidesPresence,
		Transient: func(users []id.User, frame []byte) { h.gateway.Transient(users, frame) },
		Clock:     system, Logger: h.logger, Node: h.node, Cluster: h.neighbours()}, h.config.Presence)
	if err != nil {
		return err
	}
	aside, err := job.NewAside(ctx, h.db, system)
	if err != nil {
		return err
	}
	h.inbox, err = inbox.New(ctx, inbox.Deps{Log: h.log, DB: h.db, Outbox: h.outbox, Conversations: conversations{h.chat}, HidesRead: h.hidesRead, Nodes: func() int { return len(h.cluster.Nodes()) }, Mine: h.mine,
		Aside: aside, Clock: system, Logger: h.logger}, h.config.Inbox)
	if err != nil {
		return err
	}
	h.ids, err = idgen.NewService(ctx, idgen.ServiceDeps{DB: h.db, Leases: h.leases, Primaries: h.primaries(), Clock: system, Logger: h.logger},
		idgen.ServiceConfig{Node: h.node, Own: !h.config.Clustered()})
	if err != nil {
		return err
	}
	deps := fanout.Deps{Log: h.log, Chat: h.chat, Presence: h.presence, Bus: h.bus, Aside: aside, Logger: h.logger, Node: h.node, Taken: func(part int) {
		h.chat.Carries(part)
		h.presence.Begin(part)
	}}
	if h.config.Clustered() {
		deps.Holder, deps.Lasts, deps.Nodes = h.holder, h.outbox.Lasts, h.workers
	}
	h.fanout = fanout.New(deps)
	carries := cluster.Work{Kind: carry, Parts: timeline.Partitions, Moved: h.presence.Moved, Begin: h.fanout.Begin, End: func(part int) {
		h.fanout.End(part)
		h.presence.End(part)
	}}
	if err := h.join(ctx, carries, h.share()); err != nil {
		return err
	}
	h.rpc = rpc.New(rpc.Deps{Accounts: h.accounts, Chat: h.chat, Inbox: h.inbox, Presence: h.presence, Media: h.media, IDs: h.ids, Proxied: h.config.Plaintext,
		Nodes: func() int { return len(h.cluster.Nodes()) }, Clock: system, Logger: h.logger})
	h.gateway, err = gateway.New(gateway.Deps{Chat: h.chat, Inbox: h.inbox, Presence: h.presence, Accounts: h.accounts, Invoker: h.rpc, Bus: h.bus,
		Clock: system, Logger: h.logger, Node: h.node, Partition: partition}, h.config.Gateway)
	return err
}

// start runs the rooms, and opens the doors last.
func (h *House) start(ctx context.Context) error {
	h.stack.Start("leases", h.leases.Run)
	h.stack.Start("ids", h.ids.Run)
	h.stack.Start("chat", h.chat.Run)
	h.stack.Start("inbox", h.inbox.Run)
	h.stack.Start("presence", h.presence.Run)
	h.stack.Start("media", h.media.Run)
	h.stack.Start("cluster", h.cluster.Run)
	h.stack.Start("fanout", h.fanout.Run)
	h.stack.Start("news", h.listen)
	h.stack.Start("accounts", h.accounts.Run)
	h.stack.Start("codes", h.accounts.RunCodes)
	h.stack.Start("outbox", h.post)
	h.stack.Start("gateway", h.gateway.Run)
	return h.serve(ctx)
}

// carry brings the outbox's events to users' streams.
func (h *House) carry(ctx context.Context, events []job.Event) error {
	notices := make([]fanout.Notice, len(events))
	for i, e := range events {
		notices[i] = fanout.Notice{User: e.User, Body: e.Body, Turn: e.Turn}
	}
	return h.fanout.Notify(ctx, notices)
}

// Address on which the house listens.
func (h *House) Address() net.Addr { return h.listener.Addr() }

// AdminAddress for metrics, profiles and health.
func (h *House) AdminAddress() net.Addr { return h.adminListener.Addr() }

// Failed gives the error of a part that stopped by itself.
func (h *House) Failed() <-chan error { return h.stack.Failed() }

// Close says that the node is not ready, and stop_after later drains the doors, stops the rooms and closes the engines.
func (h *House) Close() error {
	h.leaving.Store(true)
	if h.listener != nil {
		time.Sleep(h.config.StopAfter)
	}
	err := errors.Join(h.stack.Stop(stopTime), lifecycle.Close(closeTime, h.closers))
	h.closers = nil
	if err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return nil
}
