package unary_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
	"google.golang.org/protobuf/proto"
)

type service struct {
	idv1connect.UnimplementedIDServiceHandler
}

// Next answers with the tag as the text of an id, and with headers.
func (service) Next(_ context.Context, r *connect.Request[idv1.NextRequest]) (*connect.Response[idv1.NextResponse], error) {
	if r.Msg.Count == 0 {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("count is 0"))
	}
	res := connect.NewResponse(&idv1.NextResponse{Texts: []string{r.Msg.Tag, r.Header().Get("Sent")}})
	res.Header().Set("Answered", "header")
	res.Trailer().Set("Answered", "trailer")
	return res, nil
}

// TestCalls: generated clients call as Connect's do, in each of its protocols, with headers, trailers and errors.
func TestCalls(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(idv1connect.NewIDServiceHandler(service{}))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for name, option := range map[string]connect.ClientOption{"connect": connect.WithClientOptions(), "json": connect.WithProtoJSON(), "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb()} {
		t.Run(name, func(t *testing.T) {
			client := idv1connect.NewIDServiceClient(server.Client(), server.URL, option)
			r := connect.NewRequest(&idv1.NextRequest{Tag: "orders", Count: 1})
			r.Header().Set("Sent", "by the caller")
			res, err := client.Next(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if want := (&idv1.NextResponse{Texts: []string{"orders", "by the caller"}}); !proto.Equal(res.Msg, want) {
				t.Fatalf("the answer is %v, not %v", res.Msg, want)
			}
			if h, tr := res.Header().Get("Answered"), res.Trailer().Get("Answered"); h != "header" || tr != "trailer" {
				t.Fatalf("the header is %q and the trailer %q", h, tr)
			}
			if _, err = client.Next(t.Context(), connect.NewRequest(&idv1.NextRequest{})); connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Fatalf("the error of a call is %v", err)
			}
		})
	}
}

// TestInterceptors: an interceptor has the procedure, and each message by reflection; it can repeat a call, and set headers.
func TestInterceptors(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(idv1connect.NewIDServiceHandler(service{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	var saw []string
	client := idv1connect.NewIDServiceClient(server.Client(), server.URL, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			if _, err := next(ctx, r); err != nil {
				return nil, err
			}
			r.Header().Set("Sent", "by the interceptor")
			res, err := next(ctx, r)
			if err != nil {
				return nil, err
			}
			request := r.Any().(proto.Message).ProtoReflect().Interface().(*idv1.NextRequest)
			answer := res.Any().(proto.Message).ProtoReflect().Interface().(*idv1.NextResponse)
			saw = append(saw, r.Spec().Procedure, request.Tag, answer.Texts[1])
			return res, nil
		}
	})))
	res, err := client.Next(t.Context(), connect.NewRequest(&idv1.NextRequest{Tag: "orders", Count: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if len(saw) != 3 || saw[0] != idv1connect.IDServiceNextProcedure || saw[1] != "orders" || saw[2] != "by the interceptor" || res.Msg.Texts[1] != saw[2] {
		t.Fatalf("the interceptor saw %q, the caller %v", saw, res.Msg)
	}
}
