package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// MessageTraces shows operators the lives of messages.
type MessageTraces interface {
	Trace(ctx context.Context, by id.Caller, r *chatv1.TraceMessageRequest) (*chatv1.MessageTrace, error)
}

func (s *Server) messageTraces() []method {
	return []method{newMethod(s, chatv1connect.MessageTraceServiceTraceMessageProcedure, serverAccess, s.deps.MessageTraces.Trace)}
}
