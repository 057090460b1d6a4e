package apiclient_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"google.golang.org/protobuf/proto"
)

func call(t *testing.T, c apiclient.Config) error {
	t.Helper()
	client, err := apiclient.New(c)
	if err != nil {
		return err
	}
	return client.Call(t.Context(), "/rialto.id.v1.IDService/Ping", &idv1.PingRequest{}, &idv1.PingResponse{})
}

// TestTheKeyIsNotSentAsPlainText: neither to the address that was given, nor to one that a server redirects to, unless the operator allows it.
func TestTheKeyIsNotSentAsPlainText(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "http://other."+r.Host+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	here := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for address, requests := range map[string]int{"http://chat.example.com": 0, "http://10.0.0.5:7070": 0, "chat.example.com": 0, here: 1} {
		asked = 0
		err := call(t, apiclient.Config{URL: address, Key: "key", Patience: apiclient.DefaultPatience})
		if err == nil || !strings.Contains(err.Error(), "https://") || asked != requests {
			t.Errorf("%s, asked %d times: %v", address, asked, err)
		}
	}
	for address, want := range map[string]string{"http://chat.example.com": "", "http://10.0.0.5:7070": "", "http://192.0.2.1": "not the address", "http://user:word@chat.example.com": "without credentials", "ftp://chat.example.com": "https://"} {
		c := apiclient.Config{URL: address, Key: "key", PlainHTTP: true}
		if err := c.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s, with --plain-http: %v, want %q", address, err, want)
		}
	}
}

// TestKeysComeFromFiles: without the line's end, and what is no key is refused before it is sent.
func TestKeysComeFromFiles(t *testing.T) {
	var key string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { key = r.Header.Get("Authorization") }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for content, want := range map[string]string{"rk_good\n": "", " rk_good \r\n": "", "": "is not one key", "rk_a\nrk_b\n": "is not one key", strings.Repeat("k", 5000): "is not one key"} {
		file := filepath.Join(dir, "key")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		key = ""
		err := call(t, apiclient.Config{URL: server.URL + "/", Key: "@" + file})
		if want == "" && (err != nil || key != "Bearer rk_good") || want != "" && (err == nil || !strings.Contains(err.Error(), want) || key != "") {
			t.Errorf("a file with %.20q: %v, and %q is sent", content, err, key)
		}
	}
	if err := call(t, apiclient.Config{URL: server.URL, Key: "@" + filepath.Join(dir, "absent")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := call(t, apiclient.Config{URL: server.URL, Key: filepath.Join(dir, "key")}); err == nil || !strings.Contains(err.Error(), "write @") {
		t.Errorf("the name of a file without @: %v", err)
	}
}

// TestNoServer: the error of an address at which no server listens names the address, and says what to do.
func TestNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := call(t, apiclient.Config{URL: server.URL, Key: "key", Patience: apiclient.DefaultPatience})
	if err == nil || !strings.Contains(err.Error(), server.URL) || !strings.Contains(err.Error(), "start it, or give its address with --url") {
		t.Errorf("no server: %v", err)
	}
}

// answers is a server that gives one answer after the other; the last one again and again.
func answers(t *testing.T, asked *int, list ...func(w http.ResponseWriter)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f := list[min(*asked, len(list)-1)]
		*asked++
		f(w)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func refuses(status int, code, reason string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		detail := ""
		if reason != "" {
			b, err := proto.Marshal(&gatewayv1.Error{Reason: reason})
			if err != nil {
				panic(err)
			}
			detail = fmt.Sprintf(`,"details":[{"type":"rialto.gateway.v1.Error","value":%q}]`, base64.RawStdEncoding.EncodeToString(b))
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"message":"the server's words"%s}`, code, detail)
	}
}

// The advice of the server on how to make a key gives way to that of the command, which knows the key that it needs.
func TestARefusalNamesOneCommand(t *testing.T) {
	for said, want := range map[string]string{
		"this needs a role: rialto admin key create --role auditor":            "this needs a role",
		"this key is for the console; make another by rialto admin key create": "this key is for the console",
		"rialto admin key create": "rialto admin key create",
		"one; two: three":         "one; two: three",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			fmt.Fprintf(w, `{"code":"permission_denied","message":%q}`, said)
		}))
		t.Cleanup(server.Close)
		err := call(t, apiclient.Config{URL: server.URL, Key: "key", Access: "--role operator"})
		if want := "this key may not do that: " + want + "; make another with: rialto admin key create --role operator --name NAME"; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
	}
}

// TestCallsAreRepeatedWhileTheServerIsBusy: other refusals are not, and say what to do. A call that must not be made twice is made once.
func TestCallsAreRepeatedWhileTheServerIsBusy(t *testing.T) {
	busy, done := refuses(503, "unavailable", ""), func(http.ResponseWriter) {}
	for name, test := range map[string]struct {
		list    []func(http.ResponseWriter)
		calls   int
		want    string
		refused bool
	}{
		"busy":        {[]func(http.ResponseWriter){busy, refuses(429, "resource_exhausted", "too_many_requests"), done}, 3, "", false},
		"refusal":     {[]func(http.ResponseWriter){refuses(400, "invalid_argument", "bad_text")}, 1, "the server's words", true},
		"unknown key": {[]func(http.ResponseWriter){refuses(401, "unauthenticated", "bad_token")}, 1, "does not accept this key; make one with: rialto admin key create --role operator --name NAME", false},
		"weak key":    {[]func(http.ResponseWriter){refuses(403, "permission_denied", "no_role")}, 1, "the server's words; make another with: rialto admin key create --role operator", false},
		"listener":    {[]func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(404) }}, 1, "404", false},
	} {
		asked := 0
		err := call(t, apiclient.Config{URL: answers(t, &asked, test.list...), Key: "key", Access: "--role operator", Patience: apiclient.DefaultPatience})
		var e *apiclient.Error
		if asked != test.calls || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || test.refused != (errors.As(err, &e) && e.IsRefused()) {
			t.Errorf("%s: %d calls, want %d; %v, want %q", name, asked, test.calls, err, test.want)
		}
	}
	asked := 0
	client, err := apiclient.New(apiclient.Config{URL: answers(t, &asked, busy, done), Key: "key", Patience: apiclient.DefaultPatience})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CallOnce(t.Context(), "/p", &idv1.PingRequest{}, &idv1.PingResponse{}); err == nil || asked != 1 {
		t.Errorf("a call that must not be made twice: %d calls, %v", asked, err)
	}
}
