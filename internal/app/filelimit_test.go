package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
)

// File requests in progress are limited for each address and in all. Each that ends frees a slot.
func TestFileRequestsAreLimited(t *testing.T) {
	h := &Node{config: &config.Config{}, fileRequests: inputlimit.NewConnections(2, 3)}
	began, end := make(chan struct{}), make(chan struct{})
	handler := h.limitFileRequests(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		began <- struct{}{}
		<-end
		w.WriteHeader(http.StatusNoContent)
	}))
	answers := make(chan int, 10)
	ask := func(from string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/media/1", nil)
		r.RemoteAddr = from + ":1"
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
			t.Error("the refusal lacks Retry-After")
		}
		answers <- w.Code
	}
	starts := func(from string, fits bool) {
		t.Helper()
		go ask(from)
		select {
		case <-began:
			if !fits {
				t.Errorf("from %s: a request above the limit was served", from)
			}
		case code := <-answers:
			if fits || code != http.StatusServiceUnavailable {
				t.Errorf("from %s: got status %d, want it served: %v", from, code, fits)
			}
		}
	}
	starts("192.0.2.1", true)
	starts("192.0.2.1", true)
	starts("192.0.2.1", false)
	starts("192.0.2.2", true)
	starts("192.0.2.3", false) // the total is three
	end <- struct{}{}
	if code := <-answers; code != http.StatusNoContent {
		t.Errorf("status %d, want %d", code, http.StatusNoContent)
	}
	starts("192.0.2.3", true)
	close(end)
	for range 3 {
		<-answers
	}
	if h.fileRequests.Count() != 0 || h.fileRequests.Refused() != 2 {
		t.Errorf("%d are counted, %d were refused", h.fileRequests.Count(), h.fileRequests.Refused())
	}
}
