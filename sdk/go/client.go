// Package rialto is the Go client of Rialto: for bots, tools and services that chat as a user.
//
// A [Client] hides network failures: it reconnects with exponential, jittered delays; it sends each message until the server confirms that
// it is stored, and the server stores it once; it delivers events in the order of the user's stream, notices gaps, and syncs. State that
// must survive a restart (session, position, unsent messages) is kept in a [Store].
//
//	c, err := rialto.New(rialto.Config{URL: "https://chat.example.com", Handler: func(e rialto.Event) { … }})
//	err = c.Login(ctx, "alice", password)
//	go c.Run(ctx)
//	receipt, err := c.SendText(ctx, conversation, "hello")
//
// Any other call of the API is made with the generated clients that Account, Graph, Chat, Media and Presence give; they carry
// the client's credentials. All methods may be called from many goroutines.
//
// Interceptors of generated clients have messages as proto.Message; ProtoReflect().Interface() returns the message of its own type.
package rialto

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/moderation/v1/moderationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/presence/v1/presencev1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/push/v1/pushv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/video/v1/videov1connect"
)

// Config of a client. URL is needed; the rest has defaults.
type Config struct {
	// URL of the deployment, as https://chat.example.com, without a path. Tokens and passwords go there: http is for the own machine.
	URL string
	// Name and Type of this device in the session list; by default "Go SDK" and "server". Where the deployment allows one device
	// per type, a login ends the session of the one before of the same Type: web, phone, tablet, desktop, terminal or server.
	Name, Type string
	// Discover asks the deployment which of its nodes to connect to, and spreads and fails over among them: for deployments whose nodes have addresses of
	// their own (public.url). Sockets go there, and calls still to URL. By default sockets go to URL, too.
	Discover bool
	// Region that this client is in, one of the operator's, for Discover and for files; by default that of the node that answers.
	Region string
	// Store keeps what must outlive the process; by default memory, which does not. It belongs to one client at a time.
	Store Store
	// Handler is called for each event, one at a time, in order, from the goroutine of Run. While it runs, later events and receipts
	// wait: it must not wait for Send, nor for a channel whose reader does. Long work belongs in another goroutine. An event counts as
	// seen when the handler returns.
	Handler func(Event)
	// MaxWait bounds the wait before the next try to connect; by default 30 s.
	MaxWait time.Duration
	// OpenWithin bounds a try to connect, from its beginning to the server's first word, after which there is another, which may lead
	// to another node; by default 10 s.
	OpenWithin time.Duration
	// HTTP makes calls, opens sockets and transfers files, which its timeout does not bound; by default a client with a timeout of 30 s.
	HTTP *http.Client
	// Logger receives messages about lost connections, never texts or tokens; by default they are discarded.
	Logger *slog.Logger
}

// Event is an event of the user's stream, or a transient one. Exactly one field is set, not counting Live. After a crash of this process
// the last events may be repeated. The values that it points to may be kept, but must not be changed.
type Event struct {
	// Message is new in a conversation of the user, one's own included; its seq is one more than that of the conversation's last,
	// unless the user was away from it. Its content may be a kind that this version does not know: then Content.Kind is nil. Edits,
	// recalls, reactions and pins are no messages to show, but change earlier ones: see UpdateTarget and Client.ApplyUpdate.
	Message *chatv1.Message
	// Conversation: the user's own view of a conversation changed, here or on another device: pin, mute, draft, read cursor.
	Conversation *chatv1.ConversationState
	// Mark: the other one of a one-to-one conversation has, or has read, all messages up to a seq.
	Mark *chatv1.MemberMark
	// Relation to another user, as it is now: friend, request, block.
	Relation *chatv1.Relation
	// Profile of a friend, or one's own, changed; Account().GetUsers reads it.
	Profile *chatv1.ProfileChange
	// JoinRequests: a user asked to join a group that this user manages, or a request was answered; Chat().ListJoinRequests lists them.
	JoinRequests *chatv1.JoinRequests
	// Follow: this user began to follow a channel, on whichever device, or follows it no longer.
	Follow *chatv1.FollowChange
	// Invitations: this user was invited to a group, or answered on another device; Chat().ListInvitations lists them.
	Invitations *chatv1.InvitationsChange
	// Folders of this user changed; Chat().ListFolders lists them.
	Folders *chatv1.FoldersChange
	// Ticket of a help desk changed: this user's own, or one of a desk whose agent this user is.
	Ticket *chatv1.Ticket
	// Reset: what came after the position is no longer whole; read ListConversations and History again.
	Reset bool
	// Typing and Presence are transient: they may be lost.
	Typing   *gatewayv1.Typing
	Presence *presencev1.Presence
	// Post is new in this user's home timeline; Feed().HomeTimeline reads it. It may be lost, or come twice.
	Post *gatewayv1.PostHint
	// Notifications: Notification().UnreadNotifications has another answer. It may be lost, or come twice.
	Notifications *gatewayv1.NotificationHint
	// Decisions: moderators have warned this user, or the user has acknowledged a warning on another device; Moderation().ListMyDecisions with Unacknowledged has another answer. Show
	// such warnings until AcknowledgeDecision, also those from when this client was not connected. It may be lost, or come twice.
	Decisions *gatewayv1.DecisionHint
	// Readers says who has now read a message that WatchReaders names. It has neither Users nor More when the server begins to watch: read the list then.
	Readers *gatewayv1.ReadersUpdate
	// Streamed: something was added to a message that its sender is still writing, or a message of this user was stopped (Ended). It may be lost.
	// AddStreamed adds it to the text, and Client.StreamedText returns the text so far.
	Streamed *chatv1.StreamedText
	// RoomEntry: this client is in a chat room, at first or again after a reconnect. Recent has only messages that were not delivered before.
	RoomEntry *chatv1.RoomEntry
	// RoomUpdate: something happened in a chat room that this client is in. Left says that it is no longer in.
	RoomUpdate *chatv1.RoomUpdate
	// RoomRefused: a chat room could not be entered.
	RoomRefused *RoomRefusal
	// Online: the socket opened, or broke. While it is false, messages are kept, and may still go out by calls.
	Online *bool
	// Refused: a message that an earlier process had queued was refused. Callers that wait in Send get the refusal there.
	Refused *gatewayv1.Receipt
	// Live: it was pushed just now, or ended the wait of a poll, and was not read by a sync.
	Live bool
}

// ErrSignedOut: the client has no session, or it has ended.
var ErrSignedOut = errors.New("rialto: signed out; log in again")

// Client is one login on one device.
type Client struct {
	config Config
	base   accountv1connect.AccountServiceClient // without credentials

	account      accountv1connect.AccountServiceClient
	graph        accountv1connect.GraphServiceClient
	chat         chatv1connect.ChatServiceClient
	media        chatv1connect.MediaServiceClient
	room         chatv1connect.RoomServiceClient
	organization chatv1connect.OrganizationServiceClient
	official     chatv1connect.OfficialAccountServiceClient
	feed         feedv1connect.FeedServiceClient
	comment      commentv1connect.CommentServiceClient
	engagement   engagementv1connect.EngagementServiceClient
	video        videov1connect.VideoServiceClient
	moderation   moderationv1connect.ModerationServiceClient
	notification notificationv1connect.NotificationServiceClient
	push         pushv1connect.PushServiceClient
	search       searchv1connect.SearchServiceClient
	ranking      rankingv1connect.RankingServiceClient
	presence     presencev1connect.PresenceServiceClient
	helpDesk     chatv1connect.HelpDeskServiceClient

	written    writtenMessages
	running    atomic.Bool
	lag        pushLag  // of the open connection; Run's goroutine uses it
	gateways   gateways // Run's goroutine uses it
	edges      *edges
	idle       idleSearch // the heartbeat of the open connection uses it
	refreshing sync.Mutex // one refresh at a time: a refresh token is good once

	tellingDrafts sync.Mutex // one pass over the drafts at a time. Taken before mu

	mu              sync.Mutex // guards all below
	state           State
	waiters         map[uint64]chan<- outcome // by client_seq
	socket          *socket                   // nil if there is none
	wake            chan struct{}             // closed and replaced when something was queued
	draftsWake      chan struct{}             // closed and replaced when a draft was set
	watch           []uint64                  // whose presence is wanted; nil before Watch
	watchedReaders  *gatewayv1.WatchReaders   // nil before WatchReaders
	rooms           map[uint64]*enteredRoom
	roomRequests    uint64                     // the number of the last request about rooms
	device          presencev1.Activity        // what SetAway said last
	background      bool                       // what SetBackground said last
	marks           map[uint64]*gatewayv1.Mark // the last of each conversation, for the next connection as well
	unsentMarks     map[uint64]struct{}        // conversations whose marks moved without a socket
	mapURL          string                     // as the last Hello had it
	storedClientSeq uint64                     // the highest that the server may have of this device: at the last Hello, or sent since; before it, the highest there is
	noLarge         bool                       // the user is in no known large group, whose messages do not move the position
}

type outcome struct {
	receipt *gatewayv1.Receipt
	err     error
}

// New returns a client and loads its stored state. It fails for a URL without http:// or https://, and if the store fails. It opens no
// connection: Run does.
func New(config Config) (*Client, error) {
	config.URL = strings.TrimRight(config.URL, "/")
	if !strings.HasPrefix(config.URL, "http://") && !strings.HasPrefix(config.URL, "https://") {
		return nil, errors.New("rialto: Config.URL must begin with http:// or https://")
	}
	if config.Name == "" {
		config.Name = "Go SDK"
	}
	if config.Type == "" {
		config.Type = "server"
	}
	if config.Store == nil {
		config.Store = NewMemoryStore()
	}
	if config.Handler == nil {
		config.Handler = func(Event) {}
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	if config.MaxWait <= 0 {
		config.MaxWait = maxRetryWait
	}
	if config.OpenWithin <= 0 {
		config.OpenWithin = openWithin
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{config: config, waiters: map[uint64]chan<- outcome{}, wake: make(chan struct{}), draftsWake: make(chan struct{}), marks: map[uint64]*gatewayv1.Mark{}, unsentMarks: map[uint64]struct{}{}, rooms: map[uint64]*enteredRoom{}, roomRequests: firstRoomRequest, storedClientSeq: math.MaxUint64}
	state, err := config.Store.Load()
	if err != nil {
		return nil, err
	}
	c.state = state
	c.gateways = newGateways(&c.config)
	c.edges = newEdges(&c.config)
	with := connect.WithInterceptors(connect.UnaryInterceptorFunc(c.authorize))
	c.base = accountv1connect.NewAccountServiceClient(config.HTTP, config.URL)
	c.account = accountv1connect.NewAccountServiceClient(config.HTTP, config.URL, with)
	c.graph = accountv1connect.NewGraphServiceClient(config.HTTP, config.URL, with)
	c.chat = chatv1connect.NewChatServiceClient(config.HTTP, config.URL, with)
	c.media = chatv1connect.NewMediaServiceClient(config.HTTP, config.URL, with)
	c.organization = chatv1connect.NewOrganizationServiceClient(config.HTTP, config.URL, with)
	c.room = chatv1connect.NewRoomServiceClient(config.HTTP, config.URL, with)
	c.feed = feedv1connect.NewFeedServiceClient(config.HTTP, config.URL, with)
	c.comment = commentv1connect.NewCommentServiceClient(config.HTTP, config.URL, with)
	c.engagement = engagementv1connect.NewEngagementServiceClient(config.HTTP, config.URL, with)
	c.video = videov1connect.NewVideoServiceClient(config.HTTP, config.URL, with)
	c.moderation = moderationv1connect.NewModerationServiceClient(config.HTTP, config.URL, with)
	c.notification = notificationv1connect.NewNotificationServiceClient(config.HTTP, config.URL, with)
	c.push = pushv1connect.NewPushServiceClient(config.HTTP, config.URL, with)
	c.search = searchv1connect.NewSearchServiceClient(config.HTTP, config.URL, with)
	c.ranking = rankingv1connect.NewRankingServiceClient(config.HTTP, config.URL, with)
	c.official = chatv1connect.NewOfficialAccountServiceClient(config.HTTP, config.URL, with)
	c.helpDesk = chatv1connect.NewHelpDeskServiceClient(config.HTTP, config.URL, with)
	c.presence = presencev1connect.NewPresenceServiceClient(config.HTTP, config.URL, with)
	return c, nil
}

// Account makes calls of AccountService as this client's user.
func (c *Client) Account() accountv1connect.AccountServiceClient { return c.account }

// Graph makes calls of GraphService as this client's user.
func (c *Client) Graph() accountv1connect.GraphServiceClient { return c.graph }

// Chat makes calls of ChatService as this client's user.
func (c *Client) Chat() chatv1connect.ChatServiceClient { return c.chat }

// Media makes calls of MediaService as this client's user.
func (c *Client) Media() chatv1connect.MediaServiceClient { return c.media }

// Organization makes calls of OrganizationService as this client's user.
func (c *Client) Organization() chatv1connect.OrganizationServiceClient { return c.organization }

// Room makes calls of RoomService as this client's user.
func (c *Client) Room() chatv1connect.RoomServiceClient { return c.room }

// Feed makes the calls of posts and timelines.
func (c *Client) Feed() feedv1connect.FeedServiceClient { return c.feed }

// Search makes the calls of search.
func (c *Client) Search() searchv1connect.SearchServiceClient {
	return c.search
}

// Push makes the calls of push notifications.
func (c *Client) Push() pushv1connect.PushServiceClient {
	return c.push
}

// Notification makes the calls of notifications.
func (c *Client) Notification() notificationv1connect.NotificationServiceClient {
	return c.notification
}

// Moderation makes the calls of reports to moderators, and of decisions about this client's user.
func (c *Client) Moderation() moderationv1connect.ModerationServiceClient { return c.moderation }

// Comment makes the calls of comments.
func (c *Client) Comment() commentv1connect.CommentServiceClient { return c.comment }

// Engagement makes the calls of likes, favourites, views and popular posts.
func (c *Client) Engagement() engagementv1connect.EngagementServiceClient { return c.engagement }

// Ranking makes the calls of posts that are ranked for this client's user.
func (c *Client) Ranking() rankingv1connect.RankingServiceClient { return c.ranking }

// Video makes the calls of videos, which posts show.
func (c *Client) Video() videov1connect.VideoServiceClient { return c.video }

// Official makes the calls of official accounts: menus, and for operators replies, labels and broadcasts.
func (c *Client) Official() chatv1connect.OfficialAccountServiceClient { return c.official }

// HelpDesk makes calls of HelpDeskService as this client's user. Event.Ticket tells of changes.
func (c *Client) HelpDesk() chatv1connect.HelpDeskServiceClient { return c.helpDesk }

// Presence makes calls of PresenceService as this client's user.
func (c *Client) Presence() presencev1connect.PresenceServiceClient { return c.presence }

// User returns the id of the user who is logged in, or 0.
func (c *Client) User() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.User
}

// SignedIn reports whether the client has a session. If the server has ended it, the client learns this with the next call.
func (c *Client) SignedIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Access != ""
}

// Register creates a user and logs in. handle is unique: 3 to 32 of a-z, 0-9, _ and . ; password has 8 to 128 characters,
// displayName 1 to 64. Reason of the error says which one is invalid or taken.
func (c *Client) Register(ctx context.Context, handle, password, displayName string) error {
	r, err := c.base.Register(ctx, connect.NewRequest(&accountv1.RegisterRequest{Handle: handle, Password: password, DisplayName: displayName, Client: c.client()}))
	if err != nil {
		return err
	}
	return c.Adopt(r.Msg)
}

// Login opens a session on the device in the store. A device that logs in again as the same user continues at its position in the stream,
// with its unsent messages. Another user's state is dropped. The error does not say whether the handle or the password was wrong. After too
// many attempts its reason is too_many_logins. A *SecondFactorError means that the password was right, but that the account needs a second factor
// too.
func (c *Client) Login(ctx context.Context, handle, password string) error {
	r, err := c.base.Login(ctx, connect.NewRequest(&accountv1.LoginRequest{Handle: handle, Password: password, Client: c.client()}))
	if err != nil {
		return err
	}
	return c.enter(r.Msg)
}

// LoginMethods returns the ways to log in that the deployment has besides the password.
func (c *Client) LoginMethods(ctx context.Context) (*accountv1.LoginMethods, error) {
	r, err := c.base.GetLoginMethods(ctx, connect.NewRequest(&accountv1.GetLoginMethodsRequest{}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// RequestCode sends a code for LoginWithCode to a user, if the deployment supports it. The answer is the same for an unknown handle. At
// most one code a minute is sent.
func (c *Client) RequestCode(ctx context.Context, handle string) error {
	_, err := c.base.RequestCode(ctx, connect.NewRequest(&accountv1.RequestCodeRequest{Handle: handle}))
	return err
}

// LoginWithCode is Login with a code of six digits that was sent: good for 10 minutes, for one login.
func (c *Client) LoginWithCode(ctx context.Context, handle, code string) error {
	r, err := c.base.LoginWithCode(ctx, connect.NewRequest(&accountv1.LoginWithCodeRequest{Handle: handle, Code: code, Client: c.client()}))
	if err != nil {
		return err
	}
	return c.enter(r.Msg)
}

func (c *Client) client() *accountv1.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &accountv1.Client{Name: c.config.Name, Type: c.config.Type, Device: c.state.Device, DeviceKey: c.state.DeviceKey}
}

// Adopt uses a session that was created elsewhere, for example by AdminService.CreateSession, instead of Login. The error is the store's.
func (c *Client) Adopt(s *accountv1.Session) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.User != s.User || c.state.Device != s.Device { // another user's, or device's, position and messages are not ours
		c.settle(ErrSignedOut)
		c.state = State{User: s.User, Device: s.Device}
		clear(c.marks)
		clear(c.unsentMarks)
		clear(c.rooms)
	}
	c.state.Access, c.state.AccessEndsMs, c.state.Refresh, c.state.DeviceKey = s.AccessToken, s.ExpiresMs, s.RefreshToken, s.DeviceKey
	return c.save()
}

// Logout ends the session and forgets it; Run and waiting calls of Send return ErrSignedOut. If the server cannot be reached, Logout fails
// and the session stays. Unsent messages are kept for the same user's next login.
func (c *Client) Logout(ctx context.Context) error {
	if _, err := c.account.Logout(ctx, connect.NewRequest(&accountv1.LogoutRequest{})); err != nil && connect.CodeOf(err) != connect.CodeUnauthenticated {
		return err
	}
	return c.forget()
}

func (c *Client) forget() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Access, c.state.Refresh = "", ""
	c.settle(ErrSignedOut)
	return c.save()
}

// settle notifies all callers that wait for a receipt. The caller holds mu.
func (c *Client) settle(err error) {
	for n, w := range c.waiters {
		delete(c.waiters, n)
		w <- outcome{err: err}
	}
}

// save keeps the state. The caller holds mu.
func (c *Client) save() error { return c.config.Store.Save(c.state) }

// authorize adds the access token to a call, and renews it when it has ended.
func (c *Client) authorize(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		token, err := c.token(ctx, "")
		if err != nil {
			return nil, err
		}
		r.Header().Set("Authorization", "Bearer "+token)
		res, err := next(ctx, r)
		if connect.CodeOf(err) != connect.CodeUnauthenticated {
			return res, err
		}
		if token, err = c.token(ctx, token); err != nil {
			return nil, err
		}
		r.Header().Set("Authorization", "Bearer "+token)
		return next(ctx, r)
	}
}

// token returns an access token other than the stale one.
func (c *Client) token(ctx context.Context, stale string) (string, error) {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	c.mu.Lock()
	access, ends, refresh := c.state.Access, c.state.AccessEndsMs, c.state.Refresh
	c.mu.Unlock()
	if access == "" {
		return "", ErrSignedOut
	}
	if access != stale && time.Until(time.UnixMilli(ends)) > time.Minute {
		return access, nil
	}
	r, err := c.base.Refresh(ctx, connect.NewRequest(&accountv1.RefreshRequest{RefreshToken: refresh}))
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		return "", errors.Join(ErrSignedOut, c.forget())
	}
	if err != nil {
		return "", err
	}
	return r.Msg.AccessToken, c.Adopt(r.Msg)
}
