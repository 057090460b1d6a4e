package account_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/account/passkeytest"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const chatPage = "https://chat.example.com"

var (
	ofPasskeys = account.Config{LoginsPerMinute: 1000, PasskeyOrigins: []string{chatPage}}
	onPage     = account.Page{Origin: chatPage}
)

// addPasskey creates a passkey for a caller and stores it.
func (r *fixture) addPasskey(c id.Caller, device *passkeytest.Authenticator, name string) (*accountv1.Passkey, error) {
	r.t.Helper()
	started, err := r.StartPasskey(r.t.Context(), c, onPage)
	if err != nil {
		return nil, err
	}
	credential, err := device.Create(started.Options)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.AddPasskey(r.t.Context(), c, onPage, &accountv1.AddPasskeyRequest{Name: name, Credential: credential})
}

// passkeyAnswer is what an authenticator answers to a new login.
func (r *fixture) passkeyAnswer(device *passkeytest.Authenticator) string {
	r.t.Helper()
	started, err := r.StartPasskeyLogin(onPage)
	if err != nil {
		r.t.Fatal(err)
	}
	credential, err := device.Get(started.Options)
	if err != nil {
		r.t.Fatal(err)
	}
	return credential
}

func (r *fixture) loginWithPasskey(credential string) (*accountv1.Session, error) {
	return r.LoginWithPasskey(r.t.Context(), onPage, &accountv1.LoginWithPasskeyRequest{Credential: credential, Client: &accountv1.Client{Name: "Firefox", Type: "web"}})
}

// newPasskey registers a user who has a passkey.
func (r *fixture) newPasskey(handle string) (id.Caller, *passkeytest.Authenticator, *accountv1.Passkey) {
	r.t.Helper()
	_, c := r.register(handle)
	device := &passkeytest.Authenticator{Origin: chatPage}
	p, err := r.addPasskey(c, device, "My phone")
	if err != nil {
		r.t.Fatal(err)
	}
	return c, device, p
}

func TestPasskeys(t *testing.T) {
	r := open(t, ofPasskeys)
	c, device, p := r.newPasskey("anna")
	r.addTOTP(c)
	r.clock.advance(time.Hour)
	s, err := r.loginWithPasskey(r.passkeyAnswer(device))
	if err != nil || s.User != uint64(c.User) || s.AccessToken == "" || s.RefreshToken == "" || s.SecondFactor != nil {
		t.Fatalf("the login returned %v (%v)", s, err)
	}
	sessions, err := r.ListSessions(t.Context(), callerOf(s))
	if err != nil || len(sessions) != 2 || sessions[0].Session != s.Session || sessions[0].Name != "Firefox" {
		t.Errorf("the sessions are %v (%v)", sessions, err)
	}
	list, err := r.ListPasskeys(t.Context(), c)
	if err != nil || len(list.Passkeys) != 1 || list.Passkeys[0].Id != p.Id || list.Passkeys[0].Name != "My phone" || list.Passkeys[0].UsedMs != r.clock.Now().UnixMilli() || list.Passkeys[0].CreatedMs != r.clock.Now().Add(-time.Hour).UnixMilli() {
		t.Errorf("the passkeys are %v (%v)", list, err)
	}
	renamed, err := r.RenamePasskey(t.Context(), c, &accountv1.RenamePasskeyRequest{Id: p.Id, Name: "手机"})
	if err != nil || renamed.Name != "手机" || renamed.UsedMs != list.Passkeys[0].UsedMs {
		t.Errorf("the renamed passkey is %v (%v)", renamed, err)
	}
	for what, name := range map[string]string{"no name": "", "two lines": "a\nb", "a long name": strings.Repeat("字", 65), "an unseen name": "\u200b"} {
		_, err = r.RenamePasskey(t.Context(), c, &accountv1.RenamePasskeyRequest{Id: p.Id, Name: name})
		wantError(t, what, err, errs.Invalid, "bad_passkey_name")
		_, err = r.AddPasskey(t.Context(), c, onPage, &accountv1.AddPasskeyRequest{Name: name})
		wantError(t, what+" of a new one", err, errs.Invalid, "bad_passkey_name")
	}
	if s := r.login("anna", nil); s.SecondFactor == nil {
		t.Error("a login with the password needs no second factor any more")
	}
	fresh := callerOf(s) // a login with a passkey confirms who it is
	credential := r.passkeyAnswer(device)
	if err := r.RemovePasskey(t.Context(), fresh, p.Id); err != nil {
		t.Fatal(err)
	}
	_, err = r.loginWithPasskey(credential)
	wantError(t, "a removed passkey", err, errs.Unauthenticated, "bad_passkey")
	wantError(t, "a second removal", r.RemovePasskey(t.Context(), fresh, p.Id), errs.NotFound, "no_passkey")
}

// TestPasskeysAreTheirOwners: nobody else sees, renames or removes them, and a confirmation is needed to add or remove one.
func TestPasskeysAreTheirOwners(t *testing.T) {
	r := open(t, ofPasskeys)
	anna, device, p := r.newPasskey("anna")
	_, bert := r.register("bert")
	_, err := r.RenamePasskey(t.Context(), bert, &accountv1.RenamePasskeyRequest{Id: p.Id, Name: "mine"})
	wantError(t, "another's passkey renamed", err, errs.NotFound, "no_passkey")
	wantError(t, "another's passkey removed", r.RemovePasskey(t.Context(), bert, p.Id), errs.NotFound, "no_passkey")
	if list, err := r.ListPasskeys(t.Context(), bert); err != nil || len(list.Passkeys) != 0 {
		t.Errorf("bert has %v (%v)", list, err)
	}
	if _, err := r.addPasskey(bert, device, "shared"); err != nil {
		t.Errorf("an authenticator with passkeys of two users: %v", err)
	}
	if s, err := r.loginWithPasskey(r.passkeyAnswer(device)); err != nil || s.User != uint64(bert.User) {
		t.Errorf("the login returned %v (%v)", s, err)
	}
	started, err := r.StartPasskey(t.Context(), anna, onPage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := device.Create(started.Options); err != passkeytest.ErrExcluded {
		t.Errorf("an authenticator with a passkey of the account: %v", err)
	}
	r.clock.advance(10 * time.Minute)
	_, err = r.StartPasskey(t.Context(), anna, onPage)
	wantError(t, "a passkey started in an old session", err, errs.Denied, "confirm_identity")
	wantError(t, "a passkey removed in an old session", r.RemovePasskey(t.Context(), anna, p.Id), errs.Denied, "confirm_identity")
	if _, err := r.ConfirmIdentity(t.Context(), anna, &accountv1.ConfirmIdentityRequest{Password: password}); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(9 * time.Minute)
	other := &passkeytest.Authenticator{Origin: chatPage}
	started, err = r.StartPasskey(t.Context(), anna, onPage)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := other.Create(started.Options)
	if err != nil {
		t.Fatal(err)
	}
	r.clock.advance(time.Minute)
	_, err = r.AddPasskey(t.Context(), anna, onPage, &accountv1.AddPasskeyRequest{Name: "late", Credential: credential})
	wantError(t, "a passkey added in an old session", err, errs.Denied, "confirm_identity")
	if err := r.RemovePasskey(t.Context(), id.Caller{User: anna.User, Server: true}, p.Id); err != nil {
		t.Errorf("a server that helps a user: %v", err)
	}
}

// TestAnswersThatAreNotAccepted of an authenticator, at a login: each differs from a good one in one thing.
func TestAnswersThatAreNotAccepted(t *testing.T) {
	r := open(t, ofPasskeys)
	_, device, _ := r.newPasskey("anna")
	_, others, _ := r.newPasskey("bert")
	foreign := others.Passkeys[0]
	for what, change := range map[string]func(*passkeytest.Answer){
		"another origin":                  func(a *passkeytest.Answer) { a.Origin = "https://chat.example.com.evil.example" },
		"an origin without TLS":           func(a *passkeytest.Answer) { a.Origin = "http://chat.example.com" },
		"another port":                    func(a *passkeytest.Answer) { a.Origin += ":8443" },
		"a frame in a page of others":     func(a *passkeytest.Answer) { a.CrossOrigin = true },
		"another domain":                  func(a *passkeytest.Answer) { a.Domain = "evil.example" },
		"the type of a new passkey":       func(a *passkeytest.Answer) { a.Type = "webauthn.create" },
		"a user who was not verified":     func(a *passkeytest.Answer) { a.Flags &^= passkeytest.UserVerified },
		"a user who was not present":      func(a *passkeytest.Answer) { a.Flags &^= passkeytest.UserPresent },
		"another user's passkey":          func(a *passkeytest.Answer) { a.ID = foreign.ID },
		"another user":                    func(a *passkeytest.Answer) { a.UserHandle = foreign.UserHandle },
		"no user":                         func(a *passkeytest.Answer) { a.UserHandle = nil },
		"an unknown passkey":              func(a *passkeytest.Answer) { a.ID = []byte("unknown") },
		"a changed signature":             func(a *passkeytest.Answer) { a.Sent = func(_, signature []byte) { signature[len(signature)-1] ^= 1 } },
		"a counter changed after signing": func(a *passkeytest.Answer) { a.Sent = func(data, _ []byte) { data[36] ^= 1 } },
		"a key that can be copied now":    func(a *passkeytest.Answer) { a.Flags |= passkeytest.BackupEligible },
		"a copy of what cannot be copied": func(a *passkeytest.Answer) { a.Flags |= passkeytest.BackedUp },
		"bytes after the signed data":     func(a *passkeytest.Answer) { a.Trailing = []byte{0} },
		"an extension of many nested maps": func(a *passkeytest.Answer) {
			a.Flags |= 1 << 7
			a.Trailing = []byte(strings.Repeat("\xa1\x61a", 1000) + "\xa0")
		},
	} {
		device.Change = change
		_, err := r.loginWithPasskey(r.passkeyAnswer(device))
		wantError(t, what, err, errs.Unauthenticated, "bad_passkey")
	}
	invented := make([]byte, 72)
	invented[32] = 1 // it never expires
	for what, challenge := range map[string]string{"no challenge": "", "an invented one": base64.RawURLEncoding.EncodeToString(invented), "a long one": strings.Repeat("A", 5000)} {
		device.Change = func(a *passkeytest.Answer) { a.Challenge = challenge }
		_, err := r.loginWithPasskey(r.passkeyAnswer(device))
		wantError(t, what, err, errs.Unauthenticated, "passkey_expired")
	}
	device.Change = nil
	for what, credential := range map[string]string{"nothing": "", "no JSON": "passkey", "null": "null", "too much": `{"id":"` + strings.Repeat("A", 13<<10) + `"}`, "two": "{}{}"} {
		_, err := r.loginWithPasskey(credential)
		wantError(t, what, err, errs.Unauthenticated, "bad_passkey")
	}
	if _, err := r.loginWithPasskey(r.passkeyAnswer(device)); err != nil {
		t.Errorf("the good answer: %v", err)
	}
	if n := r.count(`SELECT count(*) FROM taken_tickets`); n != 3 { // two of new passkeys, and the login
		t.Errorf("%d challenges are stored, want 3: those that were used", n)
	}
}

// TestNewPasskeysThatAreNotAccepted: each differs from a good one in one thing.
func TestNewPasskeysThatAreNotAccepted(t *testing.T) {
	r := open(t, ofPasskeys)
	_, c := r.register("anna")
	_, bert := r.register("bert")
	device := &passkeytest.Authenticator{Origin: chatPage}
	for what, change := range map[string]func(*passkeytest.Answer){
		"another origin":              func(a *passkeytest.Answer) { a.Origin = "https://evil.example" },
		"another domain":              func(a *passkeytest.Answer) { a.Domain = "evil.example" },
		"the type of a login":         func(a *passkeytest.Answer) { a.Type = "webauthn.get" },
		"a user who was not verified": func(a *passkeytest.Answer) { a.Flags &^= passkeytest.UserVerified },
		"a copy of what has none":     func(a *passkeytest.Answer) { a.Flags |= passkeytest.BackedUp },
		"a long name":                 func(a *passkeytest.Answer) { a.ID = make([]byte, 1024) },
		"no key":                      func(a *passkeytest.Answer) { a.Key = []byte("\xa0") },
		"a point beside the curve":    func(a *passkeytest.Answer) { a.Key[20] ^= 1 },
		"another algorithm":           func(a *passkeytest.Answer) { a.Key[4] = 0x38 },
		"bytes after the data":        func(a *passkeytest.Answer) { a.Trailing = []byte{1} },
		"a key of many nested maps":   func(a *passkeytest.Answer) { a.Key = []byte(strings.Repeat("\xa1\x01", 2000) + "\xa0") },
		"a map that says it is huge":  func(a *passkeytest.Answer) { a.Statement = "\xbb\x00\x00\x00\xff\xff\xff\xff\xff" },
		"a text that says it is huge": func(a *passkeytest.Answer) { a.Statement = "\xa1\x61a\x7b\x7f\xff\xff\xff\xff\xff\xff\xff" },
		"a statement too large":       func(a *passkeytest.Answer) { a.Statement = "\xa1\x61a\x79\x40\x00" + strings.Repeat("a", 0x4000) },
	} {
		device.Change = change
		_, err := r.addPasskey(c, device, "phone")
		wantError(t, what, err, errs.Invalid, "bad_passkey")
	}
	device.Change = nil
	started, err := r.StartPasskey(t.Context(), bert, onPage)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := device.Create(started.Options)
	if err != nil {
		t.Fatal(err)
	}
	add := func(c id.Caller, credential string) error {
		_, err := r.AddPasskey(t.Context(), c, onPage, &accountv1.AddPasskeyRequest{Name: "phone", Credential: credential})
		return err
	}
	wantError(t, "an answer for another user", add(c, credential), errs.Invalid, "passkey_expired")
	wantError(t, "an answer for another session", add(id.Caller{User: bert.User, Session: c.Session}, credential), errs.Invalid, "passkey_expired")
	wantError(t, "an answer for another user of the session", add(id.Caller{User: c.User, Session: bert.Session}, credential), errs.Invalid, "passkey_expired")
	if err := add(bert, credential); err != nil {
		t.Fatal(err)
	}
	wantError(t, "the same again", add(bert, credential), errs.Invalid, "passkey_expired")
	// An authenticator of an attacker may name the credential of somebody else.
	taken := device.Passkeys[len(device.Passkeys)-1].ID
	device.Change = func(a *passkeytest.Answer) { a.ID = taken }
	_, err = r.addPasskey(c, &passkeytest.Authenticator{Origin: chatPage, Change: device.Change}, "phone")
	wantError(t, "a credential of another user", err, errs.Conflict, "passkey_exists")
	login, err := r.StartPasskeyLogin(onPage)
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Challenge string }
	if err := json.Unmarshal([]byte(login.Options), &o); err != nil {
		t.Fatal(err)
	}
	device.Change = func(a *passkeytest.Answer) { a.Challenge = o.Challenge }
	_, err = r.addPasskey(c, device, "phone")
	wantError(t, "the challenge of a login", err, errs.Invalid, "passkey_expired")
	// What it says of itself is not checked: no statement was asked for.
	device = &passkeytest.Authenticator{Origin: chatPage, Change: func(a *passkeytest.Answer) { a.Format, a.Statement = "packed", "\xa1\x63alg\x26" }}
	if _, err := r.addPasskey(c, device, "phone"); err != nil {
		t.Errorf("a passkey with a statement: %v", err)
	}
}

// TestSizesOfRSAKeys: a key of 65,536 bits costs two seconds of a processor in each login.
func TestSizesOfRSAKeys(t *testing.T) {
	r := open(t, ofPasskeys)
	_, c := r.register("anna")
	for bits, ok := range map[int]bool{1024: false, 2048: true, 4096: true, 4104: false, 65_536: false} {
		n := bits / 8
		modulus := bytes.Repeat([]byte{0xff}, n)
		device := &passkeytest.Authenticator{Origin: chatPage, Change: func(a *passkeytest.Answer) {
			a.Key = append([]byte("\xa4\x01\x03\x03\x39\x01\x00\x20\x59"), byte(n>>8), byte(n))
			a.Key = append(append(a.Key, modulus...), "\x21\x43\x01\x00\x01"...)
		}}
		_, err := r.addPasskey(c, device, "phone")
		if ok && err != nil {
			t.Errorf("%d bits: %v", bits, err)
		}
		if !ok {
			wantError(t, fmt.Sprint(bits, " bits"), err, errs.Invalid, "bad_passkey")
		}
	}
}

// TestPasskeyChallengesWorkOnce, also if several logins use one at the same time, and for 5 minutes.
func TestPasskeyChallengesWorkOnce(t *testing.T) {
	place := sqltest.Place(t)
	r := openOn(t, place, 1, ofPasskeys, nil)
	other := openOn(t, place, 2, ofPasskeys, nil)
	_, device, _ := r.newPasskey("anna")
	device.Passkeys[0].NoCount = true
	credential := r.passkeyAnswer(device)
	results := make([]error, 4)
	var wait sync.WaitGroup
	for n := range results {
		node := []*fixture{r, other}[n%2]
		wait.Go(func() { _, results[n] = node.loginWithPasskey(credential) })
	}
	wait.Wait()
	accepted := 0
	for _, err := range results {
		if err == nil {
			accepted++
		} else {
			wantError(t, "one too many", err, errs.Unauthenticated, "passkey_expired")
		}
	}
	if accepted != 1 {
		t.Errorf("%d of four logins with one answer were accepted", accepted)
	}
	late := r.passkeyAnswer(device)
	if _, err := other.loginWithPasskey(r.passkeyAnswer(device)); err != nil {
		t.Errorf("a challenge of another node: %v", err)
	}
	r.clock.advance(5*time.Minute + time.Millisecond)
	_, err := r.loginWithPasskey(late)
	wantError(t, "an expired challenge", err, errs.Unauthenticated, "passkey_expired")
	r.clock.advance(2 * time.Hour)
	if err := r.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.count(`SELECT count(*) FROM taken_tickets`); n != 0 {
		t.Errorf("%d used challenges remain", n)
	}
}

// TestCountersOfPasskeysRise: one that does not may have been copied.
func TestCountersOfPasskeysRise(t *testing.T) {
	r := open(t, ofPasskeys)
	_, device, _ := r.newPasskey("anna")
	for n, step := range []struct {
		count    uint32
		accepted bool
	}{{0, true}, {0, true}, {7, true}, {7, false}, {6, false}, {0, false}, {8, true}, {1<<32 - 1, true}} {
		device.Change = func(a *passkeytest.Answer) { a.Count = step.count }
		s, err := r.loginWithPasskey(r.passkeyAnswer(device))
		if step.accepted && (err != nil || s.AccessToken == "") {
			t.Errorf("login %d with count %d: %v", n, step.count, err)
		}
		if !step.accepted {
			wantError(t, fmt.Sprintf("login %d with count %d", n, step.count), err, errs.Unauthenticated, "passkey_copied")
		}
	}
	if n := r.count(`SELECT count(*) FROM sessions`); n != 6 {
		t.Errorf("there are %d sessions, want 6: those of the registration and of accepted logins", n)
	}
}

// TestBackedUpPasskeys: whether one is backed up may change, whether it can be may not.
func TestBackedUpPasskeys(t *testing.T) {
	r := open(t, ofPasskeys)
	_, c := r.register("anna")
	device := &passkeytest.Authenticator{Origin: chatPage, Change: func(a *passkeytest.Answer) { a.Flags |= passkeytest.BackupEligible }}
	if p, err := r.addPasskey(c, device, "phone"); err != nil || p.BackedUp {
		t.Fatalf("the passkey is %v (%v)", p, err)
	}
	for _, backedUp := range []bool{true, false} {
		device.Change = func(a *passkeytest.Answer) {
			if backedUp {
				a.Flags |= passkeytest.BackedUp
			}
		}
		if _, err := r.loginWithPasskey(r.passkeyAnswer(device)); err != nil {
			t.Fatal(err)
		}
		if list, err := r.ListPasskeys(t.Context(), c); err != nil || len(list.Passkeys) != 1 || list.Passkeys[0].BackedUp != backedUp {
			t.Errorf("the passkeys are %v (%v), want one that is backed up: %v", list, err, backedUp)
		}
	}
	device.Change = func(a *passkeytest.Answer) { a.Flags &^= passkeytest.BackupEligible | passkeytest.BackedUp }
	_, err := r.loginWithPasskey(r.passkeyAnswer(device))
	wantError(t, "one that cannot be backed up any more", err, errs.Unauthenticated, "bad_passkey")
}

// TestMostPasskeys of an account, also if several are added at the same time.
func TestMostPasskeys(t *testing.T) {
	r := open(t, ofPasskeys)
	_, c := r.register("anna")
	var credentials []string
	for range 22 {
		started, err := r.StartPasskey(t.Context(), c, onPage)
		if err != nil {
			t.Fatal(err)
		}
		credential, err := (&passkeytest.Authenticator{Origin: chatPage}).Create(started.Options)
		if err != nil {
			t.Fatal(err)
		}
		credentials = append(credentials, credential)
	}
	results := make([]error, len(credentials))
	var wait sync.WaitGroup
	for n, credential := range credentials {
		wait.Go(func() {
			_, results[n] = r.AddPasskey(t.Context(), c, onPage, &accountv1.AddPasskeyRequest{Name: "phone", Credential: credential})
		})
	}
	wait.Wait()
	refused := 0
	for _, err := range results {
		if err != nil {
			wantError(t, "one too many", err, errs.Exhausted, "too_many_passkeys")
			refused++
		}
	}
	if refused != 2 || r.count(`SELECT count(*) FROM passkeys`) != 20 {
		t.Errorf("%d of 22 passkeys were refused, want 2", refused)
	}
	_, err := r.StartPasskey(t.Context(), c, onPage)
	wantError(t, "the options of one too many", err, errs.Exhausted, "too_many_passkeys")
}

// TestWherePasskeysWork: at the configured origins, or else at localhost.
func TestWherePasskeysWork(t *testing.T) {
	for n, test := range []struct {
		origins []string
		page    account.Page
		domain  string // "": refused
	}{
		{nil, account.Page{Origin: "http://localhost:7070"}, "localhost"},
		{nil, account.Page{Address: "http://localhost:7070"}, "localhost"},
		{nil, account.Page{}, "localhost"}, // a call of a socket
		{nil, account.Page{Origin: "https://localhost", Address: "http://10.0.0.1:80"}, "localhost"},
		{nil, account.Page{Origin: "http://127.0.0.1:7070", Address: "http://localhost"}, ""},
		{nil, account.Page{Address: "http://127.0.0.1:7070"}, ""},
		{nil, account.Page{Origin: "https://chat.example.com"}, ""},
		{nil, account.Page{Origin: "http://localhost.evil.example"}, ""},
		{[]string{chatPage}, account.Page{Origin: chatPage}, "chat.example.com"},
		{[]string{chatPage}, account.Page{Address: "http://10.0.0.1"}, "chat.example.com"}, // no page
		{[]string{chatPage}, account.Page{Origin: "https://example.com", Address: chatPage}, ""},
		{[]string{chatPage}, account.Page{Origin: "http://localhost:7070"}, ""},
		{[]string{"https://example.com", chatPage, "android:apk-key-hash:AAAA"}, account.Page{Origin: chatPage}, "example.com"},
	} {
		r := open(t, account.Config{PasskeyOrigins: test.origins})
		started, err := r.StartPasskeyLogin(test.page)
		if test.domain == "" {
			wantError(t, fmt.Sprintf("case %d", n), err, errs.Denied, "passkeys_unavailable")
		} else if err != nil || !strings.Contains(started.Options, `"rpId":"`+test.domain+`"`) || started.ExpiresMs != r.clock.Now().Add(5*time.Minute).UnixMilli() {
			t.Errorf("case %d: got %v (%v), want the domain %s", n, started, err, test.domain)
		}
		if got := r.LoginMethods(test.page).Passkeys; got != (test.domain != "") {
			t.Errorf("case %d: a form offers passkeys: %v", n, got)
		}
	}
	for _, bad := range [][]string{{"chat.example.com"}, {"http://chat.example.com"}, {"https://10.0.0.1"}, {"https://[::1]"}, {"https://chat.example.com/"}, {"https://Chat.example.com"}, {"https://"}, {"*"}, {""},
		{"android:apk-key-hash:AAAA"}, {chatPage, "android:apk-key-hash:"}, {chatPage, "https://example.com"}, {chatPage, "https://evilchat.example.com"}} {
		if err := (account.Config{PasskeyOrigins: bad}).Check(); err == nil || !strings.Contains(err.Error(), "account.passkey_origins") {
			t.Errorf("origins %q: %v", bad, err)
		}
	}
}

// TestPasskeysOfLocalhost work on all of its ports, and of an app where its key is configured.
func TestPasskeysOfLocalhost(t *testing.T) {
	for _, test := range []struct {
		origins []string
		from    string
		ok      bool
	}{
		{nil, "http://localhost:5173", true}, {nil, "http://127.0.0.1:5173", false}, {nil, "http://localhost.evil.example", false}, {nil, "android:apk-key-hash:AAAA", false},
		{[]string{chatPage, "android:apk-key-hash:AAAA"}, "android:apk-key-hash:AAAA", true}, {[]string{chatPage, "android:apk-key-hash:AAAA"}, "android:apk-key-hash:AAAB", false},
	} {
		r := open(t, account.Config{PasskeyOrigins: test.origins})
		_, c := r.register("anna")
		started, err := r.StartPasskey(t.Context(), c, account.Page{})
		if err != nil {
			t.Fatal(err)
		}
		credential, err := (&passkeytest.Authenticator{Origin: test.from}).Create(started.Options)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.AddPasskey(t.Context(), c, account.Page{}, &accountv1.AddPasskeyRequest{Name: "phone", Credential: credential})
		if test.ok && err != nil {
			t.Errorf("%q of %v: %v", test.from, test.origins, err)
		}
		if !test.ok {
			wantError(t, test.from, err, errs.Invalid, "bad_passkey")
		}
	}
}

// TestNoticesOfPasskeys: the user is told by email when one is added or removed, and the password still works and can be reset.
func TestNoticesOfPasskeys(t *testing.T) {
	p := openPost(t)
	c := p.registerWithEmail("anna")
	device := &passkeytest.Authenticator{Origin: chatPage}
	passkey, err := p.addPasskey(c, device, "phone")
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := p.mail("anna@example.org"); !strings.Contains(m.Text, "a passkey was added") || !strings.Contains(m.Text, "remove the passkeys that are not yours") {
		t.Errorf("the notice is %q", m.Text)
	}
	if err := p.RemovePasskey(t.Context(), c, passkey.Id); err != nil {
		t.Fatal(err)
	}
	if m, _ := p.mail("anna@example.org"); !strings.Contains(m.Text, "a passkey was removed") {
		t.Errorf("the notice is %q", m.Text)
	}
	if err := p.request("anna"); err != nil {
		t.Fatal(err)
	}
	if _, code := p.mail("anna@example.org"); p.reset("anna", code) != nil {
		t.Error("the password of a user without passkeys cannot be reset")
	}
}

// TestPasskeyLoginsAreLimited by user and address. A known device has a limit of its own.
func TestPasskeyLoginsAreLimited(t *testing.T) {
	config := ofPasskeys
	config.LoginsPerMinute = 3
	r := open(t, config)
	s, c := r.register("anna")
	device := &passkeytest.Authenticator{Origin: chatPage}
	if _, err := r.addPasskey(c, device, "phone"); err != nil {
		t.Fatal(err)
	}
	device.Change = func(a *passkeytest.Answer) { a.Domain = "evil.example" }
	for range 3 {
		_, err := r.loginWithPasskey(r.passkeyAnswer(device))
		wantError(t, "a guess", err, errs.Unauthenticated, "bad_passkey")
	}
	_, err := r.loginWithPasskey(r.passkeyAnswer(device))
	wantError(t, "one too many", err, errs.Exhausted, "too_many_logins")
	device.Change = nil
	known := &accountv1.Client{Device: s.Device, DeviceKey: s.DeviceKey}
	if _, err := r.LoginWithPasskey(t.Context(), onPage, &accountv1.LoginWithPasskeyRequest{Credential: r.passkeyAnswer(device), Client: known}); err != nil {
		t.Errorf("a known device: %v", err)
	}
	_, err = r.LoginWithPasskey(t.Context(), onPage, &accountv1.LoginWithPasskeyRequest{Credential: r.passkeyAnswer(device), Client: &accountv1.Client{Name: "a\nb"}})
	wantError(t, "a bad client", err, errs.Invalid, "bad_client")
}
