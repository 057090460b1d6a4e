package account_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"google.golang.org/protobuf/proto"
)

// Two devices change different fields of a profile. Neither reverts the other's change.
func TestConcurrentProfileChanges(t *testing.T) {
	r := open(t, account.Config{})
	c := id.Caller{User: r.newUsers(1)[0]}
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
			t.Fatalf("round %d: got profile %v, %v", n, u, err)
		}
	}
}
