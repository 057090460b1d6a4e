package account

import (
	"context"
	"crypto"
)

// Admit counts a login.
func (s *Service) Admit(handle string) error { return s.admit(handle) }

// AttemptsMost are the handles whose logins are counted.
const AttemptsMost = attemptsMost

// ParseKeys reads a JWK set, and gives its keys by "kid alg".
func ParseKeys(raw []byte) (map[string]crypto.PublicKey, error) {
	keys, err := parseKeys(raw)
	out := map[string]crypto.PublicKey{}
	for name, key := range keys {
		out[name.kid+" "+name.alg] = key
	}
	return out, err
}

// Purge drops once what is dead.
func (s *Service) Purge(ctx context.Context) error { return s.purge(ctx) }

// TicketsMost are the tickets that are made in the life of one.
const TicketsMost = ticketsMost

// Share of a limit that is one node's.
var Share = share
