package importer

import (
	"context"

	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// End ends all imports that have begun on a server, as they are, and returns how many. It calls ended for each, with how many messages the conversation has.
// After an error, a later call ends the rest.
func End(ctx context.Context, s *Server, ended func(conversation, messages uint64)) (n int64, err error) {
	for after := uint64(0); ; {
		page := &operationv1.ListImportsResponse{}
		if err := s.Call(ctx, operationv1connect.InterchangeServiceListImportsProcedure, &operationv1.ListImportsRequest{After: after}, page); err != nil {
			return n, err
		}
		if len(page.Conversations) == 0 {
			return n, nil
		}
		for _, c := range page.Conversations {
			after = c
			result, err := s.endImport(ctx, &operationv1.EndImportRequest{Conversation: c})
			if err != nil {
				return n, err
			}
			ended(c, result.Messages)
			n++
		}
	}
}
