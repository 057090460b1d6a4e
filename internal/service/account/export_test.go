package account

import (
	"context"
	"crypto"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// Admit counts a login.
func (s *Service) Admit(ctx context.Context, handle string, user id.User, client *accountv1.Client) error {
	return s.countAttempt(ctx, passwordLogin, handle, user, client)
}

// ParseKeys reads a JWK set, and returns its keys by "kid alg".
func ParseKeys(raw []byte) (map[string]crypto.PublicKey, error) {
	keys, err := parseKeys(raw)
	out := map[string]crypto.PublicKey{}
	for name, key := range keys {
		out[name.kid+" "+name.alg] = key
	}
	return out, err
}

// Purge runs one purge.
func (s *Service) Purge(ctx context.Context) error { return s.purge(ctx) }

// MaxTickets is the maximum number of tickets within the lifetime of one.
const MaxTickets = maxTickets

// MaxTicketsPerUser is the maximum for one user.
const MaxTicketsPerUser = maxTicketsPerUser

// MakeTicket returns a signed ticket.
func (s *Service) MakeTicket(c id.Caller, ends time.Time) string {
	return s.signTicket(ticket{c, ends})
}

// ReadTicket verifies a signed ticket and returns its content.
func (s *Service) ReadTicket(text string) (c id.Caller, ends time.Time, ok bool) {
	of, _, ok := s.parseSignedTicket(text)
	return of.caller, of.expires, ok
}

// ParseAddress is parseAddress.
func ParseAddress(kind accountv1.ContactKind, text string) (string, error) {
	return parseAddress(kind, text)
}
