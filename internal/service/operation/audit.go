package operation

import (
	"context"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// ListAuditEntries gives the changes, the newest first.
func (s *Service) ListAuditEntries(ctx context.Context, _ id.Caller, r *operationv1.ListAuditEntriesRequest) (*operationv1.ListAuditEntriesResponse, error) {
	limit, before := page(r.Limit), int64(math.MaxInt64)
	if r.Before != 0 && r.Before < math.MaxInt64 {
		before = int64(r.Before)
	}
	list, err := s.deps.Audit.List(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	out := &operationv1.ListAuditEntriesResponse{More: len(list) > limit}
	for _, e := range list[:min(len(list), limit)] {
		out.Entries = append(out.Entries, &operationv1.AuditEntry{Id: uint64(e.ID), TimeMs: e.TimeMs, Who: e.Who, Action: e.Action, Subject: e.Subject, Before: e.Before, After: e.After, Reason: e.Reason})
	}
	return out, nil
}
