package inbox

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/timeline"
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
	size, complete := 0, 0
	for i, r := range rows {
		if i == complete {
			n, err := s.completeLast(ctx, u, rows[i:])
			if err != nil {
				return nil, err
			}
			complete += n
		}
		c, err := s.describeRow(ctx, u, r)
		if errs.Is(err, errs.NotFound) || errors.Is(err, timeline.ErrCorrupt) && s.skipCorrupt(ctx, conversationKey(r.Conversation), r.last.Seq, err) == nil {
			continue // the user has lost it meanwhile, or its followers are unknown
		}
		if err != nil {
			return nil, err
		}
		out.Threads = append(out.Threads, c)
		if size += outputlimit.Size(ctx, c); size >= outputlimit.MaxPage && i < len(rows)-1 {
			out.Next = pageToken(false, list[i])
			break
		}
	}
	return out, s.deps.Conversations.AddRoots(ctx, u, out.Threads)
}
