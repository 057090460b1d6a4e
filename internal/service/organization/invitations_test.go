package organization_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (w *fixture) invite(by id.User, org uint64, users ...uint64) (uint32, error) {
	r, err := w.InviteToOrganization(w.t.Context(), id.Caller{User: by}, &chatv1.InviteToOrganizationRequest{Organization: org, Users: users})
	return r.GetInvited(), err
}

func (w *fixture) answer(u id.User, org uint64, accept bool) error {
	return w.AnswerOrganizationInvitation(w.t.Context(), u, &chatv1.AnswerOrganizationInvitationRequest{Organization: org, Accept: accept})
}

// invitations returns the organizations that a user is invited to.
func (w *fixture) invitations(u id.User) (orgs []uint64) {
	w.t.Helper()
	list, err := w.ListOrganizationInvitations(w.t.Context(), u, &chatv1.ListOrganizationInvitationsRequest{})
	must(w.t, err)
	for _, i := range list.Invitations {
		orgs = append(orgs, i.Organization)
	}
	return orgs
}

// told counts the events for a user's stream.
func (w *fixture) told(u id.User) int {
	w.t.Helper()
	return w.rows(fmt.Sprint("SELECT count(*) FROM outbox WHERE owner = ", uint64(u)))
}

func (w *fixture) isMember(org uint64, u id.User) bool {
	w.t.Helper()
	_, err := w.GetOrganization(w.t.Context(), u, org)
	if err != nil && reason(err) != "no_organization" {
		w.t.Fatalf("error %v, want none or no_organization", err)
	}
	return err == nil
}

// Who is invited sees the invitation, and nobody else does. Accepting makes a member, declining makes none, and both end it.
func TestInvitationsAreAnsweredByTheInvited(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	w.put(org, cleo)
	if n, err := w.invite(boss, org, uint64(anna), uint64(ben), uint64(cleo), uint64(anna)); err != nil || n != 2 {
		t.Fatalf("the invitation of two users and a member: %d %v", n, err)
	}
	if n, err := w.invite(boss, org, uint64(anna)); err != nil || n != 0 || w.told(anna) != 1 {
		t.Errorf("a repeated invitation: %d %v, of which anna is told %d times", n, err, w.told(anna))
	}
	list, err := w.ListOrganizationInvitations(t.Context(), anna, &chatv1.ListOrganizationInvitationsRequest{})
	must(t, err)
	if i := list.Invitations; len(i) != 1 || i[0].Name != "Acme" || i[0].Inviter != uint64(boss) || i[0].User != uint64(anna) || i[0].TimeMs == 0 {
		t.Errorf("anna sees %v", i)
	}
	if w.isMember(org, anna) || len(w.invitations(cleo)) != 0 || len(w.invitations(dan)) != 0 {
		t.Error("an invitation makes a member, or reaches others")
	}
	w.refused("an answer of somebody else", w.answer(dan, org, true), "no_invitation")
	must(t, w.answer(anna, org, true))
	must(t, w.answer(ben, org, false))
	if !w.isMember(org, anna) || w.isMember(org, ben) || len(w.invitations(anna))+len(w.invitations(ben)) != 0 || w.told(anna) != 2 || w.told(ben) != 2 {
		t.Errorf("after the answers anna is a member: %v, ben: %v", w.isMember(org, anna), w.isMember(org, ben))
	}
	o, err := w.GetOrganization(t.Context(), anna, org)
	if must(t, err); o.Members != 3 || o.Role != chatv1.OrganizationRole_ORGANIZATION_ROLE_MEMBER {
		t.Errorf("anna sees %v", o)
	}
	w.refused("a second answer", w.answer(ben, org, true), "no_invitation")
	must(t, func() error { _, err := w.invite(boss, org, uint64(ben)); return err }()) // one may be asked again
	w.put(org, ben)
	if len(w.invitations(ben)) != 0 {
		t.Error("who was added by an admin is still invited")
	}
}

// Only admins invite, see who is invited, and take invitations back, and only of users who let them.
func TestWhoMayInvite(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	w.put(org, cleo)
	w.shy[anna], w.blocked[[2]id.User{boss, ben}] = true, true
	_, err := w.invite(cleo, org, uint64(dan))
	w.refused("an invitation by a member", err, "not_organization_admin")
	_, err = w.invite(dan, org, uint64(anna))
	w.refused("an invitation by somebody else", err, "no_organization")
	_, err = w.ListOrganizationInvitations(t.Context(), cleo, &chatv1.ListOrganizationInvitationsRequest{Organization: org})
	w.refused("the list for a member", err, "not_organization_admin")
	w.refused("taking back by a member", w.CancelOrganizationInvitation(t.Context(), cleo, &chatv1.CancelOrganizationInvitationRequest{Organization: org, User: uint64(dan)}), "not_organization_admin")
	for _, u := range []id.User{anna, ben} {
		_, err := w.invite(boss, org, uint64(dan), uint64(u))
		if w.refused("an invitation of a user who does not let the admin", err, "may_not_add"); len(w.invitations(dan)) != 0 {
			t.Error("a refused call invited somebody")
		}
	}
	for _, users := range [][]uint64{nil, make([]uint64, 201)} {
		_, err := w.invite(boss, org, users...)
		w.refused("an invitation of nobody, or too many", err, "bad_count")
	}
	_, err = w.invite(boss, org, 1<<63)
	w.refused("an invitation of a number that is no user", err, "no_user")
	server, err := w.InviteToOrganization(t.Context(), id.Caller{User: boss, Server: true}, &chatv1.InviteToOrganizationRequest{Organization: org, Users: []uint64{uint64(anna)}})
	if must(t, err); server.Invited != 1 {
		t.Error("a server cannot invite everybody")
	}
	must(t, w.CancelOrganizationInvitation(t.Context(), boss, &chatv1.CancelOrganizationInvitationRequest{Organization: org, User: uint64(anna)}))
	must(t, w.CancelOrganizationInvitation(t.Context(), boss, &chatv1.CancelOrganizationInvitationRequest{Organization: org, User: uint64(anna)}))
	w.refused("an answer after it was taken back", w.answer(anna, org, true), "no_invitation")
}

// An invitation ends when its inviter is no longer an admin. A block between the two hides it, and keeps it from being accepted.
func TestInvitationsEndWithTheirInviter(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	admin := func() {
		in := input(cleo)
		in.Admin = true
		w.putInput(org, in)
		_, err := w.invite(cleo, org, uint64(anna))
		must(t, err)
	}
	for name, end := range map[string]func(){"removed": func() { w.remove(org, cleo) }, "a member": func() { w.put(org, cleo) }} {
		admin()
		end()
		if len(w.invitations(anna)) != 0 {
			t.Errorf("the invitation by an admin who was made %s is shown", name)
		}
		w.refused("the answer to it", w.answer(anna, org, true), "no_invitation")
	}
	admin()
	w.blocked[[2]id.User{anna, cleo}] = true
	if len(w.invitations(anna)) != 0 {
		t.Error("the invitation by somebody who is blocked is shown")
	}
	w.refused("the answer to it", w.answer(anna, org, true), "no_invitation")
	if w.isMember(org, anna) {
		t.Error("anna is a member")
	}
}

// An organization has a bounded number of invitations, and so has a user, whose oldest ones end.
func TestInvitationsAreBounded(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	for first := 100; first < 1100; first += 200 {
		var users []uint64
		for u := range 200 {
			users = append(users, uint64(first+u))
		}
		_, err := w.invite(boss, org, users...)
		must(t, err)
	}
	_, err := w.invite(boss, org, 2000)
	w.refused("one more", err, "too_many_invitations")
	var seen []uint64
	for page, more := "", true; more; more = page != "" {
		list, err := w.ListOrganizationInvitations(t.Context(), boss, &chatv1.ListOrganizationInvitationsRequest{Organization: org, Limit: 150, Page: page})
		must(t, err)
		for _, i := range list.Invitations {
			seen = append(seen, i.User)
		}
		page = list.Next
	}
	if len(seen) != 1000 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != 1000 {
		t.Errorf("the pages have %d users, want 1,000, each once", len(seen))
	}
	var orgs []uint64
	for i := range 52 { // each owner has a few of them
		w.pass(time.Second)
		owner := id.User(3000 + i/10)
		o, err := w.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "x", Key: fmt.Sprint(i), Owner: uint64(owner)})
		must(t, err)
		orgs = append(orgs, o.Id)
		_, err = w.invite(owner, o.Id, uint64(anna))
		must(t, err)
	}
	slices.Reverse(orgs)
	if got := w.invitations(anna); !slices.Equal(got, orgs[:50]) {
		t.Errorf("anna has %d invitations: %v, want the newest 50 of %v", len(got), got, orgs)
	}
	w.refused("an answer to an old one", w.answer(anna, orgs[51], true), "no_invitation")
}

// Who cannot become a member keeps the invitation, for when that is possible.
func TestInvitationsOfAUserWhoIsInTooManyOrganizations(t *testing.T) {
	w := open(t)
	owners := []id.User{boss, cleo}
	var first uint64
	for i := range 20 {
		o, err := w.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "x", Key: fmt.Sprint(i), Owner: uint64(owners[i%2])})
		must(t, err)
		_, err = w.PutOrganizationMembers(t.Context(), id.Caller{User: owners[i%2]}, &chatv1.PutOrganizationMembersRequest{Organization: o.Id, Members: []*chatv1.OrganizationMemberInput{input(anna)}})
		must(t, err)
		if i == 0 {
			first = o.Id
		}
	}
	o, err := w.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "x", Key: "more", Owner: uint64(dan)})
	must(t, err)
	_, err = w.invite(dan, o.Id, uint64(anna))
	must(t, err)
	w.refused("a 21st organization", w.answer(anna, o.Id, true), "too_many_organizations")
	_, err = w.RemoveOrganizationMembers(t.Context(), anna, &chatv1.RemoveOrganizationMembersRequest{Organization: first, Users: []uint64{uint64(anna)}})
	must(t, err)
	must(t, w.answer(anna, o.Id, true))
}

// Only the owner passes on the organization, and only to a member. The former owner is an admin, and may leave; the new one may not.
func TestTransferOrganization(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	in := input(cleo)
	in.Admin = true
	w.putInput(org, in)
	w.put(org, anna)
	transfer := func(by, to id.User) (*chatv1.Organization, error) {
		return w.TransferOrganization(t.Context(), by, &chatv1.TransferOrganizationRequest{Organization: org, User: uint64(to)})
	}
	for _, by := range []id.User{cleo, anna} {
		_, err := transfer(by, by)
		w.refused("a transfer by another member", err, "not_organization_owner")
	}
	_, err := transfer(dan, dan)
	w.refused("a transfer by somebody else", err, "no_organization")
	_, err = transfer(boss, dan)
	w.refused("a transfer to somebody else", err, "not_in_organization")
	if o, err := transfer(boss, boss); err != nil || o.Owner != uint64(boss) || o.Role != chatv1.OrganizationRole_ORGANIZATION_ROLE_OWNER {
		t.Errorf("a transfer to the owner: %v %v", o, err)
	}
	o, err := transfer(boss, anna)
	if must(t, err); o.Owner != uint64(anna) || o.Role != chatv1.OrganizationRole_ORGANIZATION_ROLE_ADMIN {
		t.Errorf("after the transfer boss sees %v", o)
	}
	if o, err := w.GetOrganization(t.Context(), anna, org); err != nil || o.Role != chatv1.OrganizationRole_ORGANIZATION_ROLE_OWNER {
		t.Errorf("after the transfer anna sees %v %v", o, err)
	}
	_, err = transfer(boss, cleo)
	w.refused("a transfer by the former owner", err, "not_organization_owner")
	remove := func(u id.User) error {
		_, err := w.RemoveOrganizationMembers(t.Context(), u, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(u)}})
		return err
	}
	w.refused("the new owner leaves", remove(anna), "organization_owner")
	must(t, remove(boss))
	// The key is still one of the first owner, and of no other.
	again, err := w.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "Acme", Key: "Acme", Owner: uint64(boss)})
	if must(t, err); again.Id != org {
		t.Error("a retry of the creation made a second organization")
	}
	own, err := w.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "Acme", Key: "Acme", Owner: uint64(anna)})
	if must(t, err); own.Id == org {
		t.Error("the new owner's key is taken by the organization")
	}
}

// Of two transfers at once, one is refused, and one owner remains.
func TestConcurrentTransfers(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	w.put(org, anna)
	w.put(org, ben)
	results := make(chan error, 2)
	for _, to := range []id.User{anna, ben} {
		go func() {
			_, err := w.TransferOrganization(t.Context(), boss, &chatv1.TransferOrganizationRequest{Organization: org, User: uint64(to)})
			results <- err
		}()
	}
	refused := 0
	for range 2 {
		if err := <-results; err != nil {
			refused++
			w.refused("the second transfer", err, "not_organization_owner")
		}
	}
	if n := w.rows(`SELECT count(*) FROM organization_members m JOIN organizations o ON o.owner = m.member WHERE m.role = 3`); n != 1 || refused != 1 {
		t.Errorf("%d were refused, and %d owners remain", refused, n)
	}
}
