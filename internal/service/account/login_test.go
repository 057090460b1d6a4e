package account_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// TestConfusableHandlesAreRejected: a handle is ASCII, in one form, so that two handles cannot look alike.
func TestConfusableHandlesAreRejected(t *testing.T) {
	r := open(t, account.Config{})
	r.register("kate")
	for handle, reason := range map[string]string{
		"KATE": "handle_taken", "@kate": "handle_taken", "\u3000kate\t": "handle_taken", "\u212aate": "handle_taken", // the kelvin sign folds to k
		"kаte": "bad_handle", "ｋａｔｅ": "bad_handle", "kate\u200b": "bad_handle", "\u202eetak": "bad_handle", "ka\u00adte": "bad_handle", "kate\u0301": "bad_handle", "κate": "bad_handle",
		"k\u2024te": "bad_handle", "@@kate": "bad_handle", "ka te": "bad_handle", "ka/te": "bad_handle", "kate\x00": "bad_handle", "ká": "bad_handle", "": "bad_handle", "\U0001d424ate": "bad_handle",
		"ADMIN": "reserved_handle", "@Root": "reserved_handle", "ADM\u0130N": "reserved_handle", "Everyone": "reserved_handle", "rialto": "reserved_handle",
	} {
		_, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: handle, Password: password})
		if e := errs.Of(err); e == nil || e.Reason != reason {
			t.Errorf("registering %+q returned %v, want %s", handle, err, reason)
		}
		_, err = r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: fmt.Sprintf("%+q", handle), Handle: handle})
		if e := errs.Of(err); handle != "" && (e == nil || e.Reason != reason) {
			t.Errorf("PutUser with %+q returned %v, want %s", handle, err, reason)
		}
	}
	if n := r.count(`SELECT count(*) FROM users WHERE handle <> 'kate' AND handle NOT LIKE 'u%'`); n != 0 {
		t.Errorf("%d users were created", n)
	}
}

func TestInvisibleNamesAreRejected(t *testing.T) {
	r := open(t, account.Config{})
	c := id.Caller{User: r.newUsers(1)[0]}
	for _, good := range []string{"王小明", "Zoë", "محمد", "می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\u0600١٢", "ㅎㅎ", "😀", "𝄞"} {
		u, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{DisplayName: &good})
		if err != nil || u.DisplayName != norm.NFC.String(good) {
			t.Errorf("name %+q yields %v (%v)", good, u, err)
		}
	}
	for _, bad := range []string{"a\u200bb", "a\u2060b", "\ufeffa", "a\u00adb", "a\u202eb", "a\u2066b\u2069", "a\u200fb", "a\u061cb", "a\tb", "a\nb", "a\x00b", "a\x7fb", "a\u2028b", "a\ufffdb",
		"x\u3164y", "\u3164", "\u3164 \u3164", "\u115f\u1160", "\uffa0", "\u2800\u2800", "\u200d", "\u0301", "\U000e0061", "", " ", strings.Repeat("x", 65)} {
		_, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{DisplayName: &bad})
		wantError(t, fmt.Sprintf("%+q", bad), err, errs.Invalid, "bad_name")
	}
}

func TestPasswordUnicodeForms(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000})
	for what, bad := range map[string]string{"empty": "", "one": "x", "seven": "1234567", "seven with marks": strings.Repeat("e\u0301", 7), "129": strings.Repeat("x", 129), "a megabyte": strings.Repeat("x", 1<<20),
		"a zero byte": "12345678\x00", "no text": "12345678\xff"} {
		_, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: "anna", Password: bad})
		wantError(t, what, err, errs.Invalid, "bad_password")
		_, err = r.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: bad})
		wantError(t, "a login with "+what, err, errs.Unauthenticated, "bad_login")
	}
	for n, good := range []string{"k4!vz0#p", distinctChars(128, '一'), strings.Join(strings.Split(distinctChars(20, '😀'), ""), "\u200d"), strings.Repeat("e\u0301a\u0301o\u0301i\u0301u\u0301E\u0301A\u0301O\u0301", 16), " leading and trailing ", "\u202eon the other side", "';DROP TABLE users;--"} {
		handle := fmt.Sprint("user", n)
		if _, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: handle, Password: good}); err != nil {
			t.Errorf("registering with password %+q: %v", good, err)
			continue
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if _, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: handle, Password: form.String(good)}); err != nil {
				t.Errorf("login with password %+q in form %d: %v", good, form, err)
			}
		}
		for _, near := range []string{good[:len(good)-1], good + " "} {
			_, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: handle, Password: near})
			wantError(t, "one near it", err, errs.Unauthenticated, "bad_login")
		}
	}
}

// distinctChars returns n characters of which no two are adjacent code points.
func distinctChars(n int, first rune) string {
	text := make([]rune, n)
	for i := range text {
		text[i] = first + rune(3*i)
	}
	return string(text)
}

// onNextID calls a function once, when the next id is generated.
type onNextID struct {
	account.IDs
	mu sync.Mutex // guards do
	do func()
}

func (a *onNextID) Next(ctx context.Context) (uint64, error) {
	a.mu.Lock()
	do := a.do
	a.do = nil
	a.mu.Unlock()
	if do != nil {
		do()
	}
	return a.IDs.Next(ctx)
}

// TestPasswordChangeDuringLogin: the password changes between the check of the old one and the start of the session.
func TestPasswordChangeDuringLogin(t *testing.T) {
	r := open(t, account.Config{})
	_, c := r.register("anna")
	ids := &onNextID{IDs: r.deps.IDs}
	r.deps.IDs = ids
	otherClient, err := account.New(t.Context(), r.deps, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ids.do = func() {
		if err := r.ChangePassword(t.Context(), c, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: "another password"}); err != nil {
			t.Error(err)
		}
	}
	_, err = otherClient.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: password})
	wantError(t, "the old password", err, errs.Unauthenticated, "bad_login")
	if n := r.count(`SELECT count(*) FROM sessions WHERE ended_ms = 0`); n != 1 {
		t.Errorf("%d sessions are open, want none", n)
	}
}

// TestConcurrentPasswordChanges: of several concurrent changes with the old password, one succeeds.
func TestConcurrentPasswordChanges(t *testing.T) {
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
			t.Errorf("a change returned %v, but the login with its password returned %v", err, lerr)
		}
		if err != nil {
			wantError(t, "one who was late", err, errs.Denied, "bad_password")
		}
	}
}

// TestOldHashesAreRenewed: a login with the right password renews the hash, once.
func TestOldHashesAreRenewed(t *testing.T) {
	r := open(t, account.Config{PasswordCost: auth.DefaultCost()})
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
	wantError(t, "a wrong password", err, errs.Unauthenticated, "bad_login")
	if n := r.count(`SELECT count(*) FROM users WHERE password = $1`, old); n != 1 {
		t.Error("a login with a wrong password renewed the hash")
	}
	for range 2 {
		r.login("anna", nil)
	}
	if n := r.count(`SELECT count(*) FROM users WHERE password LIKE '$argon2id$v=19$m=7168,t=5,p=1$%'`); n != 1 {
		t.Error("the hash was not renewed")
	}
}

// TestGuessesDoNotBlockKnownDevices: guesses block an address. Very many guesses at a handle block all devices without a key.
func TestGuessesDoNotBlockKnownDevices(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 2, LoginsPerHandle: 5})
	_, c := r.register("anna")
	_, other := r.register("bert")
	key := r.login("anna", &accountv1.Client{Device: uint64(c.Device)}).DeviceKey
	foreign := r.login("bert", &accountv1.Client{Device: uint64(other.Device)}).DeviceKey
	r.clock.advance(time.Minute)
	try := func(from int, password string, client *accountv1.Client) error {
		ctx := ratelimit.WithNetwork(t.Context(), netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(from)}), 32))
		_, err := r.Login(ctx, &accountv1.LoginRequest{Handle: "anna", Password: password, Client: client})
		return err
	}
	const wrong = "not the password"
	for range 2 {
		wantError(t, "a guess", try(1, wrong, nil), errs.Unauthenticated, "bad_login")
	}
	wantError(t, "the third from an address", try(1, password, nil), errs.Exhausted, "too_many_logins")
	if err := try(2, password, nil); err != nil {
		t.Errorf("the owner from another address: %v", err)
	}
	wantError(t, "a guess", try(3, wrong, nil), errs.Unauthenticated, "bad_login")
	wantError(t, "a guess", try(4, wrong, nil), errs.Unauthenticated, "bad_login")
	device := uint64(c.Device)
	for what, client := range map[string]*accountv1.Client{"without a key": nil, "with a number that all see": {Device: device}, "with another's key": {Device: uint64(other.Device), DeviceKey: foreign},
		"with a key of another device": {Device: device + 1, DeviceKey: key}, "with a key and no number": {DeviceKey: key}, "with part of a key": {Device: device, DeviceKey: key[:20]}} {
		wantError(t, "the sixth from anywhere, "+what, try(5, password, client), errs.Exhausted, "too_many_logins")
	}
	for _, from := range []int{1, 5} { // also at the address that guesses
		if err := try(from, password, &accountv1.Client{Device: device, DeviceKey: key}); err != nil {
			t.Errorf("a known device from address %d: %v", from, err)
		}
	}
	wantError(t, "a known device that guesses too", try(6, password, &accountv1.Client{Device: device, DeviceKey: key}), errs.Exhausted, "too_many_logins")
	if err := r.RequestCode(t.Context(), "anna"); errs.Of(err).Reason != "no_codes" {
		t.Errorf("error %v, want the reason no_codes", err)
	}
	r.clock.advance(time.Minute)
	if err := try(7, password, nil); err != nil {
		t.Errorf("after a minute: %v", err)
	}
	for range 2 {
		_ = r.ChangePassword(t.Context(), c, &accountv1.ChangePasswordRequest{OldPassword: wrong, NewPassword: "another good one"})
	}
	wantError(t, "a third change of the password", r.ChangePassword(t.Context(), c, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: "another good one"}), errs.Exhausted, "too_many_logins")
}

// TestDefaultLoginLimits are those of docs/decisions/0025.
func TestDefaultLoginLimits(t *testing.T) {
	r := open(t, account.Config{})
	admitted := func(addresses, each int) (n int) {
		for a := range addresses {
			ctx := ratelimit.WithNetwork(t.Context(), netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(a >> 8), byte(a)}), 32))
			for range each {
				if r.Admit(ctx, "anna", 1, nil) == nil {
					n++
				}
			}
		}
		return n
	}
	if n := admitted(1, 50); n != 20 {
		t.Errorf("%d guesses from one address were admitted", n)
	}
	if n := admitted(1000, 3); n != 80 { // the first address has used its twenty
		t.Errorf("%d more guesses from a thousand addresses were admitted", n)
	}
	for minute := range 3 {
		r.clock.advance(time.Minute)
		if n := admitted(1000, 3); n != 100 {
			t.Errorf("%d guesses were admitted in minute %d", n, minute)
		}
	}
	if err := r.Admit(t.Context(), "bert", 2, nil); err != nil {
		t.Errorf("another handle: %v", err)
	}
}

func TestTicketsNeedASession(t *testing.T) {
	r := open(t, account.Config{})
	_, c := r.register("anna")
	_, err := r.CreateTicket(t.Context(), id.Caller{User: c.User, Server: true})
	wantError(t, "by a business server", err, errs.Invalid, "no_session")
}
