package rpc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/service/ranking"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"google.golang.org/protobuf/proto"
)

const (
	rankingCalls = "/rialto.ranking.v1.RankingService/"
	rankingAdmin = "/rialto.ranking.v1.RankingAdminService/"
)

func ofRankings() map[string]row {
	return map[string]row{
		rankingCalls + "ForYou": own(func(subject) proto.Message { return &rankingv1.ForYouRequest{} }),
		rankingCalls + "ShowLess": own(func(subject) proto.Message {
			return &rankingv1.ShowLessRequest{Kind: rankingv1.PostKind_POST_KIND_VIDEO}
		}),
		rankingCalls + "ShowAgain": own(func(subject) proto.Message {
			return &rankingv1.ShowAgainRequest{Kind: rankingv1.PostKind_POST_KIND_VIDEO}
		}),
		rankingCalls + "ListShownLess": own(func(subject) proto.Message { return &rankingv1.ListShownLessRequest{} }),
		rankingAdmin + "SetRankingWeights": own(func(subject) proto.Message {
			return &rankingv1.SetRankingWeightsRequest{Weights: &rankingv1.RankingWeights{}, By: "ann"}
		}),
		rankingAdmin + "GetRankingWeights": own(func(subject) proto.Message { return &rankingv1.GetRankingWeightsRequest{} }),
		rankingCalls + "RecordClicks":      own(func(subject) proto.Message { return &rankingv1.RecordClicksRequest{Posts: []uint64{1}} }),
		rankingAdmin + "RecordConversions": own(func(o subject) proto.Message {
			return &rankingv1.RecordConversionsRequest{User: o.other, Posts: []uint64{1}}
		}),
		rankingAdmin + "ListRankingExamples": own(func(subject) proto.Message { return &rankingv1.ListRankingExamplesRequest{} }),
		rankingAdmin + "ListRankingModels":   own(func(subject) proto.Message { return &rankingv1.ListRankingModelsRequest{} }),
		rankingAdmin + "PutRankingModel": all("bad_model", func(subject) proto.Message {
			return &rankingv1.PutRankingModelRequest{File: []byte("none"), By: "ann"}
		}),
		rankingAdmin + "ActivateRankingModel": own(func(subject) proto.Message { return &rankingv1.ActivateRankingModelRequest{By: "ann"} }),
		rankingAdmin + "ExplainRanking":       own(func(o subject) proto.Message { return &rankingv1.ExplainRankingRequest{User: o.other, Post: 1} }),
	}
}

// A user gets ranked posts with their counts, and no scores; a program with an API key gets the scores of the user.
func TestForYouByRPC(t *testing.T) {
	h := newHarness(t)
	anna, ben := h.person("anna"), h.person("ben")
	h.call(graphs+"Follow", &accountv1.FollowRequest{User: ben.User}, bearer(anna.AccessToken))
	var post feedv1.Post
	h.into(&post, h.call(feeds+"Publish", &feedv1.PublishRequest{ClientPostId: "1", Content: &feedv1.PostContent{Text: "hello"}}, bearer(ben.AccessToken)))
	var page rankingv1.ForYouResponse
	h.into(&page, h.call(rankingCalls+"ForYou", &rankingv1.ForYouRequest{}, bearer(anna.AccessToken)))
	if len(page.Posts) != 1 || page.Posts[0].Post.Id != post.Id || page.Posts[0].Score != nil || len(page.Posts[0].Reasons) != 2 {
		t.Errorf("the page is %v", &page)
	}
	if got := h.call(rankingCalls+"ForYou", &rankingv1.ForYouRequest{Explain: true}, bearer(anna.AccessToken)); got.status != http.StatusForbidden || got.reason() != "no_key" {
		t.Errorf("a user who asks for scores gets %d: %s", got.status, got.body)
	}
	page.Reset()
	h.into(&page, h.call(rankingCalls+"ForYou", &rankingv1.ForYouRequest{Explain: true}, bearer(h.key), fmt.Sprint("Rialto-User: ", anna.User)))
	if len(page.Posts) != 1 || len(page.Posts[0].Score.GetParts()) != 9 {
		t.Errorf("with a key the page is %v", &page)
	}
}

// Operators store and activate models, and are named by their keys, whatever they say; auditors see that.
func TestOperatorsActivateModels(t *testing.T) {
	h := newHarness(t)
	operator, auditor := h.operatorKey("olga", id.Operator), h.operatorKey("adam", id.Auditor)
	names := ranking.ModelFeatures()
	file, err := clickmodel.Encode(&clickmodel.Model{Features: names, Click: clickmodel.Head{Scale: 1, Weights: make([]float64, len(names))}, Evaluation: clickmodel.Evaluation{Examples: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var model rankingv1.RankingModel
	h.into(&model, h.call(rankingAdmin+"PutRankingModel", &rankingv1.PutRankingModelRequest{File: file, By: "somebody else"}, bearer(operator)))
	if got := h.call(rankingAdmin+"ActivateRankingModel", &rankingv1.ActivateRankingModelRequest{Model: model.Id, By: "somebody else", Reason: "better"}, bearer(operator)); got.status != http.StatusOK {
		t.Errorf("an activation is answered with %d: %s", got.status, got.body)
	}
	var list rankingv1.ListRankingModelsResponse
	h.into(&list, h.call(rankingAdmin+"ListRankingModels", &rankingv1.ListRankingModelsRequest{}, bearer(auditor)))
	if model.By != "olga" || list.Active != model.Id || len(list.Models) != 1 || len(list.Changes) != 1 || list.Changes[0].By != "olga" || list.Changes[0].Reason != "better" {
		t.Errorf("an auditor sees %v", &list)
	}
}

// Operators set weights, and are named by their keys, whatever they say; auditors see the weights and explained scores, and change nothing.
func TestOperatorsSetWeights(t *testing.T) {
	h := newHarness(t)
	operator, auditor, anna, ben := h.operatorKey("olga", id.Operator), h.operatorKey("adam", id.Auditor), h.person("anna"), h.person("ben")
	h.call(graphs+"Follow", &accountv1.FollowRequest{User: ben.User}, bearer(anna.AccessToken))
	var post feedv1.Post
	h.into(&post, h.call(feeds+"Publish", &feedv1.PublishRequest{ClientPostId: "1", Content: &feedv1.PostContent{Text: "hello"}}, bearer(ben.AccessToken)))
	weights := &rankingv1.SetRankingWeightsRequest{Weights: &rankingv1.RankingWeights{Followed: proto.Int32(90)}, By: "somebody else", Reason: "a test"}
	if got := h.call(rankingAdmin+"SetRankingWeights", weights, bearer(auditor)); got.status != http.StatusForbidden {
		t.Errorf("an auditor who sets weights is answered with %d: %s", got.status, got.body)
	}
	if got := h.call(rankingAdmin+"SetRankingWeights", weights, bearer(operator)); got.status != http.StatusOK {
		t.Errorf("an operator who sets weights is answered with %d: %s", got.status, got.body)
	}
	var now rankingv1.GetRankingWeightsResponse
	h.into(&now, h.call(rankingAdmin+"GetRankingWeights", &rankingv1.GetRankingWeightsRequest{}, bearer(auditor)))
	if len(now.Changes) != 1 || now.Changes[0].By != "olga" || now.Weights.GetFollowed() != 90 {
		t.Errorf("an auditor sees the weights %v", &now)
	}
	var score rankingv1.ExplainRankingResponse
	h.into(&score, h.call(rankingAdmin+"ExplainRanking", &rankingv1.ExplainRankingRequest{User: anna.User, Post: post.Id}, bearer(auditor)))
	if score.Score.GetTotal() < 0.9 || len(score.Sources) != 1 {
		t.Errorf("an auditor gets the score %v", &score)
	}
}
