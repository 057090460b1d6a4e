package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// ListThreads returns a page of the threads that a user follows and may read, the last active first. It works as ListConversations does,
// without pins: the same rows, brought up to date in the same way.
func (s *Service) ListThreads(ctx context.Context, u id.User, q *chatv1.ListThreadsRequest) (*chatv1.ListThreadsResponse, error) {
	from, err := parsePageToken(q.Page)
	if err != nil {
		return nil, err
	}
	if err := s.refreshList(ctx, u); err != nil {
		return nil, err
	}
	limit := outputlimit.PageSize(q.Limit)
	list, err := s.deps.Conversations.RecentThreads(ctx, u, from.at, limit+1)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListThreadsResponse{}
	if len(list) > limit {
		list = list[:limit]
		out.Next = pageToken(false, list[limit-1])
	}
	rows, err := s.loadRows(ctx, u, list)
	if err != nil {
		return nil, err
	}
	var described int
	out.Threads, described, err = s.describePage(ctx, u, rows, func(err error) bool { return errs.Is(err, errs.NotFound) }) // the user has lost it meanwhile
	if err != nil {
		return nil, err
	}
	if described < len(rows) {
		out.Next = pageToken(false, list[described-1])
	}
	return out, s.deps.Conversations.AddRoots(ctx, u, out.Threads)
}
