package rialto_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// clickServer notes what is recorded.
type clickServer struct {
	rankingv1connect.UnimplementedRankingServiceHandler
	got []*rankingv1.RecordClicksRequest
}

func (s *clickServer) RecordClicks(_ context.Context, r *connect.Request[rankingv1.RecordClicksRequest]) (*connect.Response[rankingv1.RecordClicksResponse], error) {
	s.got = append(s.got, r.Msg)
	return connect.NewResponse(&rankingv1.RecordClicksResponse{}), nil
}

// Impressions of many posts are recorded by several calls, each with what a call may have; none are no call.
func TestRecordImpressions(t *testing.T) {
	s, mux := &clickServer{}, http.NewServeMux()
	mux.Handle(rankingv1connect.NewRankingServiceHandler(s))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	c, err := rialto.New(rialto.Config{URL: h.URL})
	if err == nil {
		err = c.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50})
	}
	if err != nil {
		t.Fatal(err)
	}
	opened := make([]uint64, 150)
	dwells := map[uint64]time.Duration{3: 1500 * time.Millisecond, 4: -time.Second, 5: 1 << 60}
	for i := range opened {
		opened[i] = uint64(i + 1)
	}
	if err := c.RecordImpressions(t.Context(), nil, nil); err != nil || len(s.got) != 0 {
		t.Fatalf("%d calls without impressions, %v", len(s.got), err)
	}
	if err := c.RecordImpressions(t.Context(), opened, dwells); err != nil {
		t.Fatal(err)
	}
	if len(s.got) != 2 || len(s.got[0].Posts) != 100 || len(s.got[1].Posts) != 50 || s.got[1].Posts[49] != 150 || len(s.got[0].Dwells) != 3 || len(s.got[1].Dwells) != 0 {
		t.Fatalf("recorded: %v", s.got)
	}
	for i, want := range []uint32{1500, 0, 3_600_000} {
		if d := s.got[0].Dwells[i]; d.Post != uint64(i+3) || d.DwellMs != want {
			t.Errorf("dwell %d is %v, want %d ms", i, d, want)
		}
	}
}
