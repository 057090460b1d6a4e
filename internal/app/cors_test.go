package app

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRefusedOriginsAreLogged: an operator sees which origin to allow, and pages of the server itself, or of allowed origins, cause no line.
func TestRefusedOriginsAreLogged(t *testing.T) {
	var lines bytes.Buffer
	h := cors([]string{"https://app.example.com"}, http.NotFoundHandler(), slog.New(slog.NewTextHandler(&lines, nil)))
	ask := func(method, origin string) {
		r := httptest.NewRequest(method, "/rialto.chat.v1.ChatService/Sync", nil)
		r.Header.Set("Origin", origin)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	ask(http.MethodOptions, "https://app.example.com")
	ask(http.MethodPost, "http://example.com") // the server's own page, or a page whose preflight was answered
	if lines.Len() > 0 {
		t.Errorf("logged %s", &lines)
	}
	ask(http.MethodOptions, "https://evil.example")
	if text := lines.String(); !strings.Contains(text, "gateway.origins") || !strings.Contains(text, "origin=https://evil.example") {
		t.Errorf("logged %q", text)
	}
	for range 1000 {
		ask(http.MethodOptions, "https://"+strings.Repeat("x", 8000))
	}
	if n := strings.Count(lines.String(), "\n"); n > 50 || lines.Len() > 50_000 {
		t.Errorf("1,001 requests wrote %d lines, %d bytes", n, lines.Len())
	}
}
