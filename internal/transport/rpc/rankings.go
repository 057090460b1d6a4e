package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// Ranking ranks posts for readers.
type Ranking interface {
	ForYou(ctx context.Context, reader id.User, r *rankingv1.ForYouRequest) (*rankingv1.ForYouResponse, error)
	ShowLess(ctx context.Context, reader id.User, r *rankingv1.ShowLessRequest) error
	ShowAgain(ctx context.Context, reader id.User, r *rankingv1.ShowAgainRequest) error
	ListShownLess(ctx context.Context, reader id.User) (*rankingv1.ListShownLessResponse, error)
	SetRankingWeights(ctx context.Context, r *rankingv1.SetRankingWeightsRequest) (*rankingv1.RankingWeights, error)
	GetRankingWeights(ctx context.Context) (*rankingv1.GetRankingWeightsResponse, error)
	ExplainRanking(ctx context.Context, r *rankingv1.ExplainRankingRequest) (*rankingv1.ExplainRankingResponse, error)
	RecordClicks(ctx context.Context, reader id.User, r *rankingv1.RecordClicksRequest) error
	RecordConversions(ctx context.Context, r *rankingv1.RecordConversionsRequest) error
	ListRankingExamples(ctx context.Context, r *rankingv1.ListRankingExamplesRequest) (*rankingv1.ListRankingExamplesResponse, error)
	PutRankingModel(ctx context.Context, r *rankingv1.PutRankingModelRequest) (*rankingv1.RankingModel, error)
	ListRankingModels(ctx context.Context) (*rankingv1.ListRankingModelsResponse, error)
	ActivateRankingModel(ctx context.Context, r *rankingv1.ActivateRankingModelRequest) (*rankingv1.ListRankingModelsResponse, error)
}

func rankedPosts(r *rankingv1.ForYouResponse) (posts []*feedv1.Post) {
	for _, p := range r.Posts {
		posts = append(posts, p.Post)
	}
	return posts
}

func (s *Server) rankings() []method {
	k := s.deps.Ranking
	forYou := func(ctx context.Context, c id.Caller, r *rankingv1.ForYouRequest) (*rankingv1.ForYouResponse, error) {
		if r.Explain && !c.Server {
			return nil, errs.New(errs.Denied, "no_key", "explain needs an API key")
		}
		return k.ForYou(ctx, c.User, r)
	}
	return []method{
		newMethod(s, rankingv1connect.RankingServiceForYouProcedure, userAccess, withPosts(s, forYou, rankedPosts)),
		newMethod(s, rankingv1connect.RankingServiceShowLessProcedure, userAccess, done[rankingv1.ShowLessRequest, rankingv1.ShowLessResponse](k.ShowLess)),
		newMethod(s, rankingv1connect.RankingServiceShowAgainProcedure, userAccess, done[rankingv1.ShowAgainRequest, rankingv1.ShowAgainResponse](k.ShowAgain)),
		newMethod(s, rankingv1connect.RankingServiceListShownLessProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *rankingv1.ListShownLessRequest) (*rankingv1.ListShownLessResponse, error) {
			return k.ListShownLess(ctx, c.User)
		}),
		newMethod(s, rankingv1connect.RankingServiceRecordClicksProcedure, userAccess, done[rankingv1.RecordClicksRequest, rankingv1.RecordClicksResponse](k.RecordClicks)),
		newMethod(s, rankingv1connect.RankingAdminServiceRecordConversionsProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *rankingv1.RecordConversionsRequest) (*rankingv1.RecordConversionsResponse, error) {
			return &rankingv1.RecordConversionsResponse{}, k.RecordConversions(ctx, r)
		}),
	}
}

// operatorRankings are for servers, who name the person, and for operators, who are named by their keys.
func (s *Server) operatorRankings() []method {
	k := s.deps.Ranking
	return []method{
		newMethod(s, rankingv1connect.RankingAdminServiceSetRankingWeightsProcedure, serverAccess, func(ctx context.Context, c id.Caller, r *rankingv1.SetRankingWeightsRequest) (*rankingv1.RankingWeights, error) {
			if c.Role != id.NoOperator {
				r.By = c.Key
			}
			return k.SetRankingWeights(ctx, r)
		}),
		newMethod(s, rankingv1connect.RankingAdminServiceGetRankingWeightsProcedure, serverAccess, func(ctx context.Context, _ id.Caller, _ *rankingv1.GetRankingWeightsRequest) (*rankingv1.GetRankingWeightsResponse, error) {
			return k.GetRankingWeights(ctx)
		}),
		newMethod(s, rankingv1connect.RankingAdminServiceExplainRankingProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *rankingv1.ExplainRankingRequest) (*rankingv1.ExplainRankingResponse, error) {
			return k.ExplainRanking(ctx, r)
		}),
		newMethod(s, rankingv1connect.RankingAdminServiceListRankingExamplesProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *rankingv1.ListRankingExamplesRequest) (*rankingv1.ListRankingExamplesResponse, error) {
			return k.ListRankingExamples(ctx, r)
		}),
		newMethod(s, rankingv1connect.RankingAdminServiceListRankingModelsProcedure, serverAccess, func(ctx context.Context, _ id.Caller, _ *rankingv1.ListRankingModelsRequest) (*rankingv1.ListRankingModelsResponse, error) {
			return k.ListRankingModels(ctx)
		}),
		newMethod(s, rankingv1connect.RankingAdminServicePutRankingModelProcedure, serverAccess, func(ctx context.Context, c id.Caller, r *rankingv1.PutRankingModelRequest) (*rankingv1.RankingModel, error) {
			if c.Role != id.NoOperator {
				r.By = c.Key
			}
			return k.PutRankingModel(ctx, r)
		}),
		newMethod(s, rankingv1connect.RankingAdminServiceActivateRankingModelProcedure, serverAccess, func(ctx context.Context, c id.Caller, r *rankingv1.ActivateRankingModelRequest) (*rankingv1.ListRankingModelsResponse, error) {
			if c.Role != id.NoOperator {
				r.By = c.Key
			}
			return k.ActivateRankingModel(ctx, r)
		}),
	}
}
