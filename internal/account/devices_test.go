package account_test

import (
	"fmt"
	"sync"
	"testing"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/id"
	"google.golang.org/protobuf/proto"
)

// TestTwoDevicesChangeAProfile: what one sets, the other does not set back.
func TestTwoDevicesChangeAProfile(t *testing.T) {
	r := open(t, account.Config{})
	c := id.Caller{User: r.people(1)[0]}
	for n := range 20 {
		text := fmt.Sprint("number ", n)
		var wait sync.WaitGroup
		for _, q := range []*accountv1.UpdateProfileRequest{{DisplayName: &text}, {Bio: &text}, {Avatar: proto.Uint64(uint64(n + 1))}} {
			wait.Go(func() {
				if _, err := r.UpdateProfile(t.Context(), c, q); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if u, err := r.GetUser(t.Context(), c.User); err != nil || u.DisplayName != text || u.Bio != text || u.Avatar != uint64(n+1) {
			t.Fatalf("round %d: %v, %v", n, u, err)
		}
	}
}
