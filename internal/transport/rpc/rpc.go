// Package rpc serves calls: Connect, gRPC, gRPC-Web and plain JSON over HTTP, and the same calls from a socket.
//
// Each call is defined once, in a table (calls.go). This package authenticates, limits and encodes; the services do the work. It converts
// kinds of errors to codes. It uses only public methods of services. All methods are safe for concurrent use.
package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// Inbox is the part of package inbox that calls use.
type Inbox interface {
	Sync(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) (*chatv1.SyncResponse, error)
	MarkNow(ctx context.Context, u id.User, c id.Conversation, delivered, read uint64) (*chatv1.ConversationState, error)
	Configure(ctx context.Context, u id.User, r *chatv1.ConfigureRequest) (*chatv1.ConversationState, error)
	ListFolders(ctx context.Context, u id.User) (*chatv1.ListFoldersResponse, error)
	CreateFolder(ctx context.Context, u id.User, r *chatv1.CreateFolderRequest) (*chatv1.Folder, error)
	UpdateFolder(ctx context.Context, u id.User, r *chatv1.UpdateFolderRequest) (*chatv1.Folder, error)
	DeleteFolder(ctx context.Context, u id.User, folder uint64) error
	OrderFolders(ctx context.Context, u id.User, ids []uint64) (*chatv1.ListFoldersResponse, error)
	GetConversation(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	ListConversations(ctx context.Context, u id.User, r *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error)
	ListThreads(ctx context.Context, u id.User, r *chatv1.ListThreadsRequest) (*chatv1.ListThreadsResponse, error)
	ListReaders(ctx context.Context, u id.User, r *chatv1.ListReadersRequest) (*chatv1.ListReadersResponse, error)
	ListDeliveries(ctx context.Context, u id.User, r *chatv1.ListDeliveriesRequest) (*chatv1.ListDeliveriesResponse, error)
	DeviceStates(ctx context.Context, u id.User, devices []id.Device) (map[id.Device]inbox.DeviceState, error)
}

// Presence returns who is online.
type Presence interface {
	Get(ctx context.Context, by id.User, users []id.User) ([]*presencev1.Presence, error)
	ListDevices(ctx context.Context, by id.User) (*presencev1.ListDevicesResponse, error)
}

// Schedule stores messages that are sent later.
type Schedule interface {
	ScheduleMessage(ctx context.Context, c id.Caller, r *chatv1.ScheduleMessageRequest) (*chatv1.ScheduledMessage, error)
	ListScheduled(ctx context.Context, c id.Caller, r *chatv1.ListScheduledRequest) (*chatv1.ListScheduledResponse, error)
	UpdateScheduled(ctx context.Context, c id.Caller, r *chatv1.UpdateScheduledRequest) (*chatv1.ScheduledMessage, error)
	CancelScheduled(ctx context.Context, c id.Caller, scheduled uint64) error
}

// StreamedMessages has messages that their senders write in parts.
type StreamedMessages interface {
	Start(ctx context.Context, c id.Caller, r *chatv1.StartStreamedMessageRequest) (*chatv1.StartStreamedMessageResponse, error)
	Write(ctx context.Context, c id.Caller, r *chatv1.WriteStreamedMessagesRequest) (*chatv1.WriteStreamedMessagesResponse, error)
	End(ctx context.Context, c id.Caller, r *chatv1.EndStreamedMessageRequest) (*chatv1.EndStreamedMessageResponse, error)
	Stop(ctx context.Context, c id.Caller, r *chatv1.StopStreamedMessageRequest) (*chatv1.EndStreamedMessageResponse, error)
	Get(ctx context.Context, c id.Caller, r *chatv1.GetStreamedMessageRequest) (*chatv1.StreamedText, error)
}

// LinkPreviews reads what links lead to.
type LinkPreviews interface {
	Preview(ctx context.Context, u id.User, r *chatv1.PreviewLinkRequest) (*chatv1.LinkPreview, error)
}

// Media stores files.
type Media interface {
	CreateUpload(ctx context.Context, u id.User, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error)
	CompleteUpload(ctx context.Context, u id.User, upload id.Upload) (*chatv1.Upload, error)
	GetDownload(ctx context.Context, u id.User, r *chatv1.GetDownloadRequest) (*chatv1.GetDownloadResponse, error)
	CreateMultipartUpload(ctx context.Context, u id.User, r *chatv1.CreateMultipartUploadRequest) (*chatv1.MultipartUpload, error)
	GetMultipartUpload(ctx context.Context, u id.User, upload id.Upload) (*chatv1.MultipartUpload, error)
	SignParts(ctx context.Context, u id.User, r *chatv1.SignPartsRequest) (*chatv1.SignPartsResponse, error)
	CreateUploadCredentials(ctx context.Context, c id.Caller, upload id.Upload) (*chatv1.UploadCredentials, error)
	ListUnfinishedUploads(ctx context.Context, u id.User, r *chatv1.ListUnfinishedUploadsRequest) (*chatv1.ListUnfinishedUploadsResponse, error)
	AbortUpload(ctx context.Context, u id.User, upload id.Upload) error
	// PictureURL is a URL of a user's avatar, valid for some hours.
	PictureURL(upload id.Upload) string
}

// Deps are what a Server needs.
type Deps struct {
	Accounts      *account.Service
	Chat          *chat.Service
	Inbox         Inbox
	Presence      Presence
	Schedule      Schedule
	Streamed      StreamedMessages
	Media         Media
	Rooms         Rooms
	Organizations Organizations
	Feed          Feed
	Details       Details
	Comments      Comments
	Engagement    Engagement
	Notifications Notifications
	Videos        Videos
	Search        Search
	ServerEvents  ServerEvents
	Transactions  Transactions
	Bridges       Bridges
	Privacy       Privacy
	MessageTraces MessageTraces
	Operations    Operations
	Interchange   Interchange
	Moderation    Moderation
	Ranking       Ranking
	Pushes        Pushes
	// Officials are official accounts.
	Officials OfficialAccounts
	HelpDesks HelpDesks
	Previews  LinkPreviews
	IDs       IDs
	// Discovery tells clients where to connect.
	Discovery Discovery
	// Proxied: all requests come through a proxy, which sets the client's address in X-Forwarded-For.
	Proxied bool
	// Input is the memory for incomplete bodies; nil means one of the default size.
	Input *inputlimit.Memory
	// Connections counts the connections of unauthenticated clients. If nil, they are not counted.
	Connections *inputlimit.Connections
	// Await returns when a sync that waits has something to answer, or has waited for its time. If nil, syncs do not wait.
	Await func(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) error
	// Answers bounds the answers that wait to be written. If nil, they are not bounded.
	Answers *outputlimit.Limits
	// Overload has the workers of calls. If nil, their number is not bounded.
	Overload *overload.Calls
	// Limits are the rate limits of users and addresses. If nil, there are none.
	Limits *ratelimit.Table
	// Observe is called for each call of a user from a network, before it is counted. May be nil.
	Observe func(user uint64, from netip.Prefix)
	// Nodes returns the number of live nodes, among which the limit of an address is divided. If nil, it is one.
	Nodes func() int
	// Calls gets the metrics of all calls. If nil, they are not recorded.
	Calls *telemetry.Calls
	// Tracer records sampled calls; nil: none.
	Tracer *tracing.Tracer
	Clock  clock.Clock // nil: the machine's
	Logger *slog.Logger
}

const (
	maxRequest         = 1 << 20  // bytes
	maxUnauthenticated = 16 << 10 // likewise, without credentials
	// Concurrent calls without credentials: those of one network count from their headers on, those of all clients once their bodies are
	// complete. Otherwise a few clients that never complete a body would use up the limit of all others.
	unauthenticatedPerNetwork, unauthenticatedCalls = 100, 2000
	// connectionsPerUser bounds the HTTP connections of a user on a node.
	connectionsPerUser = 200
	// unauthenticatedRequests bounds the goroutines of calls without credentials, including those with incomplete bodies.
	unauthenticatedRequests = 20_000
	callTime                = 30 * time.Second
)

// access is the permission that a call requires.
type access int

const (
	userAccess      access = iota // a user's token, or an API key and the header Rialto-User
	anonymousAccess               // no credentials
	serverAccess                  // an API key
	eventAccess                   // an API key, also that of a bot
	operatorAccess                // a key with a role in the operators' console
	bridgeAccess                  // the API key of a bridge
)

// method is one call of the API.
type method struct {
	name    string
	access  access
	work    callWork
	handler http.HandlerFunc
	invoke  func(ctx context.Context, c id.Caller, in []byte, json bool) ([]byte, error)
}

// Server serves all calls.
type Server struct {
	deps      Deps
	methods   map[string]method
	mux       *http.ServeMux
	refusals  refusals
	anonymous *anonymousLimiter
	// The current calls without credentials: those whose headers were read, and those whose bodies are complete.
	unauthenticated, unauthenticatedComplete *inputlimit.Connections
	userConnections                          *inputlimit.Users
}

// New creates a server.
func New(deps Deps) *Server {
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Input == nil {
		deps.Input = inputlimit.NewMemory(0)
	}
	s := &Server{deps: deps, methods: map[string]method{}, mux: http.NewServeMux(),
		unauthenticated:         inputlimit.NewConnections(unauthenticatedPerNetwork, unauthenticatedRequests),
		userConnections:         inputlimit.NewUsers(connectionsPerUser),
		unauthenticatedComplete: inputlimit.NewConnections(unauthenticatedPerNetwork, unauthenticatedCalls),
		anonymous:               newAnonymousLimiter(deps.Clock, deps.Nodes)}
	s.refusals = s.newRefusals()
	for _, m := range slices.Concat(s.accounts(), s.security(), s.passkeys(), s.privacy(), s.graph(), s.admin(), s.moderation(), s.chats(), s.rooms(), s.organizations(), s.officials(), s.helpDesks(), s.feeds(), s.comments(), s.engagements(), s.rankings(), s.operatorRankings(), s.notifications(), s.pushes(), s.videos(), s.searches(), s.serverEvents(), s.transactions(), s.bridges(), s.messageTraces(), s.operations(), s.interchange(), s.media(), s.ids(), s.gateways()) {
		s.methods[m.name] = m
		s.mux.Handle("POST "+m.name, s.withBodyLimits(m))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, ok := s.methods[r.URL.Path]; ok {
			w.Header().Set("Allow", "POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
		deps.Calls.Named(r.URL.Path).Done(0, 0, telemetry.ErrUnimplemented)
		_, _ = w.Write([]byte(`{"code":"unimplemented","message":"there is no such call; calls are POSTs to /package.Service/Method"}`)) // the client may have disconnected
	})
	return s
}

// Handler serves all calls under their paths.
func (s *Server) Handler() http.Handler { return s.mux }

// Invoke makes a call for a caller who is authenticated already, on a socket. ctx may have the caller's traceparent (tracing.WithParent).
func (s *Server) Invoke(ctx context.Context, c id.Caller, name string, in []byte, json bool) ([]byte, error) {
	m, ok := s.methods[name]
	if !ok || m.access != userAccess {
		return nil, errs.New(errs.NotFound, "no_method", "there is no such call on a socket")
	}
	return m.invoke(ctx, c, in, json)
}

var errNoToken = errs.New(errs.Unauthenticated, "no_token", "give an access token: Authorization: Bearer TOKEN")

// authenticate authenticates a request.
func (s *Server) authenticate(ctx context.Context, call string, who access, h http.Header) (id.Caller, error) {
	if who == anonymousAccess {
		return id.Caller{}, s.checkBans(ctx, call, who, id.Caller{})
	}
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return id.Caller{}, errNoToken
	}
	if _, permitted := operatorCalls[call]; who == operatorAccess || permitted && account.IsOperatorKey(token) {
		return s.asOperator(ctx, call, token)
	}
	c, err := s.deps.Accounts.Verify(ctx, token)
	if err != nil {
		return c, err
	}
	if who == serverAccess || who == eventAccess {
		if !c.Server && (who == serverAccess || !c.Bot) {
			return c, errs.New(errs.Denied, "no_key", "this call needs an API key")
		}
		return c, nil
	}
	if who == bridgeAccess {
		if c.Bridge == "" {
			err = errNoBridgeKey
		}
		return c, err
	}
	if c.Server {
		u, err := strconv.ParseUint(h.Get("Rialto-User"), 10, 64)
		if err != nil || u == 0 {
			return c, errs.New(errs.Invalid, "no_user", "with an API key, give a user's id in the header Rialto-User: the id that PutUser returned, not the external id")
		}
		c.User = id.User(u)
		if err := s.deps.Accounts.Exist(ctx, []id.User{c.User}); errs.Is(err, errs.NotFound) {
			return c, errs.New(errs.NotFound, "no_user", "there is no user with the id in the header Rialto-User; PutUser returns the id of a user")
		} else if err != nil {
			return c, err
		}
	}
	return c, s.checkBans(ctx, call, who, c)
}

var codes = map[errs.Kind]connect.Code{errs.Internal: connect.CodeInternal, errs.Invalid: connect.CodeInvalidArgument, errs.NotFound: connect.CodeNotFound,
	errs.Conflict: connect.CodeAlreadyExists, errs.Denied: connect.CodePermissionDenied, errs.Unauthenticated: connect.CodeUnauthenticated,
	errs.Exhausted: connect.CodeResourceExhausted, errs.Unavailable: connect.CodeUnavailable}

// asTimeout gives an expired or cancelled call its reason, unless it has one: that of a webhook which did not answer in its own time.
func asTimeout(err error) error {
	var e *errs.Error
	if errors.As(err, &e) && e.Kind == errs.Unavailable && e.Reason != "" {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &errs.Error{Kind: errs.Unavailable, Reason: "timeout", Message: "the call took too long; a retry is harmless", Retry: time.Second, Cause: err}
	}
	return err
}

// failure converts an error to its code, with its reason as a detail. It logs internal errors, once.
func (s *Server) failure(name string, err error) error {
	e := errs.Of(asTimeout(err))
	if e.Kind == errs.Internal {
		s.deps.Logger.Error("a call failed", "method", name, "error", err)
	}
	out := connect.NewError(codes[e.Kind], errors.New(e.Message))
	said := &gatewayv1.Error{Code: e.Kind.String(), Reason: e.Reason, Message: e.Message, RetryMs: uint32(e.Retry.Milliseconds())}
	if e.Ban != nil {
		said.Ban = &gatewayv1.BanNotice{EndsMs: e.Ban.EndsMs, Explanation: e.Ban.Explanation, AppealToken: e.Ban.AppealToken}
	}
	detail, derr := connect.NewErrorDetail(said)
	if derr == nil {
		out.AddDetail(detail)
	}
	if e.Retry > 0 {
		out.Meta().Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
	}
	return out
}
