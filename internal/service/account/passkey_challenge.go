package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// The challenge that an authenticator signs contains what it is for, and its expiry, signed with the deployment's key: any node can verify it, and
// clients without credentials store nothing by asking for many. A row for each used challenge ensures that it is used once. That is the row of a
// used ticket, whose random names are as long.

const (
	passkeyChallengeLifetime = 5 * time.Minute
	passkeyChallengeBodyLen  = 16 + 3*8 // a random name, user, session, and the expiry in milliseconds since 1970
	passkeyChallengeLen      = passkeyChallengeBodyLen + sha256.Size
)

var errPasskeyChallenge = errs.New(errs.Invalid, "passkey_expired", "this took too long, or was used before; start again")

// passkeyChallenge is what a challenge is for: a passkey to be created in a session of a user, or, without them, a login.
type passkeyChallenge struct {
	name    []byte
	user    id.User
	session id.Session
	expires time.Time
}

func (s *Service) passkeyMAC(purpose string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.refreshKey)
	mac.Write([]byte(purpose))
	mac.Write(body)
	return mac.Sum(nil)
}

// newPasskeyChallenge returns a challenge, and when it expires.
func (s *Service) newPasskeyChallenge(user id.User, session id.Session) (challenge []byte, expiresMs int64) {
	expiresMs = s.nowMs() + passkeyChallengeLifetime.Milliseconds()
	b := make([]byte, 16, passkeyChallengeLen)
	rand.Read(b) //nolint:errcheck // never fails
	for _, n := range []uint64{uint64(user), uint64(session), uint64(expiresMs)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, s.passkeyMAC("passkey challenge", b)...), expiresMs
}

// parsePasskeyChallenge returns the content of a challenge in base64url that this deployment made, for a user in a session, and that has not expired.
func (s *Service) parsePasskeyChallenge(text string, user id.User, session id.Session) (c passkeyChallenge, err error) {
	if len(text) != base64.RawURLEncoding.EncodedLen(passkeyChallengeLen) {
		return c, errPasskeyChallenge
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || !hmac.Equal(b[passkeyChallengeBodyLen:], s.passkeyMAC("passkey challenge", b[:passkeyChallengeBodyLen])) {
		return c, errPasskeyChallenge
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[16+8*i:]) }
	c = passkeyChallenge{name: b[:16], user: id.User(at(0)), session: id.Session(at(1)), expires: time.UnixMilli(int64(at(2)))}
	if c.user != user || c.session != session || s.deps.Clock.Now().After(c.expires) {
		return c, errPasskeyChallenge
	}
	return c, nil
}

// useName stores that the ticket or the challenge of a name was used. It fails with the error used if it was used before, on any node.
func (s *Service) useName(ctx context.Context, tx *sql.Tx, name []byte, used error) error {
	return changeOne(ctx, tx, used, `INSERT INTO taken_tickets (name, taken_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, s.nowMs())
}
