package rpc

import (
	"net/http"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// AuthorizeUpload authenticates and limits a request of tus, as calls are. A request that creates an upload counts as CreateMultipartUpload.
func (s *Server) AuthorizeUpload(r *http.Request, creates bool) (id.User, error) {
	ctx := ratelimit.WithNetwork(r.Context(), ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied))
	c, err := s.authenticate(ctx, "", userAccess, r.Header)
	if err != nil {
		return 0, err
	}
	if err := s.identify(ctx, c); err != nil {
		return 0, err
	}
	var request proto.Message = &chatv1.GetMultipartUploadRequest{}
	if creates {
		request = &chatv1.CreateMultipartUploadRequest{}
	}
	_, err = s.limit(ctx, c, request, 0, 0, 0)
	return c.User, err
}
