package terminal

import (
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// An invitation says whether it is to a group or to an organization.
func TestInvitationsSayWhatTheyAreTo(t *testing.T) {
	for want, i := range map[string]invitation{"Friends": {conversation: 1, title: "Friends"}, "the organization " + plain("Acme\x1b[2J"): {organization: 1, title: "Acme\x1b[2J"}} {
		if got := i.describe(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, i := range map[string]*chatv1.InvitationsChange{"a group": {Conversation: 1, Inviter: 2}, "an organization": {Organization: 1, Inviter: 2}} {
		if got := invitedTo(i); got != want {
			t.Errorf("%v is to %q, want %q", i, got, want)
		}
	}
}
