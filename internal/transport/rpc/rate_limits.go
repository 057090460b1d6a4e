package rpc

import (
	"context"
	"net/netip"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// attemptsPerMinute bounds the attempts of one network address without credentials.
const attemptsPerMinute = 100

// anonymousLimiter counts attempts of clients without credentials: wrong passwords, over many handles, and registrations. A successful
// login does not count, since many users may share an address.
type anonymousLimiter struct {
	attempts *ratelimit.Limiter[netip.Prefix]
}

func newAnonymousLimiter(c clock.Clock, nodes func() int) *anonymousLimiter {
	return &anonymousLimiter{ratelimit.New[netip.Prefix](ratelimit.Rate{Count: attemptsPerMinute, Burst: attemptsPerMinute, Per: time.Minute}, c, nodes)}
}

// acquire counts an attempt, or refuses it; back refunds it.
func (s *anonymousLimiter) acquire(from netip.Prefix) (back func(), err error) {
	if !from.IsValid() {
		return func() {}, nil
	}
	if wait := s.attempts.Allow(from, 1); wait > 0 {
		return nil, &errs.Error{Kind: errs.Exhausted, Reason: "too_many_logins", Message: "too many logins; wait a moment", Retry: wait}
	}
	return func() { s.attempts.Refund(from, 1) }, nil
}

// notLoginAttempts are the calls without credentials that are no attempts at a login: they count as calls of their address.
var notLoginAttempts = map[string]bool{gatewayv1connect.GatewayServiceFindGatewaysProcedure: true}

// countAttempt counts a call without credentials against its address, or refuses it; refund gives it back.
func (s *Server) countAttempt(ctx context.Context, name string, request any) (refund func(), err error) {
	from := ratelimit.NetworkOf(ctx)
	if notLoginAttempts[name] {
		return func() {}, s.deps.Limits.Allow(ratelimit.Call, 0, from, 1)
	}
	refund, err = s.anonymous.acquire(from)
	if err != nil && s.isKnownDevice(ctx, request) {
		return func() {}, nil
	}
	return refund, err
}

// isKnownDevice reports whether a login comes from a device that the account knows. Such a device has its own limit, which other clients
// at the same address cannot use up.
func (s *Server) isKnownDevice(ctx context.Context, request any) bool {
	r, ok := request.(interface {
		GetHandle() string
		GetClient() *accountv1.Client
	})
	if _, registers := request.(*accountv1.RegisterRequest); !ok || registers {
		return false
	}
	yes, err := s.deps.Accounts.KnownDevice(ctx, r.GetHandle(), r.GetClient())
	if err != nil {
		s.deps.Logger.Error("the known devices of an account could not be read", "error", err)
	}
	return yes
}

// charged are the routes that counted a request. If its change is refused, their counts are refunded; the call itself is not.
type charged struct {
	limits *ratelimit.Table
	user   uint64
	from   netip.Prefix
	routes [maxCosts]cost
	count  int
}

// allow counts n requests of a route. If it refuses them, it refunds the previous routes.
func (c *charged) allow(r ratelimit.Route, n int) error {
	if err := c.limits.Allow(r, c.user, c.from, n); err != nil {
		c.refund()
		return err
	}
	c.routes[c.count] = cost{route: r, n: n}
	c.count++
	return nil
}

func (c *charged) refund() {
	for _, counted := range c.routes[:c.count] {
		c.limits.Refund(counted.route, c.user, c.from, counted.n)
	}
	c.count = 0
}

// refundIfRefused refunds if the change was refused.
func (c *charged) refundIfRefused(err error) {
	if errs.IsRefusal(err) {
		c.refund()
	}
}

// settle counts the users whom a request added, of which it has counted one before.
func (c *charged) settle(request, answer proto.Message) {
	switch n, counts := addedMembers(request, answer); {
	case !counts || c.count == 0:
	case n == 0:
		c.refund()
	default:
		c.limits.Charge(ratelimit.Invite, c.user, c.from, n-1)
	}
}

// limit counts a user's request of size bytes, which names some users or handles, by its routes, or refuses it. body is the part of size that was not counted before; the
// gateway counts its own frames.
func (s *Server) limit(ctx context.Context, c id.Caller, request proto.Message, named, size, body int) (charged, error) {
	counted := charged{limits: s.deps.Limits, user: uint64(c.User), from: ratelimit.NetworkOf(ctx)}
	if c.Server || s.deps.Limits == nil {
		return counted, nil
	}
	if s.deps.Observe != nil && counted.from.IsValid() {
		s.deps.Observe(counted.user, counted.from)
	}
	if err := counted.limits.Allow(ratelimit.Call, counted.user, counted.from, ratelimit.Calls(named, body)); err != nil {
		return counted, err
	}
	for _, c := range costs(request, size) {
		if c.countsIfRefused {
			if err := counted.limits.Allow(c.route, counted.user, counted.from, c.n); err != nil {
				return counted, err
			}
		} else if err := counted.allow(c.route, c.n); err != nil {
			return counted, err
		}
	}
	return counted, nil
}

// hasLists reports whether a message may have something that named counts. Most requests have no list, and need not be searched for one.
func hasLists(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); f.IsList() || f.Message() != nil && !f.IsMap() && hasLists(f.Message(), seen) {
			return true
		}
	}
	return false
}

// named counts the users and handles in a request: the elements of its lists, and of those of the contents in it.
func named(request proto.Message) int { return elements(request.ProtoReflect()) }

func elements(m protoreflect.Message) (n int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList():
			n += v.List().Len()
		case f.Message() != nil && !f.IsMap():
			n += elements(v.Message())
		}
		return true
	})
	return n
}
