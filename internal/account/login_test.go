package account_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// TestHandlesThatLookAlike: a handle is ASCII, in one form, so that nobody looks like another.
func TestHandlesThatLookAlike(t *testing.T) {
	r := open(t, account.Config{})
	r.register("kate")
	for handle, reason := range map[string]string{
		"KATE": "handle_taken", "@kate": "handle_taken", "\u3000kate\t": "handle_taken", "\u212aate": "handle_taken", // the sign of kelvin is a capital k
		"kаte": "bad_handle", "ｋａｔｅ": "bad_handle", "kate\u200b": "bad_handle", "\u202eetak": "bad_handle", "ka\u00adte": "bad_handle", "kate\u0301": "bad_handle", "κate": "bad_handle",
		"k\u2024te": "bad_handle", "@@kate": "bad_handle", "ka te": "bad_handle", "ka/te": "bad_handle", "kate\x00": "bad_handle", "ká": "bad_handle", "": "bad_handle", "\U0001d424ate": "bad_handle",
		"ADMIN": "reserved_handle", "@Root": "reserved_handle", "ADM\u0130N": "reserved_handle", "Everyone": "reserved_handle", "rialto": "reserved_handle",
	} {
		_, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: handle, Password: password})
		if e := errs.Of(err); e == nil || e.Reason != reason {
			t.Errorf("%+q: %v; want %s", handle, err, reason)
		}
		_, err = r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: fmt.Sprintf("%+q", handle), Handle: handle})
		if e := errs.Of(err); handle != "" && (e == nil || e.Reason != reason) {
			t.Errorf("%+q of a business server: %v; want %s", handle, err, reason)
		}
	}
	if n := r.count(`SELECT count(*) FROM users WHERE handle <> 'kate' AND handle NOT LIKE 'u%'`); n != 0 {
		t.Errorf("%d users more", n)
	}
}

func TestNamesHideNothing(t *testing.T) {
	r := open(t, account.Config{})
	c := id.Caller{User: r.people(1)[0]}
	for _, good := range []string{"王小明", "Zoë", "محمد", "می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\u0600١٢", "ㅎㅎ", "x\u3164y", "😀", "𝄞"} {
		u, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{DisplayName: &good})
		if err != nil || u.DisplayName != norm.NFC.String(good) {
			t.Errorf("%+q: %v, %v", good, u, err)
		}
	}
	for _, bad := range []string{"a\u200bb", "a\u2060b", "\ufeffa", "a\u00adb", "a\u202eb", "a\u2066b\u2069", "a\u200fb", "a\u061cb", "a\tb", "a\nb", "a\x00b", "a\x7fb", "a\u2028b", "a\ufffdb",
		"\u3164", "\u3164 \u3164", "\u115f\u1160", "\uffa0", "\u2800\u2800", "\u200d", "\u0301", "\U000e0061", "", " ", strings.Repeat("x", 65)} {
		_, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{DisplayName: &bad})
		wants(t, fmt.Sprintf("%+q", bad), err, errs.Invalid, "bad_name")
	}
}

func TestPasswordsOfAllForms(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000})
	for what, bad := range map[string]string{"empty": "", "one": "x", "seven": "1234567", "seven with marks": strings.Repeat("e\u0301", 7), "129": strings.Repeat("x", 129), "a megabyte": strings.Repeat("x", 1<<20),
		"a zero byte": "12345678\x00", "no text": "12345678\xff"} {
		_, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: "anna", Password: bad})
		wants(t, what, err, errs.Invalid, "bad_password")
		_, err = r.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: bad})
		wants(t, "a login with "+what, err, errs.Unauthenticated, "bad_login")
	}
	for n, good := range []string{"12345678", strings.Repeat("字", 128), strings.Repeat("👩‍👧", 40), strings.Repeat("e\u0301", 128), " leading and trailing ", "\u202eabcdefgh", "';DROP TABLE users;--"} {
		handle := fmt.Sprint("user", n)
		if _, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: handle, Password: good}); err != nil {
			t.Errorf("%+q: %v", good, err)
			continue
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if _, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: handle, Password: form.String(good)}); err != nil {
				t.Errorf("%+q in form %d: %v", good, form, err)
			}
		}
		for _, near := range []string{good[:len(good)-1], good + " "} {
			_, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: handle, Password: near})
			wants(t, "one near it", err, errs.Unauthenticated, "bad_login")
		}
	}
}

// atNext does something once, when the next id is made.
type atNext struct {
	account.IDs
	mu sync.Mutex // guards do
	do func()
}

func (a *atNext) Next(ctx context.Context) (uint64, error) {
	a.mu.Lock()
	do := a.do
	a.do = nil
	a.mu.Unlock()
	if do != nil {
		do()
	}
	return a.IDs.Next(ctx)
}

// TestALoginDoesNotOutliveItsPassword: between the check of a password and the session, another password took its place.
func TestALoginDoesNotOutliveItsPassword(t *testing.T) {
	r := open(t, account.Config{})
	_, c := r.register("anna")
	ids := &atNext{IDs: r.deps.IDs}
	r.deps.IDs = ids
	thiefs, err := account.New(t.Context(), r.deps, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ids.do = func() {
		if err := r.ChangePassword(t.Context(), c, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: "another password"}); err != nil {
			t.Error(err)
		}
	}
	_, err = thiefs.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: password})
	wants(t, "the old password", err, errs.Unauthenticated, "bad_login")
	if n := r.count(`SELECT count(*) FROM sessions WHERE ended_ms = 0`); n != 1 {
		t.Errorf("%d sessions are open", n)
	}
}

// TestOnePasswordIsReplacedOnce: of those who change it at once, all knowing the old one, one does.
func TestOnePasswordIsReplacedOnce(t *testing.T) {
	r := open(t, account.Config{})
	_, c := r.register("anna")
	results := make([]error, 4)
	var wait sync.WaitGroup
	for n := range results {
		wait.Go(func() {
			results[n] = r.ChangePassword(t.Context(), c, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: fmt.Sprint("new password ", n)})
		})
	}
	wait.Wait()
	for n, err := range results {
		_, lerr := r.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: fmt.Sprint("new password ", n)})
		if (err == nil) != (lerr == nil) {
			t.Errorf("a change was answered %v, the login with it %v", err, lerr)
		}
		if err != nil {
			wants(t, "one who was late", err, errs.Denied, "bad_password")
		}
	}
}

// TestOldHashesAreRenewed: at a login that is right, once.
func TestOldHashesAreRenewed(t *testing.T) {
	r := open(t, account.Config{})
	r.register("anna")
	salt := []byte("sixteen bytes...")
	text := base64.RawStdEncoding.EncodeToString
	old := fmt.Sprintf("$argon2id$v=19$m=8192,t=1,p=1$%s$%s", text(salt), text(argon2.IDKey([]byte(password), salt, 1, 8192, 1, 32)))
	if err := r.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE users SET password = $1`, old)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: "a wrong password"})
	wants(t, "a wrong password", err, errs.Unauthenticated, "bad_login")
	if n := r.count(`SELECT count(*) FROM users WHERE password = $1`, old); n != 1 {
		t.Error("a wrong password renewed the hash")
	}
	for range 2 {
		r.login("anna", nil)
	}
	if n := r.count(`SELECT count(*) FROM users WHERE password LIKE '$argon2id$v=19$m=19456,t=2,p=1$%'`); n != 1 {
		t.Error("the hash is still of before")
	}
}

// TestLoginsAreCountedInBoundedMemory: very many handles at once make others wait, not the server grow.
func TestLoginsAreCountedInBoundedMemory(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 2})
	for n := range account.AttemptsMost {
		if err := r.Admit(fmt.Sprint("handle", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Admit("handle7"); err != nil {
		t.Errorf("one who is counted: %v", err)
	}
	wants(t, "the third of one", r.Admit("handle7"), errs.Exhausted, "too_many_logins")
	r.clock.move(2 * time.Second)
	wants(t, "one too many", r.Admit("another"), errs.Exhausted, "too_many_logins")
	r.clock.move(time.Minute)
	if err := r.Admit("another"); err != nil {
		t.Errorf("after a minute: %v", err)
	}
}

func TestTicketsAreOfSessions(t *testing.T) {
	r := open(t, account.Config{})
	_, c := r.register("anna")
	_, err := r.CreateTicket(t.Context(), id.Caller{User: c.User, Server: true})
	wants(t, "by a business server", err, errs.Invalid, "no_session")
}
