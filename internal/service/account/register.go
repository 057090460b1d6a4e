package account

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"golang.org/x/text/unicode/norm"
)

// parseName returns a name's stored form: NFC, at least one visible character, no control, bidi or invisible characters.
func parseName(name string, most int) (string, error) {
	name = strings.TrimSpace(norm.NFC.String(name))
	if !message.IsName(name) {
		return "", errs.New(errs.Invalid, "bad_name", "a name needs at least one visible character, and must not have control, text-direction or invisible characters, nor more than six marks on one letter")
	}
	if utf8.RuneCountInString(name) > most {
		return "", errs.New(errs.Invalid, "bad_name", "a name has 1 to 64 characters")
	}
	return name, nil
}

// maxPassword in bytes: 128 characters in their longest form.
const maxPassword = 2048

// parsePassword counts characters in the form that is hashed, and rejects common passwords. About are the user's handle and name.
func parsePassword(p string, about ...string) error {
	if len(p) > maxPassword || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
		p = ""
	}
	if n := utf8.RuneCountInString(norm.NFC.String(p)); n < 8 || n > 128 {
		return errs.New(errs.Invalid, "bad_password", "a password has 8 to 128 characters")
	}
	if auth.Weak(p, about...) {
		return errs.New(errs.Invalid, "weak_password", "this password is easy to guess: a common one, a pattern, or your name; choose another, such as a few unrelated words")
	}
	return nil
}

// Register creates a user and a first session.
func (s *Service) Register(ctx context.Context, r *accountv1.RegisterRequest) (*accountv1.Session, error) {
	handle, err := message.ParseHandle(r.Handle)
	if err != nil {
		return nil, err
	}
	if err := parsePassword(r.Password, handle, r.DisplayName); err != nil {
		return nil, err
	}
	if r.DisplayName == "" {
		r.DisplayName = handle
	}
	name, err := parseName(r.DisplayName, 64)
	if err == nil {
		err = checkClient(r.Client) // before the user is created
	}
	word := ""
	if err == nil {
		word, err = s.checkWords(name, handle)
	}
	if err != nil {
		return nil, err
	}
	hash, err := s.passwords.Hash(ctx, r.Password)
	if err != nil {
		return nil, err
	}
	user, err := s.insertUser(ctx, handle, name, hash, "")
	if err != nil {
		return nil, err
	}
	if word != "" && s.deps.Flagged != nil {
		s.deps.Flagged(&accountv1.User{Id: uint64(user), Handle: handle, DisplayName: name}, word)
	}
	return s.openSession(ctx, user, hash, r.Client)
}

func (s *Service) insertUser(ctx context.Context, handle, name, hash, external string) (id.User, error) {
	user, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO users (id, handle, display_name, folded, password, external_id, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			int64(user), handle, name, fold(name), hash, sql.NullString{String: external, Valid: external != ""}, s.nowMs())
		if err != nil {
			return err
		}
		return s.profileChanged(ctx, tx, id.User(user))
	})
	if sqldb.IsUnique(err) {
		return 0, errs.New(errs.Conflict, "handle_taken", "this handle is taken; choose another")
	}
	return id.User(user), err
}

// PutUser creates or updates a user of the business server.
func (s *Service) PutUser(ctx context.Context, r *accountv1.PutUserRequest) (*accountv1.User, error) {
	if len(r.ExternalId) < 1 || len(r.ExternalId) > 128 || !isStorable(r.ExternalId) {
		return nil, errs.New(errs.Invalid, "bad_external_id", "an external id has 1 to 128 bytes")
	}
	var user id.User
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE external_id = $1`, r.ExternalId).Scan(&user)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	known, handle := err == nil, ""
	if r.Handle != "" || !known {
		if r.Handle == "" {
			r.Handle = randomHandle()
		}
		if handle, err = message.ParseHandle(r.Handle); err != nil {
			return nil, err
		}
	}
	name := ""
	if r.DisplayName != "" || !known {
		if r.DisplayName == "" {
			r.DisplayName = handle
		}
		if name, err = parseName(r.DisplayName, 64); err != nil {
			return nil, err
		}
	}
	if !known {
		if user, err = s.insertUser(ctx, handle, name, "", r.ExternalId); err != nil {
			return nil, err
		}
		return s.GetUser(ctx, user)
	}
	u, err := s.changeUser(ctx, user, func(_ *sql.Tx, u *accountv1.User) error {
		u.Handle, u.DisplayName = cmp.Or(handle, u.Handle), cmp.Or(name, u.DisplayName)
		return nil
	})
	if sqldb.IsUnique(err) {
		return nil, errs.New(errs.Conflict, "handle_taken", "this handle is taken; choose another")
	}
	return u, err
}
