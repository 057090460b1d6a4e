package moderation

import (
	"context"
	"slices"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// namesOf returns the names of those of some users who exist, in one query. A page of cases or appeals names at most 50 users, a page of bans 200, and a case 62: GetUsers takes 200.
func (s *Service) namesOf(ctx context.Context, users []uint64) ([]*accountv1.User, error) {
	slices.Sort(users)
	users = slices.Compact(users)
	if len(users) > 0 && users[0] == 0 { // nobody: a group, a network, the word filter
		users = users[1:]
	}
	if len(users) == 0 {
		return nil, nil
	}
	profiles, err := s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: users})
	if err != nil {
		return nil, err
	}
	names := make([]*accountv1.User, len(profiles))
	for i, u := range profiles {
		names[i] = &accountv1.User{Id: u.Id, Handle: u.Handle, DisplayName: u.DisplayName, Official: u.Official, Deleted: u.Deleted, Bridge: u.Bridge}
	}
	return names, nil
}

// usersOf returns the user of each row, 0 for none.
func usersOf[Row any](rows []Row, user func(Row) uint64) []uint64 {
	users := make([]uint64, len(rows))
	for i, row := range rows {
		users[i] = user(row)
	}
	return users
}

// namedBy returns the users that a case with its content and reports names.
func namedBy(c *moderationv1.Case) []uint64 {
	users := append(usersOf(c.Reports, (*moderationv1.Report).GetReporter), c.About)
	for _, m := range c.Content.GetMessages() {
		users = append(users, m.Sender)
	}
	return users
}
