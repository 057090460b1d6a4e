// Package organization has companies: a tree of departments, the members in it, an address book, groups that follow a department, and
// rules about who may write to whom.
//
// It owns the rows of organizations, departments, members and followed groups. Each change is one transaction that first changes the
// organization's row, so that two changes of one organization wait for each other: two concurrent moves of departments cannot form a cycle.
//
// Messaging: when a change returns, this node and all other live nodes check senders against it. A node that cannot be reached
// does so when it reads the cluster event, at most a second after it reads the database again (version.go).
//
// Groups: a change marks the groups of its organization as pending in the same transaction, and the coordinator aligns their members with the
// rows, also after a crash (synchronize.go). A removed member is out of the groups when the call returns. The organization's owner becomes the
// owner of the groups that the member owned.
//
// Bounds: 10,000 departments and 200,000 members of an organization, 16 levels, 200 groups, 10 circles of a member; 20 organizations of a user, 20
// departments of a member; 200 items of a call; 1,000 invitations of an organization, 50 of a user.
//
// It may use sqldb, bus, cluster, clusterevent and job. All methods are safe for concurrent use. No lock is held during a query.
package organization

import (
	"context"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxPerCall     = 200     // departments or members of a call, and rows of a page
	maxDepartments = 10_000  // of an organization
	maxDepth       = 16      // departments below one another
	maxMembers     = 200_000 // of an organization
	maxMemberOf    = 20      // organizations of a user
	maxPlaces      = 20      // departments of a member
	maxGroups      = 200     // of an organization
	maxCircles     = 10      // of those, made by a member who is not an admin
	maxCircle      = 500     // members of a new circle
	maxInvitations = 1000    // of an organization
	// maxUserInvitations bounds the invitations of a user. Beyond it, the oldest end.
	maxUserInvitations = 50
)

// IDs generates ids of organizations and departments.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Accounts has the users.
type Accounts interface {
	// Exist fails with no_user unless all users exist.
	Exist(ctx context.Context, users []id.User) error
	GetUsers(ctx context.Context, r *accountv1.GetUsersRequest) ([]*accountv1.User, error)
	// MayAdd returns the users whom by may not add to groups, and those whom by may only invite.
	MayAdd(ctx context.Context, by id.User, users []id.User) (refused, invited, nonFriends []id.User, err error)
	// BlockedAmong returns those of some users who have blocked a user, or whom the user has blocked.
	BlockedAmong(ctx context.Context, u id.User, users []id.User) (map[id.User]bool, error)
	// UsersByExternalID returns the users that have some of the app's own ids.
	UsersByExternalID(ctx context.Context, ids []string) (map[string]id.User, error)
}

// Groups are the groups of package chat.
type Groups interface {
	// CreateGroupFor creates a group for a service, or returns the one with the key. Users cannot make a group with such a key.
	CreateGroupFor(ctx context.Context, service string, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error)
	// AlignMembers adds and removes members of a group, some hundred with each entry, until it has those that decide returns. decide gets the
	// members at present, ascending; the owner stays. It fails with dissolved.
	AlignMembers(ctx context.Context, c id.Conversation, decide func(current []id.User) (want []id.User)) error
	// DissolvedAmong returns those of some groups, of which there are at most 200, that were dissolved.
	DissolvedAmong(ctx context.Context, groups []id.Conversation) ([]id.Conversation, error)
	// ReplaceOwner makes a user the owner of a group, also one who is not in it yet, if its owner must leave. It fails with dissolved.
	ReplaceOwner(ctx context.Context, c id.Conversation, successor id.User, leaves func(owner id.User) (bool, error)) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	IDs      IDs
	Accounts Accounts
	Groups   Groups
	// Outbox stores events for the streams of invited users. If nil, they are not told.
	Outbox *job.Outbox
	// MaxMembers of a group.
	MaxMembers int
	// ClusterEvents notifies the other nodes, which then call HandleEvent. If nil, there are no other nodes.
	ClusterEvents *clusterevent.Service
	Bus           bus.Bus
	// Node is this node's name, and Nodes returns the names of all live ones.
	Node  string
	Nodes func() []string
	// IsCoordinator reports whether this node aligns groups for all nodes. If nil, it does.
	IsCoordinator func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

// Service has the organizations.
type Service struct {
	deps     Deps
	versions versions
	wake     chan struct{} // signals Run that groups are pending

	memberships memberships
}

var (
	errNoOrganization = errs.New(errs.NotFound, "no_organization", "there is no such organization, or you are not a member of it")
	errNotAdmin       = errs.New(errs.Denied, "not_organization_admin", "only admins of the organization do that; ask one of them")
	errNoDepartment   = errs.New(errs.NotFound, "no_department", "there is no such department in this organization")
	errNoMember       = errs.New(errs.NotFound, "not_in_organization", "this user is not a member of the organization; add the user to it first")
	errNeedsKey       = errs.New(errs.Denied, "needs_key", "organizations are created with an API key; ask the operator of this server")
	errCount          = errs.New(errs.Invalid, "bad_count", "give 1 to 200 items at once")
)

// New creates missing tables. Groups follow their departments while Run runs.
func New(ctx context.Context, deps Deps) (*Service, error) {
	if deps.MaxMembers == 0 {
		deps.MaxMembers = 10_000
	}
	return &Service{deps: deps, wake: make(chan struct{}, 1), memberships: newMemberships()}, deps.DB.Migrate(ctx, "organization", migrations)
}

// parseName checks a name of 1 to 100 characters.
func parseName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > 100 || !message.IsName(name) {
		return "", errs.New(errs.Invalid, "bad_name", "a name has 1 to 100 characters in one line, at least one visible character, no control, text-direction or invisible characters, and not more than six marks on one letter")
	}
	return name, nil
}

// checkLine checks an optional text in one line.
func checkLine(text string, most int) error {
	if utf8.RuneCountInString(text) > most || !message.IsLine(text) {
		return errs.New(errs.Invalid, "bad_text", "a title has at most 100 characters in one line, an employee number and an external id at most 64, a phone number at most 32; none has control or text-direction characters")
	}
	return nil
}
