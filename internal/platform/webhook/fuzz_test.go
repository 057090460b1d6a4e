package webhook_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

// FuzzReviews: whatever a webhook answers, a content is stored only if the answer says so, and what people are told of it is a short line of text.
func FuzzReviews(f *testing.F) {
	for _, body := range []string{`{"allow":true}`, `{"allow":true,"text":"x"}`, `{"allow":false,"reason":"no"}`, `{"hold":true,"reason":"\u0000 a\nb\u009b\u2028"}`, `{"allow":true,"hold":true}`, `{"allow":null}`,
		`{"allow":"true"}`, `{}`, `[]`, `null`, `true`, ``, `{"allow":true}x`, `{"allow":true,"allow":false}`, "\xff", `{"allow":true,"text":"\ud800"}`} {
		f.Add(uint16(http.StatusOK), body)
	}
	f.Add(uint16(http.StatusFound), `{"allow":true}`)
	f.Add(uint16(http.StatusNoContent), ``)
	var mu sync.Mutex // guards what the server answers
	var status int
	var answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer) // a status may have no body
	}))
	f.Cleanup(server.Close)
	quiet := slog.New(slog.DiscardHandler)
	calls := outgoing.NewWith(quiet, func(outgoing.Kind) outgoing.Policy { return outgoing.Policy{OpenFor: 1} }) // the answers open its circuit, and each call is a probe
	config := webhook.ReviewConfig{Config: webhook.Config{URL: server.URL, Secret: secret, Timeout: time.Minute}, NotChecked: "not known", Refused: "refused"}
	r, err := webhook.NewReviewer(config, webhook.Kind{Kind: outgoing.CodeWebhook, Calls: calls}, clock.System{}, quiet)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code uint16, body string) {
		mu.Lock()
		status, answer = 200+(int(code)+200)%400, body // a status of the seeds is itself
		mu.Unlock()
		used := false
		hold, err := r.Review(t.Context(), func(context.Context) (any, error) { return 1, nil }, func(*webhook.Verdict) error { used = true; return nil })
		told := hold
		if e := errs.Of(err); err != nil {
			told = e.Message
		}
		if outgoing.IsRefused(err) {
			t.Fatal("the webhook was not asked")
		}
		if used && (err != nil || hold != "") {
			t.Errorf("%d %q: the answer is used, and the content is not stored: %q, %v", status, body, hold, err)
		}
		if isStored := err == nil && hold == ""; isStored && (status > 299 || !json.Valid([]byte(body)) || !strings.Contains(strings.ToLower(body), "true")) {
			t.Errorf("%d %q: the content is stored", status, body)
		}
		if utf8.RuneCountInString(told) > 200 || !utf8.ValidString(told) || strings.ContainsFunc(told, unicode.IsControl) || strings.ContainsAny(told, "\u2028\u2029") {
			t.Errorf("%d %q: somebody is told %q", status, body, told)
		}
	})
}
