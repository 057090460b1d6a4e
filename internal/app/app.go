// Package app assembles a node: it opens the engines, creates the services, runs them, and stops them in reverse order. Only the command
// and tests import it.
package app

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/lifecycle"
	"github.com/rialto-im/rialto/internal/base/memory"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/activity"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"github.com/rialto-im/rialto/internal/platform/interest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/bridge"
	"github.com/rialto-im/rialto/internal/service/canary"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/chatroom"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/detail"
	"github.com/rialto-im/rialto/internal/service/discovery"
	"github.com/rialto-im/rialto/internal/service/engagement"
	"github.com/rialto-im/rialto/internal/service/fanout"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/helpdesk"
	"github.com/rialto-im/rialto/internal/service/inbox"
	"github.com/rialto-im/rialto/internal/service/interchange"
	"github.com/rialto-im/rialto/internal/service/linkpreview"
	"github.com/rialto-im/rialto/internal/service/media"
	"github.com/rialto-im/rialto/internal/service/messagetrace"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	"github.com/rialto-im/rialto/internal/service/moderation"
	"github.com/rialto-im/rialto/internal/service/notification"
	"github.com/rialto-im/rialto/internal/service/officialaccount"
	"github.com/rialto-im/rialto/internal/service/operation"
	"github.com/rialto-im/rialto/internal/service/organization"
	"github.com/rialto-im/rialto/internal/service/presence"
	"github.com/rialto-im/rialto/internal/service/privacy"
	"github.com/rialto-im/rialto/internal/service/push"
	"github.com/rialto-im/rialto/internal/service/ranking"
	"github.com/rialto-im/rialto/internal/service/schedule"
	"github.com/rialto-im/rialto/internal/service/search"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	"github.com/rialto-im/rialto/internal/service/video"
	"github.com/rialto-im/rialto/internal/transport/edge"
	"github.com/rialto-im/rialto/internal/transport/gateway"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	"github.com/rialto-im/rialto/internal/transport/stomp"
)

// Names in a data directory.
const (
	recordsFile = datadir.DatabaseFile
	filesDir    = datadir.FilesDir
	spoolDir    = "spool"
	lockFile    = "LOCK"
)

const (
	// stopTime bounds the stop of all services together, one after the other, even if the database hangs.
	stopTime = 15 * time.Second
	// closeTime bounds the closing of the engines after that.
	closeTime = 10 * time.Second
)

// Node is a server process with all its services.
type Node struct {
	config   *config.Config
	clock    clock.Clock
	logger   *slog.Logger
	registry *prometheus.Registry
	calls    *telemetry.Calls
	outgoing *outgoing.Calls
	stack    *lifecycle.Stack
	closers  []func() error // of the engines, in the order they were opened
	yield    func()         // to other goroutines, also those that wait for input
	// dictionary of the search, which is read once; nil: there is none.
	dictionary func() (*searchindex.Dictionary, error)

	name            string
	startedMs       int64
	dir             *dataDir
	stores          *datadir.Stores // of the data directory; nil if nodes share theirs
	db              *sqldb.DB
	log             timeline.Log
	files           blob.Store
	spool           *spool.Dir          // holds what arrives slowly
	fileCache       *blockcache.Cache   // nil: there is none
	uncached        *wakeup.Set[string] // groups of files that are to leave fileCache
	extensions      *webExtensions      // of the web app; nil: there are none
	edge            *edge.Server        // of a node that is an edge only
	purges          *edge.Purges        // tells edges what has changed
	cold            *coldtier.Tier
	bus             bus.Bus
	nats            *natsbus.Bus // the bus of a cluster; nil on a single node
	leases          *idgen.Leases
	ids             *idservice.Service
	accounts        *account.Service
	chat            *chat.Service
	inbox           *inbox.Service
	interest        *interest.Service
	postInterest    *interest.Service // in posts on screens
	switches        *runtimeswitch.Service
	directory       *directory.Service
	presence        *presence.Service
	schedule        *schedule.Service
	streamed        *streamedmessage.Service
	rooms           *chatroom.Service
	organizations   *organization.Service
	officials       *officialaccount.Service
	helpDesks       *helpdesk.Service
	serverEvents    *serverevent.Service
	transactions    *messagetransaction.Service
	bridges         *bridge.Service
	privacy         *privacy.Service
	recorder        *flightrecorder.Recorder // nil: it is off
	traces          *messagetrace.Service
	tracer          *tracing.Tracer // nil: it is off
	audit           *auditlog.Log
	operations      *operation.Service
	interchange     *interchange.Service
	moderation      *moderation.Service
	backups         *backup.Service
	reconciliation  *reconciliation.Service
	feed            *feed.Service
	comments        *comment.Service
	engagement      *engagement.Service
	details         *detail.Service
	notifications   *notification.Service
	pushes          *push.Service
	videos          *video.Service
	search          *search.Service
	ranking         *ranking.Service
	cluster         *cluster.Service
	prober          *cluster.Prober
	clocks          *cluster.ClockOffsets
	media           *media.Service
	previews        *linkpreview.Service
	fanout          *fanout.Worker
	gateway         *gateway.Server
	stomp           *stomp.Server
	rpc             *rpc.Server
	discovery       *discovery.Service
	edges           *edge.Registry  // those that report to this node
	canary          *canary.Service // nil: it is off
	input           *inputlimit.Memory
	unauthenticated *inputlimit.Connections
	open            *openConnections // at the listener
	threads         *threads
	indexCommand    func(dir string) *exec.Cmd // nil: the search index is in this process
	indexRestarts   atomic.Uint64              // of its process
	admission       *admission                 // of the listener
	fileRequests    *inputlimit.Connections    // requests for files and pages in progress
	streams         *inputlimit.Connections    // open streams of HTTP/2
	limits          *ratelimit.Table
	protection
	proxySigns  *proxySigns
	answers     *outputlimit.Limits
	outbox      *job.Outbox
	events      *clusterevent.Service
	missed      missedEvents
	outboxLease *job.OutboxLease
	jobs        *job.Service
	counters    *counter.Service
	activity    *activity.Service
	caches      caches

	listener, adminListener net.Listener
	tcpListener             net.Listener     // nil: none
	stompListener           net.Listener     // nil: none
	certificate             *tls.Certificate // of the listeners that do not speak HTTP; nil without TLS
	internalURL             string           // of this node's sockets for other nodes, and the fingerprint of the certificate there
	internalCert            string
	isReachedByNodes        bool // at that address
	serving                 bool // connections are accepted
	leaving                 atomic.Bool
	readiness               readiness
}

// openNode opens a node. indexCommand makes the command of a process that serves the search index in a directory; nil: the index is in this process.
func openNode(ctx context.Context, c *config.Config, logger *slog.Logger, now clock.Clock, indexCommand func(dir string) *exec.Cmd) (_ *Node, err error) {
	n := &Node{config: c, dictionary: sync.OnceValues(c.Search.ReadDictionary), indexCommand: indexCommand, clock: now, logger: logger, outgoing: outgoing.New(logger), registry: telemetry.NewRegistry(), calls: telemetry.NewCalls("send", "sync"), stack: lifecycle.New(), threads: newThreads(setThreads), missed: make(missedEvents, 1), startedMs: now.Now().UnixMilli()}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if c.IsEdge() {
		return n, n.openEdge(ctx)
	}
	if err := n.openEngines(ctx); err != nil {
		return nil, err
	}
	// A node acquires no work of others before its port is bound, because clients could not reach it.
	if err := n.bind(ctx); err != nil {
		return nil, err
	}
	if err := n.openServices(ctx); err != nil {
		return nil, err
	}
	n.registerMetrics()
	n.registerSearchMetrics()
	n.registerServerEventMetrics()
	n.start()
	return n, nil
}

// committed is called for each batch that the log has committed: it writes receipts and passes the commits to fan-out and search. Nothing is appended
// before all services are created.
func (n *Node) committed(commits []timeline.Commit) {
	n.gateway.Flush()
	n.recordCommits(commits)
	n.fanout.Committed(commits)
	n.search.Committed(commits)
}

// openServices makes the services, from the bottom up, and joins the cluster.
func (n *Node) openServices(ctx context.Context) (err error) {
	n.admission = newAdmission(cpuTime, time.Now, n.threads)
	n.proxySigns = &proxySigns{proxied: n.config.Plaintext, clock: n.clock, logger: n.logger}
	n.recorder = flightrecorder.New(n.clock, n.config.MessageTrace)
	if n.limits, err = ratelimit.NewTable(n.config.Limits, n.clock, n.liveNodes); err != nil {
		return err
	}
	n.openOverload()
	n.answers = outputlimit.New(n.config.Output, memory.Available())
	ids, messages, err := n.openGenerators(ctx)
	if err != nil {
		return err
	}
	if n.outbox, err = job.NewOutbox(ctx, n.db, n.logger); err != nil {
		return err
	}
	if n.audit, err = auditlog.New(ctx, n.db, n.clock); err != nil {
		return err
	}
	if err := n.openJobs(ctx); err != nil {
		return err
	}
	if err := n.openCounters(ctx); err != nil {
		return err
	}
	if err := n.openEvents(ctx); err != nil {
		return err
	}
	if err := n.openCaches(); err != nil {
		return err
	}
	if err := n.openActivity(ctx); err != nil {
		return err
	}
	if err := n.openAccounts(ctx, ids); err != nil {
		return err
	}
	if err := n.openBus(ctx); err != nil {
		return err
	}
	if err := n.openConversations(ctx, ids, messages); err != nil {
		return err
	}
	if err := n.openDelivery(ctx, ids); err != nil {
		return err
	}
	if err := n.openTransports(); err != nil {
		return err
	}
	n.openCanary()
	return nil
}

// openConversations makes the services of files and conversations.
func (n *Node) openConversations(ctx context.Context, ids *idgen.Snowflake, messages *idgen.Messages) error {
	secret, err := n.accounts.Secret(ctx, "media")
	if err != nil {
		return err
	}
	n.media, err = media.New(ctx, media.Deps{Calls: n.calls, DB: n.db, Store: n.files, Spool: n.spool, IDs: ids, Message: n.readableMessage, Avatar: n.accounts.Avatar,
		GroupPicture: func(ctx context.Context, by id.User, c id.Conversation) (id.Upload, error) {
			return n.chat.Picture(ctx, by, c)
		},
		PostNames: func(ctx context.Context, by id.User, post uint64, upload id.Upload) (bool, error) {
			return n.feed.NamesFile(ctx, by, post, upload)
		},
		CommentNames: func(ctx context.Context, by id.User, comment uint64, upload id.Upload) (bool, error) {
			return n.comments.NamesFile(ctx, by, comment, upload)
		},
		PostShows: func(ctx context.Context, post uint64, upload id.Upload) (bool, error) {
			return n.feed.ShowsFile(ctx, post, upload)
		},
		CommentShows:  n.commentShows,
		Authorize:     func(r *http.Request, creates bool) (id.User, error) { return n.rpc.AuthorizeUpload(r, creates) },
		EndedSessions: n.accounts.EndedSessions, Files: n.cachedFiles(), Dropped: n.fileDropped, IsCoordinator: n.isCoordinator, Secret: secret, Clock: n.clock, Logger: n.logger}, n.config.Media)
	if err != nil {
		return err
	}
	if err := n.openLinkPreviews(ctx); err != nil {
		return err
	}
	transient := func(users []id.User, frame []byte) { n.fanout.Transient(users, frame) }
	followersChanged := func(c id.Conversation, seq uint64, u id.User, follows bool) {
		n.fanout.Follow(c, seq, []id.User{u}, follows)
		n.officials.FollowersChanged()
	}
	markFollowed := func(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation, tail timeline.Tail) error {
		return n.inbox.MarkFollowed(ctx, tx, u, c, tail)
	}
	followChanged := func(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User, follows bool) error {
		return n.officials.FollowChanged(ctx, tx, c, u, follows)
	}
	if err := n.openOrganizations(ctx, ids); err != nil {
		return err
	}
	n.chat, err = chat.New(ctx, chat.Deps{Words: wordsOf{n}, Hold: n.holdMessage, LimitedSince: n.limitedSince, ReviewFiles: n.media.ReviewFiles, Log: n.log, DB: n.db, IDs: ids, MessageIDs: messages, Relations: relations{n.accounts, n}, Organizations: n.organizations, CheckMembers: n.organizations.CheckMembers, FollowChanged: followChanged, CheckAdd: n.mayAdd, MayOwn: func(ctx context.Context, u id.User) (bool, error) { return n.bridges.MayOwn(ctx, u) }, ChargeCopy: n.chargeCopy, Yield: n.yield,
		Calls: n.outgoing, Clock: n.clock, Logger: n.logger, Tracer: n.tracer, Overload: n.sendGate, SingleNode: !n.config.Clustered(), AwaitPushes: n.awaitPushes, OwnsPartition: n.ownsPartition,
		CheckUploads: n.media.Use, CheckLinkPreview: n.previews.Verify, CheckPicture: n.media.CheckPicture, KeepPicture: n.media.KeepPicture, OnExpired: n.media.Expired, OnRecalled: n.recalled, OnErased: n.erased, OnUserErased: n.userErased, Erasing: n.accounts.Erasing, OnStreamed: n.onStreamed, OnMentioned: n.onMentioned,
		Outbox: n.outbox, SendTransient: transient, FollowersChanged: followersChanged, MarkFollowed: markFollowed, RegisteredMs: n.accounts.RegisteredMs, HidesPresence: n.hidesPresence, ExternalIDs: n.accounts.ExternalIDs}, n.config.Chat)
	if err != nil {
		return err
	}
	n.schedule, err = schedule.New(ctx, schedule.Deps{DB: n.db, Chat: n.chat, IDs: ids, KeepUploads: n.media.KeepScheduled, Clock: n.clock, IsCoordinator: n.isCoordinator, Logger: n.logger})
	if err != nil {
		return err
	}
	if err := n.openStreamedMessages(ctx, transient); err != nil {
		return err
	}
	return n.openFeeds(ctx, ids, transient)
}

// openDelivery makes the services that bring messages to users, and joins the cluster, which assigns their work.
func (n *Node) openDelivery(ctx context.Context, ids *idgen.Snowflake) (err error) {
	if err := n.openPresence(ctx); err != nil {
		return err
	}
	if err := n.openHelpDesks(ctx, ids); err != nil {
		return err
	}
	quarantine, err := job.NewQuarantine(ctx, n.db, n.clock)
	if err != nil {
		return err
	}
	n.interest = interest.New(interest.Deps{Bus: n.bus, Node: n.name, Nodes: n.liveNodeNames, Changed: func(list []interest.Change) { n.inbox.ReadersMoved(list) },
		Missed: func() { n.inbox.ReadersMissed() }, Logger: n.logger})
	inboxConfig := n.config.Inbox
	inboxConfig.EventsMaxAge = n.config.ServerEvents.Retention
	n.inbox, err = inbox.New(ctx, inbox.Deps{Log: n.log, DB: n.db, Outbox: n.outbox, Conversations: n.chat, HidesRead: n.hidesRead, SeesPresence: n.presence.Sees, DeviceTypes: n.accounts.DeviceTypes, Interest: n.interest, LiveNodes: n.liveNodes, OwnsPartition: n.ownsPartition,
		Quarantine: quarantine, Recorder: n.recorder, Clock: n.clock, Logger: n.logger}, inboxConfig)
	if err != nil {
		return err
	}
	if err := n.openPushes(ctx); err != nil {
		return err
	}
	n.ids, err = idservice.NewService(ctx, idservice.ServiceDeps{DB: n.db, Leases: n.leases, Primaries: n.primaries(), Redis: n.config.IDs.Redis, Clock: n.clock, Logger: n.logger},
		idservice.ServiceConfig{Node: n.name, Exclusive: !n.config.Clustered()})
	if err != nil {
		return err
	}
	deps := fanout.Deps{Log: n.log, Chat: n.chat, Directory: n.directory, Bus: n.bus, Quarantine: quarantine, Logger: n.logger, Node: n.name, Acquired: func(g cluster.Grant) {
		n.chat.PartitionAssigned(g.Part)
		n.directory.TakeOver(g.Part, g.Term)
	}, Posted: n.streamChanged, Recorder: n.recorder, Tracer: n.tracer, EventStreams: !n.config.ServerEvents.Off}
	if n.config.Clustered() {
		deps.Owner, deps.IsCurrent = n.partitionOwner, n.outbox.IsCurrent
	}
	n.fanout = fanout.New(deps)
	if err := n.openRooms(ctx, ids); err != nil {
		return err
	}
	if err := n.openOfficialAccounts(ctx, ids); err != nil {
		return err
	}
	if err := n.openServerEvents(ctx, ids); err != nil {
		return err
	}
	n.openMessageTraces(quarantine)
	if err := n.openReconciliation(ctx); err != nil {
		return err
	}
	n.openOperations()
	if err := n.openModeration(ctx, ids); err != nil {
		return err
	}
	if err := n.openPrivacy(ctx, ids); err != nil {
		return err
	}
	assigned := func(g cluster.Grant) {
		n.fanout.Assigned(g)
		n.rooms.Assigned(g)
		n.serverEvents.Assigned(g)
	}
	partitions := cluster.Work{Kind: partitionWork, Parts: timeline.Partitions, OwnerChanged: n.directory.OwnerChanged, Assigned: assigned, Revoked: func(part int) {
		n.fanout.Revoked(part)
		n.rooms.Revoked(part)
		n.serverEvents.Revoked(part)
		n.directory.Release(part)
	}}
	return n.joinCluster(ctx, append(n.searchWork(), partitions, n.outboxWork())...)
}

// deliverEvents appends events of the outbox to the streams of their users.
func (n *Node) deliverEvents(ctx context.Context, events []job.Event) error {
	notices := make([]fanout.Notice, len(events))
	for i, e := range events {
		notices[i] = fanout.Notice{User: e.User, Body: e.Body, Fence: e.Fence}
	}
	return n.fanout.Notify(ctx, notices)
}

// Failed returns the error of a part that stopped by itself.
func (n *Node) Failed() <-chan error { return n.stack.Failed() }

// Close reports the node as not ready, waits for stop_after, and then drains the connections, stops the services and closes the engines.
func (n *Node) Close() error {
	n.leaving.Store(true)
	if n.serving {
		if n.cluster != nil {
			n.cluster.AnnounceGateway() // other nodes send no more clients
		}
		time.Sleep(n.config.StopAfter)
	}
	err := errors.Join(n.stack.Stop(stopTime), lifecycle.Close(closeTime, n.closers))
	n.closers = nil
	if err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return nil
}
