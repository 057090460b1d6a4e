// Package bridge links groups with rooms of other message systems. The programs that speak the protocols of those systems are separate (bridges/).
//
// A bridge is a bot with its own API key. It receives what is written in linked groups by server events, as every bot does: durably, in order, at least once. What it
// sends and reports becomes entries of the conversations. The ids of messages in the other system are the tokens of the log (chat/bridge.go), so nothing is stored twice, and no second store has to agree with the log.
//
// This package owns the rows of bridges, links, people of other systems, and cached permissions to write there. A link needs two things: the row, which an admin of the group created and the
// other system accepted, and the bot's membership in the group. Without either, the bridge can do nothing in the group. Membership is checked with each entry, by the state that the log verifies.
//
// It may use sqldb, auditlog and cluster; conversations and users by interfaces. All methods are safe for concurrent use. All its state is in the database.
package bridge

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Chat has the conversations.
type Chat interface {
	// MemberRole returns the role of a member, and fails for everybody else.
	MemberRole(ctx context.Context, c id.Conversation, u id.User) (chatv1.Role, error)
	// MayLink fails if a user may not link a conversation.
	MayLink(ctx context.Context, c id.Conversation, by id.User) error
	// DissolvedAmong returns those of some groups that were dissolved.
	DissolvedAmong(ctx context.Context, groups []id.Conversation) ([]id.Conversation, error)
	// GroupMembers returns the members of a group, ascending.
	GroupMembers(ctx context.Context, c id.Conversation) ([]id.User, error)
	// AddBridge makes a bot a member. It fails if the bot owns the group.
	AddBridge(ctx context.Context, c id.Conversation, by, bot id.User) error
	// RemoveBridge removes at most 500 users who are members, except the owner.
	RemoveBridge(ctx context.Context, c id.Conversation, by id.User, users []id.User) error
	// EndMembership makes a user leave, also the owner: then another member owns the group.
	EndMembership(ctx context.Context, u id.User, c id.Conversation) error
	// SendBridged stores what came over a bridge, once for an external id.
	SendBridged(ctx context.Context, b message.Bridged) (*message.Draft, error)
	// ReportDelivery stores what became of a message in another system.
	ReportDelivery(ctx context.Context, b message.Bridge, c id.Conversation, seq uint64, delivery *chatv1.BridgeDelivery) (*message.Draft, error)
}

// Accounts are all users.
type Accounts interface {
	// CreateBridged creates the user of somebody in another system, and calls with in the same transaction.
	CreateBridged(ctx context.Context, bridge, name string, with func(tx *sql.Tx, u id.User) error) (id.User, error)
	// RenameBridged gives such a user another name.
	RenameBridged(ctx context.Context, bridge string, u id.User, name string) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Chat     Chat
	Accounts Accounts
	// Audit has what moderators remove.
	Audit *auditlog.Log
	// IsCoordinator reports whether this node deletes old answers and the links of dissolved groups, for all nodes. If nil, it does.
	IsCoordinator func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

// Config of bridges. The zero value of each setting is the documented default.
type Config struct {
	// LinksPerUser is how many groups a user may have linked by one bridge, 1 to 10,000; 0 is 20.
	LinksPerUser int `yaml:"links_per_user"`
}

const defaultLinksPerUser = 20

// Check reports settings out of range.
func (c Config) Check() error {
	if c.LinksPerUser < 0 || c.LinksPerUser > maxAllLinks {
		return errors.New("bridges.links_per_user is 1 to 10,000; 0 is the default, 20")
	}
	return nil
}

const (
	maxBridges  = 100
	maxLinks    = 5         // of a conversation
	maxAllLinks = 10_000    // of a bridge
	maxPeople   = 1_000_000 // of a bridge, those included that were erased since
	maxForeign  = 255       // bytes of an id or an address of another system
	maxText     = 500       // characters that say why
	// maxPermission is how long an answer about a user counts.
	maxPermission   = 24 * time.Hour
	cleanUpInterval = 10 * time.Minute
	batch           = 500 // rows of a transaction
)

// Service has the bridges of a deployment.
type Service struct {
	deps Deps
	most limits
}

// limits are smaller in tests.
type limits struct{ bridges, links, allLinks, userLinks, people int64 }

var migrations = []string{
	// People is how many users were made for a bridge, those included that were erased since: their ids and entries stay.
	`CREATE TABLE bridges (name TEXT PRIMARY KEY, bot BIGINT NOT NULL, display_name TEXT NOT NULL, edits BOOLEAN NOT NULL, recalls BOOLEAN NOT NULL, reactions BOOLEAN NOT NULL, files BOOLEAN NOT NULL,
		people BIGINT NOT NULL DEFAULT 0)`,
	`CREATE TABLE bridge_links (bridge TEXT NOT NULL, conversation BIGINT NOT NULL, address TEXT NOT NULL, state BIGINT NOT NULL, reason TEXT NOT NULL DEFAULT '', text TEXT NOT NULL DEFAULT '',
		linked_by BIGINT NOT NULL, created_ms BIGINT NOT NULL, PRIMARY KEY (bridge, conversation), UNIQUE (bridge, address))`,
	`CREATE INDEX bridge_links_conversation ON bridge_links (conversation, bridge)`,
	`CREATE INDEX bridge_links_linked_by ON bridge_links (linked_by)`,
	`CREATE TABLE bridge_users (bridge TEXT NOT NULL, address TEXT NOT NULL, member BIGINT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (bridge, address))`,
	`CREATE INDEX bridge_users_member ON bridge_users (member)`,
	// Member 0: everybody without a row.
	`CREATE TABLE bridge_permissions (bridge TEXT NOT NULL, conversation BIGINT NOT NULL, member BIGINT NOT NULL, allowed BOOLEAN NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, until_ms BIGINT NOT NULL,
		PRIMARY KEY (bridge, conversation, member))`,
	`CREATE INDEX bridge_permissions_until ON bridge_permissions (until_ms)`,
	`CREATE INDEX bridge_permissions_member ON bridge_permissions (member)`,
	// Room is the address in the bridge's own form; NULL unless the bridge has reported it with a link that is active.
	`ALTER TABLE bridge_links ADD COLUMN room TEXT`,
	`CREATE UNIQUE INDEX bridge_links_room ON bridge_links (bridge, room)`,
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, c Config) (*Service, error) {
	s := &Service{deps: deps, most: limits{maxBridges, maxLinks, maxAllLinks, int64(cmp.Or(c.LinksPerUser, defaultLinksPerUser)), maxPeople}}
	return s, deps.DB.Migrate(ctx, "bridge", migrations)
}

// Run deletes answers that have ended and the links of dissolved groups, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: cleanUpInterval, Round: s.CleanUp, Failed: "links of dissolved groups and old answers of other systems are deleted later", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

var (
	reasonPattern = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

	errNoBridge   = errs.New(errs.NotFound, "no_bridge", "there is no bridge of this name; ListBridges has those of this deployment")
	errExternalID = errs.New(errs.Invalid, "bad_external_id", "an external id has 1 to 255 bytes, in one line")
	errRoom       = errs.New(errs.Invalid, "bad_room", "the room of an active link has 1 to 255 bytes, in one line; a link that is refused has none")
	errAddress    = errs.New(errs.Invalid, "bad_address", "an address in another system has 1 to 255 bytes, in one line")
	errReason     = errs.New(errs.Invalid, "bad_reason", "a refusal has a reason of 1 to 64 lower-case letters, digits and underscores, and a text of at most 500 characters; what is accepted has neither")
)

// isForeign reports whether a text may be an id or an address of another system.
func isForeign(text string) bool {
	return text != "" && len(text) <= maxForeign && message.IsLine(text)
}

func checkExternalID(external string) error {
	if !isForeign(external) {
		return errExternalID
	}
	return nil
}

// checkReason checks why something is refused, or that there is no reason.
func checkReason(refused bool, reason, text string) error {
	if refused != reasonPattern.MatchString(reason) || !refused && reason+text != "" || utf8.RuneCountInString(text) > maxText || !message.IsParagraph(text) {
		return errReason
	}
	return nil
}
