package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// One-time codes are sent by the server itself: by email, or by the webhook of text messages. A code is an HMAC of its row and its user under
// the deployment's secret, so the database has no codes. It has 40 bits, so wrong ones need not be counted in its row: nobody can make the
// code of another user void. The row of a handle is written whether or not the handle exists, and a job finds out later, so that neither
// answers nor their times reveal who has an account.
//
// Anybody may ask for the codes of a handle. So no request makes a code void that was sent before: within a window the same code is sent again, and each
// code is valid for sentCodeLifetime after it was last sent, also in the next window. Then two codes are valid. Those of contacts, which only the user
// asks for, are replaced, since the address may be another one.

const (
	sentCodeLifetime    = 15 * time.Minute // and a window
	sentCodeMinInterval = time.Minute
	sentCodeLetters     = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's base 32, without I, L, O and U
)

// purpose of a code. A code for one is of no use for another.
type purpose string

const (
	purposeLogin   purpose = "login"
	purposeReset   purpose = "reset"
	purposeContact purpose = "contact"
)

var (
	errNoDelivery   = errs.New(errs.Denied, "no_delivery", "this server cannot send codes there; choose another way")
	errCodeDenied   = errs.New(errs.Denied, "bad_code", errCode.Message)
	sendsPerSubject = ratelimit.Rate{Count: 5, Burst: 5, Per: time.Hour}
	sendsPerNetwork = ratelimit.Rate{Count: 30, Burst: 30, Per: time.Hour}
)

// sends limits what is sent: to a handle or an address, whether or not it exists, and for clients of a network.
type sends struct {
	subjects *ratelimit.Limiter[sendKey]
	networks *ratelimit.Limiter[netip.Prefix]
}

// sendKey is what codes are sent to. Device is 0, or a known device, whose requests others cannot use up.
type sendKey struct {
	purpose purpose
	subject string
	device  id.Device
}

func newSends(c clock.Clock, nodes func() int) *sends {
	return &sends{ratelimit.New[sendKey](sendsPerSubject, c, nodes), ratelimit.New[netip.Prefix](sendsPerNetwork, c, nodes)}
}

func errTooManySends(wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_codes", Message: "too many codes were sent; use the latest one, or wait", Retry: wait}
}

// count counts a code that is to be sent, or refuses it.
func (s *sends) count(ctx context.Context, key sendKey) error {
	if from := ratelimit.NetworkOf(ctx); from.IsValid() {
		if wait := s.networks.Allow(from, 1); wait > 0 {
			return errTooManySends(wait)
		}
	}
	return errTooManySends(s.subjects.Allow(key, 1))
}

// sentCode is the job that sends a code. It has no code in it, since operators can read jobs.
type sentCode struct {
	Purpose purpose               `json:"purpose"`
	Handle  string                `json:"handle,omitempty"` // of a login or a reset; perhaps nobody has it
	User    id.User               `json:"user,omitempty"`   // of a contact
	Via     accountv1.ContactKind `json:"via"`
	MadeMs  int64                 `json:"madeMs"`
}

// Kind of the job.
func (sentCode) Kind() string { return "account_code" }

// name of the row of a code that was asked for at MadeMs.
func (c sentCode) name() []byte {
	subject := c.Handle + " " + strconv.FormatInt(c.MadeMs/sentCodeLifetime.Milliseconds(), 10)
	if c.Purpose == purposeContact {
		subject = c.User.String() + " " + strconv.Itoa(int(c.Via))
	}
	sum := sha256.Sum256([]byte(string(c.Purpose) + " " + subject))
	return sum[:]
}

// names are those of the rows whose codes may be valid at a time.
func (c sentCode) names(nowMs int64) [][]byte {
	now, before := c, c
	now.MadeMs, before.MadeMs = nowMs, nowMs-sentCodeLifetime.Milliseconds()
	if c.Purpose == purposeContact {
		return [][]byte{now.name()}
	}
	return [][]byte{now.name(), before.name()}
}

// codeRow is the row of a code that is valid.
type codeRow struct {
	name    []byte
	madeMs  int64
	nonce   []byte
	address string // of a contact that is to be verified
}

// textOf returns the code of a row for a user.
func (s *Service) textOf(name []byte, row codeRow, user id.User) string {
	mac := hmac.New(sha256.New, s.refreshKey)
	mac.Write([]byte("one-time code"))
	mac.Write(name)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(user)))
	mac.Write(row.nonce)
	mac.Write([]byte(row.address))
	n := binary.BigEndian.Uint64(mac.Sum(nil))
	var text strings.Builder
	for i := range 8 {
		if i == 4 {
			text.WriteByte('-')
		}
		text.WriteByte(sentCodeLetters[n>>(5*i)&31])
	}
	return text.String()
}

const (
	sendCodeAgain = `INSERT INTO one_time_codes (name, made_ms, nonce, address) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET made_ms = excluded.made_ms WHERE one_time_codes.made_ms <= $5`
	replaceCode = `INSERT INTO one_time_codes (name, made_ms, nonce, address) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET made_ms = excluded.made_ms, nonce = excluded.nonce, address = excluded.address WHERE one_time_codes.made_ms <= $5`
)

// requestSend stores a code and the job that sends it. It reports false if one was stored less than a minute ago.
func (s *Service) requestSend(ctx context.Context, c sentCode, address string, before func(tx *sql.Tx) error) (fresh bool, err error) {
	nonce := make([]byte, 16)
	rand.Read(nonce) //nolint:errcheck // never fails
	c.MadeMs = s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		fresh = false
		if before != nil {
			if err := before(tx); err != nil {
				return err
			}
		}
		latest := c.MadeMs - sentCodeMinInterval.Milliseconds()
		for _, name := range c.names(c.MadeMs) {
			if row, err := readCode(ctx, tx, name, c.MadeMs); err == nil && row.madeMs > latest {
				return nil
			} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		statement := sendCodeAgain
		if c.Purpose == purposeContact {
			statement = replaceCode
		}
		done, err := tx.ExecContext(ctx, statement, c.name(), c.MadeMs, nonce, address, latest)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if fresh = n > 0; err != nil || !fresh {
			return err
		}
		_, err = s.deps.Jobs.InsertTx(ctx, tx, c, sendOptions())
		return err
	})
	if fresh && err == nil {
		s.deps.Jobs.Wake()
	}
	return fresh, err
}

func readCode(ctx context.Context, q sqldb.Querier, name []byte, nowMs int64) (row codeRow, err error) {
	row.name = name
	err = q.QueryRowContext(ctx, `SELECT made_ms, nonce, address FROM one_time_codes WHERE name = $1 AND made_ms > $2`, name, nowMs-sentCodeLifetime.Milliseconds()).Scan(&row.madeMs, &row.nonce, &row.address)
	return row, err
}

// checkCode returns the row of a valid code, or fails with the error wrong. It does not use the code up.
func (s *Service) checkCode(ctx context.Context, q sqldb.Querier, c sentCode, user id.User, code string, wrong error) (codeRow, error) {
	right, now := codeRow{}, s.nowMs()
	for _, name := range c.names(now) {
		row, err := readCode(ctx, q, name, now)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return row, err
		}
		known := err == nil && user != 0
		want := strings.ReplaceAll(s.textOf(name, row, user), "-", "")
		if subtle.ConstantTimeCompare([]byte(want), []byte(plainSentCode(code))) == 1 && known {
			right = row
		}
	}
	if right.name == nil {
		return right, wrong
	}
	return right, nil
}

// useCode is checkCode that uses the code up, and with it the other one that is valid.
func (s *Service) useCode(ctx context.Context, tx *sql.Tx, c sentCode, user id.User, code string, wrong error) (codeRow, error) {
	row, err := s.checkCode(ctx, tx, c, user, code, wrong)
	if err != nil {
		return row, err
	}
	if err := changeOne(ctx, tx, wrong, `DELETE FROM one_time_codes WHERE name = $1 AND nonce = $2`, row.name, row.nonce); err != nil {
		return row, err
	}
	return row, s.revoke(ctx, tx, c)
}

// revoke makes the codes void that may be valid now.
func (s *Service) revoke(ctx context.Context, tx *sql.Tx, c sentCode) error {
	for _, name := range c.names(s.nowMs()) {
		if _, err := tx.ExecContext(ctx, `DELETE FROM one_time_codes WHERE name = $1`, name); err != nil {
			return err
		}
	}
	return nil
}

// plainSentCode returns a code without what people add, and with the letters that they may have meant.
func plainSentCode(code string) string {
	return strings.NewReplacer("O", "0", "I", "1", "L", "1").Replace(plainFactor(code))
}

// revokeCodes makes the codes for logins and resets void that were sent to a user: to an address that is not the user's any more, or before a change
// of the password.
func (s *Service) revokeCodes(ctx context.Context, tx *sql.Tx, user id.User) error {
	var handle string
	if err := tx.QueryRowContext(ctx, `SELECT handle FROM users WHERE id = $1`, int64(user)).Scan(&handle); err != nil {
		return err
	}
	return errors.Join(s.revoke(ctx, tx, sentCode{Purpose: purposeReset, Handle: handle}), s.revoke(ctx, tx, sentCode{Purpose: purposeLogin, Handle: handle}))
}

func purgeOneTimeCodes(ctx context.Context, tx *sql.Tx, nowMs int64) (int64, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM one_time_codes WHERE name IN (SELECT name FROM one_time_codes WHERE made_ms <= $1 ORDER BY made_ms LIMIT $2)`, nowMs-sentCodeLifetime.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// requestLoginCode has a code for LoginWithCode sent, where no webhook of the operator does it.
func (s *Service) requestLoginCode(ctx context.Context, handle string) error {
	if err := s.sends.count(ctx, sendKey{purpose: purposeLogin, subject: handle}); err != nil {
		return err
	}
	_, err := s.requestSend(ctx, sentCode{Purpose: purposeLogin, Handle: handle, Via: s.deliveries()[0]}, "", nil)
	return err
}

// useLoginCode uses up a code for LoginWithCode.
func (s *Service) useLoginCode(ctx context.Context, handle string, user id.User, code string) error {
	c := sentCode{Purpose: purposeLogin, Handle: handle}
	if _, err := s.checkCode(ctx, s.deps.DB.Read(), c, user, code, errCode); err != nil { // without a write: the same for handles that nobody has
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := s.useCode(ctx, tx, c, user, code, errCode)
		return err
	})
}
