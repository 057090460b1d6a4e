package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// guessKey is the handle that a client tries, and the client's network.
type guessKey struct {
	kind   attemptKind
	handle string
	from   netip.Prefix
}

// attemptKind of a login. Each kind is counted separately, so that requests for codes do not block logins with passwords.
type attemptKind uint8

const (
	passwordLogin attemptKind = iota
	codeLogin
	codeRequest
	factorLogin
	resetLogin
	passkeyLogin
)

// logins counts login attempts by handle and network, by handle alone, and by known device. Other clients cannot use up the limit of a
// known device.
type logins struct {
	pairs   *ratelimit.Limiter[guessKey]
	handles *ratelimit.Limiter[guessKey] // without from
	devices *ratelimit.Limiter[id.Device]
	changes *ratelimit.Limiter[id.User] // of passwords, and confirmations of identities
	factors *ratelimit.Limiter[factorKey]
}

// factorKey is who tries codes of an authenticator app, after the password: a known device of a user, or all others, as device 0.
type factorKey struct {
	user   id.User
	device id.Device
}

// factorRate of a factorKey. Three of a million codes are right at any time: this many attempts find one within a day once in 1,300 accounts.
var factorRate = ratelimit.Rate{Count: 10, Burst: 20, Per: time.Hour}

func newLogins(config Config, c clock.Clock, nodes func() int) *logins {
	perMinute := func(n int) ratelimit.Rate { return ratelimit.Rate{Count: n, Burst: n, Per: time.Minute} }
	few, many := perMinute(config.LoginsPerMinute), perMinute(config.LoginsPerHandle)
	return &logins{ratelimit.New[guessKey](few, c, nodes), ratelimit.New[guessKey](many, c, nodes), ratelimit.New[id.Device](few, c, nodes), ratelimit.New[id.User](few, c, nodes), ratelimit.New[factorKey](factorRate, c, nodes)}
}

// errTooManyLogins is the error for a login that must wait, or nil if wait is 0.
func errTooManyLogins(wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_logins", Message: "too many logins; wait a moment", Retry: wait}
}

// countAttempt counts a client's attempt at a handle. user is the handle's user, or 0 if it is unknown.
func (s *Service) countAttempt(ctx context.Context, kind attemptKind, handle string, user id.User, client *accountv1.Client) error {
	if s.isKnownDevice(user, client) {
		return errTooManyLogins(s.logins.devices.Allow(id.Device(client.Device), 1))
	}
	g := guessKey{kind, handle, ratelimit.NetworkOf(ctx)}
	if wait := s.logins.pairs.Allow(g, 1); wait > 0 {
		return errTooManyLogins(wait)
	}
	g.from = netip.Prefix{}
	return errTooManyLogins(s.logins.handles.Allow(g, 1))
}

// deviceKey proves that a device had a session of a user. Receivers of messages see the device's id, but not its key.
func (s *Service) deviceKey(user id.User, device id.Device) string {
	mac := hmac.New(sha256.New, s.refreshKey)
	mac.Write([]byte("device key"))
	mac.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(user)), uint64(device)))
	return "rd_" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// isKnownDevice reports whether a client has the key of a device that had a session of the user.
func (s *Service) isKnownDevice(user id.User, client *accountv1.Client) bool {
	key := client.GetDeviceKey()
	return user != 0 && key != "" && subtle.ConstantTimeCompare([]byte(key), []byte(s.deviceKey(user, id.Device(client.Device)))) == 1
}

// KnownDevice reports whether a client has the key of a device that had a session of a handle's user.
func (s *Service) KnownDevice(ctx context.Context, handle string, client *accountv1.Client) (bool, error) {
	handle = message.FoldHandle(handle)
	if client.GetDeviceKey() == "" || len(handle) > 64 || !isStorable(handle) {
		return false, nil
	}
	user, _, err := s.userOf(ctx, handle)
	return s.isKnownDevice(user, client), err
}

// userOf returns the user of a handle and the hash of the password, or 0 if no user has the handle.
func (s *Service) userOf(ctx context.Context, handle string) (user id.User, phc string, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id, password FROM users WHERE handle = $1`, handle).Scan(&user, &phc)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return user, phc, err
}
