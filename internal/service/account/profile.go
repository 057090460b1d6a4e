package account

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
	"google.golang.org/protobuf/proto"
)

const userColumns = `id, handle, display_name, avatar, bio, official, erased_ms > 0, bridge`

// GetUser returns one user.
func (s *Service) GetUser(ctx context.Context, user id.User) (*accountv1.User, error) {
	return getUser(ctx, s.deps.DB.Read(), user)
}

func getUser(ctx context.Context, q sqldb.Reader, user id.User) (*accountv1.User, error) {
	list, err := listUsers(ctx, q, `SELECT `+userColumns+` FROM users WHERE id = $1`, int64(user))
	if err == nil && len(list) == 0 {
		err = errs.New(errs.NotFound, "no_user", "there is no such user")
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func listUsers(ctx context.Context, q sqldb.Reader, query string, args ...any) ([]*accountv1.User, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*accountv1.User
	for rows.Next() {
		u := &accountv1.User{}
		if err := rows.Scan(&u.Id, &u.Handle, &u.DisplayName, &u.Avatar, &u.Bio, &u.Official, &u.Deleted, &u.Bridge); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, rows.Err()
}

// GetUsers returns those of the ids and handles that exist.
func (s *Service) GetUsers(ctx context.Context, r *accountv1.GetUsersRequest) ([]*accountv1.User, error) {
	n := len(r.Users) + len(r.Handles)
	if n == 0 || n > 200 {
		return nil, errs.New(errs.Invalid, "bad_count", "give 1 to 200 users")
	}
	if len(r.Handles) == 0 {
		return s.getUsersByID(ctx, r.Users)
	}
	args := make([]any, 0, n)
	var where []string
	for _, u := range r.Users {
		args = append(args, int64(u))
	}
	if ids := len(args); ids > 0 {
		where = append(where, `id IN (`+placeholders(ids, 1)+`)`)
	}
	ids := len(args)
	for _, h := range r.Handles {
		if isStorable(h) { // otherwise no user has it
			args = append(args, strings.ToLower(strings.TrimPrefix(h, "@")))
		}
	}
	if handles := len(args) - ids; handles > 0 {
		where = append(where, `handle IN (`+placeholders(handles, 1+ids)+`)`)
	}
	if len(where) == 0 {
		return nil, nil
	}
	return listUsers(ctx, s.deps.DB.ReadYourWrites(ctx), `SELECT `+userColumns+` FROM users WHERE `+strings.Join(where, ` OR `), args...)
}

// placeholders returns n SQL placeholders, beginning with $first.
func placeholders(n, first int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(id.User(first + i).String())
	}
	return b.String()
}

// isStorable reports whether the database can store a text: PostgreSQL accepts neither U+0000 nor invalid UTF-8.
func isStorable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// fold returns the case-insensitive form of a name, by which it is found.
func fold(name string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(name))) }

// SearchUsers finds users by handle or display name, except those who block the caller.
func (s *Service) SearchUsers(ctx context.Context, c id.Caller, query string) ([]*accountv1.User, error) {
	query = strings.TrimPrefix(strings.TrimSpace(query), "@")
	if query == "" || utf8.RuneCountInString(query) > 64 || !isStorable(query) {
		return nil, errs.New(errs.Invalid, "bad_query", "a search has 1 to 64 characters")
	}
	like := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(query))
	return listUsers(ctx, s.deps.DB.ReadYourWrites(ctx), `SELECT `+userColumns+` FROM users u WHERE erased_ms = 0 AND (handle LIKE $1 ESCAPE '\' OR folded LIKE $2 ESCAPE '\')
		AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.owner = u.id AND r.other = $3 AND r.blocked)
		ORDER BY handle = $4 DESC, handle LIMIT 20`, like+"%", "%"+like+"%", int64(c.User), fold(query))
}

// UpdateProfile sets the given fields.
func (s *Service) UpdateProfile(ctx context.Context, c id.Caller, r *accountv1.UpdateProfileRequest) (*accountv1.User, error) {
	var name string
	if r.DisplayName != nil {
		var err error
		if name, err = parseName(*r.DisplayName, 64); err != nil {
			return nil, err
		}
	}
	if r.Bio != nil && (utf8.RuneCountInString(*r.Bio) > 500 || !message.IsParagraph(*r.Bio)) {
		return nil, errs.New(errs.Invalid, "bad_bio", "a bio has at most 500 characters, no control characters but line breaks and tabs, no text-direction characters, and not more than six marks on one letter")
	}
	word, err := s.checkWords(name, r.GetBio())
	if err != nil {
		return nil, err
	}
	return s.flagged(word)(s.changeUser(ctx, c.User, func(tx *sql.Tx, u *accountv1.User) error {
		if r.DisplayName != nil {
			u.DisplayName = name
		}
		if r.Bio != nil {
			u.Bio = *r.Bio
		}
		if r.Avatar != nil {
			u.Avatar = *r.Avatar
		}
		if r.GetAvatar() != 0 && s.deps.KeepPicture != nil {
			return s.deps.KeepPicture(ctx, tx, c.User, id.Upload(*r.Avatar))
		}
		return nil
	}))
}

// SetOfficial sets whether a user has the mark of an official account.
func (s *Service) SetOfficial(ctx context.Context, user id.User, official bool) (*accountv1.User, error) {
	return s.changeUser(ctx, user, func(_ *sql.Tx, u *accountv1.User) error {
		u.Official = official
		return nil
	})
}

// Avatar returns a user's avatar, 0 for none.
func (s *Service) Avatar(ctx context.Context, of id.User) (avatar id.Upload, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT avatar FROM users WHERE id = $1`, int64(of)).Scan(&avatar)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return avatar, err
}

// changeUser changes a user's row, and stores an event for each of the user's devices and friends, unless nothing changed.
func (s *Service) changeUser(ctx context.Context, user id.User, change func(tx *sql.Tx, u *accountv1.User) error) (*accountv1.User, error) {
	raw, err := proto.Marshal(&chatv1.ProfileChange{User: uint64(user)})
	if err != nil {
		return nil, err
	}
	body := message.AppendBody(nil, message.FieldProfile, raw)
	var u *accountv1.User
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var err error
		if u, err = getUser(ctx, tx, user); err != nil {
			return err
		}
		before := proto.CloneOf(u)
		if err := change(tx, u); err != nil || proto.Equal(u, before) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE users SET handle = $1, display_name = $2, folded = $3, bio = $4, avatar = $5, official = $6 WHERE id = $7`,
			u.Handle, u.DisplayName, fold(u.DisplayName), u.Bio, int64(u.Avatar), u.Official, int64(user)); err != nil {
			return err
		}
		if u.Handle != before.Handle || u.DisplayName != before.DisplayName {
			if err := s.profileChanged(ctx, tx, user); err != nil {
				return err
			}
		}
		events := []job.Event{{User: user, Body: body}}
		rows, err := tx.QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND friend ORDER BY other`, int64(user))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			e := job.Event{Body: body}
			if err := rows.Scan(&e.User); err != nil {
				return err
			}
			events = append(events, e)
		}
		return errors.Join(rows.Err(), s.deps.Outbox.Put(ctx, tx, events...))
	})
	if err != nil {
		return nil, err
	}
	s.deps.Outbox.Wake()
	return u, nil
}

// GetSettings of the caller.
func (s *Service) GetSettings(ctx context.Context, c id.Caller) (*accountv1.Settings, error) {
	var raw []byte
	set := &accountv1.Settings{}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT settings FROM users WHERE id = $1`, int64(c.User)).Scan(&raw)
	return set, errors.Join(err, proto.Unmarshal(raw, set))
}

// maxSettings in bytes, when stored. Fields of a later version are stored too, and presence reads the settings of many users at once.
const maxSettings = 4 << 10

// maxLocale in bytes, which RFC 5646 recommends that programs accept.
const maxLocale = 35

func checkSettings(set *accountv1.Settings) error {
	if set == nil {
		return errs.New(errs.Invalid, "bad_settings", "give settings")
	}
	if set.Locale != "" {
		if _, err := language.Parse(set.Locale); err != nil || len(set.Locale) > maxLocale || strings.Contains(set.Locale, "_") {
			return errs.New(errs.Invalid, "bad_settings", "locale is a BCP 47 language tag of at most 35 bytes, such as en, zh or pt-BR, or empty")
		}
	}
	switch set.Theme {
	case "", "auto", "light", "dark":
	default:
		return errs.New(errs.Invalid, "bad_settings", "theme is auto, light or dark, or empty")
	}
	if accountv1.WhoMayAdd_name[int32(set.WhoMayAdd)] == "" {
		return errs.New(errs.Invalid, "bad_settings", "who_may_add has a value that does not exist")
	}
	return checkPresenceSettings(set)
}

// UpdateSettings replaces the caller's settings, and notifies the caller's other devices.
func (s *Service) UpdateSettings(ctx context.Context, c id.Caller, set *accountv1.Settings) (*accountv1.Settings, error) {
	if err := checkSettings(set); err != nil {
		return nil, err
	}
	raw, err := proto.Marshal(set)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSettings {
		return nil, errs.New(errs.Invalid, "bad_settings", "settings have at most 4 KiB")
	}
	event := job.Event{User: c.User, Body: message.AppendBody(nil, message.FieldSettings, nil)}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var before []byte
		err := tx.QueryRowContext(ctx, `SELECT settings FROM users WHERE id = $1`, int64(c.User)).Scan(&before)
		if err != nil || bytes.Equal(before, raw) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE users SET settings = $1 WHERE id = $2`, raw, int64(c.User)); err != nil {
			return err
		}
		return errors.Join(s.addEvents(ctx, tx, clusterevent.Event{Kind: settingsEvent, User: c.User}), s.deps.Outbox.Put(ctx, tx, event))
	})
	if err == nil {
		s.deps.Outbox.Wake()
		s.notifyNodes()
		s.settingsChanged(c.User)
	}
	return set, err
}
