package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
)

// A line has nothing that Rialto refuses in a text: no control or direction characters, and no stacked marks.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{" a\r\nb\tc\u2028d ", 500, "a b c d"}, {"kicked \u202eby\u2066 eve\u2069", 500, "kicked by eve"}, {"e" + strings.Repeat("\u0301", 30) + "f\u0301", 500, "e\u0301\u0301\u0301f\u0301"},
		{"e" + strings.Repeat("\u0301\u200d", 30), 9, "e\u0301\u200d\u0301\u200d\u0301\u200d\u200d\u200d"}, {"\x00\uFFFD\u0085", 500, ""}, {"字字字", 2, "字字"},
	} {
		if got := Line(c.text, c.most); got != c.want {
			t.Errorf("%q is the line %q, want %q", c.text, got, c.want)
		}
	}
}

// strict is a Rialto that accepts reasons without a text only.
type strict struct {
	bridgev1connect.BridgeServiceClient
	refusal error
	calls   []string
}

func (s *strict) answer(call, reason, text string) error {
	s.calls = append(s.calls, fmt.Sprint(call, " ", reason, " ", text))
	if text != "" {
		return s.refusal
	}
	return nil
}

func (s *strict) ReportBridgeLink(_ context.Context, r *connect.Request[bridgev1.ReportBridgeLinkRequest]) (*connect.Response[bridgev1.BridgeLink], error) {
	return connect.NewResponse(&bridgev1.BridgeLink{}), s.answer("link", r.Msg.Reason, r.Msg.Text)
}

func (s *strict) ReportDelivery(_ context.Context, r *connect.Request[bridgev1.ReportDeliveryRequest]) (*connect.Response[bridgev1.ReportDeliveryResponse], error) {
	return connect.NewResponse(&bridgev1.ReportDeliveryResponse{}), s.answer("delivery", r.Msg.Reason, r.Msg.Text)
}

func (s *strict) PutBridgePermission(_ context.Context, r *connect.Request[bridgev1.PutBridgePermissionRequest]) (*connect.Response[bridgev1.PutBridgePermissionResponse], error) {
	return connect.NewResponse(&bridgev1.PutBridgePermissionResponse{}), s.answer("permission", r.Msg.Permission.Reason, r.Msg.Permission.Text)
}

// A refusal whose text Rialto refuses is reported without the text.
func TestRefusedTexts(t *testing.T) {
	s := &strict{refusal: refusal(t, connect.CodeInvalidArgument, "bad_reason")}
	b, err := New(Config{Rialto: &rialto.Bridge{BridgeServiceClient: s}, Spool: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	why := NewRefusal("kicked", "by eve")
	why.OfUser = true
	for _, call := range []func() error{
		func() error {
			_, err := b.reportState(t.Context(), &bridgev1.BridgeLink{Conversation: 1, State: active}, "#rialto", why)
			return err
		},
		func() error { return b.report(t.Context(), 1, 2, "", why) },
		func() error { return b.putPermission(t.Context(), 1, 2, why) },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	want := []string{"link kicked by eve", "link kicked ", "delivery kicked by eve", "delivery kicked ", "permission kicked by eve", "permission kicked "}
	if !slices.Equal(s.calls, want) {
		t.Errorf("the calls are %q, want %q", s.calls, want)
	}
}
