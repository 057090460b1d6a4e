package message

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// AppendError appends an error for the caller on another node.
func AppendError(b []byte, err error) []byte {
	e := errs.Of(err)
	body, _ := proto.Marshal(&gatewayv1.Error{Reason: e.Reason, Message: e.Message, RetryMs: uint32(e.Retry.Milliseconds())}) // its texts are constants
	return append(append(b, byte(e.Kind)), body...)
}

// DecodeError decodes what AppendError appended. It is not ok for anything else.
func DecodeError(b []byte) (decoded *errs.Error, ok bool) {
	e := &gatewayv1.Error{}
	if len(b) == 0 || b[0] > byte(errs.Unavailable) || proto.Unmarshal(b[1:], e) != nil {
		return nil, false
	}
	return &errs.Error{Kind: errs.Kind(b[0]), Reason: e.Reason, Message: e.Message, Retry: time.Duration(e.RetryMs) * time.Millisecond}, true
}
