package app

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestOrganizationsInTerminals: an owner changes departments, members, invitations, groups and rules of an organization by lines of rialto chat.
func TestOrganizationsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob", "Carol")
	alice, bob, carol := people[0], people[1], people[2]
	users, err := h.accounts.GetUsers(t.Context(), &accountv1.GetUsersRequest{Handles: []string{"alice"}})
	must(t, err)
	_, err = h.organizations.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "Acme", Key: "acme", Owner: users[0].Id})
	must(t, err)

	alice.types("/org", "/organize", "/organize 2 invited", "/organize 1 nothing", "/organize 1 invited")
	alice.sees("  1  Acme  1 member  (owner; /organize 1)", "/organize N department PATH\n      add a department", "! there is no organization", `! an organization has no "nothing"`, "Nobody is invited.")
	alice.types("/organize 1 department Sales", "/organize 1 department sales/Europe", "/organize 1 department Nowhere/Europe", "/organize 1 rename Sales/Europe to West", "/organize 1 rename Sales", "/organize 1 remove Sales", "/org 1")
	alice.sees("Done.", "Done.", `! there is no department "Nowhere"`, "Done.", "! write /organize N rename", "! ", "  Sales (0)\n    West (0)\n")

	alice.types("/organize 1 invite @bob @carol", "/organize 1 invited", "/organize 1 uninvite @carol", "/organize 1 invited")
	alice.sees("Invited: 2.", "@bob  Bob, invited by you", "Done.", "@bob  Bob, invited by you")
	bob.sees("invites you to an organization: /invitations")
	bob.types("/invitations accept 1", "/org", "/organize 1 department Mine")
	bob.sees("Done.", "  1  Acme  2 members\n", "! ")
	alice.types(`/organize 1 member @bob title:"Head of sales" phone:555 in:"Sales, Sales/West"`, "/organize 1 member @bob admin:yes in:Sales/West", "/organize 1 member @bob admin:perhaps", "/organize 1 member @bob size:9", "/org 1")
	alice.sees("Done.", "Done.", "! write admin:yes or admin:no", "! what is set of a member", "  Sales (0)\n    West (1)\n      @bob Bob Head of sales 555\n")

	alice.types("/organize 1 group Sales", "/organize 1 circle Lunch", "/organize 1 circle Lunch @bob")
	alice.sees("--- Sales ---", "! give a title", "--- Lunch ---")
	bob.sees("[Lunch]")
	alice.types("/organize 1 messaging friends", "/organize 1 messaging inside", "/organize 1 name Acme Ltd", "/org")
	alice.sees("! members write to everyone", "Done.", "Done.", "  1  Acme Ltd  2 members")

	path := filepath.Join(t.TempDir(), "people.csv")
	must(t, os.WriteFile(path, []byte("user,name,title,departments\nnobody,X,,\n"), 0o600))
	alice.types("/organize 1 import "+path, "/organize 1 import "+path+" apply", "/organize 1 import "+path+".none")
	alice.sees("line 2: ", "Would be added: 0", "wrong lines: 1", "Would be added: 0", "wrong lines: 1", "! ")

	alice.types("/organize 1 leave yes", "/organize 1 owner @bob", "/organize 1 owner @bob yes", "/org", "/organize 1 leave", "/organize 1 leave yes", "/org")
	alice.sees("! ", "! you cannot undo this", "Done.", "(admin; /organize 1)", "! you also leave its groups", "Done.", "You are in no organization.")
	bob.types("/organize 1 member @carol", "/organize 1 remove @alice @carol", "/org")
	bob.sees("  1  Acme Ltd  1 member  (owner; /organize 1)")
	carol.types("/org", "/gone?")
	carol.sees("unknown command /gone?")
	alice.mu.Lock()
	defer alice.mu.Unlock()
	if n := len(regexp.MustCompile(`(?m)^  /organize N .*$`).FindAllString(alice.text, -1)); n != 14 {
		t.Errorf("/organize lists %d changes", n)
	}
}
