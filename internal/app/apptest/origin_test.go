package apptest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// A page reads answers and sends tokens only if the operator allowed its origin.
func TestPagesOfOtherOrigins(t *testing.T) {
	const ours, evil = "https://app.example.com", "https://evil.example"
	for what, c := range map[string]struct {
		allowed []string
		origins map[string]bool
	}{
		"none": {nil, map[string]bool{ours: false, evil: false, "null": false}},
		"one":  {[]string{ours}, map[string]bool{ours: true, evil: false, "null": false, "http://app.example.com": false, ours + ".evil.example": false, ours + ":444": false, "https://evil.app.example.com": false, strings.ToUpper(ours): false, "": false}},
		"any":  {[]string{"*"}, map[string]bool{ours: true, evil: true, "": false}},
	} {
		t.Run(what, func(t *testing.T) {
			h := apptest.Open(t, func(set *config.Config) { set.Gateway.Origins = c.allowed })
			alice := h.Register(t, "alice")
			upload, err := chatv1connect.NewMediaServiceClient(h.HTTP, h.URL).CreateUpload(t.Context(), apptest.As(alice, &chatv1.CreateUploadRequest{Name: "x", Size: 1}))
			if err != nil {
				t.Fatal(err)
			}
			paths := map[string]string{"/rialto.chat.v1.ChatService/ListConversations": http.MethodPost, "/rialto.account.v1.AccountService/Login": http.MethodPost, upload.Msg.Url: http.MethodGet}
			for origin, allowed := range c.origins {
				for path, method := range paths {
					for _, preflight := range []bool{true, false} {
						header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + alice.AccessToken}}
						if origin != "" {
							header.Set("Origin", origin)
						}
						m := method
						if preflight {
							m, header = http.MethodOptions, http.Header{"Origin": {origin}, "Access-Control-Request-Method": {method}, "Access-Control-Request-Headers": {"authorization"}}
						}
						res := ask(t, m, h.URL+path, header)
						allow := res.Header.Get("Access-Control-Allow-Origin")
						if allowed && allow != origin || !allowed && allow != "" || res.Header.Get("Access-Control-Allow-Credentials") != "" {
							t.Errorf("%s %s from origin %q: got %d %v", m, path, origin, res.StatusCode, res.Header)
						}
						if preflight && allowed != (res.StatusCode == http.StatusNoContent && strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Authorization")) {
							t.Errorf("preflight from origin %q for %s: got %d %v", origin, path, res.StatusCode, res.Header)
						}
						// A cached answer for one origin must not be used for another.
						if len(c.allowed) > 0 && !strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Origin") {
							t.Errorf("%s %s from origin %q: got no Vary: Origin: %v", m, path, origin, res.Header)
						}
					}
				}
			}
			// A form of another site sends the cookie, which must not count as a credential.
			for _, kind := range []string{"application/json", "text/plain", "application/x-www-form-urlencoded"} {
				res := ask(t, http.MethodPost, h.URL+"/rialto.account.v1.AccountService/Logout", http.Header{"Origin": {evil}, "Content-Type": {kind}, "Sec-Fetch-Site": {"cross-site"}, "Cookie": {"rialto_access=" + alice.AccessToken}})
				if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusUnsupportedMediaType {
					t.Errorf("%s with only a cookie: got status %d", kind, res.StatusCode)
				}
			}
			if res := ask(t, http.MethodPost, h.URL+"/rialto.account.v1.AccountService/ListSessions", http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + alice.AccessToken}}); res.StatusCode != http.StatusOK {
				t.Errorf("the session: got status %d", res.StatusCode)
			}
		})
	}
}

// ask makes a request with an empty JSON object, and reads the complete answer.
func ask(t *testing.T, method, url string, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res
}
