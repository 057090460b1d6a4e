package feed

import (
	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// onlyAuthor is the audience in the row of a post that only its author sees, because moderators have limited the author (docs/decisions/0147-limits.md). The content of the post has the audience that the
// author chose. The row does not change when the limit ends.
const onlyAuthor feedv1.Audience = 15

// storedAudience returns the audience for the row of a post. Posts of a limited author for chosen users or for friends remain visible to them.
func (s *Service) storedAudience(author id.User, c *feedv1.PostContent) feedv1.Audience {
	isPublic := c.Audience == feedv1.Audience_AUDIENCE_EVERYONE || c.Audience == feedv1.Audience_AUDIENCE_EXCEPT
	if isPublic && s.deps.LimitedSince != nil && s.deps.LimitedSince(author) != 0 {
		return onlyAuthor
	}
	return c.Audience
}
