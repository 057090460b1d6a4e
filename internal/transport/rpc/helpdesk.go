package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// HelpDesks are customer service.
type HelpDesks interface {
	PutHelpDesk(ctx context.Context, d *chatv1.HelpDesk) (*chatv1.HelpDesk, error)
	ListHelpDesks(ctx context.Context, c id.Caller) (*chatv1.ListHelpDesksResponse, error)
	OpenTicket(ctx context.Context, c id.Caller, r *chatv1.OpenTicketRequest) (*chatv1.Ticket, error)
	GetTicket(ctx context.Context, c id.Caller, ticket uint64) (*chatv1.Ticket, error)
	ListTickets(ctx context.Context, c id.Caller, r *chatv1.ListTicketsRequest) (*chatv1.ListTicketsResponse, error)
	TakeTicket(ctx context.Context, c id.Caller, r *chatv1.TakeTicketRequest) (*chatv1.Ticket, error)
	TransferTicket(ctx context.Context, c id.Caller, r *chatv1.TransferTicketRequest) (*chatv1.Ticket, error)
	ResolveTicket(ctx context.Context, c id.Caller, ticket uint64) (*chatv1.Ticket, error)
	ReopenTicket(ctx context.Context, c id.Caller, ticket uint64) (*chatv1.Ticket, error)
	RateTicket(ctx context.Context, c id.Caller, r *chatv1.RateTicketRequest) (*chatv1.Ticket, error)
	GetHelpDeskStats(ctx context.Context, c id.Caller, r *chatv1.GetHelpDeskStatsRequest) (*chatv1.GetHelpDeskStatsResponse, error)
}

func (s *Server) helpDesks() []method {
	h := s.deps.HelpDesks
	return []method{
		newMethod(s, chatv1connect.HelpDeskServicePutHelpDeskProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *chatv1.PutHelpDeskRequest) (*chatv1.HelpDesk, error) {
			return h.PutHelpDesk(ctx, r.Desk)
		}),
		newMethod(s, chatv1connect.HelpDeskServiceListHelpDesksProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *chatv1.ListHelpDesksRequest) (*chatv1.ListHelpDesksResponse, error) {
			return h.ListHelpDesks(ctx, c)
		}),
		newMethod(s, chatv1connect.HelpDeskServiceOpenTicketProcedure, userAccess, h.OpenTicket),
		newMethod(s, chatv1connect.HelpDeskServiceGetTicketProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetTicketRequest) (*chatv1.Ticket, error) {
			return h.GetTicket(ctx, c, r.Ticket)
		}),
		newMethod(s, chatv1connect.HelpDeskServiceListTicketsProcedure, userAccess, h.ListTickets),
		newMethod(s, chatv1connect.HelpDeskServiceTakeTicketProcedure, userAccess, h.TakeTicket),
		newMethod(s, chatv1connect.HelpDeskServiceTransferTicketProcedure, userAccess, h.TransferTicket),
		newMethod(s, chatv1connect.HelpDeskServiceResolveTicketProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ResolveTicketRequest) (*chatv1.Ticket, error) {
			return h.ResolveTicket(ctx, c, r.Ticket)
		}),
		newMethod(s, chatv1connect.HelpDeskServiceReopenTicketProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ReopenTicketRequest) (*chatv1.Ticket, error) {
			return h.ReopenTicket(ctx, c, r.Ticket)
		}),
		newMethod(s, chatv1connect.HelpDeskServiceRateTicketProcedure, userAccess, h.RateTicket),
		newMethod(s, chatv1connect.HelpDeskServiceGetHelpDeskStatsProcedure, userAccess, h.GetHelpDeskStats),
	}
}
