package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"google.golang.org/protobuf/proto"
)

// ofSecurity has the rows of the calls that change how an account is protected.
func ofSecurity() map[string]row {
	return map[string]row{
		accounts + "RequestPasswordReset":  all("no_delivery", func(subject) proto.Message { return &accountv1.RequestPasswordResetRequest{} }),
		accounts + "ResetPassword":         all("bad_code", func(subject) proto.Message { return &accountv1.ResetPasswordRequest{NewPassword: "another good one"} }),
		accounts + "SetContact":            all("no_delivery", func(subject) proto.Message { return &accountv1.SetContactRequest{} }),
		accounts + "VerifyContact":         all("bad_code", func(subject) proto.Message { return &accountv1.VerifyContactRequest{} }),
		accounts + "RemoveContact":         all("no_contact", func(subject) proto.Message { return &accountv1.RemoveContactRequest{} }),
		accounts + "LoginWithSecondFactor": own(func(subject) proto.Message { return &accountv1.LoginWithSecondFactorRequest{} }),
		accounts + "GetSecurity":           own(func(subject) proto.Message { return &accountv1.GetSecurityRequest{} }),
		accounts + "ConfirmIdentity": {request: func(subject) proto.Message {
			return &accountv1.ConfirmIdentityRequest{Password: "a wrong one"}
		}, owner: "no_password", member: "no_password", former: "no_password", outsider: "no_password", server: "no_session"}, // they log in by the app's server
		accounts + "StartTotp":           own(func(subject) proto.Message { return &accountv1.StartTotpRequest{} }),
		accounts + "ConfirmTotp":         all("no_totp", func(subject) proto.Message { return &accountv1.ConfirmTotpRequest{Code: "000000"} }),
		accounts + "RemoveTotp":          all("no_totp", func(subject) proto.Message { return &accountv1.RemoveTotpRequest{} }),
		accounts + "StartPasskeyLogin":   own(func(subject) proto.Message { return &accountv1.StartPasskeyLoginRequest{} }),
		accounts + "LoginWithPasskey":    all("bad_passkey", func(subject) proto.Message { return &accountv1.LoginWithPasskeyRequest{} }),
		accounts + "ListPasskeys":        own(func(subject) proto.Message { return &accountv1.ListPasskeysRequest{} }),
		accounts + "StartPasskey":        own(func(subject) proto.Message { return &accountv1.StartPasskeyRequest{} }),
		accounts + "AddPasskey":          all("bad_passkey", func(subject) proto.Message { return &accountv1.AddPasskeyRequest{Name: "phone"} }),
		accounts + "RenamePasskey":       all("no_passkey", func(subject) proto.Message { return &accountv1.RenamePasskeyRequest{Name: "phone"} }),
		accounts + "RemovePasskey":       all("no_passkey", func(subject) proto.Message { return &accountv1.RemovePasskeyRequest{} }),
		accounts + "CreateRecoveryCodes": all("no_totp", func(subject) proto.Message { return &accountv1.CreateRecoveryCodesRequest{} }),
	}
}

// TestThePageOfACallDecidesAboutPasskeys: its origin, or else the address of the request. Without a setting that is localhost.
func TestThePageOfACallDecidesAboutPasskeys(t *testing.T) {
	h := newHarness(t)
	for n, test := range []struct {
		host, origin string
		works        bool
	}{{"localhost:7070", "", true}, {"127.0.0.1:7070", "", false}, {"10.0.0.1", "http://localhost:7070", true}, {"localhost:7070", "https://chat.example.com", false}} {
		post := func(call string) answer {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, accounts+call, strings.NewReader("{}"))
			r.Host = test.host
			r.Header.Set("Content-Type", asJSON)
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			return answer{w.Code, w.Header(), w.Body.String()}
		}
		want := "passkeys_unavailable"
		if test.works {
			want = ""
		}
		if got := post("StartPasskeyLogin").reason(); got != want {
			t.Errorf("case %d: got the reason %q, want %q", n, got, want)
		}
		var methods accountv1.LoginMethods
		h.into(&methods, post("GetLoginMethods"))
		if methods.Passkeys != test.works {
			t.Errorf("case %d: a form offers passkeys: %v", n, methods.Passkeys)
		}
	}
}
