package account

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

var whoMayAdd = map[string]accountv1.WhoMayAdd{
	"": accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS, "everyone": accountv1.WhoMayAdd_WHO_MAY_ADD_EVERYONE,
	"friends": accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS, "nobody": accountv1.WhoMayAdd_WHO_MAY_ADD_NOBODY,
}

// MayAdd returns the users whom by may neither add to a group nor invite, those whom by may only invite, and those whom by may add although
// they are not friends.
func (s *Service) MayAdd(ctx context.Context, by id.User, users []id.User) (refused, invited, nonFriends []id.User, err error) {
	for batch := range slices.Chunk(users, idsPerQuery) {
		friends, err := s.FriendsAmong(ctx, by, batch)
		if err != nil {
			return nil, nil, nil, err
		}
		settings, err := s.whoMayAdd(ctx, batch)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, u := range batch {
			switch {
			case settings[u] == accountv1.WhoMayAdd_WHO_MAY_ADD_NOBODY:
				refused = append(refused, u)
			case friends[u]:
			case settings[u] == accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS:
				invited = append(invited, u)
			default:
				nonFriends = append(nonFriends, u)
			}
		}
	}
	return refused, invited, nonFriends, nil
}

// whoMayAdd returns the setting of each user, or the deployment's if a user has none.
func (s *Service) whoMayAdd(ctx context.Context, users []id.User) (map[id.User]accountv1.WhoMayAdd, error) {
	all, err := s.SettingsOf(ctx, users)
	if err != nil {
		return nil, err
	}
	settings := map[id.User]accountv1.WhoMayAdd{}
	for u, set := range all {
		if settings[u] = set.WhoMayAdd; set.WhoMayAdd == accountv1.WhoMayAdd_WHO_MAY_ADD_UNSPECIFIED {
			settings[u] = whoMayAdd[s.config.WhoMayAdd]
		}
	}
	return settings, nil
}
