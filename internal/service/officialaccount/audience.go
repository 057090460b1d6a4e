package officialaccount

import (
	"context"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	followersPerRead = 200
	// readsPerStep bounds the followers that a step looks at, of whom few may be in the wave.
	readsPerStep = 20
)

// inWave reports whether a user is in the present wave. The same share of users is in the same wave, whoever begins to follow meanwhile.
func (b *broadcast) inWave(u id.User) bool {
	place := uint32(id.Hash(b.id^id.Hash(uint64(u))) % 10_000)
	from := uint32(0)
	if b.wave > 0 {
		from = b.waves[b.wave-1]
	}
	return place >= from*100 && place < b.waves[b.wave]*100
}

// nextRecipients returns the next followers of the present wave, at most limit, and the last follower that it looked at. end: there are no
// more in this wave.
func (s *Service) nextRecipients(ctx context.Context, o *official, b *broadcast, limit int) (users []id.User, last id.User, end bool, err error) {
	last = b.afterUser
	for range readsPerStep {
		page, err := s.deps.Chat.FollowersAfter(ctx, o.channel, last, followersPerRead)
		if err != nil {
			return nil, 0, false, err
		}
		matching, err := s.filter(ctx, b, page)
		if err != nil {
			return nil, 0, false, err
		}
		for _, u := range matching {
			if u == b.account {
				continue
			}
			users = append(users, u)
			if len(users) == limit {
				return users, u, false, nil
			}
		}
		if len(page) < followersPerRead {
			return users, last, true, nil
		}
		last = page[len(page)-1]
	}
	return users, last, false, nil
}

// filter returns those of some users who are in the present wave, and in the audience.
func (s *Service) filter(ctx context.Context, b *broadcast, users []id.User) ([]id.User, error) {
	users = slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return !b.inWave(u) })
	if len(b.audience.Labels) > 0 && len(users) > 0 {
		labelled := map[id.User]bool{}
		marks, args := sqldb.Placeholders(3, users, func(u id.User) int64 { return int64(u) })
		for _, label := range b.audience.Labels {
			list, err := usersOf(ctx, s.deps.DB.Read(), `SELECT follower FROM official_labels WHERE account = $1 AND label = $2 AND follower IN (`+marks+`)`, append([]any{int64(b.account), label}, args...)...)
			if err != nil {
				return nil, err
			}
			for _, u := range list {
				labelled[u] = true
			}
		}
		users = slices.DeleteFunc(users, func(u id.User) bool { return !labelled[u] })
	}
	if len(b.audience.Languages) > 0 && len(users) > 0 {
		settings, err := s.deps.Accounts.SettingsOf(ctx, users)
		if err != nil {
			return nil, err
		}
		users = slices.DeleteFunc(users, func(u id.User) bool {
			base, _, _ := strings.Cut(settings[u].GetLocale(), "-")
			return !slices.Contains(b.audience.Languages, strings.ToLower(base))
		})
	}
	return users, nil
}
