package presence

import (
	"context"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// runPush pushes changes until ctx ends. It has a goroutine of its own because it queries the database.
func (s *Service) runPush(ctx context.Context) {
	for {
		select {
		case <-s.pushes:
			s.push(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// push sends watchers what has changed in what they may see.
func (s *Service) push(ctx context.Context) {
	s.mu.Lock()
	changed := s.changed
	s.changed = map[id.User]bool{}
	for u := range changed {
		for _, w := range s.watchers[u] {
			w.missed = true
		}
	}
	s.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	frames := map[id.User]*gatewayv1.ServerFrame{}
	all, failed := s.deps.SettingsOf(ctx, slices.Collect(maps.Keys(changed)))
	for u, visibility := range changed {
		settings, err := all, failed
		if failed != nil { // one damaged row does not hold up the others
			settings, err = s.deps.SettingsOf(ctx, []id.User{u})
		}
		if err == nil {
			err = s.addToFrames(ctx, u, settings[u], visibility, frames)
		}
		if err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("a change of presence is pushed later", "user", u, "error", err)
			s.retry(u, true)
		}
	}
	for w, f := range frames {
		b, err := proto.Marshal(f)
		if err != nil {
			s.deps.Logger.Error("a frame cannot be encoded", "error", err)
			continue
		}
		s.deps.Transient([]id.User{w}, b)
	}
}

// addToFrames adds a user's presence to the frames of watchers who were shown something else last. A watcher who may no longer see the user
// gets offline once, and nothing afterwards. Unless the visibility has changed, only watchers to whom something else would be shown are
// checked. The check is one query, however many there are.
func (s *Service) addToFrames(ctx context.Context, u id.User, settings *accountv1.Settings, visibility bool, frames map[id.User]*gatewayv1.ServerFrame) error {
	status, owned := s.deps.Directory.CachedStatus(u)
	if !status.Known {
		if owned {
			s.retry(u, visibility)
		}
		return nil // the owner's answer calls StatusChanged again
	}
	now := s.shape(u, status, settings)
	shown := fingerprint(now)
	watchers := s.watchersOf(u, func(w *watcher) bool { return visibility || w.shown != shown })
	if len(watchers) == 0 {
		return nil
	}
	sees, err := s.seers(ctx, u, settings, slices.Collect(maps.Keys(watchers)))
	if err != nil {
		return err
	}
	if !status.Online {
		times, err := s.lastActive(ctx, []id.User{u})
		if err != nil {
			return err
		}
		now.LastActiveMs = times[u]
	}
	added := map[id.User]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers[u] {
		if !watchers[w.by] {
			continue
		}
		v, is := now, shown
		if !sees[w.by] {
			v, is = hidden(u), 0
		}
		if w.shown == is {
			continue
		}
		w.shown, w.pushed = is, true
		if added[w.by] {
			continue // a frame goes to all of a user's connections
		}
		added[w.by] = true
		if frames[w.by] == nil {
			frames[w.by] = &gatewayv1.ServerFrame{}
		}
		frames[w.by].Presences = append(frames[w.by].Presences, v)
	}
	return nil
}

// retry makes the next push check a user again.
func (s *Service) retry(u id.User, visibility bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watchers[u]) > 0 {
		s.markChanged(u, visibility)
	}
}

func (s *Service) watchersOf(u id.User, which func(*watcher) bool) map[id.User]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[id.User]bool, len(s.watchers[u]))
	for _, w := range s.watchers[u] {
		if which(w) {
			found[w.by] = true
		}
	}
	return found
}
