package organization

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errConsent = errs.New(errs.Denied, "needs_consent", "this user has not agreed that you add them: invite them, become friends first, or add them with an API key")

// withoutConsent returns the users whom a caller may not make members. An admin adds those who let the admin add them to groups. Otherwise an admin
// could subject other users to the rules of the organization, which may forbid their messages. A server adds anyone.
func (s *Service) withoutConsent(ctx context.Context, by id.Caller, org uint64, members []*chatv1.OrganizationMember) (map[uint64]bool, error) {
	if by.Server {
		return nil, nil
	}
	without := map[uint64]bool{}
	for some := range slices.Chunk(members, maxPerCall) {
		var users []id.User
		for _, m := range some {
			if m != nil {
				users = append(users, id.User(m.User))
			}
		}
		present, err := membersOf(ctx, s.deps.DB.Read(), org, users)
		if err != nil {
			return nil, err
		}
		users = slices.DeleteFunc(users, func(u id.User) bool { return present[uint64(u)] != nil })
		refused, invited, _, err := s.deps.Accounts.MayAdd(ctx, by.User, users)
		if err != nil {
			return nil, err
		}
		for _, u := range append(refused, invited...) {
			without[uint64(u)] = true
		}
	}
	return without, nil
}
