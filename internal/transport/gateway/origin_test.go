package gateway

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"golang.org/x/time/rate"
)

// TestSocketsOfRefusedOriginsAreLogged, so that an operator sees which origin to allow.
func TestSocketsOfRefusedOriginsAreLogged(t *testing.T) {
	var lines bytes.Buffer
	s := &Server{deps: Deps{Logger: slog.New(slog.NewTextHandler(&lines, nil))}, config: Config{Origins: []string{"https://app.example.com"}, MaxConnections: 1}, refusedOrigins: rate.Sometimes{First: 1}}
	for origin, refused := range map[string]bool{"https://app.example.com": false, "http://example.com": false, "https://evil.example": true} {
		lines.Reset()
		r := httptest.NewRequest("GET", "http://example.com/v1/socket", nil)
		r.Header.Set("Upgrade", "websocket")
		r.Header.Set("Origin", origin)
		if err := s.checkHandshake(r); (err != nil) != refused {
			t.Errorf("%s: error %v, want an error %v", origin, err, refused)
		} else if err != nil && strings.Contains(errs.Of(err).Message, "evil") {
			t.Errorf("the refusal repeats what the client sent: %v", err)
		}
		if logged := strings.Contains(lines.String(), "origin="+origin); logged != refused {
			t.Errorf("%s: logged %q", origin, &lines)
		}
	}
}
