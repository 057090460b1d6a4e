package terminal

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// rankedServer has three pages, of which the second is empty.
type rankedServer struct {
	rankingv1connect.UnimplementedRankingServiceHandler
	less   []uint64 // authors
	opened []uint64
}

func (r *rankedServer) ForYou(_ context.Context, q *connect.Request[rankingv1.ForYouRequest]) (*connect.Response[rankingv1.ForYouResponse], error) {
	of := func(text string, reasons ...rankingv1.RankReason) []*rankingv1.RankedPost {
		return []*rankingv1.RankedPost{{Post: &feedv1.Post{Id: 8, Author: 2, Content: &feedv1.PostContent{Text: text}}, Reasons: reasons}}
	}
	out := &rankingv1.ForYouResponse{}
	switch q.Msg.Page {
	case "":
		out.Posts, out.Next = of("the best", rankingv1.RankReason_RANK_REASON_FOLLOWED, rankingv1.RankReason_RANK_REASON_RECENT), "a"
	case "a":
		out.Next = "b"
	default:
		out.Posts = of("the last", 15)
	}
	return connect.NewResponse(out), nil
}

func (r *rankedServer) ShowLess(_ context.Context, q *connect.Request[rankingv1.ShowLessRequest]) (*connect.Response[rankingv1.ShowLessResponse], error) {
	r.less = append(r.less, q.Msg.Author)
	return connect.NewResponse(&rankingv1.ShowLessResponse{}), nil
}

func (r *rankedServer) RecordClicks(_ context.Context, q *connect.Request[rankingv1.RecordClicksRequest]) (*connect.Response[rankingv1.RecordClicksResponse], error) {
	r.opened = append(r.opened, q.Msg.Posts...)
	return connect.NewResponse(&rankingv1.RecordClicksResponse{}), nil
}

// What is opened of /foryou is recorded, once for each list; what is opened of another list is not.
func TestOpenedPosts(t *testing.T) {
	p, do := newFeedScreen(t)
	do("/feed")
	do("/comments 1")
	if len(p.ranked.opened) != 0 {
		t.Errorf("posts of /feed are recorded as opened: %d", p.ranked.opened)
	}
	for range 2 {
		do("/foryou")
		do("/comments 1")
		do("/comments 1 oldest")
	}
	if !slices.Equal(p.ranked.opened, []uint64{8, 8}) {
		t.Errorf("recorded as opened: %d", p.ranked.opened)
	}
}

func TestForYou(t *testing.T) {
	p, do := newFeedScreen(t)
	if got := do("/foryou more"); got != "! "+errNoMorePosts.Error() {
		t.Errorf("/foryou more at first: %q", got)
	}
	if got := do("/foryou"); !strings.Contains(got, "the best") || !strings.Contains(got, "  you follow the author, new\n") {
		t.Errorf("/foryou shows %q", got)
	}
	do("/less 2")
	do("/less 1")
	if len(p.ranked.less) != 1 || p.ranked.less[0] != 2 {
		t.Errorf("/less asked for %d", p.ranked.less)
	}
	if got := do("/foryou more"); !strings.Contains(got, "the last") || !strings.Contains(got, "  popular\n") {
		t.Errorf("/foryou more shows %q", got)
	}
	if got := do("/foryou more"); got != "! "+errNoMorePosts.Error() {
		t.Errorf("/foryou more at the end: %q", got)
	}
	if got := do("/foryou now"); !strings.HasPrefix(got, "! ") {
		t.Errorf("/foryou now shows %q", got)
	}
}
