package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// If nodes share the database, a ticket contains its caller and its expiry, signed with the deployment's key, so that any node can
// verify it. A row for each used ticket ensures that it is used once. Unused tickets need no row.

const (
	signedTicketPrefix  = "rt_"
	signedTicketBodyLen = 16 + 4*8 // a random name, user, device, session, and the expiry in milliseconds since 1970
	signedTicketMACLen  = 32
	// usedTicketRetention is how long used tickets are remembered. It far exceeds their lifetime, to allow for clock skew between nodes.
	usedTicketRetention = time.Hour
)

func (s *Service) ticketMAC(body []byte) []byte {
	mac := hmac.New(sha256.New, s.refreshKey)
	mac.Write([]byte("ticket"))
	mac.Write(body)
	return mac.Sum(nil)
}

func (s *Service) signTicket(of ticket) string {
	b := make([]byte, 16, signedTicketBodyLen+signedTicketMACLen)
	rand.Read(b) //nolint:errcheck // it never fails
	for _, n := range []uint64{uint64(of.caller.User), uint64(of.caller.Device), uint64(of.caller.Session), uint64(of.expires.UnixMilli())} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return signedTicketPrefix + base64.RawURLEncoding.EncodeToString(append(b, s.ticketMAC(b)...))
}

// parseSignedTicket returns the content of a ticket. ok is false if its signature is invalid.
func (s *Service) parseSignedTicket(text string) (of ticket, name []byte, ok bool) {
	text, ok = strings.CutPrefix(text, signedTicketPrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(signedTicketBodyLen+signedTicketMACLen) {
		return ticket{}, nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || !hmac.Equal(b[signedTicketBodyLen:], s.ticketMAC(b[:signedTicketBodyLen])) {
		return ticket{}, nil, false
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[16+8*i:]) }
	of.caller = id.Caller{User: id.User(at(0)), Device: id.Device(at(1)), Session: id.Session(at(2))}
	of.expires = time.UnixMilli(int64(at(3)))
	return of, b[:16], true
}

// redeemSignedTicket returns the caller of a ticket whose session is live. It succeeds once per ticket in the whole deployment.
func (s *Service) redeemSignedTicket(ctx context.Context, text string) (id.Caller, error) {
	of, name, ok := s.parseSignedTicket(text)
	if !ok || s.deps.Clock.Now().After(of.expires) {
		return id.Caller{}, errTicket
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.useName(ctx, tx, name, errTicket) })
	if err != nil {
		return id.Caller{}, err
	}
	return of.caller, s.Live(ctx, of.caller)
}

func purgeUsedTickets(ctx context.Context, tx *sql.Tx, nowMs int64) (int64, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM taken_tickets WHERE name IN (SELECT name FROM taken_tickets WHERE taken_ms < $1 ORDER BY taken_ms LIMIT $2)`, nowMs-usedTicketRetention.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
