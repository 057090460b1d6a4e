package ratelimit

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// Route is a kind of request that has its own limits.
type Route uint8

// The routes.
const (
	Call                Route = iota // any call by a user, including those with their own route
	Send                             // messages, and other calls that store an entry for others
	Frame                            // frames on sockets without messages
	UnauthenticatedPing              // frames on sockets before their authentication; by address only
	Search                           // SearchUsers, Search, and the first pages of ForYou
	Friend                           // RequestFriend
	Invite                           // users who are invited or added to groups and organizations
	Group                            // new groups and rooms
	Join                             // Join, and accepted invitations
	Added                            // additions of a user to groups by users who are not friends; the key is the added user
	Upload                           // uploads begun, CreateVideo, RetryVideo, RequestRendition, SetSubtitles
	Link                             // CreateJoinLink
	Bridge                           // LinkBridge
	Preview                          // PreviewLink
	Ticket                           // changes of tickets: each is an event for all agents of the help desk
	routeCount                       // number of routes
)

// String is the route's name in metrics.
func (r Route) String() string { return table[r].name }

// Routes returns all routes.
func Routes() (all []Route) {
	for r := range routeCount {
		all = append(all, r)
	}
	return all
}

// Config of the limits of clients, each a rate: 20/s, 100/h burst 500, or none. The zero value is the documented default.
type Config struct {
	// CallUser bounds the calls of a user; each ten users in a call count as one more; default 200/s burst 2000.
	CallUser string `yaml:"call_user"`
	// CallAddress bounds the calls of users from one address; default 2000/s burst 20000.
	CallAddress string `yaml:"call_address"`
	// SendUser bounds the messages of a user on a node, by number and by KiB, and the other calls that reach members as a message does. Sockets are read as fast as this allows; default 5000/s burst 50000.
	SendUser string `yaml:"send_user"`
	// SendAddress bounds the messages of one address on a node in the same way; default 20000/s burst 100000.
	SendAddress string `yaml:"send_address"`
	// FrameUser bounds the frames without messages that a user's sockets send to a node: acknowledgements, marks, typing, pings, calls. They are read as
	// fast as this allows; default 5000/s burst 20000.
	FrameUser string `yaml:"frame_user"`
	// FrameAddress bounds those of the sockets of one address in the same way; default 50000/s burst 100000.
	FrameAddress string `yaml:"frame_address"`
	// UnauthenticatedPingAddress bounds the pings and pongs of WebSocket that the sockets of one address send before their authentication. Beyond it they
	// are closed; default 1000/s burst 5000.
	UnauthenticatedPingAddress string `yaml:"unauthenticated_ping_address"`
	// SearchUser bounds the searches of a user; default 120/m.
	SearchUser string `yaml:"search_user"`
	// SearchAddress bounds the searches from one address; default 1200/m.
	SearchAddress string `yaml:"search_address"`
	// FriendUser bounds the friend requests of a user; default 200/h.
	FriendUser string `yaml:"friend_user"`
	// FriendAddress bounds the friend requests from one address; default 2000/h.
	FriendAddress string `yaml:"friend_address"`
	// InviteUser bounds the users whom a user invites or adds to groups and organizations, each addition counted; default 10000/h burst 20000.
	InviteUser string `yaml:"invite_user"`
	// InviteAddress bounds the same from one address; default 50000/h burst 100000.
	InviteAddress string `yaml:"invite_address"`
	// GroupUser bounds the groups that a user creates; default 100/h.
	GroupUser string `yaml:"group_user"`
	// GroupAddress bounds the groups that are created from one address; default 1000/h.
	GroupAddress string `yaml:"group_address"`
	// JoinUser bounds how often a user joins groups and organizations, or requests to; default 100/h.
	JoinUser string `yaml:"join_user"`
	// JoinAddress bounds the same from one address; default 2000/h.
	JoinAddress string `yaml:"join_address"`
	// AddedUser bounds how often a user is added to groups by others who are not friends; default 100/h.
	AddedUser string `yaml:"added_user"`
	// UploadUser bounds the uploads that a user starts; default 1000/h burst 500.
	UploadUser string `yaml:"upload_user"`
	// UploadAddress bounds the same from one address; default 10000/h burst 5000.
	UploadAddress string `yaml:"upload_address"`
	// LinkUser bounds the join links that a user creates; default 100/h.
	LinkUser string `yaml:"link_user"`
	// LinkAddress bounds the same from one address; default 1000/h.
	LinkAddress string `yaml:"link_address"`
	// BridgeUser bounds how often a user links groups with rooms of other systems, or tries to; default 20/h.
	BridgeUser string `yaml:"bridge_user"`
	// BridgeAddress bounds the same from one address; default 200/h.
	BridgeAddress string `yaml:"bridge_address"`
	// PreviewUser bounds the link previews that a user asks for; default 30/m.
	PreviewUser string `yaml:"preview_user"`
	// PreviewAddress bounds the same from one address; default 300/m.
	PreviewAddress string `yaml:"preview_address"`
	// TicketUser bounds the tickets of help desks that a user opens, takes, transfers, resolves, reopens or rates; default 600/h burst 100.
	TicketUser string `yaml:"ticket_user"`
	// TicketAddress bounds the same from one address; default 6000/h burst 1000.
	TicketAddress string `yaml:"ticket_address"`
}

// setting is one limit, and its default.
type setting struct {
	name, fallback string
	get            func(c *Config) string
}

// table of the limits. Defaults are far above human use. Those of messages are what rialto bench sends by one user: a node accepts
// some 100,000 a second of 200 users, 500 of each, and the catch-up benchmark sends 50,000 at once.
var table = [routeCount]struct {
	name          string
	user, address setting
}{
	Call: {"call", setting{"call_user", "200/s burst 2000", func(c *Config) string { return c.CallUser }},
		setting{"call_address", "2000/s burst 20000", func(c *Config) string { return c.CallAddress }}},
	Send: {"send", setting{"send_user", "5000/s burst 50000", func(c *Config) string { return c.SendUser }},
		setting{"send_address", "20000/s burst 100000", func(c *Config) string { return c.SendAddress }}},
	Frame: {"frame", setting{"frame_user", "5000/s burst 20000", func(c *Config) string { return c.FrameUser }},
		setting{"frame_address", "50000/s burst 100000", func(c *Config) string { return c.FrameAddress }}},
	UnauthenticatedPing: {"unauthenticated_ping", setting{}, setting{"unauthenticated_ping_address", "1000/s burst 5000", func(c *Config) string { return c.UnauthenticatedPingAddress }}},
	Search: {"search", setting{"search_user", "120/m", func(c *Config) string { return c.SearchUser }},
		setting{"search_address", "1200/m", func(c *Config) string { return c.SearchAddress }}},
	Friend: {"friend", setting{"friend_user", "200/h", func(c *Config) string { return c.FriendUser }},
		setting{"friend_address", "2000/h", func(c *Config) string { return c.FriendAddress }}},
	Invite: {"invite", setting{"invite_user", "10000/h burst 20000", func(c *Config) string { return c.InviteUser }},
		setting{"invite_address", "50000/h burst 100000", func(c *Config) string { return c.InviteAddress }}},
	Group: {"group", setting{"group_user", "100/h", func(c *Config) string { return c.GroupUser }},
		setting{"group_address", "1000/h", func(c *Config) string { return c.GroupAddress }}},
	Join: {"join", setting{"join_user", "100/h", func(c *Config) string { return c.JoinUser }},
		setting{"join_address", "2000/h", func(c *Config) string { return c.JoinAddress }}},
	Added: {"added", setting{"added_user", "100/h", func(c *Config) string { return c.AddedUser }}, setting{}},
	Upload: {"upload", setting{"upload_user", "1000/h burst 500", func(c *Config) string { return c.UploadUser }},
		setting{"upload_address", "10000/h burst 5000", func(c *Config) string { return c.UploadAddress }}},
	Link: {"link", setting{"link_user", "100/h", func(c *Config) string { return c.LinkUser }},
		setting{"link_address", "1000/h", func(c *Config) string { return c.LinkAddress }}},
	Bridge: {"bridge", setting{"bridge_user", "20/h", func(c *Config) string { return c.BridgeUser }},
		setting{"bridge_address", "200/h", func(c *Config) string { return c.BridgeAddress }}},
	Preview: {"preview", setting{"preview_user", "30/m", func(c *Config) string { return c.PreviewUser }},
		setting{"preview_address", "300/m", func(c *Config) string { return c.PreviewAddress }}},
	Ticket: {"ticket", setting{"ticket_user", "600/h burst 100", func(c *Config) string { return c.TicketUser }},
		setting{"ticket_address", "6000/h burst 1000", func(c *Config) string { return c.TicketAddress }}},
}

// rate is the configured rate, or the default; a setting without a limit has none.
func (s setting) rate(c *Config) (Rate, error) {
	if s.get == nil {
		return Rate{}, nil
	}
	text := s.get(c)
	if text == "" {
		text = s.fallback
	}
	r, err := Parse(text)
	if err != nil {
		return r, fmt.Errorf("limits.%s: %w", s.name, err)
	}
	return r, nil
}

// Check reports settings that are not rates.
func (c Config) Check() error {
	_, err := NewTable(c, clock.System{}, nil)
	return err
}

// Table has the limiters of all routes. A nil *Table limits nothing.
type Table struct {
	routes [routeCount]limits
}

type limits struct {
	user    *Limiter[uint64]
	address *Limiter[netip.Prefix]
	refused atomic.Int64
}

// NewTable creates the limiters. nodes returns the number of live nodes, among which limits are divided, except those of messages and frames, since a
// socket is on one node. If nil, it is one.
func NewTable(c Config, at clock.Clock, nodes func() int) (*Table, error) {
	t := &Table{}
	var faults []error
	for r := range routeCount {
		user, err := table[r].user.rate(&c)
		address, aerr := table[r].address.rate(&c)
		faults = append(faults, err, aerr)
		among := nodes
		if r == Send || r == Frame || r == UnauthenticatedPing {
			among = nil
		}
		t.routes[r].user, t.routes[r].address = New[uint64](user, at, among), New[netip.Prefix](address, at, among)
	}
	return t, errors.Join(faults...)
}

// Limit is one of a table.
type Limit struct {
	Route   Route
	Setting string // its name in Config
	Rate    Rate   // of a user or an address on all nodes; the zero value is no limit
	// Keys returns how many users or addresses have a bucket on this node.
	Keys func() int
}

// Limits returns the limits of all routes, in the order of the routes, those of users first.
func (t *Table) Limits() (list []Limit) {
	for r := range routeCount {
		if s := table[r].user; s.get != nil {
			list = append(list, Limit{r, s.name, t.routes[r].user.rate, t.routes[r].user.Keys})
		}
		if s := table[r].address; s.get != nil {
			list = append(list, Limit{r, s.name, t.routes[r].address.rate, t.routes[r].address.Keys})
		}
	}
	return list
}

// Allow counts n requests of a route by a user from a network, or refuses them all with the reason too_many_requests. User 0 and the zero
// network are not limited.
func (t *Table) Allow(r Route, user uint64, from netip.Prefix, n int) error {
	if t == nil || n == 0 {
		return nil
	}
	l := &t.routes[r]
	if user != 0 {
		if wait := l.user.Allow(user, n); wait > 0 {
			return l.refuse(wait)
		}
	}
	if from.IsValid() {
		if wait := l.address.Allow(from, n); wait > 0 {
			if user != 0 {
				l.user.Refund(user, n)
			}
			return l.refuse(wait)
		}
	}
	return nil
}

// Refund gives back what Allow counted, if the request was then refused for another reason.
func (t *Table) Refund(r Route, user uint64, from netip.Prefix, n int) {
	if t == nil || n == 0 {
		return
	}
	if user != 0 {
		t.routes[r].user.Refund(user, n)
	}
	if from.IsValid() {
		t.routes[r].address.Refund(from, n)
	}
}

// Charge counts n requests that are processed in any case, and returns how long to wait before the next.
func (t *Table) Charge(r Route, user uint64, from netip.Prefix, n int) (wait time.Duration) {
	if t == nil {
		return 0
	}
	l := &t.routes[r]
	if user != 0 {
		wait = l.user.Charge(user, n)
	}
	if from.IsValid() {
		wait = max(wait, l.address.Charge(from, n))
	}
	return wait
}

// Refused returns the number of refused requests of a route.
func (t *Table) Refused(r Route) int64 { return t.routes[r].refused.Load() }

func (l *limits) refuse(wait time.Duration) error {
	l.refused.Add(1)
	return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_requests", Message: "too many requests of this kind; wait, and try again", Retry: wait}
}
