package overload

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// A conversation and an organization are crowds: many users, each of whom may be far from a fifth of the workers, can have all of them together. So what a crowd
// has beyond its share gives way to others: it waits behind them, and is refused while they wait. Alone, a crowd may use all that there is, since it may be all
// that a server is for.

const (
	// A conversation has a share of a fifth of the workers, or of the messages that are admitted, and an organization a third.
	conversationShare, organizationShare = 5, 3
	// maxOrganizations of a user count.
	maxOrganizations = 4
	// slack of a crowd: few messages of a window are no excess.
	slack = 4
)

// Organizations returns the organizations of a user, as far as they are known. It does not block. It is asked under overload only.
type Organizations func(user uint64) []uint64

// Crowd is what a share is for.
type Crowd uint8

// The crowds.
const (
	Conversation Crowd = iota
	Organization
	crowdCount
)

// String is the crowd's name in metrics.
func (c Crowd) String() string { return [crowdCount]string{"conversation", "organization"}[c] }

// Crowds returns all crowds.
func Crowds() []Crowd { return []Crowd{Conversation, Organization} }

// errCrowd returns the refusal of a request of a crowd that has more than its share.
func errCrowd(c Crowd) error {
	retry := backoff.Spread(retryAfter, 2*retryAfter)
	if c == Organization {
		return &errs.Error{Kind: errs.Exhausted, Reason: "organization_busy", Message: "the server is busy, and this organization has a third of what it can do; try again", Retry: retry}
	}
	return &errs.Error{Kind: errs.Exhausted, Reason: "conversation_busy", Message: "the server is busy, and this conversation has a fifth of what it can do; try again", Retry: retry}
}

// crowds are those that a request belongs to.
type crowds struct {
	keys         [1 + maxOrganizations]uint64
	count        int
	conversation bool // the first is a conversation; the others are organizations
}

// crowdsOf returns the crowds of a request. of may be nil.
func crowdsOf(c Caller, of Organizations) (list crowds) {
	if c.Conversation != 0 {
		list.conversation = true
		list.add(id.Hash(c.Conversation))
	}
	if c.Organization != 0 {
		list.add(organizationKey(c.Organization))
	}
	if of != nil && c.User != 0 {
		for _, o := range of(c.User) {
			if o != c.Organization {
				list.add(organizationKey(o))
			}
		}
	}
	return list
}

// organizationKey differs from that of a conversation with the same id.
func organizationKey(o uint64) uint64 { return ^id.Hash(o) }

// add adds a crowd, if there is room.
func (c *crowds) add(key uint64) {
	if c.count < len(c.keys) {
		c.keys[c.count] = key
		c.count++
	}
}

// kind of a crowd, and the part of all that is its share.
func (c *crowds) kind(i int) (Crowd, int) {
	if i == 0 && c.conversation {
		return Conversation, conversationShare
	}
	return Organization, organizationShare
}

// sketch counts crowds in a fixed memory, as a count-min sketch: a crowd has a cell in each of three rows, and the lowest one counts. It may count too much of a crowd
// all of whose cells belong to larger ones as well: one in a billion beside one large crowd. All methods are safe for concurrent use.
type sketch struct {
	seed atomic.Uint64 // so that no crowd shares its cells with the same crowds forever
	rows [3][sketchCells]atomic.Int32
}

const sketchCells = 1024

func newSketch() *sketch {
	s := &sketch{}
	s.seed.Store(rand.Uint64())
	return s
}

// cells of a crowd.
func (s *sketch) cells(key uint64) (a, b, c *atomic.Int32) {
	h := id.Hash(key ^ s.seed.Load())
	return &s.rows[0][h%sketchCells], &s.rows[1][h>>20%sketchCells], &s.rows[2][h>>40%sketchCells]
}

// of returns the count of a crowd.
func (s *sketch) of(key uint64) int {
	a, b, c := s.cells(key)
	return int(min(a.Load(), b.Load(), c.Load()))
}

// add adds to the counts of crowds.
func (s *sketch) add(list *crowds, n int32) {
	for _, key := range list.keys[:list.count] {
		a, b, c := s.cells(key)
		a.Add(n)
		b.Add(n)
		c.Add(n)
	}
}

// clear forgets all. Counts that are added at the same time may be lost, or remain.
func (s *sketch) clear() {
	for r := range s.rows {
		for i := range s.rows[r] {
			s.rows[r][i].Store(0)
		}
	}
	s.seed.Store(rand.Uint64())
}

// excess returns a crowd that has at least its share of all already, and at least the slack.
func (s *sketch) excess(list *crowds, all, slack int) (Crowd, bool) {
	for i, key := range list.keys[:list.count] {
		kind, share := list.kind(i)
		if s.of(key) >= max(all/share, slack) {
			return kind, true
		}
	}
	return 0, false
}
