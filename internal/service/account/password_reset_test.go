package account_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/mailer"
	"github.com/rialto-im/rialto/internal/platform/mailer/smtptest"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	email = accountv1.ContactKind_CONTACT_KIND_EMAIL
	phone = accountv1.ContactKind_CONTACT_KIND_PHONE
)

// post is a service whose jobs send emails and text messages to the test.
type post struct {
	*fixture
	server *smtptest.Server
	sms    chan account.SMSMessage
}

func openPost(t *testing.T) *post {
	t.Helper()
	p := &post{server: smtptest.Start(t), sms: make(chan account.SMSMessage, 10)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m account.SMSMessage
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Header.Get("Rialto-Signature") == "" {
			t.Errorf("a text message is not as documented: %v", err)
		}
		p.sms <- m
	}))
	t.Cleanup(hook.Close)
	config := account.Config{LoginsPerMinute: 1000, LoginsPerHandle: 1000, ProductName: "Our chat", PasskeyOrigins: []string{chatPage}, SMTP: mailer.Config{Address: p.server.Address, From: "chat@example.com", TLS: "none"},
		SMSWebhook: webhook.Config{URL: hook.URL, Secret: "a secret of the operator"}}
	var jobs *job.Service
	p.fixture = openOn(t, sqltest.Place(t), 1, config, func(d *account.Deps) {
		var err error
		if jobs, err = job.New(t.Context(), job.Deps{DB: d.DB, Clock: d.Clock, Logger: d.Logger, Node: "node-a"}, job.Config{}); err != nil {
			t.Fatal(err)
		}
		d.Jobs = jobs
	})
	workers := job.NewWorkers(map[string]int{account.Queue: 1})
	p.AddWorkers(workers)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- jobs.Run(ctx, workers) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p
}

var codeInText = regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}`)

// mail returns the next email to an address, and the code in it.
func (p *post) mail(to string) (m smtptest.Mail, code string) {
	p.t.Helper()
	m = eventually.Receive(p.t, "an email to "+to, p.server.Mails)
	if m.To != to {
		p.t.Errorf("an email went to %s, want %s: %s", m.To, to, m.Text)
	}
	return m, codeInText.FindString(m.Text)
}

// nothingSent waits until all jobs have ended, and fails if something was sent.
func (p *post) nothingSent(what string) {
	p.t.Helper()
	eventually.True(p.t, "the jobs end", func() bool { return p.count(`SELECT count(*) FROM jobs WHERE finished_ms = 0`) == 0 })
	if len(p.server.Mails) != 0 || len(p.sms) != 0 {
		p.t.Errorf("%s: something was sent", what)
	}
}

// registerWithEmail creates a user with an email address.
func (p *post) registerWithEmail(handle string) id.Caller {
	p.t.Helper()
	_, c := p.register(handle)
	address := handle + "@example.org"
	if err := p.SetContact(p.t.Context(), c, &accountv1.SetContactRequest{Kind: email, Address: address}); err != nil {
		p.t.Fatal(err)
	}
	_, code := p.mail(address)
	if _, err := p.VerifyContact(p.t.Context(), c, &accountv1.VerifyContactRequest{Kind: email, Code: code}); err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *post) request(handle string) error {
	return p.RequestPasswordReset(p.t.Context(), &accountv1.RequestPasswordResetRequest{Handle: handle, Kind: email})
}

const newPassword = "quite another one"

func (p *post) reset(handle, code string) error {
	return p.ResetPassword(p.t.Context(), &accountv1.ResetPasswordRequest{Handle: handle, Code: code, NewPassword: newPassword})
}

func TestPasswordReset(t *testing.T) {
	p := openPost(t)
	anna := p.registerWithEmail("anna")
	p.registerWithEmail("bert")
	app, _ := p.addTOTP(anna)
	p.mail("anna@example.org") // the notice
	pending := p.challenge("anna")
	if err := p.request(" @Anna"); err != nil {
		t.Fatal(err)
	}
	m, code := p.mail("anna@example.org")
	if m.Subject != "Our chat: your code" || !strings.Contains(m.Text, "to reset your password") || !strings.Contains(m.Text, "15 minutes") {
		t.Errorf("the email is %+v", m)
	}
	if err := p.request("bert"); err != nil {
		t.Fatal(err)
	}
	_, othersCode := p.mail("bert@example.org")
	for what, wrong := range map[string]string{"none": "", "another one": "0000-0000", "one of another user": othersCode, "part of it": code[:4], "a long one": strings.Repeat("0", 100)} {
		wantError(t, what, p.reset("anna", wrong), errs.Unauthenticated, "bad_code")
	}
	_, err := p.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: "anna", Code: code})
	wantError(t, "a login with a code for a reset", err, errs.Unauthenticated, "bad_code")
	wantError(t, "a weak password", p.ResetPassword(t.Context(), &accountv1.ResetPasswordRequest{Handle: "anna", Code: code, NewPassword: "password1"}), errs.Invalid, "weak_password")
	p.endedSessions()
	if err := p.RequestCode(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	_, loginCode := p.mail("anna@example.org")
	if err := p.reset("anna", strings.ToLower(code)); err != nil {
		t.Fatal(err)
	}
	_, err = p.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: "anna", Code: loginCode})
	wantError(t, "a login with a code from before the reset", err, errs.Unauthenticated, "bad_code")
	if ended := p.endedSessions(); len(ended) != 1 || ended[0].Session != anna.Session || ended[0].Reason != "password_changed" {
		t.Errorf("the sessions that ended are %v", ended)
	}
	wantError(t, "a used code", p.reset("anna", code), errs.Unauthenticated, "bad_code")
	if m, _ := p.mail("anna@example.org"); !strings.Contains(m.Text, "@anna, the password was reset") {
		t.Errorf("the notice is %s", m.Text)
	}
	_, err = p.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: password})
	wantError(t, "the old password", err, errs.Unauthenticated, "bad_login")
	_, err = p.answer(pending, app.next())
	wantError(t, "a challenge of the old password", err, errs.Unauthenticated, "bad_challenge")
	bert := callerOf(p.login("bert", nil))
	if err := p.ChangePassword(t.Context(), bert, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: newPassword}); err != nil {
		t.Fatal(err)
	}
	p.mail("bert@example.org") // the notice
	wantError(t, "a code from before a change of the password", p.reset("bert", othersCode), errs.Unauthenticated, "bad_code")
	s, err := p.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: newPassword})
	if err != nil || s.SecondFactor == nil || s.AccessToken != "" {
		t.Fatalf("a login after the reset needs no second factor: %v (%v)", s, err)
	}
	if _, err := p.answer(s.SecondFactor.Challenge, app.next()); err != nil {
		t.Error(err)
	}
	p.nothingSent("at the end")
}

// TestResetsRevealNoAccounts: answers, rows and jobs are the same, whether or not a handle exists, and has an address.
func TestResetsRevealNoAccounts(t *testing.T) {
	p := openPost(t)
	p.registerWithEmail("anna")
	p.register("bert") // without an address
	trace := func(handle string) string {
		rows, jobs := p.count(`SELECT count(*) FROM one_time_codes`), p.count(`SELECT count(*) FROM jobs`)
		first, second := p.request(handle), p.request(handle)
		return fmt.Sprint(first, second, p.count(`SELECT count(*) FROM one_time_codes`)-rows, p.count(`SELECT count(*) FROM jobs`)-jobs, p.reset(handle, "0000-0000"))
	}
	known := trace("anna")
	p.mail("anna@example.org")
	for _, handle := range []string{"bert", "nobody"} {
		if got := trace(handle); got != known {
			t.Errorf("%s: %s\nanna: %s", handle, got, known)
		}
	}
	p.nothingSent("to users without an address")
	for _, handle := range []string{"", strings.Repeat("x", 100), "name\x00"} {
		if err := p.request(handle); err != nil {
			t.Errorf("a request for %q: %v", handle, err)
		}
		wantError(t, "a reset", p.reset(handle, "0000-0000"), errs.Unauthenticated, "bad_code")
	}
	wantError(t, "a code by carrier pigeon", p.RequestPasswordReset(t.Context(), &accountv1.RequestPasswordResetRequest{Handle: "anna", Kind: 7}), errs.Denied, "no_delivery")
}

// Whoever asks for resets of another's account makes no code void that was sent before: each is valid for 15 minutes after it was last sent, whenever in a
// window it was. A reset makes all of them void.
func TestOthersMakeNoCodeVoid(t *testing.T) {
	const window = 15 * time.Minute
	p := openPost(t)
	for _, at := range []time.Duration{0, 7 * time.Minute, 14 * time.Minute} {
		handle := fmt.Sprint("anna", at.Minutes())
		p.registerWithEmail(handle)
		p.clock.advance(window - p.clock.Now().Sub(time.Unix(0, 0))%window + at)
		var codes []string
		for range 5 {
			if err := p.request(handle); err != nil {
				t.Fatal(err)
			}
			_, code := p.mail(handle + "@example.org")
			codes = append(codes, code)
			p.clock.advance(3*time.Minute - time.Second)
		}
		wantError(t, "a wrong code", p.reset(handle, "0000-0000"), errs.Unauthenticated, "bad_code")
		if err := p.reset(handle, codes[0]); err != nil {
			t.Errorf("a code that was sent first, %v after the beginning of a window, and after others were asked for: %v", at, err)
		}
		p.mail(handle + "@example.org") // the notice
		for _, code := range codes {
			wantError(t, "a code after the reset", p.reset(handle, code), errs.Unauthenticated, "bad_code")
		}
	}
}

func TestSentCodesAreLimited(t *testing.T) {
	p := openPost(t)
	p.registerWithEmail("anna")
	if err := p.request("anna"); err != nil {
		t.Fatal(err)
	}
	_, first := p.mail("anna@example.org")
	p.clock.advance(time.Minute)
	if err := p.request("anna"); err != nil {
		t.Fatal(err)
	}
	_, second := p.mail("anna@example.org")
	p.clock.advance(15 * time.Minute)
	for _, code := range []string{first, second} {
		wantError(t, "an expired code", p.reset("anna", code), errs.Unauthenticated, "bad_code")
	}
	if err := p.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := p.count(`SELECT count(*) FROM one_time_codes`); n != 0 {
		t.Errorf("%d expired codes remain", n)
	}
	p.clock.advance(time.Hour)
	for range 5 {
		if err := p.request("anna"); err != nil {
			t.Fatal(err)
		}
		p.mail("anna@example.org")
		p.clock.advance(time.Minute)
	}
	wantError(t, "a sixth one", p.request("anna"), errs.Exhausted, "too_many_codes")
	wantError(t, "a sixth one of nobody", func() (err error) {
		for range 6 {
			err = p.request("nobody")
		}
		return err
	}(), errs.Exhausted, "too_many_codes")
	ctx := ratelimit.WithNetwork(t.Context(), netip.MustParsePrefix("192.0.2.1/32"))
	sent := 0
	for n := range 40 {
		if p.RequestPasswordReset(ctx, &accountv1.RequestPasswordResetRequest{Handle: fmt.Sprint("person", n), Kind: email}) == nil {
			sent++
		}
	}
	if sent != 30 {
		t.Errorf("%d codes were sent for one network, want 30", sent)
	}
	s := p.login("anna", nil) // a known device has a limit of its own
	if err := p.RequestPasswordReset(t.Context(), &accountv1.RequestPasswordResetRequest{Handle: "anna", Kind: email, Client: &accountv1.Client{Device: s.Device, DeviceKey: s.DeviceKey}}); err != nil {
		t.Errorf("a known device: %v", err)
	}
}

// TestCodesAreSentAgain if the mail server refuses them, but not after they have expired.
func TestCodesAreSentAgain(t *testing.T) {
	p := openPost(t)
	p.registerWithEmail("anna")
	failed := func(times int) {
		t.Helper()
		eventually.True(t, "an attempt fails", func() bool {
			return p.count(`SELECT count(*) FROM jobs WHERE finished_ms = 0 AND state = 'available' AND failures = $1`, times) == 1
		})
		p.clock.advance(10 * time.Second)
	}
	p.server.Fail(2)
	if err := p.request("anna"); err != nil {
		t.Fatal(err)
	}
	failed(1)
	failed(2)
	if _, code := p.mail("anna@example.org"); p.reset("anna", code) != nil {
		t.Error("the code does not work")
	}
	p.mail("anna@example.org") // the notice
	p.server.Fail(1000)
	p.clock.advance(time.Minute)
	if err := p.request("anna"); err != nil {
		t.Fatal(err)
	}
	failed(1)
	p.clock.advance(15 * time.Minute)
	eventually.True(t, "the job is given up", func() bool { return p.count(`SELECT count(*) FROM jobs WHERE state = 'cancelled'`) == 1 })
	for _, secret := range []string{"password", "code"} {
		if n := p.count(`SELECT count(*) FROM jobs WHERE CAST(args AS TEXT) LIKE $1`, `%"`+secret+`":%`); n != 0 {
			t.Errorf("%d jobs have a %s in them", n, secret)
		}
	}
}

func TestLoginCodesByEmail(t *testing.T) {
	p := openPost(t)
	anna := p.registerWithEmail("anna")
	if m := p.LoginMethods(account.Page{}); !m.Code || len(m.Resets) != 2 {
		t.Errorf("the ways to log in are %v", m)
	}
	for _, handle := range []string{"anna", "nobody"} {
		if err := p.RequestCode(t.Context(), handle); err != nil {
			t.Fatal(err)
		}
	}
	_, code := p.mail("anna@example.org")
	login := func(handle, code string) (*accountv1.Session, error) {
		return p.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: handle, Code: code})
	}
	_, err := login("nobody", code)
	wantError(t, "a code of another handle", err, errs.Unauthenticated, "bad_code")
	wantError(t, "a reset with a code for a login", p.reset("anna", code), errs.Unauthenticated, "bad_code")
	if s, err := login("anna", code); err != nil || s.User != uint64(anna.User) {
		t.Errorf("the login returned %v (%v)", s, err)
	}
	_, err = login("anna", code)
	wantError(t, "a used code", err, errs.Unauthenticated, "bad_code")
}

func TestContacts(t *testing.T) {
	p := openPost(t)
	ctx := t.Context()
	anna := p.registerWithEmail("anna")
	_, bert := p.register("bert")
	set := func(c id.Caller, kind accountv1.ContactKind, address string) error {
		return p.SetContact(ctx, c, &accountv1.SetContactRequest{Kind: kind, Address: address})
	}
	verify := func(c id.Caller, kind accountv1.ContactKind, code string) error {
		_, err := p.VerifyContact(ctx, c, &accountv1.VerifyContactRequest{Kind: kind, Code: code})
		return err
	}
	for _, bad := range []string{"", "anna", "@example.org", "a b@example.org", "Anna <anna@example.org>", "anna@localhost", "anna@example.org, bert@example.org", "anna@example.org\r\nBcc: x@example.org", strings.Repeat("x", 250) + "@example.org", "ännä@example.org"} {
		wantError(t, bad, set(bert, email, bad), errs.Invalid, "bad_address")
	}
	for _, bad := range []string{"", "4915112345678", "+49", "+0151123456789", "+49151123456789012", "bert@example.org"} {
		wantError(t, bad, set(bert, phone, bad), errs.Invalid, "bad_address")
	}
	if err := set(bert, phone, "+49 (151) 1234-5678"); err != nil {
		t.Fatal(err)
	}
	sms := eventually.Receive(t, "a text message", p.sms)
	if sms.To != "+4915112345678" || sms.Purpose != "contact" || !strings.Contains(sms.Text, sms.Code) || strings.Contains(sms.Text, "\n") || sms.ValidSeconds < 1 || sms.ValidSeconds > 900 {
		t.Errorf("the text message is %+v", sms)
	}
	wantError(t, "a code of another user", verify(anna, phone, sms.Code), errs.Denied, "bad_code")
	wantError(t, "a code of another kind", verify(bert, email, sms.Code), errs.Denied, "bad_code")
	wantError(t, "a second code at once", set(bert, phone, "+4915112345679"), errs.Exhausted, "too_many_codes")
	if err := verify(bert, phone, sms.Code); err != nil {
		t.Fatal(err)
	}
	wantError(t, "a used code", verify(bert, phone, sms.Code), errs.Denied, "bad_code")
	if state, err := p.GetSecurity(ctx, bert); err != nil || len(state.Contacts) != 1 || state.Contacts[0].Address != "+4915112345678" || len(state.ContactKinds) != 2 {
		t.Errorf("the state is %v (%v)", state, err)
	}
	if err := set(bert, email, "Anna@Example.org"); err != nil {
		t.Fatal(err)
	}
	_, code := p.mail("anna@example.org")
	wantError(t, "an address of another account", verify(bert, email, code), errs.Conflict, "contact_taken")

	p.clock.advance(time.Minute)
	if err := set(anna, email, "new@example.org"); err != nil {
		t.Fatal(err)
	}
	_, code = p.mail("new@example.org")
	if err := verify(anna, email, code); err != nil {
		t.Fatal(err)
	}
	if m, _ := p.mail("anna@example.org"); !strings.Contains(m.Text, "was added or changed") { // the earlier address is told
		t.Errorf("the notice is %s", m.Text)
	}
	p.clock.advance(10 * time.Minute)
	wantError(t, "a removal in an old session", p.RemoveContact(ctx, anna, email), errs.Denied, "confirm_identity")
	wantError(t, "a change in an old session", set(anna, email, "other@example.org"), errs.Denied, "confirm_identity")
	server := id.Caller{User: anna.User, Server: true}
	if err := p.RemoveContact(ctx, server, email); err != nil {
		t.Fatal(err)
	}
	p.mail("new@example.org")
	wantError(t, "a second removal", p.RemoveContact(ctx, server, email), errs.NotFound, "no_contact")
}

// TestTextsAreInTheUsersLanguage, for codes and notices.
func TestTextsAreInTheUsersLanguage(t *testing.T) {
	p := openPost(t)
	anna := p.registerWithEmail("anna")
	if _, err := p.UpdateSettings(t.Context(), anna, &accountv1.Settings{Locale: "zh-CN"}); err != nil {
		t.Fatal(err)
	}
	if err := p.request("anna"); err != nil {
		t.Fatal(err)
	}
	m, code := p.mail("anna@example.org")
	if m.Subject != "Our chat：验证码" || !strings.HasPrefix(m.Text, "Our chat：重置密码验证码 "+code+"，15 分钟内有效。\n") {
		t.Errorf("the email is %+v", m)
	}
	if err := p.reset("anna", code); err != nil {
		t.Fatal(err)
	}
	if m, _ := p.mail("anna@example.org"); !strings.Contains(m.Text, "@anna 密码已重置") {
		t.Errorf("the notice is %+v", m)
	}
}
