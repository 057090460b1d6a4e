package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// fakeStore is a Rialto that stores messages only, except those that it has an answer for.
type fakeStore struct {
	bridgev1connect.BridgeServiceClient
	answers map[string]error // by external id

	mu     sync.Mutex // guards stored and calls
	stored []string
	calls  int
}

func (f *fakeStore) SendBridgedMessage(_ context.Context, r *connect.Request[bridgev1.SendBridgedMessageRequest]) (*connect.Response[bridgev1.SendBridgedMessageResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if err := f.answers[r.Msg.ExternalId]; err != nil {
		return nil, err
	}
	f.stored = append(f.stored, r.Msg.ExternalId)
	return connect.NewResponse(&bridgev1.SendBridgedMessageResponse{}), nil
}

// refusal is an answer of Rialto with a reason.
func refusal(t *testing.T, code connect.Code, reason string) error {
	t.Helper()
	err := connect.NewError(code, errors.New(reason))
	detail, failed := connect.NewErrorDetail(&gatewayv1.Error{Reason: reason})
	if failed != nil {
		t.Fatal(failed)
	}
	err.AddDetail(detail)
	return err
}

// storing runs the part of a bridge that stores, with a room for each state of a link, while what runs. Its clock is that of the test.
func storing(t *testing.T, f *fakeStore, what func(b *Bridge)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, err := New(Config{Rialto: &rialto.Bridge{BridgeServiceClient: f}, Spool: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		b.system, b.linksLoaded, b.links.byRoom = &fakeSystem{}, true, map[string]*bridgev1.BridgeLink{"#a": {Conversation: 1, State: active}, "#b": {Conversation: 2, State: active}, "#pending": {Conversation: 3, State: pending}}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { b.store(ctx) })
		what(b)
		cancel()
		work.Wait()
	})
}

func (b *Bridge) give(t *testing.T, room, id string) {
	t.Helper()
	if err := b.Received(Received{Room: room, ID: id, Address: "eve", Name: "Eve", Text: id}); err != nil {
		t.Fatal(err)
	}
}

// expect compares what is stored.
func (f *fakeStore) expect(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.stored, want) {
		t.Errorf("%q are stored, want %q", f.stored, want)
	}
}

// What Rialto never stores is left out at once, and the messages behind it are stored.
func TestRefusedMessagesHoldUpNothing(t *testing.T) {
	f := &fakeStore{answers: map[string]error{"1": refusal(t, connect.CodeResourceExhausted, "too_many_bridged_users"), "2": refusal(t, connect.CodeInvalidArgument, "empty_text")}}
	storing(t, f, func(b *Bridge) {
		for _, id := range []string{"1", "2", "3"} {
			b.give(t, "#a", id)
		}
		synctest.Wait()
		f.expect(t, "3")
	})
}

// A message that Rialto answers and does not store holds up others for half a minute at most. It is not lost. Several of them do not add up.
func TestOthersPassAMessage(t *testing.T) {
	f := &fakeStore{answers: map[string]error{}}
	storing(t, f, func(b *Bridge) {
		for n := range 5 {
			f.answers[fmt.Sprint("bad ", n)] = refusal(t, connect.CodeInternal, "internal")
			b.give(t, "#a", fmt.Sprint("bad ", n))
		}
		b.give(t, "#pending", "waiting")
		b.give(t, "#b", "1")
		time.Sleep(7 * maxAttempts * retryDelay)
		synctest.Wait()
		f.expect(t, "1")
		b.give(t, "#b", "2")
		synctest.Wait()
		f.expect(t, "1", "2")
		f.mu.Lock()
		f.answers = nil
		f.mu.Unlock()
		time.Sleep(deferLongest)
		synctest.Wait()
		f.mu.Lock()
		slices.SortStableFunc(f.stored, func(a, b string) int { return strings.Compare(a, b) })
		f.mu.Unlock()
		f.expect(t, "1", "2", "bad 0", "bad 1", "bad 2", "bad 3", "bad 4")
	})
}

// While Rialto cannot be reached, or asks for patience, messages keep their order.
func TestOutagesKeepTheOrder(t *testing.T) {
	f := &fakeStore{answers: map[string]error{"1": connect.NewError(connect.CodeUnavailable, errors.New("connection refused"))}}
	storing(t, f, func(b *Bridge) {
		b.give(t, "#a", "1")
		b.give(t, "#a", "2")
		for _, answer := range []error{f.answers["1"], refusal(t, connect.CodeUnavailable, "overloaded"), nil} {
			f.expect(t)
			f.mu.Lock()
			f.answers["1"] = answer
			f.mu.Unlock()
			time.Sleep(2 * maxAttempts * retryDelay)
			synctest.Wait()
		}
		f.expect(t, "1", "2")
	})
}
