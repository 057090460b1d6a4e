package account_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

func TestRegister(t *testing.T) {
	r := open(t, account.Config{})
	s, c := r.register("@Anna.1 ")
	if got := r.verify(s.AccessToken); got != c {
		t.Errorf("the caller is %+v, want %+v", got, c)
	}
	u, err := r.GetUser(t.Context(), c.User)
	if err != nil || u.Handle != "anna.1" || u.DisplayName != "anna.1" {
		t.Errorf("the user is %v (%v)", u, err)
	}
	for _, bad := range []struct{ what, handle, password, name, reason string }{
		{"short handle", "ab", password, "", "bad_handle"},
		{"long handle", strings.Repeat("a", 33), password, "", "bad_handle"},
		{"blank in handle", "a b c", password, "", "bad_handle"},
		{"letters that look alike", "аnna", password, "", "bad_handle"},
		{"zero byte", "ann\x00", password, "", "bad_handle"},
		{"SQL", "a';--", password, "", "bad_handle"},
		{"bad UTF-8", "\xff\xfe\xfd", password, "", "bad_handle"},
		{"reserved", "Admin", password, "", "reserved_handle"},
		{"taken", "ANNA.1", password, "", "handle_taken"},
		{"short password", "bert", "1234567", "", "bad_password"},
		{"long password", "bert", strings.Repeat("x", 129), "", "bad_password"},
		{"zero byte in password", "bert", "12345678\x00", "", "bad_password"},
		{"bad UTF-8 in password", "bert", "12345678\xff", "", "bad_password"},
		{"common password", "bert", "Password123", "", "weak_password"},
		{"pattern for a password", "bert", "12345678", "", "weak_password"},
		{"handle for a password", "bert.albers", "bert.albers1", "", "weak_password"},
		{"name for a password", "bert", "Albers-2026", "Bert Albers", "weak_password"},
		{"blank name", "bert", password, " \u3000 ", "bad_name"},
		{"invisible name", "bert", password, "\u200b\u200b", "bad_name"},
		{"only marks", "bert", password, "\u0301\u0301", "bad_name"},
		{"bidi name", "bert", password, "a\u202eb", "bad_name"},
		{"stacked marks", "bert", password, "b" + strings.Repeat("\u0317", 7), "bad_name"},
		{"control", "bert", password, "a\x1b[31mb", "bad_name"},
		{"line separator", "bert", password, "a\u2028b", "bad_name"},
		{"long name", "bert", password, strings.Repeat("名", 65), "bad_name"},
	} {
		_, err := r.Register(t.Context(), &accountv1.RegisterRequest{Handle: bad.handle, Password: bad.password, DisplayName: bad.name})
		if e := errs.Of(err); e == nil || e.Reason != bad.reason {
			t.Errorf("%s returned %v, want %s", bad.what, err, bad.reason)
		}
	}
	if n := r.count(`SELECT count(*) FROM users`); n != 1 {
		t.Errorf("%d users exist", n)
	}
	// Names have one form: e with an accent, in two code points or in one.
	s, err = r.Register(t.Context(), &accountv1.RegisterRequest{Handle: "rene", Password: "密友不知道的话啊", DisplayName: " Rene\u0301 "})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := r.GetUser(t.Context(), id.User(s.User)); err != nil || u.DisplayName != "Ren\u00e9" {
		t.Errorf("the display name is %+q (%v)", u.GetDisplayName(), err)
	}
}

func TestConcurrentRegistrationsOfOneHandle(t *testing.T) {
	r := open(t, account.Config{})
	var wait sync.WaitGroup
	results := make([]error, 6)
	for n := range results {
		wait.Go(func() {
			_, results[n] = r.Register(context.Background(), &accountv1.RegisterRequest{Handle: "wanted", Password: password})
		})
	}
	wait.Wait()
	registered := 0
	for _, err := range results {
		if err == nil {
			registered++
			continue
		}
		wantError(t, "a loser", err, errs.Conflict, "handle_taken")
	}
	if registered != 1 || r.count(`SELECT count(*) FROM users`) != 1 {
		t.Errorf("%d registrations succeeded", registered)
	}
}

func TestLoginErrorsDoNotRevealHandles(t *testing.T) {
	r := open(t, account.Config{LoginsPerMinute: 3})
	r.register("anna")
	try := func(handle, password string) error {
		_, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: handle, Password: password})
		return err
	}
	wrong, unknown := try("anna", "not the password"), try("nobody", "not the password")
	if wrong == nil || unknown == nil || wrong.Error() != unknown.Error() {
		t.Errorf("a wrong password returned %v, an unknown handle %v", wrong, unknown)
	}
	wantError(t, "a wrong password", wrong, errs.Unauthenticated, "bad_login")
	wantError(t, "an empty password", try("anna", ""), errs.Unauthenticated, "bad_login")
	if err := try("anna", password); err != nil {
		t.Errorf("the third login in a minute returned %v", err)
	}
	wantError(t, "the fourth", try("anna", password), errs.Exhausted, "too_many_logins")
	_, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: " @ANNA", Password: password})
	wantError(t, "the fifth, written otherwise", err, errs.Exhausted, "too_many_logins")
	r.clock.advance(61 * time.Second)
	if err := try("anna", password); err != nil {
		t.Errorf("a login after a minute returned %v", err)
	}
	// A user of the business server has no password, and the empty password does not work.
	if _, err := r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: "x", Handle: "external"}); err != nil {
		t.Fatal(err)
	}
	wantError(t, "no password", try("external", ""), errs.Unauthenticated, "bad_login")
}

func refresh(r *fixture, token string) (*accountv1.Session, error) {
	return r.Refresh(context.Background(), &accountv1.RefreshRequest{RefreshToken: token})
}

func TestReusedRefreshTokenEndsSession(t *testing.T) {
	r := open(t, account.Config{})
	s, c := r.register("anna")
	other := r.login("anna", &accountv1.Client{Type: "phone"})
	a, err := refresh(r, s.RefreshToken)
	if err != nil || a.RefreshToken == s.RefreshToken || callerOf(a) != c {
		t.Fatalf("the refresh returned %v (%v)", a, err)
	}
	// Two tabs that refresh concurrently get the same token.
	b, err := refresh(r, s.RefreshToken)
	if err != nil || b.RefreshToken != a.RefreshToken {
		t.Errorf("the second tab got %v (%v)", b, err)
	}
	next, err := refresh(r, a.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if ended := r.endedSessions(); len(ended) != 0 {
		t.Errorf("the ended sessions are %v", ended)
	}
	r.clock.advance(time.Minute)
	_, err = refresh(r, s.RefreshToken)
	wantError(t, "a token of two before", err, errs.Unauthenticated, "bad_refresh_token")
	if ended := r.endedSessions(); len(ended) != 1 || ended[0] != (account.Ended{User: c.User, Session: c.Session, Reason: "refresh_reused"}) {
		t.Errorf("the ended sessions are %v", ended)
	}
	_, err = refresh(r, next.RefreshToken)
	wantError(t, "the youngest of the family", err, errs.Unauthenticated, "bad_refresh_token")
	_, err = r.Verify(t.Context(), next.AccessToken)
	wantError(t, "its access token", err, errs.Unauthenticated, "bad_token")
	r.verify(other.AccessToken)
	for what, bad := range map[string]string{"empty": "", "made up": "rr_" + strings.Repeat("A", 43), "long": strings.Repeat("x", 300), "an access token": other.AccessToken, "no text": "\xff\x00"} {
		_, err := refresh(r, bad)
		wantError(t, what, err, errs.Unauthenticated, "bad_refresh_token")
	}
	if n := r.count(`SELECT count(*) FROM sessions WHERE refresh = $1 OR previous = $1`, []byte(next.RefreshToken)); n != 0 {
		t.Error("the database contains a token in plain text")
	}
}

func TestDevicePolicies(t *testing.T) {
	for policy, replaced := range map[string][3]bool{"": {}, "many": {}, "one_per_type": {true, false, false}, "single": {true, true, false}} {
		t.Run(policy, func(t *testing.T) {
			r := open(t, account.Config{DevicePolicy: policy})
			first, _ := r.register("anna")
			other, _ := r.register("bert")
			sessions := [3]*accountv1.Session{first, r.login("anna", &accountv1.Client{Type: "phone"}), r.login("anna", &accountv1.Client{Type: "web"})}
			ended := map[id.Session]string{}
			for _, e := range r.endedSessions() {
				ended[e.Session] = e.Reason
			}
			for n, s := range sessions {
				_, err := r.Verify(t.Context(), s.AccessToken)
				if dead := err != nil; dead != replaced[n] || (ended[id.Session(s.Session)] == "replaced") != replaced[n] {
					t.Errorf("session %d: verify returned %v, the end was reported as %q", n, err, ended[id.Session(s.Session)])
				}
			}
			r.verify(other.AccessToken)
		})
	}
	if _, err := account.New(t.Context(), open(t, account.Config{}).deps, account.Config{DevicePolicy: "few"}); err == nil {
		t.Error("an unknown policy is accepted")
	}
}

func TestDeviceNumbersBelongToOneUser(t *testing.T) {
	r := open(t, account.Config{})
	first, c := r.register("anna")
	again := r.login("anna", &accountv1.Client{Type: "web", Device: first.Device})
	if again.Device != first.Device || again.Session == first.Session {
		t.Errorf("the device number was %v, then %v", first, again)
	}
	// A device has one session.
	if ended := r.endedSessions(); len(ended) != 1 || ended[0].Session != c.Session || ended[0].Reason != "replaced" {
		t.Errorf("the ended sessions are %v", ended)
	}
	bert, _ := r.register("bert")
	other := r.login("bert", &accountv1.Client{Device: first.Device})
	otherCaller := r.login("bert", &accountv1.Client{Device: 12345})
	if other.Device == first.Device || otherCaller.Device == 12345 || other.Device == bert.Device {
		t.Errorf("another user with the device's number got %v, %v", other, otherCaller)
	}
	r.verify(again.AccessToken)
}

// A database that was restored from a backup does not know the devices that logged in since. They keep their numbers by their keys, and so what waits on them.
func TestForgottenDevicesKeepTheirNumbers(t *testing.T) {
	r := open(t, account.Config{})
	device, _ := r.register("anna")
	bert, _ := r.register("bert")
	if err := r.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM devices WHERE id = $1`, int64(device.Device))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for what, key := range map[string]string{"no key": "", "another's key": bert.DeviceKey} {
		if got := r.login("anna", &accountv1.Client{Device: device.Device, DeviceKey: key}); got.Device == device.Device {
			t.Errorf("with %s, a device takes a number that it was not given", what)
		}
	}
	if got := r.login("anna", &accountv1.Client{Device: device.Device, DeviceKey: device.DeviceKey}); got.Device != device.Device {
		t.Errorf("the device has the number %d, and had %d", got.Device, device.Device)
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	r := open(t, account.Config{})
	_, anna := r.register("anna")
	phone := r.login("anna", &accountv1.Client{Name: "Telefon", Type: "phone"})
	r.clock.advance(time.Second)
	tablet := r.login("anna", &accountv1.Client{Name: "平板", Type: "tablet"})
	_, bert := r.register("bert")
	list, err := r.ListSessions(t.Context(), callerOf(phone))
	if err != nil || len(list) != 3 || list[0].Name != "平板" || list[0].Current {
		t.Fatalf("the sessions are %v (%v)", list, err)
	}
	for _, i := range list {
		if i.Current != (i.Session == phone.Session) {
			t.Errorf("the session is %v", i)
		}
	}
	// A user cannot end another user's session.
	if err := r.RevokeSession(t.Context(), bert, anna.Session); err != nil {
		t.Fatal(err)
	}
	if ended := r.endedSessions(); len(ended) != 0 {
		t.Errorf("the ended sessions are %v", ended)
	}
	if err := r.RevokeSession(t.Context(), anna, id.Session(phone.Session)); err != nil {
		t.Fatal(err)
	}
	_, err = r.Verify(t.Context(), phone.AccessToken)
	wantError(t, "a revoked session", err, errs.Unauthenticated, "bad_token")
	_, err = refresh(r, phone.RefreshToken)
	wantError(t, "its refresh token", err, errs.Unauthenticated, "bad_refresh_token")
	if err := r.Logout(t.Context(), anna, true); err != nil {
		t.Fatal(err)
	}
	_, err = r.Verify(t.Context(), tablet.AccessToken)
	wantError(t, "after logging out everywhere", err, errs.Unauthenticated, "bad_token")
	if ended := r.endedSessions(); len(ended) != 3 {
		t.Errorf("the ended sessions are %v", ended)
	}
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	r := open(t, account.Config{})
	first, c := r.register("anna")
	other := r.login("anna", nil)
	change := func(old, fresh string) error {
		return r.ChangePassword(t.Context(), c, &accountv1.ChangePasswordRequest{OldPassword: old, NewPassword: fresh})
	}
	wantError(t, "the wrong one", change("wrong password", "another password"), errs.Denied, "bad_password")
	wantError(t, "a short one", change(password, "short"), errs.Invalid, "bad_password")
	if err := change(password, "another password"); err != nil {
		t.Fatal(err)
	}
	r.verify(first.AccessToken)
	_, err := r.Verify(t.Context(), other.AccessToken)
	wantError(t, "the other session", err, errs.Unauthenticated, "bad_token")
	_, err = r.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: password})
	wantError(t, "the old password", err, errs.Unauthenticated, "bad_login")
	if _, err := r.Login(t.Context(), &accountv1.LoginRequest{Handle: "anna", Password: "another password"}); err != nil {
		t.Error(err)
	}
}

func TestTicketsWorkOnceAndExpire(t *testing.T) {
	t.Run("several nodes", func(t *testing.T) { testTickets(t, open(t, account.Config{})) })
	t.Run("single node", func(t *testing.T) { testTickets(t, openSingleNode(t, account.Config{})) })
}

func testTickets(t *testing.T, r *fixture) {
	_, c := r.register("anna")
	ticket := func() string {
		k, err := r.CreateTicket(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return k.Ticket
	}
	k := ticket()
	if got, err := r.VerifyTicket(t.Context(), k); err != nil || got != c {
		t.Errorf("the ticket yields %+v (%v)", got, err)
	}
	_, err := r.VerifyTicket(t.Context(), k)
	wantError(t, "again", err, errs.Unauthenticated, "bad_token")
	k = ticket()
	r.clock.advance(61 * time.Second)
	_, err = r.VerifyTicket(t.Context(), k)
	wantError(t, "late", err, errs.Unauthenticated, "bad_token")
	k = ticket()
	if err := r.Logout(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	_, err = r.VerifyTicket(t.Context(), k)
	wantError(t, "after the logout", err, errs.Unauthenticated, "bad_token")
}

func TestKeys(t *testing.T) {
	r := open(t, account.Config{})
	key, err := r.CreateKey(t.Context(), account.NewKey{Name: "shop"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.verify(key); c != (id.Caller{Server: true, Key: "shop"}) {
		t.Errorf("the key yields %+v", c)
	}
	for what, bad := range map[string]string{"empty": "rk_", "cut": key[:len(key)-1], "longer": key + "x", "upper case": strings.ToUpper(key)} {
		_, err := r.Verify(t.Context(), bad)
		wantError(t, what, err, errs.Unauthenticated, "bad_token")
	}
	if keys, err := r.ListKeys(t.Context()); err != nil || len(keys) != 1 || keys[0].Name != "shop" || keys[0].Access != "server" || keys[0].CreatedMs == 0 {
		t.Errorf("the keys are %v (%v)", keys, err)
	}
	if n, err := r.RevokeKey(t.Context(), "shop", nil); err != nil || n != 1 {
		t.Errorf("RevokeKey returned %d (%v)", n, err)
	}
	_, err = r.Verify(t.Context(), key)
	wantError(t, "a revoked key", err, errs.Unauthenticated, "bad_token")
	if message := errs.Of(err).Message; !strings.Contains(message, "rialto admin key create") || strings.Contains(message, "log in") {
		t.Errorf("the error of a revoked key, %q, does not say what to do", message)
	}
}

// A list of keys says of each what it may do, in the words of the audit log.
func TestListsOfKeys(t *testing.T) {
	r := open(t, account.Config{})
	_, ann := r.register("ann")
	for _, k := range []account.NewKey{{Name: "a"}, {Name: "b", Audit: true}, {Name: "c", Bot: ann.User}, {Name: "d", Bot: ann.User, Bridge: "irc"}, {Name: "e", Role: id.Moderator}} {
		if _, err := r.CreateKey(t.Context(), k, nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := r.ListKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, k := range keys {
		list = append(list, k.Name+": "+k.Access)
	}
	slices.Sort(list) // they were created at one time
	bot := "bot of user " + ann.User.String()
	if want := []string{"a: server", "b: server, audit", "c: " + bot, "d: bridge irc, " + bot, "e: moderator"}; !slices.Equal(list, want) {
		t.Errorf("got %q, want %q", list, want)
	}
	_, err = r.CreateKey(t.Context(), account.NewKey{Name: "f", Bot: 5}, nil)
	if wantError(t, "nobody's key", err, errs.NotFound, "no_user"); errs.Of(err).Message != "there is no user 5" {
		t.Errorf("the key of nobody: %v", err)
	}
}

// What is done to keys is recorded in the same transaction: without the entry, it is not done.
func TestNoKeyChangesWithoutAnEntry(t *testing.T) {
	r := open(t, account.Config{})
	failed := errors.New("the entry cannot be stored")
	fail := func(context.Context, *sql.Tx, auditlog.Entry) error { return failed }
	for _, k := range []account.NewKey{{Name: "shop"}, {Name: "olga", Role: id.Operator}} {
		if _, err := r.CreateKey(t.Context(), k, fail); !errors.Is(err, failed) {
			t.Errorf("a key %s without its entry: %v", k.Name, err)
		}
	}
	if names, err := r.ListKeys(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("the key names are %v (%v)", names, err)
	}
	key, err := r.CreateKey(t.Context(), account.NewKey{Name: "shop"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RevokeKey(t.Context(), "shop", fail); !errors.Is(err, failed) {
		t.Errorf("a revocation without its entry: %v", err)
	}
	if c := r.verify(key); c.Key != "shop" {
		t.Errorf("the key yields %+v", c)
	}
}

// Reads of the cache of keys are counted: those that it answers, and those of the database.
func TestReadsOfTheKeyCacheAreCounted(t *testing.T) {
	r := open(t, account.Config{})
	metrics, registry := cache.NewMetrics(), prometheus.NewRegistry()
	registry.MustRegister(metrics)
	r.deps.KeyReads = metrics.Reads("api_keys")
	s, err := account.New(t.Context(), r.deps, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.CreateKey(t.Context(), account.NewKey{Name: "shop"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Verify(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]float64{}
	families, err := registry.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetCounter().GetValue()
		}
	}
	if err != nil || got["rialto_cache_reads_total"] != 2 || got["rialto_cache_loaded_keys_total"] != 1 {
		t.Errorf("counted: %v (%v), want 2 hits and 1 miss", got, err)
	}
}

// TestCachedAPIKeys: a key that another process revokes is accepted for less than a second. A cached key is accepted for ten
// minutes while the database is unavailable.
func TestCachedAPIKeys(t *testing.T) {
	r := open(t, account.Config{})
	other, err := account.New(t.Context(), r.deps, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := r.CreateKey(t.Context(), account.NewKey{Name: "shop"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := r.CreateKey(t.Context(), account.NewKey{Name: "office"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.verify(revoked)
	if _, err := other.RevokeKey(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(time.Second)
	for range 2 {
		_, err = r.Verify(t.Context(), revoked)
		wantError(t, "a key that another process revoked", err, errs.Unauthenticated, "bad_token")
	}
	r.verify(kept)
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{0, 5 * time.Second, 9*time.Minute + 54*time.Second} {
		r.clock.advance(d)
		if c := r.verify(kept); c != (id.Caller{Server: true, Key: "office"}) {
			t.Errorf("with the database unavailable for %v the key yields %+v", d, c)
		}
	}
	r.clock.advance(time.Second)
	if _, err := r.Verify(t.Context(), kept); err == nil {
		t.Error("after ten minutes without the database the key is still accepted")
	}
	if _, err := r.Verify(t.Context(), revoked); err == nil || errs.Of(err).Reason == "bad_token" {
		t.Errorf("an unknown key returned %v", err)
	}
}

func TestBusinessServerUsers(t *testing.T) {
	r := open(t, account.Config{})
	put := func(external, handle, name string) (*accountv1.User, error) {
		return r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: external, Handle: handle, DisplayName: name})
	}
	u, err := put("客户-1", "", "")
	if err != nil || u.Handle == "" || u.DisplayName != u.Handle {
		t.Fatalf("PutUser returned %v (%v)", u, err)
	}
	same, err := put("客户-1", "customer.1", "客户")
	if err != nil || same.Id != u.Id || same.Handle != "customer.1" || same.DisplayName != "客户" {
		t.Errorf("a repeated PutUser returned %v (%v)", same, err)
	}
	r.register("anna")
	_, err = put("客户-1", "anna", "")
	wantError(t, "another's handle", err, errs.Conflict, "handle_taken")
	_, err = put("", "", "")
	wantError(t, "no external id", err, errs.Invalid, "bad_external_id")
	_, err = put(strings.Repeat("x", 129), "", "")
	wantError(t, "a long external id", err, errs.Invalid, "bad_external_id")
	s, err := r.CreateSession(t.Context(), &accountv1.CreateSessionRequest{ExternalId: "客户-1"})
	if err != nil || s.User != u.Id {
		t.Fatalf("CreateSession returned %v (%v)", s, err)
	}
	r.verify(s.AccessToken)
	for _, q := range []*accountv1.CreateSessionRequest{{}, {ExternalId: "nobody"}, {User: 77}} {
		_, err := r.CreateSession(t.Context(), q)
		wantError(t, "nobody", err, errs.NotFound, "no_user")
	}
	var e *errs.Error
	if _, err := r.CreateSession(t.Context(), &accountv1.CreateSessionRequest{User: u.Id, Client: &accountv1.Client{Name: strings.Repeat("n", 200)}}); !errors.As(err, &e) || e.Reason != "bad_client" {
		t.Errorf("a client with a long name returned %v", err)
	}
}
