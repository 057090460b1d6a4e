package bench

import (
	"errors"
	"testing"

	"connectrpc.com/connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A call that a busy server refuses is repeated, and one that reaches a limit of what a user may have is not.
func TestCallsThatABusyServerRefusesAreRepeated(t *testing.T) {
	for reason, want := range map[string]bool{"too_many_requests": true, "too_many_calls": true, "conversation_busy": true, "organization_busy": true, "post_quota": false, "group_full": false} {
		err := connect.NewWireError(connect.CodeResourceExhausted, errors.New("refused"))
		detail, failed := connect.NewErrorDetail(&gatewayv1.Error{Reason: reason})
		if failed != nil {
			t.Fatal(failed)
		}
		err.AddDetail(detail)
		if isTemporary(err) != want {
			t.Errorf("%s is taken for temporary: %v, want %v", reason, !want, want)
		}
	}
}
