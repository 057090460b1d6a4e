package moderation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

// handles returns the handles that a list gives to the users whom it names, with the display name of each.
func handles(users []*accountv1.User) string {
	list := []string{}
	for _, u := range users {
		list = append(list, fmt.Sprintf("@%s %s", u.Handle, u.DisplayName))
	}
	return fmt.Sprint(list)
}

// Moderators read the names of the users that cases, reports, appeals and bans are of, each once: those of now, without pictures and bios.
func TestModeratorsReadNames(t *testing.T) {
	f := open(t, 1)
	ann, bob, carol := f.user(), f.user(), f.user()
	bio, name := "a bio", "Robert"
	_, err := f.accounts.UpdateProfile(t.Context(), id.Caller{User: bob}, &accountv1.UpdateProfileRequest{DisplayName: &name, Bio: &bio})
	must(t, err)
	g := f.group(ann, bob, carol)
	f.send(carol, g, "hello")
	f.report(ann, subject(ofMessage, uint64(g), f.send(bob, g, "buy this")))
	f.report(ann, subject(ofUser, uint64(bob), 0))
	f.report(bob, subject(ofGroup, uint64(g), 0)) // is about nobody
	cases, err := f.ListCases(t.Context(), mia, &moderationv1.ListCasesRequest{})
	must(t, err)
	if got := handles(cases.Users); len(cases.Cases) != 3 || got != "[@user2 Robert]" {
		t.Errorf("%d cases name %s", len(cases.Cases), got)
	}
	if want := (&accountv1.User{Id: uint64(bob), Handle: "user2", DisplayName: "Robert"}); !proto.Equal(cases.Users[0], want) {
		t.Errorf("bob is %v, want %v", cases.Users[0], want)
	}
	c, err := f.GetCase(t.Context(), mia, &moderationv1.GetCaseRequest{Case: cases.Cases[0].Id})
	must(t, err)
	if got := handles(c.Users); got != "[@user1 user1 @user2 Robert @user3 user3]" {
		t.Errorf("the case of the message names %s, want its sender, its reporter and the sender before", got)
	}
	onDevice := f.ban(device(f.session(carol).Device), time.Hour)
	f.ban(network("203.0.113.0/24"), time.Hour) // of nobody
	d := f.decide(c, ban, 0)
	bans, err := f.ListBans(t.Context(), mia, &moderationv1.ListBansRequest{})
	must(t, err)
	if got := handles(bans.Users); len(bans.Bans) != 3 || got != "[@user2 Robert @user3 user3]" || onDevice.About != uint64(carol) {
		t.Errorf("%d bans name %s", len(bans.Bans), got)
	}
	_, err = f.AppealDecision(t.Context(), bob, &moderationv1.AppealDecisionRequest{Decision: d.Id, Text: "please"})
	must(t, err)
	appeals, err := f.ListAppeals(t.Context(), mia, &moderationv1.ListAppealsRequest{})
	must(t, err)
	if got := handles(appeals.Users); got != "[@user2 Robert]" {
		t.Errorf("the appeals name %s", got)
	}
}

// A list that names nobody is read too: a group that the word filter has reported, and networks.
func TestListsThatNameNobody(t *testing.T) {
	f := open(t, 1)
	ann := f.user()
	f.FlagGroup(f.group(ann), "a bad title", "bad")
	f.ban(network("203.0.113.7"), 0)
	eventually.True(t, "the group is reported", func() bool { return len(f.cases(&moderationv1.ListCasesRequest{})) == 1 })
	c := f.onlyCase()
	bans, err := f.ListBans(t.Context(), mia, &moderationv1.ListBansRequest{})
	must(t, err)
	if len(c.Reports) != 1 || c.Reports[0].Reporter != 0 || len(c.Users) != 0 || len(bans.Bans) != 1 || len(bans.Users) != 0 {
		t.Errorf("the case is %v, the bans are %v", c, bans)
	}
}

// The largest page of bans names all users of its rows.
func TestTheLargestPageNamesAll(t *testing.T) {
	f := open(t, 1)
	for range 201 {
		f.ban(user(f.user()), time.Hour)
	}
	page, err := f.ListBans(t.Context(), mia, &moderationv1.ListBansRequest{Limit: 1000})
	must(t, err)
	if len(page.Bans) != 200 || len(page.Users) != 200 {
		t.Errorf("%d bans name %d users, want 200", len(page.Bans), len(page.Users))
	}
}
