package account

import (
	"context"
	"database/sql"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	contactEmail = accountv1.ContactKind_CONTACT_KIND_EMAIL
	contactPhone = accountv1.ContactKind_CONTACT_KIND_PHONE
	maxAddress   = 254 // RFC 5321
)

var (
	errAddress      = errs.New(errs.Invalid, "bad_address", "give an email address, or a phone number with its country, as +4915112345678")
	errContactTaken = errs.New(errs.Conflict, "contact_taken", "another account has this address; remove it there first")
	errNoContact    = errs.New(errs.NotFound, "no_contact", "there is no such address in this account")

	phoneNumber = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	phoneMarks  = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "/", "", ".", "")
)

// parseAddress returns the stored form of an address, of which there is one: emails are folded, since hardly any server tells case apart.
func parseAddress(kind accountv1.ContactKind, text string) (string, error) {
	if text = strings.TrimSpace(text); len(text) > maxAddress {
		return "", errAddress
	}
	if kind == contactPhone {
		if text = phoneMarks.Replace(text); !phoneNumber.MatchString(text) {
			return "", errAddress
		}
		return text, nil
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>()[]\,;:`, c) >= 0 {
			return "", errAddress
		}
	}
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text || !strings.Contains(text[strings.LastIndexByte(text, '@'):], ".") {
		return "", errAddress
	}
	return strings.ToLower(text), nil
}

// SetContact has a code sent to an address. VerifyContact makes it the user's.
func (s *Service) SetContact(ctx context.Context, c id.Caller, r *accountv1.SetContactRequest) error {
	if !s.delivers(r.Kind) {
		return errNoDelivery
	}
	address, err := parseAddress(r.Kind, r.Address)
	if err != nil {
		return err
	}
	for _, subject := range []string{c.User.String(), address} { // nobody floods an address, with any number of accounts
		if err := s.sends.count(ctx, sendKey{purpose: purposeContact, subject: subject}); err != nil {
			return err
		}
	}
	fresh, err := s.requestSend(ctx, sentCode{Purpose: purposeContact, User: c.User, Via: r.Kind}, address, func(tx *sql.Tx) error { return s.requireConfirmed(ctx, tx, c) })
	if err == nil && !fresh {
		err = errTooManySends(sentCodeMinInterval)
	}
	return err
}

// VerifyContact makes an address the user's, to which a code was sent.
func (s *Service) VerifyContact(ctx context.Context, c id.Caller, r *accountv1.VerifyContactRequest) (*accountv1.Contact, error) {
	if len(r.Code) > maxFactorLen {
		return nil, errCodeDenied
	}
	if err := errTooManyLogins(s.logins.changes.Allow(c.User, 1)); err != nil {
		return nil, err
	}
	out := &accountv1.Contact{Kind: r.Kind}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		row, err := s.useCode(ctx, tx, sentCode{Purpose: purposeContact, User: c.User, Via: r.Kind}, c.User, r.Code, errCodeDenied)
		if err != nil {
			return err
		}
		if err := s.notice(ctx, tx, c.User, contactChanged); err != nil { // to the earlier address
			return err
		}
		if err := s.revokeCodes(ctx, tx, c.User); err != nil {
			return err
		}
		out.Address = row.address
		_, err = tx.ExecContext(ctx, `INSERT INTO contacts (owner, kind, address, verified_ms) VALUES ($1, $2, $3, $4) ON CONFLICT (owner, kind) DO UPDATE SET address = excluded.address, verified_ms = excluded.verified_ms`,
			int64(c.User), int64(r.Kind), row.address, s.nowMs())
		return err
	})
	if sqldb.IsUnique(err) {
		return nil, errContactTaken
	}
	if err != nil {
		return nil, err
	}
	s.protectionChanged(c, string(contactChanged))
	return out, nil
}

// RemoveContact removes an address.
func (s *Service) RemoveContact(ctx context.Context, c id.Caller, kind accountv1.ContactKind) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		if err := s.notice(ctx, tx, c.User, contactRemoved); err != nil { // to that address, if it is an email
			return err
		}
		if err := s.revokeCodes(ctx, tx, c.User); err != nil {
			return err
		}
		return changeOne(ctx, tx, errNoContact, `DELETE FROM contacts WHERE owner = $1 AND kind = $2`, int64(c.User), int64(kind))
	})
	if err == nil {
		s.protectionChanged(c, string(contactRemoved))
	}
	return err
}

func (s *Service) contactsOf(ctx context.Context, user id.User) (list []*accountv1.Contact, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT kind, address FROM contacts WHERE owner = $1 ORDER BY kind`, int64(user))
	err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		c := &accountv1.Contact{}
		list = append(list, c)
		return r.Scan(&c.Kind, &c.Address)
	})
	return list, err
}

// deliveries returns the kinds of addresses that this server can send codes to.
func (s *Service) deliveries() (kinds []accountv1.ContactKind) {
	if s.mail != nil {
		kinds = append(kinds, contactEmail)
	}
	if s.sms != nil {
		kinds = append(kinds, contactPhone)
	}
	return kinds
}

func (s *Service) delivers(kind accountv1.ContactKind) bool {
	return slices.Contains(s.deliveries(), kind)
}
