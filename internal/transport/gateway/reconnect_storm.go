package gateway

import (
	"net/http"
	"sync"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/overload"
)

// storm is an overload.Storm for many goroutines.
type storm struct {
	mu sync.Mutex // guards all
	overload.Storm
}

// admitInStorm refuses an authenticated client that starts from nothing, for a while, in a reconnect storm. A client that comes back says so by resume=1 in the
// address.
func (s *Server) admitInStorm(r *http.Request) error {
	resume := r.URL.Query().Get("resume") == "1"
	pacing := !resume && s.deps.PacingAccepts != nil && s.deps.PacingAccepts()
	s.storm.mu.Lock()
	admitted := s.storm.Admit(s.now.Load(), resume, pacing)
	s.storm.mu.Unlock()
	if admitted {
		return nil
	}
	s.stats.Deferred.Add(1)
	return &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "many clients are coming back to this server; try again a little later, or try another one", Retry: backoff.Spread(overload.ColdWaitLeast, overload.ColdWaitMost)}
}
