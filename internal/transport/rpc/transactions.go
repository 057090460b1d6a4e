package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/transaction/v1/transactionv1connect"
)

// Transactions send messages that business servers have prepared.
type Transactions interface {
	PrepareMessages(ctx context.Context, by id.Caller, r *transactionv1.PrepareMessagesRequest) (*transactionv1.MessageTransaction, error)
	CommitMessages(ctx context.Context, by id.Caller, r *transactionv1.CommitMessagesRequest) (*transactionv1.MessageTransaction, error)
	RollBackMessages(ctx context.Context, by id.Caller, r *transactionv1.RollBackMessagesRequest) (*transactionv1.MessageTransaction, error)
	GetMessageTransaction(ctx context.Context, by id.Caller, r *transactionv1.GetMessageTransactionRequest) (*transactionv1.MessageTransaction, error)
	ListMessageTransactions(ctx context.Context, by id.Caller, r *transactionv1.ListMessageTransactionsRequest) (*transactionv1.ListMessageTransactionsResponse, error)
	SetWebhook(ctx context.Context, by id.Caller, r *transactionv1.SetTransactionWebhookRequest) error
}

func (s *Server) transactions() []method {
	t := s.deps.Transactions
	return []method{
		newMethod(s, transactionv1connect.MessageTransactionServicePrepareMessagesProcedure, serverAccess, t.PrepareMessages),
		newMethod(s, transactionv1connect.MessageTransactionServiceCommitMessagesProcedure, serverAccess, t.CommitMessages),
		newMethod(s, transactionv1connect.MessageTransactionServiceRollBackMessagesProcedure, serverAccess, t.RollBackMessages),
		newMethod(s, transactionv1connect.MessageTransactionServiceGetMessageTransactionProcedure, serverAccess, t.GetMessageTransaction),
		newMethod(s, transactionv1connect.MessageTransactionServiceListMessageTransactionsProcedure, serverAccess, t.ListMessageTransactions),
		newMethod(s, transactionv1connect.MessageTransactionServiceSetTransactionWebhookProcedure, serverAccess, func(ctx context.Context, c id.Caller, r *transactionv1.SetTransactionWebhookRequest) (*transactionv1.SetTransactionWebhookResponse, error) {
			return &transactionv1.SetTransactionWebhookResponse{}, t.SetWebhook(ctx, c, r)
		}),
	}
}
