package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/egress"
)

// changes are what the edge knows of changes. Server.mu guards it.
type changes struct {
	position string
	// run counts resets: what was asked in an earlier run may have changed.
	run uint64
	// asOf is up to when all changes are known.
	asOf time.Time
	// purged has, of each tag that was purged lately, the number of the purge, for answers that were under way. Those from before floor are not known.
	purged       map[string]uint64
	count, floor uint64
}

// recent purges are remembered for answers under way.
const recent = 10_000

// fresh reports whether the latest word of the origin counts.
func (c *changes) fresh(now time.Time) bool { return !c.asOf.IsZero() && now.Sub(c.asOf) < lease }

// note remembers a purge.
func (c *changes) note(tag string) {
	if c.purged == nil || len(c.purged) >= recent {
		c.purged, c.floor = map[string]uint64{}, c.count
	}
	c.count++
	c.purged[tag] = c.count
}

// since reports whether one of some tags was purged behind a number, or may have been.
func (c *changes) since(number uint64, tags ...string) bool {
	if number < c.floor {
		return true
	}
	for _, tag := range tags {
		if c.purged[tag] > number {
			return true
		}
	}
	return false
}

const (
	firstRetry, lastRetry = 50 * time.Millisecond, time.Second
	pollTimeout           = 2 * time.Second
)

// follow asks the origins what has changed, one question after the other. It stays with an origin while that answers.
func (s *Server) follow(ctx context.Context) {
	retry := backoff.New(firstRetry, lastRetry)
	for at := 0; ctx.Err() == nil; {
		err := s.poll(ctx, at)
		if err == nil {
			retry.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		s.deps.Logger.Warn("the edge does not get changes from an origin; it retries, and then asks about each file", "origin", s.config.Origins[at], "error", err)
		at = (at + 1) % len(s.config.Origins)
		s.following.Store(uint32(at))
		_ = retry.Wait(ctx) // the loop sees the end
	}
}

// poll asks an origin once.
func (s *Server) poll(ctx context.Context, origin int) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	s.mu.Lock()
	position := s.changes.position
	s.mu.Unlock()
	began := s.deps.Clock.Now()
	var got purgesAnswer
	_, err := s.origins.servers.DoAt(ctx, uint32(origin), s.origins.request(http.MethodGet, PurgesPath+"?after="+url.QueryEscape(position), nil), func(a *egress.Answer) error {
		got = purgesAnswer{}
		if a.Status != http.StatusOK {
			return fmt.Errorf("status %d: %.200s", a.Status, a.Body)
		}
		return json.Unmarshal(a.Body, &got)
	})
	if err != nil {
		return err
	}
	s.apply(got, began)
	return nil
}

// apply forgets what has changed.
func (s *Server) apply(a purgesAnswer, began time.Time) {
	s.mu.Lock()
	c := &s.changes
	if a.Reset {
		c.run++
		s.stats.Resets.Add(1)
	}
	groups := s.purge(a.Purged)
	c.position = a.Position
	complete := time.Duration(a.CompleteMs) * time.Millisecond
	c.asOf = began.Add(min(max(complete, 0), s.deps.Clock.Now().Sub(began)))
	s.mu.Unlock()
	for group := range groups {
		s.cache.RemoveGroup(group)
	}
}

// purge forgets permissions and what is known of files, and ends transfers. It returns the groups whose copies are to be removed. The caller holds mu.
func (s *Server) purge(tags []string) map[string]bool {
	if len(tags) == 0 {
		return nil
	}
	s.stats.Purged.Add(int64(len(tags)))
	groups := map[string]bool{}
	for _, tag := range tags {
		s.changes.note(tag)
		groups[tag] = true // that of a post has no copies
	}
	var scopes []string
	find := func(scope string, g *grant) {
		if groups[g.group] || groups[g.post] {
			scopes = append(scopes, scope)
		}
	}
	s.grants.each(find)
	for scope, g := range s.running { // also of those that were dropped from grants
		find(scope, g)
	}
	for _, scope := range scopes {
		if g := s.granted(scope); g != nil {
			groups[g.group] = true
		}
		s.revoke(scope, errNoFile)
	}
	s.files.each(func(key string, f *resource) {
		if groups[f.group] {
			s.files.remove(key)
		}
	})
	s.refusals = newLRU[string, *refusal](maxRefusals) // what was refused may be shown again
	return groups
}
