package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

const secret = "a secret of the operator"

func TestEveryRequestIsSigned(t *testing.T) {
	var wrong []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		want := "v1=" + webhook.Sign(secret, r.Header.Get("Rialto-Timestamp"), body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Rialto-Signature") != want || string(body) != `{"users":["1","2"]}` {
			wrong = append(wrong, r.Method+" "+string(body)+" "+r.Header.Get("Rialto-Signature"))
		}
		_, _ = w.Write([]byte(`{"allow":true,"more":1}`))
	}))
	defer server.Close()
	h, err := webhook.New(webhook.Config{URL: server.URL, Secret: secret}, webhook.Kind{Kind: outgoing.CodeWebhook}, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var out struct{ Allow bool }
	if err := h.Call(t.Context(), map[string]any{"users": []string{"1", "2"}}, &out); err != nil || !out.Allow {
		t.Errorf("answer %v, want it to allow; error %v", out, err)
	}
	if len(wrong) > 0 {
		t.Errorf("requests are not signed as they should be: %v", wrong)
	}
}

// The example of docs/webhooks.md.
func TestTheSignatureIsAsDocumented(t *testing.T) {
	if got := webhook.Sign("0123456789abcdef", "1700000000", []byte(`{"users":["1","2"]}`)); got != "18abb489d636940ccdba9d5e6fa2c3d7d4efeadfc4bb56efa3d571f94b2de528" {
		t.Errorf("got %q, want %q", got, "18abb489d636940ccdba9d5e6fa2c3d7d4efeadfc4bb56efa3d571f94b2de528")
	}
}

func TestBadAnswersAreErrors(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"allow":true}`, 500) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"allow":true,"more":"` + strings.Repeat("x", 1<<20) + `"}`))
		},
		"empty": func(http.ResponseWriter, *http.Request) {},
		"late": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client has gone
			<-r.Context().Done()
		},
	} {
		server := httptest.NewServer(answer)
		h, err := webhook.New(webhook.Config{URL: server.URL, Secret: secret, Timeout: 300 * time.Millisecond}, webhook.Kind{Kind: outgoing.CodeWebhook}, clock.System{})
		if err != nil {
			t.Fatal(err)
		}
		var out struct{ Allow bool }
		if err := h.Call(t.Context(), 1, &out); err == nil || out.Allow {
			t.Errorf("%s: answer %v, error %v; want an error", name, out, err)
		} else if name == "late" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a late answer: got %v", err)
		}
		h.Close()
		server.CloseClientConnections()
		server.Close()
	}
}

func TestConfigurations(t *testing.T) {
	for url, fine := range map[string]bool{
		"": true, "https://example.com/x": true, "http://127.0.0.1:80/x": true, "http://localhost/": true, "http://[::1]/": true,
		"http://example.com/": false, "ftp://example.com/": false, "example.com": false, "https://": false, "https://user:pass@example.com/": false, "http://127.0.0.1.example.com/": false,
		"https://169.254.169.254/latest": false, "https://[fe80::1]/": false, "https://2130706433/": false, "https://127.1/": false, "https://10.0.0.1/": true, "file://localhost/etc/passwd": false,
	} {
		if err := (webhook.Config{URL: url, Secret: secret}).Check(); (err == nil) != fine {
			t.Errorf("%q: error %v, want success %v", url, err, fine)
		}
	}
	for _, c := range []webhook.Config{{URL: "https://example.com", Secret: "short"}, {URL: "https://example.com", Secret: secret, Timeout: time.Hour}, {URL: "https://example.com", Secret: secret, Timeout: -1}} {
		if err := c.Check(); err == nil {
			t.Errorf("the configuration %+v is accepted", c)
		}
	}
}
