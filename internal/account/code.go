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
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

const (
	codeLife  = 10 * time.Minute
	codeEvery = time.Minute // a user is sent no more than one code in it
	codeTries = 5
	codePage  = 32 // codes that are sent at once
	codeRetry = 5 * time.Second
	// codeClaim so long no other node sends what one began to send: longer than the webhook may take.
	codeClaim = 70 * time.Second
)

var (
	errNoCodes = errs.New(errs.Denied, "no_codes", "this server sends no codes; log in with a password")
	errCode    = errs.New(errs.Unauthenticated, "bad_code", "this code is wrong or too old; ask for a new one")
)

// CodeMessage is what the code webhook is told, in JSON.
type CodeMessage struct {
	User struct {
		ID         string `json:"id"`
		ExternalID string `json:"externalId,omitempty"`
		Handle     string `json:"handle"`
	} `json:"user"`
	Code         string `json:"code"`
	ValidSeconds int64  `json:"validSeconds"`
}

// code of a user, made at a time: six digits that nobody can tell who has not the server's secret, so that none is stored.
func (s *Service) code(u id.User, madeMs int64) string {
	mac := hmac.New(sha256.New, s.refresh)
	mac.Write([]byte("login code"))
	mac.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(u)), uint64(madeMs)))
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(mac.Sum(nil))%1_000_000)
}

func foldHandle(handle string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(handle), "@"))
}

// RequestCode has a code sent to a user, soon. Its answer does not tell whether there is one.
func (s *Service) RequestCode(ctx context.Context, handle string) error {
	if s.codes == nil {
		return errNoCodes
	}
	handle = foldHandle(handle)
	if len(handle) > 64 || !storable(handle) {
		return nil
	}
	if err := s.admit(handle); err != nil {
		return err
	}
	now := s.nowMs()
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO login_codes (owner, made_ms) SELECT id, $1 FROM users WHERE handle = $2
			ON CONFLICT (owner) DO UPDATE SET made_ms = excluded.made_ms, sent = FALSE, claimed_ms = 0,
				tries = CASE WHEN login_codes.made_ms > $4 THEN login_codes.tries ELSE 0 END WHERE login_codes.made_ms <= $3`,
			now, handle, now-codeEvery.Milliseconds(), now-codeLife.Milliseconds())
		return err
	})
	if err != nil {
		return err
	}
	select {
	case s.codeWake <- struct{}{}:
	default:
	}
	return nil
}

// LoginWithCode opens a session with a code that was sent.
func (s *Service) LoginWithCode(ctx context.Context, r *accountv1.LoginWithCodeRequest) (*accountv1.Session, error) {
	handle := foldHandle(r.Handle)
	if len(handle) > 64 || len(r.Code) > 16 || !storable(handle) {
		return nil, errCode
	}
	if err := s.admit(handle); err != nil {
		return nil, err
	}
	var user id.User
	good := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		good = false
		var made int64
		err := tx.QueryRowContext(ctx, `UPDATE login_codes SET tries = tries + 1 WHERE owner = (SELECT id FROM users WHERE handle = $1) AND tries < $2 AND made_ms > $3
			RETURNING owner, made_ms`, handle, codeTries, s.nowMs()-codeLife.Milliseconds()).Scan(&user, &made)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if good = subtle.ConstantTimeCompare([]byte(s.code(user, made)), []byte(r.Code)) == 1; !good {
			return nil // the try counts
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
	return s.begin(ctx, user, "", r.Client)
}

// RunCodes sends the codes that were asked for, until ctx ends. Where the webhook fails, it tries again while a code is good.
func (s *Service) RunCodes(ctx context.Context) error {
	if s.codes == nil {
		<-ctx.Done()
		return nil
	}
	defer s.codes.Close()
	for {
		left, err := s.sendCodes(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.deps.Logger.Error("login codes cannot be read", "error", err)
		}
		var again <-chan time.Time
		if left || err != nil || !s.deps.Alone { // also what a node that died was asked for
			again = time.After(codeRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.codeWake:
		case <-again:
		}
	}
}

type unsent struct {
	user   id.User
	madeMs int64
	told   CodeMessage
}

// sendCodes sends what waits, and says whether something is left. Codes that are over go.
func (s *Service) sendCodes(ctx context.Context) (left bool, err error) {
	now := s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM login_codes WHERE made_ms <= $1`, now-codeLife.Milliseconds())
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
		mine, err := s.claimCode(ctx, c)
		if err != nil {
			return true, err
		}
		if !mine {
			left = true // another node sends it; should it end in the middle, one of us does
			continue
		}
		if err := s.codes.Call(ctx, &c.told, nil); err != nil {
			s.deps.Logger.Warn("a login code could not be sent", "user", c.user, "error", err)
			left = true
			if err := s.unclaimCode(ctx, c); err != nil {
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
	return left || len(list) == codePage, nil
}

// claimCode tells whether this node is to send a code: no other has begun to a moment ago.
func (s *Service) claimCode(ctx context.Context, c unsent) (mine bool, err error) {
	if s.deps.Alone {
		return true, nil
	}
	now := s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE login_codes SET claimed_ms = $1 WHERE owner = $2 AND made_ms = $3 AND NOT sent AND (claimed_ms <= $4 OR claimed_ms > $5)`,
			now, int64(c.user), c.madeMs, now-codeClaim.Milliseconds(), now+codeClaim.Milliseconds())
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		mine = n > 0
		return err
	})
	return mine, err
}

// unclaimCode has a code that could not be sent tried again, by any node.
func (s *Service) unclaimCode(ctx context.Context, c unsent) error {
	if s.deps.Alone {
		return nil
	}
	return s.deps.DB.Write(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE login_codes SET claimed_ms = 0 WHERE owner = $1 AND made_ms = $2`, int64(c.user), c.madeMs)
		return err
	})
}

func (s *Service) unsentCodes(ctx context.Context, now int64) (list []unsent, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT u.id, u.handle, coalesce(u.external_id, ''), c.made_ms FROM login_codes c JOIN users u ON u.id = c.owner
		WHERE NOT c.sent ORDER BY c.made_ms DESC LIMIT $1`, codePage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c unsent
		if err := rows.Scan(&c.user, &c.told.User.Handle, &c.told.User.ExternalID, &c.madeMs); err != nil {
			return nil, err
		}
		c.told.User.ID = strconv.FormatUint(uint64(c.user), 10)
		c.told.Code = s.code(c.user, c.madeMs)
		c.told.ValidSeconds = (c.madeMs + codeLife.Milliseconds() - now) / 1000
		list = append(list, c)
	}
	return list, rows.Err()
}
