package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// TestServersReplaceEachOther: servers are asked in order from any first one, until one answers with a status that another one would answer too. Each gets the whole
// request. Without an answer, the error has the last status.
func TestServersReplaceEachOther(t *testing.T) {
	statuses, asked := [3]int{}, []int(nil)
	var urls []string
	for n := range statuses {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = append(asked, n)
			w.WriteHeader(statuses[n])
			fmt.Fprint(w, r.Method, " ", r.URL, " ", string(body), " ", r.Header.Get("X-Key"))
		}))
		defer s.Close()
		urls = append(urls, s.URL+"/")
	}
	servers, err := egress.NewServers(urls, egress.Config{Kind: outgoing.EdgeOrigin})
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	q := egress.Call{Method: "POST", Target: "/a?b=c", Header: http.Header{"X-Key": {"k"}}, Body: []byte("text")}
	for _, c := range []struct {
		statuses [3]int
		first    uint32
		asked    []int
		want     int // 0: an error
	}{
		{[3]int{200, 200, 200}, 1, []int{1}, 200},
		{[3]int{200, 500, 429}, 1, []int{1, 2, 0}, 200},
		{[3]int{503, 404, 200}, 0, []int{0, 1}, 404},
		{[3]int{500, 500, 503}, 1<<32 - 1, []int{0, 1, 2}, 0},
	} {
		statuses, asked = c.statuses, nil
		a, err := servers.Do(t.Context(), c.first, q, nil)
		var status *egress.StatusError
		switch {
		case !slices.Equal(slices.Compact(asked), c.asked): // each may be asked again
			t.Errorf("%v are asked in the order %v", c, asked)
		case c.want == 0 && (!errors.As(err, &status) || status.Answer.Status != 503):
			t.Errorf("%v fail with %v", c, err)
		case c.want != 0 && (err != nil || a.Status != c.want || !strings.HasPrefix(string(a.Body), "POST /a?b=c text k")):
			t.Errorf("%v are answered with %v, %v", c, a, err)
		}
	}
	cause := errors.New("it is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := servers.Do(ctx, 0, q, nil); !errors.Is(err, cause) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := egress.NewServers(nil, egress.Config{}); err == nil {
		t.Error("servers without an address are made")
	}
}
