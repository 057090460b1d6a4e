// Package rpc is the door for calls: Connect, gRPC, gRPC-Web and plain JSON over HTTP, and the same calls from a socket.
//
// Each call stands once, in a table (calls.go); the door authenticates, bounds and answers, the rooms do the work. Kinds of
// errors become codes here. It may touch the public methods of rooms. All methods may be called from many goroutines.
package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/gen/rialto/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Inbox is what the door needs of the inbox room.
type Inbox interface {
	Sync(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) (*chatv1.SyncResponse, error)
	MarkSync(ctx context.Context, u id.User, c id.Conversation, delivered, read uint64) (*chatv1.ConversationState, error)
	Configure(ctx context.Context, u id.User, r *chatv1.ConfigureRequest) (*chatv1.ConversationState, error)
	GetConversation(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	ListConversations(ctx context.Context, u id.User, r *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error)
	ListReaders(ctx context.Context, u id.User, r *chatv1.ListReadersRequest) (*chatv1.ListReadersResponse, error)
}

// Presence says who is online.
type Presence interface {
	Get(ctx context.Context, by id.User, users []id.User) ([]*presencev1.Presence, error)
}

// Media keeps files.
type Media interface {
	CreateUpload(ctx context.Context, u id.User, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error)
	CompleteUpload(ctx context.Context, u id.User, upload id.Upload) (*chatv1.Upload, error)
	GetDownload(ctx context.Context, u id.User, r *chatv1.GetDownloadRequest) (*chatv1.GetDownloadResponse, error)
	// PictureURL is a URL of a picture that anyone may see, good for a while.
	PictureURL(upload id.Upload) string
	// CheckPicture tells whether an upload can be a user's avatar.
	CheckPicture(ctx context.Context, u id.User, upload id.Upload) error
}

// Deps are what a Server needs.
type Deps struct {
	Accounts *account.Service
	Chat     *chat.Service
	Inbox    Inbox
	Presence Presence
	Media    Media
	IDs      IDs
	// Proxied says that all requests come through a proxy, which says in X-Forwarded-For where they come from.
	Proxied bool
	// Nodes counts the nodes that live; the limit of an address is divided among them. May be nil: one.
	Nodes  func() int
	Clock  clock.Clock // nil: the machine's
	Logger *slog.Logger
}

const (
	maxRequest = 1 << 20 // bytes
	callTime   = 30 * time.Second
)

// Who may make a call.
type who int

const (
	users   who = iota // a user's token, or an API key and the header Rialto-User
	anyone             // no credentials
	servers            // an API key
)

// method is one call of the API.
type method struct {
	name    string
	who     who
	handler http.Handler
	invoke  func(ctx context.Context, c id.Caller, in []byte, json bool) ([]byte, error)
}

// Server is the door.
type Server struct {
	deps      Deps
	methods   map[string]method
	mux       *http.ServeMux
	strangers *strangers
}

// New makes a door.
func New(deps Deps) *Server {
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	s := &Server{deps: deps, methods: map[string]method{}, mux: http.NewServeMux(),
		strangers: &strangers{proxied: deps.Proxied, clock: deps.Clock, nodes: deps.Nodes, counts: map[netip.Prefix]int{}}}
	for _, m := range slices.Concat(s.accounts(), s.graph(), s.admin(), s.chats(), s.media(), s.ids()) {
		s.methods[m.name] = m
		s.mux.Handle("POST "+m.name, s.bound(m))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, ok := s.methods[r.URL.Path]; ok {
			w.Header().Set("Allow", "POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(`{"code":"unimplemented","message":"there is no such call; calls are POSTs to /package.Service/Method"}`)) // the client may have gone
	})
	return s
}

// Handler serves all calls under their paths.
func (s *Server) Handler() http.Handler { return s.mux }

// Invoke makes a call for a caller who is authenticated already: a socket's.
func (s *Server) Invoke(ctx context.Context, c id.Caller, name string, in []byte, json bool) ([]byte, error) {
	m, ok := s.methods[name]
	if !ok || m.who != users {
		return nil, errs.New(errs.NotFound, "no_method", "there is no such call on a socket")
	}
	return m.invoke(ctx, c, in, json)
}

// wire is a generated message by its pointer.
type wire[T any] interface {
	*T
	proto.Message
}

// costly are the calls without credentials that make something each time: they count also when they are right.
var costly = map[string]bool{accountv1connect.AccountServiceRegisterProcedure: true, "/rialto.account.v1.AccountService/RequestCode": true}

// call makes a method of a function.
func call[Req, Res any, PReq wire[Req], PRes wire[Res]](s *Server, name string, who who, do func(ctx context.Context, c id.Caller, r *Req) (*Res, error)) method {
	guarded := func(ctx context.Context, c id.Caller, r *Req) (res *Res, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.deps.Logger.Error("a call panicked", "method", name, "panic", p, "stack", string(debug.Stack()))
				err = errs.New(errs.Internal, "internal", "the server failed; try again")
			}
		}()
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		res, err = do(ctx, c, r)
		return res, timely(err)
	}
	handler := connect.NewUnaryHandler(name, func(ctx context.Context, r *connect.Request[envelope[Req, PReq]]) (*connect.Response[Res], error) {
		c, err := s.caller(ctx, who, r.Header())
		if err == nil {
			err = r.Msg.fault
		}
		right := func() {}
		if err == nil && who == anyone {
			right, err = s.strangers.enter(r.Peer().Addr, r.Header())
		}
		if err != nil {
			return nil, s.failure(name, err)
		}
		res, err := guarded(ctx, c, &r.Msg.request)
		if err != nil {
			return nil, s.failure(name, err)
		}
		if !costly[name] {
			right()
		}
		return connect.NewResponse(res), nil
	}, s.options(name)...)
	invoke := func(ctx context.Context, c id.Caller, in []byte, json bool) ([]byte, error) {
		var r Req
		decode := decodeProto
		if json {
			decode = decodeJSON
		}
		if err := decode(in, PReq(&r), false); err != nil {
			return nil, err
		}
		res, err := guarded(ctx, c, &r)
		if err != nil {
			return nil, err
		}
		if json {
			return protojson.Marshal(PRes(res))
		}
		return proto.Marshal(PRes(res))
	}
	return method{name: name, who: who, handler: handler, invoke: invoke}
}

var errNoToken = errs.New(errs.Unauthenticated, "no_token", "give an access token: Authorization: Bearer TOKEN")

// caller authenticates a request.
func (s *Server) caller(ctx context.Context, who who, h http.Header) (id.Caller, error) {
	if who == anyone {
		return id.Caller{}, nil
	}
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return id.Caller{}, errNoToken
	}
	c, err := s.deps.Accounts.Verify(ctx, token)
	if err != nil {
		return c, err
	}
	if who == servers {
		if !c.Server {
			return c, errs.New(errs.Denied, "no_key", "this call needs an API key")
		}
		return c, nil
	}
	if c.Server {
		u, err := strconv.ParseUint(h.Get("Rialto-User"), 10, 64)
		if err != nil || u == 0 {
			return c, errs.New(errs.Invalid, "no_user", "with an API key, name the user in the header Rialto-User")
		}
		c.User = id.User(u)
		return c, s.deps.Accounts.Exist(ctx, []id.User{c.User})
	}
	return c, nil
}

var codes = map[errs.Kind]connect.Code{errs.Internal: connect.CodeInternal, errs.Invalid: connect.CodeInvalidArgument, errs.NotFound: connect.CodeNotFound,
	errs.Conflict: connect.CodeAlreadyExists, errs.Denied: connect.CodePermissionDenied, errs.Unauthenticated: connect.CodeUnauthenticated,
	errs.Exhausted: connect.CodeResourceExhausted, errs.Unavailable: connect.CodeUnavailable}

// timely gives the end of a call's time its reason.
func timely(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &errs.Error{Kind: errs.Unavailable, Reason: "timeout", Message: "the call took too long; a retry is harmless", Retry: time.Second, Cause: err}
	}
	return err
}

// failure gives an error its code, and its reason as a detail. What is our fault is logged, once.
func (s *Server) failure(name string, err error) error {
	e := errs.Of(timely(err))
	if e.Kind == errs.Internal {
		s.deps.Logger.Error("a call failed", "method", name, "error", err)
	}
	out := connect.NewError(codes[e.Kind], errors.New(e.Message))
	detail, derr := connect.NewErrorDetail(&gatewayv1.Error{Code: e.Kind.String(), Reason: e.Reason, Message: e.Message, RetryMs: uint32(e.Retry.Milliseconds())})
	if derr == nil {
		out.AddDetail(detail)
	}
	if e.Retry > 0 {
		out.Meta().Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
	}
	return out
}
