// Package bridge does what every bridge does alike: it registers with Rialto, keeps the states of links, stores what comes from the other system, and has what is written in linked groups delivered there. A System is
// the other side.
package bridge

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// System is a message system with rooms. Its methods are safe for concurrent use.
type System interface {
	// Run keeps the connection until ctx ends, and tells the host what happens there.
	Run(ctx context.Context, host Host)
	// Normalize returns an address of a room in the form in which the system's messages have it. Spellings of one room give one text: Rialto compares rooms by it. What it
	// returns may change only before the first call of Changed by a connection.
	Normalize(address string) string
	// Enter joins a room for a link. If the system keeps history, it also passes on what was written since the first join for this link and was not received. It does nothing in a room that was joined, and returns a
	// *Refusal if the room does not admit the bridge.
	Enter(ctx context.Context, room string, link Link) error
	// Leave leaves a room whose link was ended.
	Leave(room string)
	// Deliver sends an entry to a room that was entered. It returns the id that the entry has there; a *Refusal if the room refuses it; ErrDisconnected if the system cannot be reached, after which the entry is delivered
	// again. An entry that was delivered before, by this process or one before it, is not to appear twice, if the system makes that possible.
	Deliver(ctx context.Context, room string, m Outgoing) (externalID string, err error)
}

// Host is what a System reports to. Its methods are safe for concurrent use.
type Host interface {
	// Received writes down what came from a room. When it has returned nil, that is not lost. After an error, which is that the directory is full or cannot be written, a system that keeps messages gives it again later.
	Received(m Received) error
	// Changed has rooms entered that the bridge is not in: the system is connected, or a room was left. It does not wait.
	Changed()
	// Expelled reports that a room has removed the bridge for good. It does not wait.
	Expelled(room string, why *Refusal)
}

// Link is when a link was made, and whether the other system has not answered it yet.
type Link struct {
	Created time.Time
	Pending bool
}

// ErrDisconnected says that the system cannot be reached now.
var ErrDisconnected = errors.New("the other system cannot be reached")

// Outgoing is an entry of Rialto for a room.
type Outgoing struct {
	Conversation, Seq uint64
	Time              time.Time // when it was written
	User              uint64    // who wrote it; of a recall, who wrote what is recalled
	Name              string    // of User
	Text              string
	Edits             uint64 // seq of the message that it replaces; 0: none
	Recalls           string // id in the room of the message that is taken back; empty: none
	ReplyTo           string // id in the room of the message that it answers; empty: none, or it has no id there
}

// Received is what somebody in a room wrote, edited or took back.
type Received struct {
	Room    string `json:"room"`    // normalized
	ID      string `json:"id"`      // in the room; empty: the system has no ids, and the bridge makes one
	Address string `json:"address"` // of who wrote it: always the same for somebody
	Name    string `json:"name"`
	Text    string `json:"text,omitempty"`
	Edits   string `json:"edits,omitempty"`   // id of the message that it replaces
	Recalls string `json:"recalls,omitempty"` // id of the message that it takes back
	ReplyTo string `json:"replyTo,omitempty"` // id of the message that it answers
}

// Refusal is why a room refuses something for good.
type Refusal struct {
	Reason string // for programs: at most 64 lower-case letters, digits and underscores
	Text   string // for people: at most 500 characters
	OfUser bool   // it concerns all that the user writes, and is stored as the user's permission for a while
}

func (r *Refusal) Error() string { return r.Reason + ": " + r.Text }

var notInReasons = regexp.MustCompile(`[^a-z0-9_]+`)

// NewRefusal makes a refusal in the form that Rialto permits.
func NewRefusal(reason, text string) *Refusal {
	reason = notInReasons.ReplaceAllString(strings.ToLower(reason), "_")
	if reason == "" {
		reason = "refused"
	}
	return &Refusal{Reason: reason[:min(len(reason), 64)], Text: Line(text, 500)}
}

// maxMarks is how many combining marks a letter keeps. Rialto permits six, those included that are part of the letter, which are three at most.
const maxMarks = 3

// Line returns a text as one line without control characters, characters that change the direction of the text, and stacked marks, with at most so many characters.
func Line(text string, most int) string {
	marks := 0
	line := []rune(strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > maxMarks {
				return -1
			}
			return r
		case !unicode.In(r, unicode.Mc, unicode.Cf): // these do not start a letter
			marks = 0
		}
		switch {
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\uFFFD':
			return ' '
		case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, text)), " "))
	return string(line[:min(len(line), most)])
}

// withoutBadText makes a call that says why something is refused. If Rialto refuses the text for people, the call is repeated without it: what became of something is more than how it is said.
func withoutBadText(text *string, call func() error) error {
	err := call()
	if rialto.Reason(err) == "bad_reason" && *text != "" {
		*text = ""
		err = call()
	}
	return err
}

// Config of a bridge.
type Config struct {
	// Rialto has the calls, with the bridge's API key.
	Rialto *rialto.Bridge
	// Registration says what the system carries.
	Registration *bridgev1.PutBridgeRequest
	// Rooms that may be linked, in any spelling; * is all.
	Rooms []string
	// Spool is the directory of what came and is not stored in Rialto yet.
	Spool  string
	Logger *slog.Logger
}

const (
	pending = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_PENDING
	active  = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE
	refused = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_REFUSED

	// maxRoom is how many bytes of a normalized address Rialto permits.
	maxRoom = 255

	// retryDelay is between attempts to reach Rialto, and linkCheckInterval between checks for links that were made or ended.
	retryDelay        = time.Second
	linkCheckInterval = 10 * time.Second
)

// Bridge carries messages between the groups that are linked and the rooms of a system.
type Bridge struct {
	config Config
	system System
	spool  *spool
	check  chan struct{} // something about a link or a room has changed

	mu          sync.Mutex            // guards what follows
	name        string                // of the bridge
	links       linkTable             // of the last time that they were read
	linksLoaded bool                  // they were read
	expelled    map[string]*Refusal   // rooms that have removed the bridge, which is not reported yet
	repetitions map[uint64]repetition // by conversation
	names       map[uint64]cachedName // of users here
	permissions map[permission]string // reasons of refusals that are stored
}

// New makes a bridge, which works while Run runs.
func New(c Config) (*Bridge, error) {
	s, err := openSpool(c.Spool)
	if err != nil {
		return nil, err
	}
	return &Bridge{config: c, spool: s, check: make(chan struct{}, 1), expelled: map[string]*Refusal{}, repetitions: map[uint64]repetition{},
		names: map[uint64]cachedName{}, permissions: map[permission]string{}}, nil
}

// Changed is that of Host.
func (b *Bridge) Changed() {
	select {
	case b.check <- struct{}{}:
	default:
	}
}

// Expelled is that of Host.
func (b *Bridge) Expelled(room string, why *Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.links.byRoom[room] != nil {
		b.expelled[room] = why
		b.Changed()
	}
}

// Received is that of Host.
func (b *Bridge) Received(m Received) error { return b.spool.add(m) }

// Run works until ctx ends. It returns an error if Rialto refuses the bridge.
func (b *Bridge) Run(ctx context.Context, system System) error {
	b.system = system
	consumer, err := b.register(ctx)
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	work.Go(func() { system.Run(ctx, b) })
	work.Go(func() { b.keepLinks(ctx) })
	work.Go(func() { b.store(ctx) })
	b.consumeEvents(ctx, consumer)
	work.Wait()
	return nil
}

// register registers the bridge and its events, also if Rialto cannot be reached at first.
func (b *Bridge) register(ctx context.Context) (consumer string, err error) {
	for {
		registered, err := b.config.Rialto.PutBridge(ctx, connect.NewRequest(b.config.Registration))
		if err == nil {
			b.name = registered.Msg.Name
			kinds := []eventv1.EventKind{eventv1.EventKind_EVENT_KIND_MESSAGE, eventv1.EventKind_EVENT_KIND_MEMBER_JOINED, eventv1.EventKind_EVENT_KIND_EDIT, eventv1.EventKind_EVENT_KIND_RECALL}
			_, err = b.config.Rialto.Events.PutEventConsumer(ctx, connect.NewRequest(&eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: b.name, Kinds: kinds}}))
		}
		if err == nil {
			return b.name, nil
		}
		if isRefused(err) || connect.CodeOf(err) == connect.CodeUnauthenticated || !b.pause(ctx, "the bridge is registered again", err) {
			return "", err
		}
	}
}

// pause waits a moment after a failure. It returns false when ctx has ended.
func (b *Bridge) pause(ctx context.Context, what string, err error) bool {
	if ctx.Err() == nil {
		b.config.Logger.Warn(what, "error", err)
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retryDelay):
		return true
	}
}

// isRefused reports whether Rialto refuses a call for good: a repetition would be refused, too.
func isRefused(err error) bool {
	return slices.Contains([]connect.Code{connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodePermissionDenied, connect.CodeAlreadyExists}, connect.CodeOf(err))
}
