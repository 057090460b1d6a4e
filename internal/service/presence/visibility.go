package presence

import (
	"context"
	"hash/fnv"
	"math"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/directory"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

// Hides reports whether a user's settings hide the user's presence from everybody.
func Hides(set *accountv1.Settings) bool {
	return set.GetAvailability() == presencev1.Availability_AVAILABILITY_INVISIBLE || set.GetWhoMaySeePresence() == accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY
}

func isPublic(set *accountv1.Settings) bool {
	return set.GetWhoMaySeePresence() == accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE && !Hides(set)
}

// Sees returns those of some users whose presence a user may see.
func (s *Service) Sees(ctx context.Context, by id.User, users []id.User) (map[id.User]bool, error) {
	settings, err := s.deps.SettingsOf(ctx, users)
	if err != nil {
		return nil, err
	}
	return s.seenBy(ctx, by, users, settings)
}

// seenBy returns which of some users one may see. A user sees themself.
func (s *Service) seenBy(ctx context.Context, by id.User, users []id.User, settings map[id.User]*accountv1.Settings) (map[id.User]bool, error) {
	seen := make(map[id.User]bool, len(users))
	var public, others []id.User
	for _, u := range users {
		switch set := settings[u]; {
		case u == by:
			seen[u] = true
		case isPublic(set):
			public = append(public, u)
		case !Hides(set):
			others = append(others, u)
		}
	}
	blocked, err := s.deps.BlockedAmong(ctx, by, public)
	if err != nil {
		return nil, err
	}
	for _, u := range public {
		seen[u] = !blocked[u]
	}
	friends, err := s.deps.FriendsAmong(ctx, by, others)
	if err != nil {
		return nil, err
	}
	for _, u := range others {
		seen[u] = friends[u]
	}
	return seen, nil
}

// seers returns which of some users may see one. It is seenBy from the other side, with one query instead of one for each watcher.
func (s *Service) seers(ctx context.Context, u id.User, set *accountv1.Settings, watchers []id.User) (map[id.User]bool, error) {
	sees := map[id.User]bool{}
	var err error
	switch {
	case len(watchers) == 0 || Hides(set):
	case isPublic(set):
		var blocked map[id.User]bool
		blocked, err = s.deps.BlockedAmong(ctx, u, watchers)
		for _, w := range watchers {
			sees[w] = !blocked[w]
		}
	default:
		var friends map[id.User]bool
		friends, err = s.deps.FriendsAmong(ctx, u, watchers)
		for _, w := range watchers {
			sees[w] = friends[w]
		}
	}
	sees[u] = true
	return sees, err
}

// shape returns the presence of a user for those who may see it.
func (s *Service) shape(u id.User, status directory.Status, set *accountv1.Settings) *presencev1.Presence {
	v := &presencev1.Presence{User: uint64(u), Status: statusOf(status, set), LastActiveMs: status.LastActiveMs}
	if c := set.GetCustomStatus(); c.GetEmoji()+c.GetText() != "" && (c.UntilMs == 0 || c.UntilMs > s.deps.Clock.Now().UnixMilli()) {
		v.Custom = proto.CloneOf(c)
	}
	return v
}

func statusOf(status directory.Status, set *accountv1.Settings) presencev1.Status {
	switch {
	case !status.Online:
		return presencev1.Status_STATUS_OFFLINE
	case set.GetAvailability() == presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB:
		return presencev1.Status_STATUS_DO_NOT_DISTURB
	case status.Away:
		return presencev1.Status_STATUS_AWAY
	}
	return presencev1.Status_STATUS_ONLINE
}

// hidden is the presence that those see who may not see the user's.
func hidden(u id.User) *presencev1.Presence {
	return &presencev1.Presence{User: uint64(u), Status: presencev1.Status_STATUS_OFFLINE}
}

// unknown is the fingerprint of no presence.
const unknown = math.MaxUint64

// fingerprint identifies what a watcher sees, without times of activity: they alone are no reason for a push. It is 0 for offline without a
// custom status. A watcher keeps it instead of the presence, because there are many watchers.
func fingerprint(v *presencev1.Presence) uint64 {
	if v.Status == presencev1.Status_STATUS_OFFLINE && v.Custom == nil {
		return 0
	}
	h := fnv.New64a()
	for _, part := range []string{v.Status.String(), v.Custom.GetEmoji(), v.Custom.GetText(), strconv.FormatInt(v.Custom.GetUntilMs(), 10)} {
		_, _ = h.Write(append([]byte(part), 0)) // never fails
	}
	return h.Sum64()
}
