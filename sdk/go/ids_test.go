package rialto_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
)

// counting returns 1, 2, 3 … to callers with the key.
type counting struct {
	idv1connect.UnimplementedIDServiceHandler
	mu    sync.Mutex // guards all below
	last  uint64
	calls []int64 // the requested counts
	fail  error
}

func (c *counting) Next(_ context.Context, r *connect.Request[idv1.NextRequest]) (*connect.Response[idv1.NextResponse], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Header().Get("Authorization") != "Bearer rk_good" {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("no key"))
	}
	if err := c.fail; err != nil {
		c.fail = nil
		return nil, err
	}
	c.calls = append(c.calls, r.Msg.Count)
	out := &idv1.NextResponse{}
	for range r.Msg.Count {
		c.last++
		if r.Msg.Tag == "ulid" {
			out.Texts = append(out.Texts, strings.Repeat("A", 26))
		} else {
			out.Numbers = append(out.Numbers, c.last+1000*r.Msg.Key)
		}
	}
	return connect.NewResponse(out), nil
}

func idsOf(t *testing.T, buffer int, key string) (*rialto.IDs, *counting) {
	t.Helper()
	c := &counting{}
	mux := http.NewServeMux()
	mux.Handle(idv1connect.NewIDServiceHandler(c))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	ids, err := rialto.NewIDs(rialto.IDsConfig{URL: s.URL + "/", Key: key, Buffer: buffer})
	if err != nil {
		t.Fatal(err)
	}
	return ids, c
}

// TestIDsAreBuffered: many callers request one number each and get different ones, with one request for each buffer.
func TestIDsAreBuffered(t *testing.T) {
	ids, c := idsOf(t, 50, "rk_good")
	var wait sync.WaitGroup
	all := make([][]uint64, 8)
	for i := range all {
		wait.Go(func() {
			for range 25 {
				v, err := ids.Next(t.Context(), "segment")
				if err != nil {
					t.Error(err)
				}
				if n := len(all[i]); n > 0 && v <= all[i][n-1] {
					t.Errorf("%d after %d", v, all[i][n-1])
				}
				all[i] = append(all[i], v)
			}
		})
	}
	wait.Wait()
	got := slices.Sorted(slices.Values(slices.Concat(all...)))
	for i, v := range got {
		if v != uint64(i+1) {
			t.Fatalf("the ids are %v", got)
		}
	}
	if !slices.Equal(c.calls, []int64{50, 50, 50, 50}) {
		t.Errorf("the calls were %v", c.calls)
	}
}

// TestIDsFail: an error is returned once, and later calls succeed.
func TestIDsFail(t *testing.T) {
	ids, c := idsOf(t, 2, "rk_good")
	c.fail = connect.NewError(connect.CodeUnavailable, errors.New("away"))
	if _, err := ids.Next(t.Context(), "segment"); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("error %v, want one of the code unavailable", err)
	}
	for want := range uint64(5) {
		if v, err := ids.Next(t.Context(), "segment"); err != nil || v != want+1 {
			t.Errorf("id %d, want %d; error %v", v, want+1, err)
		}
	}
	bad, _ := idsOf(t, 1, "rk_bad")
	if _, err := bad.Next(t.Context(), "segment"); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("with a bad key: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bad.Next(ended, "segment"); err == nil {
		t.Error("a context that has ended is no reason")
	}
}

// TestIDsOfKinds: numbers are no texts, and sequences have keys.
func TestIDsOfKinds(t *testing.T) {
	ids, _ := idsOf(t, 1, "rk_good")
	if list, err := ids.Numbers(t.Context(), "snowflake", 3); err != nil || !slices.Equal(list, []uint64{1, 2, 3}) {
		t.Errorf("ids %v, want 1 to 3; error %v", list, err)
	}
	if list, err := ids.Texts(t.Context(), "ulid", 2); err != nil || len(list) != 2 || len(list[1]) != 26 {
		t.Errorf("ids %v, want two ULIDs; error %v", list, err)
	}
	if first, err := ids.Sequence(t.Context(), "sequence", 7, 2); err != nil || first != 7006 {
		t.Errorf("the first number is %d, want 7006; error %v", first, err)
	}
	if _, err := ids.Numbers(t.Context(), "ulid", 2); err == nil {
		t.Error("texts are numbers")
	}
	if _, err := ids.Texts(t.Context(), "segment", 2); err == nil {
		t.Error("numbers are texts")
	}
	for _, c := range []rialto.IDsConfig{{URL: "127.0.0.1", Key: "k"}, {URL: "http://127.0.0.1"}, {URL: "http://127.0.0.1", Key: "k", Buffer: 10_001}, {URL: "http://127.0.0.1", Key: "k", Buffer: -1}} {
		if _, err := rialto.NewIDs(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
