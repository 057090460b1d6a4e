package chat

import (
	"context"
	"slices"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// ListMembers returns a page of members, by user id.
func (s *Service) ListMembers(ctx context.Context, c id.Conversation, by id.User, limit uint32, page string) (*chatv1.ListMembersResponse, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	if _, reads := st.replier(by); !st.channel && !reads && (st.role(by) == 0 || st.kind == thread) {
		return nil, errNoConversation
	}
	from, err := pagetoken.Start(page, uint64(0))
	if err != nil {
		return nil, err
	}
	if st.channel {
		return s.listChannelMembers(ctx, st, by, outputlimit.PageSize(limit), from)
	}
	members := st.readers(st.activeMembers)
	i, _ := slices.BinarySearch(members, id.User(from))
	out := &chatv1.ListMembersResponse{}
	for _, u := range members[i:] {
		if len(out.Members) == outputlimit.PageSize(limit) {
			out.Next = u.String()
			break
		}
		m := st.members[u]
		out.Members = append(out.Members, &chatv1.Member{User: uint64(u), Role: m.role, JoinSeq: m.joinSeq, MutedUntilMs: m.mutedUntilMs})
	}
	return out, nil
}

// cutPage cuts a list that was read with one row more than the page, and returns the token of the next page, which begins at that row.
func cutPage[T any](list []T, limit int, token func(T) uint64) (page []T, next string) {
	if len(list) <= limit {
		return list, ""
	}
	return list[:limit], strconv.FormatUint(token(list[limit]), 10)
}
