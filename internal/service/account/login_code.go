package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	codeLifetime    = 10 * time.Minute
	codeMinInterval = time.Minute // between two codes of a user
	maxCodeTries    = 5
	codeBatch       = 32 // codes of one query
	codeRetry       = 5 * time.Second
	// codeClaimTimeout is how long a node that started to send a code keeps other nodes from sending it. It is longer than the timeout of the
	// webhook.
	codeClaimTimeout = 70 * time.Second
)

var (
	errNoCodes = errs.New(errs.Denied, "no_codes", "this server sends no codes; log in with a password")
	errCode    = errs.New(errs.Unauthenticated, "bad_code", "this code is wrong or too old; request a new one")
)

// CodeMessage is the JSON body of a call of the code webhook.
type CodeMessage struct {
	User struct {
		ID         string `json:"id"`
		ExternalID string `json:"externalId,omitempty"`
		Handle     string `json:"handle"`
	} `json:"user"`
	Code         string `json:"code"`
	ValidSeconds int64  `json:"validSeconds"`
}

// code returns a user's code of six digits for a time. It is derived from the server's secret, so that it need not be stored.
func (s *Service) code(u id.User, madeMs int64) string {
	mac := hmac.New(sha256.New, s.refreshKey)
	mac.Write([]byte("login code"))
	mac.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(u)), uint64(madeMs)))
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(mac.Sum(nil))%1_000_000)
}

// LoginMethods returns the ways to sign in besides the password.
func (s *Service) LoginMethods(from Page) *accountv1.LoginMethods {
	_, err := s.relyingParty.at(from)
	return &accountv1.LoginMethods{Code: s.codes != nil || len(s.deliveries()) > 0, Resets: s.deliveries(), Passkeys: err == nil}
}

// RequestCode requests that a code be sent to a user. Its answer does not reveal whether the user exists.
func (s *Service) RequestCode(ctx context.Context, handle string) error {
	if s.codes == nil && len(s.deliveries()) == 0 {
		return errNoCodes
	}
	handle = message.FoldHandle(handle)
	if len(handle) > 64 || !isStorable(handle) {
		return nil
	}
	if err := s.countAttempt(ctx, codeRequest, handle, 0, nil); err != nil {
		return err
	}
	if s.codes == nil {
		return s.requestLoginCode(ctx, handle)
	}
	now := s.nowMs()
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO login_codes (owner, made_ms) SELECT id, $1 FROM users WHERE handle = $2
			ON CONFLICT (owner) DO UPDATE SET made_ms = excluded.made_ms, sent = FALSE, claimed_ms = 0,
				tries = CASE WHEN login_codes.made_ms > $4 THEN login_codes.tries ELSE 0 END WHERE login_codes.made_ms <= $3`,
			now, handle, now-codeMinInterval.Milliseconds(), now-codeLifetime.Milliseconds())
		return err
	})
	if err != nil {
		return err
	}
	wakeup.Signal(s.codeWake)
	return nil
}

// LoginWithCode opens a session with a code.
func (s *Service) LoginWithCode(ctx context.Context, r *accountv1.LoginWithCodeRequest) (*accountv1.Session, error) {
	handle := message.FoldHandle(r.Handle)
	if len(handle) > 64 || len(r.Code) > 16 || !isStorable(handle) {
		return nil, errCode
	}
	user, _, err := s.userOf(ctx, handle)
	if err == nil {
		err = s.countAttempt(ctx, codeLogin, handle, user, r.Client)
	}
	if err != nil {
		return nil, err
	}
	if s.codes == nil {
		if err := s.useLoginCode(ctx, handle, user, r.Code); err != nil {
			return nil, err
		}
		return s.finishLogin(ctx, user, "", r.Client)
	}
	good := false
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		good = false
		var made int64
		err := tx.QueryRowContext(ctx, `UPDATE login_codes SET tries = tries + 1 WHERE owner = (SELECT id FROM users WHERE handle = $1) AND tries < $2 AND made_ms > $3
			RETURNING owner, made_ms`, handle, maxCodeTries, s.nowMs()-codeLifetime.Milliseconds()).Scan(&user, &made)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if good = subtle.ConstantTimeCompare([]byte(s.code(user, made)), []byte(r.Code)) == 1; !good {
			return nil // the attempt counts
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM login_codes WHERE owner = $1`, int64(user))
		return err
	})
	if err != nil {
		return nil, err
	}
	if !good {
		return nil, errCode
	}
	return s.finishLogin(ctx, user, "", r.Client)
}

// RunCodes sends the requested codes until ctx ends. If the webhook fails, it retries while a code is valid.
func (s *Service) RunCodes(ctx context.Context) error {
	if s.codes == nil {
		<-ctx.Done()
		return nil
	}
	defer s.codes.Close()
	for {
		remaining, err := s.sendCodes(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.deps.Logger.Error("login codes cannot be read", "error", err)
		}
		var retry <-chan time.Time
		if remaining || err != nil || !s.deps.SingleNode { // also codes that a dead node was to send
			retry = time.After(codeRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.codeWake:
		case <-retry:
		}
	}
}

type unsentCode struct {
	user    id.User
	madeMs  int64
	message CodeMessage
}

// sendCodes sends the waiting codes, and reports whether some remain. It deletes expired codes.
func (s *Service) sendCodes(ctx context.Context) (remaining bool, err error) {
	now := s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM login_codes WHERE made_ms <= $1`, now-codeLifetime.Milliseconds())
		return err
	})
	if err != nil {
		return false, err
	}
	list, err := s.unsentCodes(ctx, now)
	if err != nil {
		return false, err
	}
	for _, c := range list {
		claimed, err := s.claimCode(ctx, c)
		if err != nil {
			return true, err
		}
		if !claimed {
			remaining = true // another node sends it; if that node dies, its claim times out
			continue
		}
		if err := s.codes.Call(ctx, &c.message, nil); err != nil {
			s.deps.Logger.Warn("a login code could not be sent", "user", c.user, "error", err)
			remaining = true
			if err := s.releaseCode(ctx, c); err != nil {
				return true, err
			}
			continue
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE login_codes SET sent = TRUE WHERE owner = $1 AND made_ms = $2`, int64(c.user), c.madeMs)
			return err
		})
		if err != nil {
			return true, err
		}
	}
	return remaining || len(list) == codeBatch, nil
}

// claimCode claims a code for this node. It fails if another node has claimed the code less than codeClaimTimeout ago.
func (s *Service) claimCode(ctx context.Context, c unsentCode) (claimed bool, err error) {
	if s.deps.SingleNode {
		return true, nil
	}
	now := s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE login_codes SET claimed_ms = $1 WHERE owner = $2 AND made_ms = $3 AND NOT sent AND (claimed_ms <= $4 OR claimed_ms > $5)`,
			now, int64(c.user), c.madeMs, now-codeClaimTimeout.Milliseconds(), now+codeClaimTimeout.Milliseconds())
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
	return claimed, err
}

// releaseCode releases the claim of a code that could not be sent, so that any node can retry.
func (s *Service) releaseCode(ctx context.Context, c unsentCode) error {
	if s.deps.SingleNode {
		return nil
	}
	return s.deps.DB.Write(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE login_codes SET claimed_ms = 0 WHERE owner = $1 AND made_ms = $2`, int64(c.user), c.madeMs)
		return err
	})
}

func (s *Service) unsentCodes(ctx context.Context, now int64) (list []unsentCode, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT u.id, u.handle, coalesce(u.external_id, ''), c.made_ms FROM login_codes c JOIN users u ON u.id = c.owner
		WHERE NOT c.sent ORDER BY c.made_ms DESC LIMIT $1`, codeBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c unsentCode
		if err := rows.Scan(&c.user, &c.message.User.Handle, &c.message.User.ExternalID, &c.madeMs); err != nil {
			return nil, err
		}
		c.message.User.ID = strconv.FormatUint(uint64(c.user), 10)
		c.message.Code = s.code(c.user, c.madeMs)
		c.message.ValidSeconds = (c.madeMs + codeLifetime.Milliseconds() - now) / 1000
		list = append(list, c)
	}
	return list, rows.Err()
}
