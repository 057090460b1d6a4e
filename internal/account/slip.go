package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/id"
)

// Where nodes share the records, a ticket says itself whose it is and until when, under the deployment's key, so that any node can take
// it. That it is taken once is kept in the records: one row for each that was, and none for one that was only made.

const (
	slipPrefix = "rt_"
	slipBody   = 16 + 4*8 // a name, user, device, session, and the end in milliseconds since 1970
	slipSum    = 32
	// takenFor so long it is known that a ticket was taken: far longer than one is good, whatever the nodes' clocks say.
	takenFor = time.Hour
)

func (s *Service) slipMAC(body []byte) []byte {
	mac := hmac.New(sha256.New, s.refresh)
	mac.Write([]byte("ticket"))
	mac.Write(body)
	return mac.Sum(nil)
}

func (s *Service) makeSlip(of ticket) string {
	b := make([]byte, 16, slipBody+slipSum)
	rand.Read(b) //nolint:errcheck // it never fails
	for _, n := range []uint64{uint64(of.caller.User), uint64(of.caller.Device), uint64(of.caller.Session), uint64(of.ends.UnixMilli())} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return slipPrefix + base64.RawURLEncoding.EncodeToString(append(b, s.slipMAC(b)...))
}

// readSlip gives what a ticket says, where it is one of ours.
func (s *Service) readSlip(text string) (of ticket, name []byte, ok bool) {
	text, ok = strings.CutPrefix(text, slipPrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(slipBody+slipSum) {
		return ticket{}, nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || !hmac.Equal(b[slipBody:], s.slipMAC(b[:slipBody])) {
		return ticket{}, nil, false
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[16+8*i:]) }
	of.caller = id.Caller{User: id.User(at(0)), Device: id.Device(at(1)), Session: id.Session(at(2))}
	of.ends = time.UnixMilli(int64(at(3)))
	return of, b[:16], true
}

// takeSlip gives the caller of a ticket whose session goes on, once in all the deployment.
func (s *Service) takeSlip(ctx context.Context, text string) (id.Caller, error) {
	of, name, ok := s.readSlip(text)
	if !ok || s.deps.Clock.Now().After(of.ends) {
		return id.Caller{}, auth.ErrToken
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO taken_tickets (name, taken_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, s.nowMs())
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, auth.ErrToken)
		}
		return nil
	})
	if err != nil {
		return id.Caller{}, err
	}
	return of.caller, s.Live(ctx, of.caller)
}

func dropTaken(ctx context.Context, tx *sql.Tx, nowMs int64) (int, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM taken_tickets WHERE name IN (SELECT name FROM taken_tickets WHERE taken_ms < $1 ORDER BY taken_ms LIMIT $2)`, nowMs-takenFor.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}
