package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// In a reconnect storm, such as after a switch has failed, many clients come back at once. They have what they need but for the last minutes, so that each is
// served quickly. Clients that start from nothing cost more, and nobody waits for what they had: they come a little later, spread over time.

const (
	// stormResumes in a second and the one before are a storm, if the node cannot take connections as fast as they come.
	stormResumes = 200
	// Clients that start from nothing are asked to come back in coldWaitLeast to coldWaitMost.
	coldWaitLeast = 2 * time.Second
	coldWaitMost  = 10 * time.Second
)

// resumes counts the clients that came back, in this second and the one before.
type resumes struct {
	mu             sync.Mutex // guards all
	second         uint32
	count, earlier int
}

// add counts n clients at a second, and returns how many there were in it and the one before.
func (r *resumes) add(second uint32, n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch second - r.second {
	case 0:
	case 1:
		r.earlier, r.count = r.count, 0
	default:
		r.earlier, r.count = 0, 0
	}
	r.second = second
	r.count += n
	return r.count + r.earlier
}

// admitInStorm refuses an authenticated client that starts from nothing, for a while, in a reconnect storm. A client that comes back says so by resume=1 in the
// address.
func (s *Server) admitInStorm(r *http.Request) error {
	now := s.now.Load()
	if r.URL.Query().Get("resume") == "1" {
		s.resumes.add(now, 1)
		return nil
	}
	if s.deps.PacingAccepts == nil || !s.deps.PacingAccepts() || s.resumes.add(now, 0) < stormResumes {
		return nil
	}
	s.stats.Deferred.Add(1)
	return &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "many clients are coming back to this server; try again a little later, or try another one", Retry: backoff.Spread(coldWaitLeast, coldWaitMost)}
}
