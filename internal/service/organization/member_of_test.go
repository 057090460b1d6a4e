package organization_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/organization"
)

// The organizations of a user are known soon after they were asked for, and after a change, also without an event of it.
func TestOrganizationsOfUsersAreRemembered(t *testing.T) {
	w := open(t)
	first, second := w.create("Acme"), w.create("Bell")
	d := w.departments(first, "a")
	w.put(first, anna, d[0])
	if got := w.MemberOf(anna); got != nil {
		t.Errorf("before they were read the organizations of a user are %d", got)
	}
	w.run(w.Service)
	known := func(what string, u id.User, want ...uint64) {
		t.Helper()
		eventually.True(t, what, func() bool { return slices.Equal(w.MemberOf(u), want) })
	}
	known("the organization of a user", anna, first)
	known("those of a user of two", boss, first, second)
	w.put(second, anna, w.departments(second, "b")...)
	known("those of a user of two, after a change", anna, first, second)
	w.remove(first, anna)
	known("that of a user who left one", anna, second)
	w.MemberOf(5_000) // is read after all that was asked for while a query was made
	eventually.True(t, "all that was asked for is read", func() bool {
		asked, known := w.Remembered()
		return asked == 0 && known == 3
	})
	reads := w.Reads()
	for range 100 {
		w.MemberOf(anna)
		w.MemberOf(boss)
	}
	if asked, _ := w.Remembered(); asked != 0 || w.Reads() != reads {
		t.Errorf("%d users are to be read, and %d queries were made, for what is known", asked, w.Reads()-reads)
	}
	w.pass(organization.KnownFor + time.Second)
	eventually.True(t, "the organization of a user is read again after a while", func() bool {
		return slices.Equal(w.MemberOf(anna), []uint64{second}) && w.Reads() > reads
	})
}

// The users that wait to be read, and those that are remembered, are bounded.
func TestRememberedOrganizationsAreBounded(t *testing.T) {
	w := open(t)
	for u := range id.User(organization.MaxAsked + 100) {
		w.MemberOf(10_000 + u)
	}
	if asked, _ := w.Remembered(); asked != organization.MaxAsked {
		t.Errorf("%d users wait, want %d", asked, organization.MaxAsked)
	}
	w.run(w.Service)
	eventually.True(t, "all are read", func() bool {
		asked, known := w.Remembered()
		return asked == 0 && known == organization.MaxAsked
	})
	if n := w.Reads(); n != organization.MaxAsked/organization.ReadBatch {
		t.Errorf("%d queries were made, want %d", n, organization.MaxAsked/organization.ReadBatch)
	}
	w.ForgetAt(organization.MaxAsked)
	w.MemberOf(1)
	eventually.True(t, "the others are forgotten", func() bool { _, known := w.Remembered(); return known == 1 })
}
