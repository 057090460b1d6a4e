package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/overload"
)

// In a storm, clients that come back are admitted, and those that start from nothing are asked to come later, spread over time. Without a crowd, or with few who
// come back, all are admitted.
func TestClientsThatComeBackGoFirst(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	pacing := true
	s.deps.PacingAccepts = func() bool { return pacing }
	admitted := func(address string) bool {
		return s.admitInStorm(httptest.NewRequest(http.MethodGet, address, nil)) == nil
	}
	for range overload.StormResumes - 1 {
		if !admitted("/v1/socket?resume=1") {
			t.Fatal("a client that comes back is refused")
		}
	}
	if !admitted("/v1/socket") {
		t.Error("a client is refused that starts from nothing, without a storm")
	}
	s.now.Add(1) // those of the second before count
	if !admitted("/v1/socket?resume=1") {
		t.Error("a client that comes back is refused in a storm")
	}
	if admitted("/v1/socket") || admitted("/v1/socket?resume=0") {
		t.Error("a client that starts from nothing is admitted in a storm")
	}
	pacing = false
	if !admitted("/v1/socket") {
		t.Error("a client is refused although the node keeps up")
	}
	pacing = true
	s.now.Add(2)
	if !admitted("/v1/socket") {
		t.Error("a client is refused after the storm")
	}
	if n := s.stats.Deferred.Load(); n != 2 {
		t.Errorf("%d are counted as deferred, want 2", n)
	}
}

// someone is whom any token authenticates.
type someone struct{ Accounts }

func (someone) Verify(context.Context, string) (id.Caller, error) { return id.Caller{User: 7}, nil }

// Clients that are refused at once are asked to come back at different times.
func TestRefusalsSpreadOverTime(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	s.deps.Accounts, s.deps.PacingAccepts = someone{}, func() bool { return true }
	for range overload.StormResumes {
		s.storm.Admit(s.now.Load(), true, true)
	}
	open := func(full bool) (reason string, retry int) {
		s.stats.Connections.Store(0)
		if full {
			s.stats.Connections.Store(int64(s.config.MaxConnections))
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/socket", nil)
		r.Header.Set("Upgrade", "websocket")
		r.Header.Set("Authorization", "Bearer x")
		s.ServeHTTP(w, r)
		var e struct{ Reason string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusServiceUnavailable {
			t.Fatalf("answered %d %s (%v)", w.Code, w.Body, err)
		}
		retry, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if err != nil {
			t.Fatal(err)
		}
		return e.Reason, retry
	}
	for _, full := range []bool{true, false} {
		seen := map[int]bool{}
		for range 100 {
			reason, retry := open(full)
			if want := map[bool]string{true: "full", false: "busy"}[full]; reason != want {
				t.Fatalf("the reason is %q, want %q", reason, want)
			}
			if least := 2; retry < least || retry > 10 {
				t.Errorf("%s: come back in %d s", reason, retry)
			}
			seen[retry] = true
		}
		if len(seen) < 4 {
			t.Errorf("full %v: all come back within the same seconds: %v", full, seen)
		}
	}
}
