package where

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A key that is refused is named as such: the server's own words are for apps, whose users log in again.
func TestUnknownKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		if _, err := w.Write([]byte(`{"code":"unauthenticated","message":"the access token is not valid"}`)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	for key, want := range map[string]string{
		"wrong":                  "rialto where: the server does not accept this key; make one with: rialto admin key create --audit --name NAME\n",
		"@" + t.TempDir() + "/x": "rialto where: --key: open ",
	} {
		var out, errOut strings.Builder
		if code := Main(t.Context(), []string{"7/1", "--key", key, "--url", server.URL}, &out, &errOut); code != 1 || !strings.HasPrefix(errOut.String(), want) || out.Len() > 0 {
			t.Errorf("key %s: exit code %d, %q, %q; want 1 and %q", key, code, out.String(), errOut.String(), want)
		}
	}
}

// What is no message is refused before a server is asked, with both ways to name one. Ids may be in small letters.
func TestNamesOfMessages(t *testing.T) {
	for word, want := range map[string]int{"foo": 2, "7/x": 2, "F3ZM-VZDF-A226-2222": 1, "f3zm-vzdf-a226-2222": 1, "7/1": 1} {
		var out, errOut strings.Builder
		code := Main(t.Context(), []string{word, "--key", "key", "--url", "http://127.0.0.1:1"}, &out, &errOut)
		if code != want || code == 2 && !strings.Contains(errOut.String(), "CONVERSATION/SEQ") {
			t.Errorf("%s: exit code %d, %q", word, code, &errOut)
		}
	}
}
