package account_test

import (
	"context"
	"encoding/base32"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
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
)

// authenticator is an app that has the secret of a user.
type authenticator struct {
	r      *fixture
	secret []byte
}

// code returns the code that the app shows some steps from now.
func (a authenticator) code(steps int64) string {
	return auth.TOTPCode(a.secret, auth.TOTPStep(a.r.clock.Now())+steps)
}

// next waits for the next code, and returns it.
func (a authenticator) next() string {
	a.r.clock.advance(30 * time.Second)
	return a.code(0)
}

// addTOTP sets an app up for a caller who has just logged in.
func (r *fixture) addTOTP(c id.Caller) (app authenticator, recovery []string) {
	r.t.Helper()
	started, err := r.StartTotp(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(started.Secret)
	if err != nil {
		r.t.Fatal(err)
	}
	if u, err := url.Parse(started.Uri); err != nil || u.Query().Get("secret") != started.Secret {
		r.t.Errorf("the URI is %s (%v)", started.Uri, err)
	}
	app = authenticator{r, secret}
	codes, err := r.ConfirmTotp(r.t.Context(), c, app.code(0))
	if err != nil {
		r.t.Fatal(err)
	}
	return app, codes.Codes
}

// challenge logs in with the password, and returns the challenge of the second factor.
func (r *fixture) challenge(handle string) string {
	r.t.Helper()
	s := r.login(handle, nil)
	if s.SecondFactor == nil || s.AccessToken != "" || s.RefreshToken != "" || s.DeviceKey != "" || s.Session != 0 || s.User != 0 {
		r.t.Fatalf("a login without a second factor returned %v", s)
	}
	return s.SecondFactor.Challenge
}

func (r *fixture) answer(challenge, code string) (*accountv1.Session, error) {
	return r.LoginWithSecondFactor(r.t.Context(), &accountv1.LoginWithSecondFactorRequest{Challenge: challenge, Code: code})
}

func TestLoginsNeedTheSecondFactor(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000})
	_, c := r.register("anna")
	if _, err := r.StartTotp(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if r.login("anna", nil).AccessToken == "" {
		t.Error("an unconfirmed app changed the login")
	}
	_, err := r.ConfirmTotp(t.Context(), c, "000000")
	wantError(t, "a wrong code at the setup", err, errs.Denied, "bad_second_factor")
	app, recovery := r.addTOTP(c)
	_, err = r.StartTotp(t.Context(), c)
	wantError(t, "a second app", err, errs.Conflict, "totp_active")
	_, err = r.ConfirmTotp(t.Context(), c, app.code(1))
	wantError(t, "a second confirmation", err, errs.NotFound, "no_totp")

	_, err = r.answer(r.challenge("anna"), app.code(0))
	wantError(t, "the code of the setup", err, errs.Unauthenticated, "bad_second_factor")
	code, first := app.next(), r.challenge("anna")
	s, err := r.answer(first, code[:3]+" "+code[3:])
	if err != nil || s.User != uint64(c.User) || s.AccessToken == "" {
		t.Fatalf("the login returned %v (%v)", s, err)
	}
	_, err = r.answer(first, app.code(1))
	wantError(t, "a used challenge", err, errs.Unauthenticated, "bad_challenge")
	second := r.challenge("anna")
	for what, wrong := range map[string]string{"a replayed code": code, "an earlier one": app.code(-1), "one too far ahead": app.code(2), "none": "", "a long one": strings.Repeat("1", 100)} {
		_, err = r.answer(second, wrong)
		wantError(t, what, err, errs.Unauthenticated, "bad_second_factor")
	}
	if _, err = r.answer(second, app.code(1)); err != nil {
		t.Errorf("the code of a clock that is one step ahead: %v", err)
	}
	_, err = r.answer(r.challenge("anna"), app.code(0))
	wantError(t, "the code before one that was used", err, errs.Unauthenticated, "bad_second_factor")

	third := r.challenge("anna")
	if _, err = r.answer(third, strings.ToLower(recovery[3])); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	_, err = r.answer(r.challenge("anna"), recovery[3])
	wantError(t, "a used recovery code", err, errs.Unauthenticated, "bad_second_factor")
	if err := r.RemoveTotp(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := r.count(`SELECT count(*) FROM recovery_codes`); n != 0 {
		t.Errorf("%d recovery codes remain", n)
	}
	if r.login("anna", nil).AccessToken == "" {
		t.Error("a login needs the app that was removed")
	}
	wantError(t, "a second removal", r.RemoveTotp(t.Context(), c), errs.NotFound, "no_totp")
}

func TestChallengesAreBound(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000})
	_, anna := r.register("anna")
	_, bert := r.register("bert")
	app, recovery := r.addTOTP(anna)
	other, othersCodes := r.addTOTP(bert)
	for what, code := range map[string]string{"a code of another user": other.next(), "a recovery code of another user": othersCodes[0]} {
		_, err := r.answer(r.challenge("anna"), code)
		wantError(t, what, err, errs.Unauthenticated, "bad_second_factor")
	}
	for what, challenge := range map[string]string{"none": "", "an invented one": "rc_AAAA", "a long one": strings.Repeat("x", 1000)} {
		_, err := r.answer(challenge, app.code(0))
		wantError(t, what, err, errs.Unauthenticated, "bad_challenge")
	}
	_, err := r.LoginWithSecondFactor(t.Context(), &accountv1.LoginWithSecondFactorRequest{Challenge: r.challenge("anna"), Code: recovery[0], Client: &accountv1.Client{Name: "a\nb"}})
	wantError(t, "a bad client", err, errs.Invalid, "bad_client")

	expired := r.challenge("anna")
	r.clock.advance(5 * time.Minute)
	_, err = r.answer(expired, app.code(0))
	wantError(t, "an expired one", err, errs.Unauthenticated, "bad_challenge")
	if err := r.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.count(`SELECT count(*) FROM login_challenges`); n != 0 {
		t.Errorf("%d expired challenges remain", n)
	}

	guessed := r.challenge("anna")
	for range 5 {
		_, err = r.answer(guessed, "wrong")
		wantError(t, "a guess", err, errs.Unauthenticated, "bad_second_factor")
	}
	_, err = r.answer(guessed, app.code(0))
	wantError(t, "a right code after five wrong ones", err, errs.Unauthenticated, "bad_challenge")

	before := r.challenge("anna")
	if err := r.ChangePassword(t.Context(), anna, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: "another good one"}); err != nil {
		t.Fatal(err)
	}
	_, err = r.answer(before, app.code(0))
	wantError(t, "one of the old password", err, errs.Unauthenticated, "bad_login")
}

// TestGuessesOfCodesAreLimited for those who know the password. They lock out neither a known device, nor recovery codes.
func TestGuessesOfCodesAreLimited(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000, LoginsPerHandle: 1000})
	s, c := r.register("anna")
	known := &accountv1.Client{Device: s.Device, DeviceKey: s.DeviceKey}
	app, recovery := r.addTOTP(c)
	app.next()
	try := func(from int, code string, client *accountv1.Client) error {
		ctx := ratelimit.WithNetwork(t.Context(), netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(from)}), 32))
		_, err := r.LoginWithSecondFactor(ctx, &accountv1.LoginWithSecondFactorRequest{Challenge: r.challenge("anna"), Code: code, Client: client})
		return err
	}
	for n := range 20 {
		wantError(t, "a guess", try(n, "00000x", nil), errs.Unauthenticated, "bad_second_factor")
	}
	wantError(t, "a right code after twenty guesses from twenty addresses", try(100, app.code(0), nil), errs.Exhausted, "too_many_logins")
	if err := try(100, recovery[0], nil); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	if err := try(100, app.code(0), known); err != nil {
		t.Errorf("a known device: %v", err)
	}
	admitted := 0
	for hour := range 24 {
		r.clock.advance(time.Hour)
		for n := range 30 {
			if errs.Of(try(hour*7+n, "00000x", nil)).Reason == "bad_second_factor" {
				admitted++
			}
		}
	}
	if admitted != 24*10 {
		t.Errorf("%d guesses were admitted in a day, want 240", admitted)
	}
}

// TestACodeWorksOnce, also if two logins use it at the same time.
func TestACodeWorksOnce(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000})
	_, c := r.register("anna")
	app, recovery := r.addTOTP(c)
	for what, code := range map[string]string{"of the app": app.next(), "for recovery": recovery[0]} {
		results, challenges := make([]error, 4), []string{}
		for range results {
			challenges = append(challenges, r.challenge("anna"))
		}
		var wait sync.WaitGroup
		for n := range results {
			wait.Go(func() { _, results[n] = r.answer(challenges[n], code) })
		}
		wait.Wait()
		accepted := 0
		for _, err := range results {
			if err == nil {
				accepted++
			} else {
				wantError(t, "one too many", err, errs.Unauthenticated, "bad_second_factor")
			}
		}
		if accepted != 1 {
			t.Errorf("%d of four logins with one code %s were accepted", accepted, what)
		}
	}
}

// TestChangesOfProtectionNeedAConfirmation: a session that is some minutes old is not enough.
func TestChangesOfProtectionNeedAConfirmation(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000})
	_, c := r.register("anna")
	ctx := t.Context()
	calls := map[string]func(c id.Caller) error{
		"StartTotp":           func(c id.Caller) error { _, err := r.StartTotp(ctx, c); return err },
		"ConfirmTotp":         func(c id.Caller) error { _, err := r.ConfirmTotp(ctx, c, "000000"); return err },
		"RemoveTotp":          func(c id.Caller) error { return r.RemoveTotp(ctx, c) },
		"CreateRecoveryCodes": func(c id.Caller) error { _, err := r.CreateRecoveryCodes(ctx, c); return err },
	}
	app, _ := r.addTOTP(c)
	refused := func(what string, c id.Caller) {
		t.Helper()
		for name, call := range calls {
			wantError(t, name+" of "+what, call(c), errs.Denied, "confirm_identity")
		}
	}
	confirm := func(password, code string) error {
		_, err := r.ConfirmIdentity(ctx, c, &accountv1.ConfirmIdentityRequest{Password: password, Code: code})
		return err
	}
	r.clock.advance(10 * time.Minute)
	refused("an old session", c)
	for _, bad := range [][2]string{{"wrong", app.code(0)}, {"", app.code(0)}, {strings.Repeat("x", 5000), app.code(0)}} {
		wantError(t, "a confirmation with a wrong password", confirm(bad[0], bad[1]), errs.Denied, "bad_password")
	}
	for _, code := range []string{"", "000000", app.code(-2)} {
		wantError(t, "a confirmation with a wrong code", confirm(password, code), errs.Denied, "bad_second_factor")
	}
	refused("an unconfirmed session", c)
	if err := confirm(password, app.code(0)); err != nil {
		t.Fatal(err)
	}
	wantError(t, "a replayed code", confirm(password, app.code(0)), errs.Denied, "bad_second_factor")
	refused("another session of the user", id.Caller{User: c.User, Device: c.Device, Session: c.Session + 1})
	_, bert := r.register("bert")
	refused("a session of another user", id.Caller{User: c.User, Device: c.Device, Session: bert.Session})
	if state, err := r.GetSecurity(ctx, c); err != nil || !state.Password || !state.Totp || state.RecoveryCodes != 10 || state.ConfirmedUntilMs != r.clock.Now().Add(10*time.Minute).UnixMilli() {
		t.Errorf("the state is %v (%v)", state, err)
	}
	codes, err := r.CreateRecoveryCodes(ctx, c)
	if err != nil || len(codes.Codes) != 10 || len(slices.Compact(slices.Sorted(slices.Values(codes.Codes)))) != 10 {
		t.Errorf("the new codes are %v (%v)", codes, err)
	}
	for _, code := range codes.Codes {
		if n := r.count(`SELECT count(*) FROM recovery_codes WHERE sum = $1`, []byte(code)); n != 0 {
			t.Error("recovery codes are stored as they are")
		}
	}
	r.clock.advance(10 * time.Minute)
	refused("a confirmation of ten minutes ago", c)
	if err := r.RemoveTotp(ctx, id.Caller{User: c.User, Server: true}); err != nil {
		t.Errorf("a server that helps a user: %v", err)
	}
	users := r.newUsers(1)
	_, err = r.ConfirmIdentity(ctx, id.Caller{User: users[0], Session: 1}, &accountv1.ConfirmIdentityRequest{})
	wantError(t, "a user without a password", err, errs.Denied, "no_password")
	_, err = r.ConfirmIdentity(ctx, id.Caller{User: c.User, Server: true}, &accountv1.ConfirmIdentityRequest{Password: password})
	wantError(t, "a server", err, errs.Invalid, "no_session")
}

// TestOldRecoveryCodesEnd with the new ones, and an operator's name of the deployment is in the URI.
func TestOldRecoveryCodesEnd(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 1000, ProductName: "Our chat"})
	_, c := r.register("anna")
	started, err := r.StartTotp(context.Background(), c)
	if err != nil || !strings.HasPrefix(started.Uri, "otpauth://totp/Our%20chat:anna?") {
		t.Errorf("the URI is %v (%v)", started, err)
	}
	_, old := r.addTOTP(c)
	fresh, err := r.CreateRecoveryCodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.answer(r.challenge("anna"), old[0])
	wantError(t, "an old code", err, errs.Unauthenticated, "bad_second_factor")
	for n, code := range fresh.Codes {
		if _, err := r.answer(r.challenge("anna"), code); err != nil {
			t.Errorf("code %d: %v", n, err)
		}
	}
	if err := (account.Config{ProductName: "a:b"}).Check(); err == nil || !strings.Contains(fmt.Sprint(err), "product_name") {
		t.Errorf("a colon in the name: %v", err)
	}
}
