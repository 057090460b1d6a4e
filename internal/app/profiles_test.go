package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProfilesAreNotForOtherPages: a page of another site starts no profile in an operator's browser, also if its name leads to this listener.
func TestProfilesAreNotForOtherPages(t *testing.T) {
	handler := withoutOtherPages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "node1.example.com")
	for _, c := range []struct {
		host, site string
		want       int
	}{
		{"127.0.0.1:7071", "", 200}, {"10.0.0.1:7071", "none", 200}, {"[::1]:7071", "same-origin", 200}, {"localhost:7071", "", 200}, {"node1.example.com:7071", "", 200}, {"node1.example.com", "", 200},
		{"127.0.0.1:7071", "cross-site", 403}, {"127.0.0.1:7071", "same-site", 403}, {"evil.example:7071", "same-origin", 403}, {"evil.example", "", 403}, {"", "", 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/profile", nil)
		if r.Host = c.host; c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("a request to %q from %q is answered with %d, want %d", c.host, c.site, w.Code, c.want)
		}
	}
}
