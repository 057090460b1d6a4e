package rpc_test

import (
	"fmt"
	"net/http"
	"testing"

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
