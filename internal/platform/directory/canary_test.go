package directory

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
)

// A canary is located as any user is, and counts as none.
func TestCanariesAreLocatedAndNotCounted(t *testing.T) {
	s := New(Deps{Clock: clock.System{}, Node: "a"}, Config{})
	canary := id.CanaryUser(3)
	s.Connected(id.Caller{User: canary, Session: 1})
	s.Connected(id.Caller{User: 7, Session: 2})
	if online, owned := s.Online(), s.OwnedUsers(); online != 1 || owned != 1 {
		t.Errorf("%d users are online, and this node owns %d, want the person alone", online, owned)
	}
	if nodes := s.Locate(canary); len(nodes) != 1 || nodes[0] != "a" {
		t.Errorf("the canary is at %v", nodes)
	}
}
