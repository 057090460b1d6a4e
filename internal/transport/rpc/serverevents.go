package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/event/v1/eventv1connect"
)

// ServerEvents bring what happens in conversations to business servers and bots.
type ServerEvents interface {
	PutConsumer(ctx context.Context, by id.Caller, r *eventv1.PutEventConsumerRequest) (*eventv1.EventConsumer, error)
	ListConsumers(ctx context.Context, by id.Caller) (*eventv1.ListEventConsumersResponse, error)
	DeleteConsumer(ctx context.Context, by id.Caller, name string) error
	Pull(ctx context.Context, by id.Caller, r *eventv1.PullEventsRequest) (*eventv1.PullEventsResponse, error)
	Confirm(ctx context.Context, by id.Caller, r *eventv1.ConfirmEventsRequest) error
	Seek(ctx context.Context, by id.Caller, r *eventv1.SeekEventsRequest) error
	ListDead(ctx context.Context, by id.Caller, r *eventv1.ListDeadEventsRequest) (*eventv1.ListDeadEventsResponse, error)
	GetDead(ctx context.Context, by id.Caller, r *eventv1.GetDeadEventsRequest) (*eventv1.GetDeadEventsResponse, error)
	RetryDead(ctx context.Context, by id.Caller, r *eventv1.RetryDeadEventsRequest) (*eventv1.RetryDeadEventsResponse, error)
}

func (s *Server) serverEvents() []method {
	e := s.deps.ServerEvents
	return []method{
		newMethod(s, eventv1connect.ServerEventServicePutEventConsumerProcedure, eventAccess, e.PutConsumer),
		newMethod(s, eventv1connect.ServerEventServiceListEventConsumersProcedure, eventAccess, func(ctx context.Context, c id.Caller, _ *eventv1.ListEventConsumersRequest) (*eventv1.ListEventConsumersResponse, error) {
			return e.ListConsumers(ctx, c)
		}),
		newMethod(s, eventv1connect.ServerEventServiceDeleteEventConsumerProcedure, eventAccess, func(ctx context.Context, c id.Caller, r *eventv1.DeleteEventConsumerRequest) (*eventv1.DeleteEventConsumerResponse, error) {
			return &eventv1.DeleteEventConsumerResponse{}, e.DeleteConsumer(ctx, c, r.Name)
		}),
		newMethod(s, eventv1connect.ServerEventServicePullEventsProcedure, eventAccess, e.Pull),
		newMethod(s, eventv1connect.ServerEventServiceConfirmEventsProcedure, eventAccess, func(ctx context.Context, c id.Caller, r *eventv1.ConfirmEventsRequest) (*eventv1.ConfirmEventsResponse, error) {
			return &eventv1.ConfirmEventsResponse{}, e.Confirm(ctx, c, r)
		}),
		newMethod(s, eventv1connect.ServerEventServiceSeekEventsProcedure, eventAccess, func(ctx context.Context, c id.Caller, r *eventv1.SeekEventsRequest) (*eventv1.SeekEventsResponse, error) {
			return &eventv1.SeekEventsResponse{}, e.Seek(ctx, c, r)
		}),
		newMethod(s, eventv1connect.ServerEventServiceListDeadEventsProcedure, eventAccess, e.ListDead),
		newMethod(s, eventv1connect.ServerEventServiceGetDeadEventsProcedure, eventAccess, e.GetDead),
		newMethod(s, eventv1connect.ServerEventServiceRetryDeadEventsProcedure, eventAccess, e.RetryDead),
	}
}
