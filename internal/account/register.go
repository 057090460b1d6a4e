package account

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb"
	"golang.org/x/text/unicode/norm"
)

var reserved = []string{"admin", "administrator", "root", "system", "rialto", "support", "help", "security", "moderator", "everyone", "all", "here"}

// parseHandle gives the one form of a handle.
func parseHandle(handle string) (string, error) {
	h := foldHandle(handle)
	ok := len(h) >= 3 && len(h) <= 32
	for i := 0; ok && i < len(h); i++ {
		c := h[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.'
	}
	if !ok {
		return "", errs.New(errs.Invalid, "bad_handle", "a handle has 3 to 32 characters of a-z, 0-9, _ and .")
	}
	if slices.Contains(reserved, h) {
		return "", errs.New(errs.Invalid, "reserved_handle", "this handle is reserved; choose another")
	}
	return h, nil
}

// parseName gives a name's stored form: NFC, no control, bidi or invisible characters, something to see.
func parseName(name string, most int) (string, error) {
	name = strings.TrimSpace(norm.NFC.String(name))
	seen := false
	for _, r := range name {
		if unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' || hidden(r) {
			return "", errs.New(errs.Invalid, "bad_name", "a name must not have control, text-direction or invisible characters")
		}
		seen = seen || unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) && !blank(r)
	}
	if n := utf8.RuneCountInString(name); !seen || n > most {
		return "", errs.New(errs.Invalid, "bad_name", "a name has 1 to 64 characters, and not only blanks")
	}
	return name, nil
}

// hidden characters change what others look like, or nothing. The joiners make emoji and letters of several scripts, tags make
// flags, and some signs are seen.
func hidden(r rune) bool {
	joins := r == '\u200c' || r == '\u200d' || r >= '\U000e0020' && r <= '\U000e007f'
	return unicode.Is(unicode.Cf, r) && !joins && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// blank characters are letters and symbols by their kind, and nothing to the eye.
func blank(r rune) bool {
	return strings.ContainsRune("\u115f\u1160\u3164\uffa0\u2800\U0001d159", r)
}

// maxPassword in bytes: 128 characters in their longest form.
const maxPassword = 2048

// parsePassword counts characters in the form that is hashed.
func parsePassword(p string) error {
	if len(p) > maxPassword || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
		p = ""
	}
	if n := utf8.RuneCountInString(norm.NFC.String(p)); n < 8 || n > 128 {
		return errs.New(errs.Invalid, "bad_password", "a password has 8 to 128 characters")
	}
	return nil
}

// Register makes a user and a first session.
func (s *Service) Register(ctx context.Context, r *accountv1.RegisterRequest) (*accountv1.Session, error) {
	handle, err := parseHandle(r.Handle)
	if err != nil {
		return nil, err
	}
	if err := parsePassword(r.Password); err != nil {
		return nil, err
	}
	if r.DisplayName == "" {
		r.DisplayName = handle
	}
	name, err := parseName(r.DisplayName, 64)
	if err == nil {
		err = checkClient(r.Client) // before there is a user
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
	return s.begin(ctx, user, hash, r.Client)
}

func (s *Service) insertUser(ctx context.Context, handle, name, hash, external string) (id.User, error) {
	user, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO users (id, handle, display_name, folded, password, external_id, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			int64(user), handle, name, fold(name), hash, sql.NullString{String: external, Valid: external != ""}, s.nowMs())
		return err
	})
	if sqldb.IsUnique(err) {
		return 0, errs.New(errs.Conflict, "handle_taken", "this handle is taken; choose another")
	}
	return id.User(user), err
}

// PutUser makes or updates a user of the business server's own.
func (s *Service) PutUser(ctx context.Context, r *accountv1.PutUserRequest) (*accountv1.User, error) {
	if len(r.ExternalId) < 1 || len(r.ExternalId) > 128 || !storable(r.ExternalId) {
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
			r.Handle = "u" + strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(auth.NewSecret("")))[:15]
		}
		if handle, err = parseHandle(r.Handle); err != nil {
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
	u, err := s.changeUser(ctx, user, func(u *accountv1.User) {
		u.Handle, u.DisplayName = cmp.Or(handle, u.Handle), cmp.Or(name, u.DisplayName)
	})
	if sqldb.IsUnique(err) {
		return nil, errs.New(errs.Conflict, "handle_taken", "this handle is taken; choose another")
	}
	return u, err
}
