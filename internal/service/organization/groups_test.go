package organization_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/organization"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (w *fixture) group(by id.User, r *chatv1.CreateOrganizationGroupRequest) (uint64, error) {
	w.t.Helper()
	r.Title = "a group"
	made, err := w.CreateOrganizationGroup(w.t.Context(), id.Caller{User: by}, r)
	return made.GetConversation(), err
}

// A change of members that could not be brought into a group is repeated, from wherever it stopped, also by another node after a crash.
func TestGroupsFollowAfterACrash(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "a", "b")
	w.put(org, anna, d[0])
	g, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d[0], Below: true, Key: "a"})
	must(t, err)
	w.hasMembers(g, boss, anna)
	for n := range 3 { // the change is three entries, of which so many are stored before the crash
		w.put(org, anna, d[0])
		w.put(org, ben)
		w.put(org, cleo)
		stop := w.run(w.node("node-2"))
		eventually.True(t, "the groups are aligned", func() bool { return w.pending() == 0 })
		stop()
		w.put(org, anna)
		w.put(org, ben, d[1])
		w.put(org, cleo, d[0])
		failAt := w.fail(n)
		stop = w.run(w.node("node-2"))
		eventually.True(t, "the log fails", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.entries > failAt })
		stop()
		w.fail(-1)
		stop = w.run(w.node("node-3"))
		eventually.True(t, "the group follows", func() bool { return w.pending() == 0 })
		stop()
		w.hasMembers(g, boss, ben, cleo)
	}
}

// A node that was held up between reading the rows and changing the group may undo what another one did since. Then the group is aligned again. A
// change that comes meanwhile is not taken for the one that was read.
func TestGroupsFollowAfterAnAlignmentFromOldRows(t *testing.T) {
	for _, held := range []struct {
		up             string
		aligned, fails bool
	}{{"before a change", false, false}, {"after it was made", true, false}, {"and fails half-way", true, true}} {
		t.Run("held up "+held.up, func(t *testing.T) {
			w := open(t)
			org := w.create("Acme")
			d := w.departments(org, "a")
			g, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d[0], Key: "a"})
			must(t, err)
			p := w.pauseNext()
			w.put(org, ben, d[0])
			stopSlow := w.run(w.node("node-2"))
			<-p.reached
			stop := w.run(w.node("node-3"))
			eventually.True(t, "another node aligns the group", func() bool { return w.pending() == 0 })
			if !held.aligned {
				stop()
			}
			w.putInput(org, input(ben), input(cleo, d[0])) // one change, as the one before
			if held.aligned {
				eventually.True(t, "another node aligns the group again", func() bool { return w.pending() == 0 })
			}
			if held.fails {
				w.fail(1)
			}
			close(p.resume)
			if !held.fails {
				eventually.True(t, "the group is aligned", func() bool { return w.pending() == 0 })
			}
			stopSlow()
			w.fail(-1)
			w.run(w.node("node-4"))
			eventually.True(t, "the group has the members of the department", func() bool { return slices.Equal(w.membersOf(g), []id.User{boss, cleo}) && w.pending() == 0 })
		})
	}
}

// An aligner that works from old rows, and is killed between its last entry and its mark, leaves the group wrong for a minute only. So does a removal.
func TestGroupsFollowAfterAnAlignerWasKilled(t *testing.T) {
	for _, c := range []struct {
		what          string
		before, after func(w *fixture, org, department uint64)
		align         func(s *organization.Service, org, department uint64) error
		wrong, right  []id.User
	}{
		{"adding a user who was removed meanwhile",
			func(w *fixture, org, d uint64) { w.put(org, ben, d) },
			func(w *fixture, org, _ uint64) { w.put(org, ben) },
			func(s *organization.Service, org, d uint64) error {
				_, err := s.CreateOrganizationGroup(t.Context(), id.Caller{User: boss}, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d, Title: "a group", Key: "a"})
				return err
			}, []id.User{boss, ben}, []id.User{boss}},
		{"removing a user who was added meanwhile",
			func(w *fixture, org, d uint64) {
				w.put(org, ben, d)
				stop := w.run(w.node("node-2"))
				eventually.True(t, "the group is aligned", func() bool { return w.pending() == 0 })
				stop()
			},
			func(w *fixture, org, d uint64) { w.put(org, ben, d) },
			func(s *organization.Service, org, _ uint64) error {
				_, err := s.RemoveOrganizationMembers(t.Context(), boss, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(ben)}})
				return err
			}, []id.User{boss}, []id.User{boss, ben}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := open(t)
			org := w.create("Acme")
			d := w.departments(org, "a")[0]
			g, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d, Key: "a"})
			must(t, err)
			c.before(w, org, d)
			p, dead, slow := w.pauseNext(), make(chan struct{}), w.node("node-2")
			p.kill = true
			go func() { // ends when it is killed
				defer close(dead)
				t.Errorf("an aligner was not killed: %v", c.align(slow, org, d))
			}()
			<-p.reached
			c.after(w, org, d)
			w.run(w.node("node-3"))
			eventually.True(t, "another node aligns the group", func() bool { return slices.Equal(w.membersOf(g), c.right) && w.pending() == 0 })
			close(p.resume)
			<-dead
			w.hasMembers(g, c.wrong...)
			w.pass(time.Minute + time.Second)
			eventually.True(t, "the group has the members of the department", func() bool { return slices.Equal(w.membersOf(g), c.right) && w.pending() == 0 })
			if n := w.rows(`SELECT count(*) FROM organization_alignments`); n != 0 {
				t.Errorf("%d aligners are registered at the end", n)
			}
		})
	}
}

func TestRemovedMembersLeaveAllGroups(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "a")
	in := input(anna, d[0])
	in.Admin = true
	w.putInput(org, in)
	w.put(org, ben, d[0])
	follows, err := w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d[0], Key: "a"})
	must(t, err)
	circle, err := w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Members: []uint64{uint64(ben)}, Key: "b"})
	must(t, err)
	// The owner of the groups is removed. The removal of a group's member that fails is made up for.
	w.fail(1)
	if _, err := w.RemoveOrganizationMembers(t.Context(), boss, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(anna)}}); !errors.Is(err, errDown) {
		t.Errorf("the removal without a log gives %v", err)
	}
	w.fail(-1)
	w.run(w.node("node-2"))
	eventually.True(t, "the groups are aligned", func() bool { return w.pending() == 0 })
	w.hasMembers(follows, boss, ben)
	w.hasMembers(circle, boss, ben)
	w.remove(org, ben) // at once
	w.hasMembers(follows, boss)
	w.hasMembers(circle, boss)
}

// A key belongs to a request: to one organization, and one department.
func TestKeysOfGroups(t *testing.T) {
	w := open(t)
	one, two := w.create("one"), w.create("two")
	d := w.departments(one, "a", "b")
	w.put(one, anna, d[0])
	w.put(two, ben)
	first, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: one, Department: d[0], Key: "k"})
	must(t, err)
	again, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: one, Department: d[0], Key: "k"})
	if must(t, err); again != first {
		t.Error("a retry made a second group")
	}
	_, err = w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: one, Department: d[1], Key: "k"})
	w.refused("the key with another department", err, "group_key_used")
	_, err = w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: one, Members: []uint64{uint64(anna)}, Key: "k"})
	w.refused("the key with a circle", err, "group_key_used")
	other, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: two, Members: []uint64{uint64(ben)}, Key: "k"})
	if must(t, err); other == first {
		t.Error("the key in another organization gives the group of the first one")
	}
	w.hasMembers(first, boss, anna)
	w.hasMembers(other, boss, ben)
	for _, key := range []string{"", "a\nb", "\x01", string(make([]byte, 41))} {
		_, err = w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: one, Department: d[0], Key: key})
		w.refused(fmt.Sprintf("the key %q", key), err, "bad_key")
	}
}

// Members of a circle agree as those of any group, and a retry adds nobody.
func TestCirclesNeedConsent(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	for _, u := range []id.User{anna, ben, cleo} {
		w.put(org, u)
	}
	w.shy[ben] = true
	_, err := w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Members: []uint64{uint64(ben)}, Key: "k"})
	w.refused("a circle with somebody who does not agree", err, "may_not_add")
	g, err := w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Members: []uint64{uint64(cleo)}, Key: "k"})
	must(t, err)
	w.mu.Lock() // she hands it over, and leaves
	w.groups[id.Conversation(g)] = &group{owner: cleo, members: []id.User{cleo}}
	w.mu.Unlock()
	w.shy[ben] = false
	again, err := w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Members: []uint64{uint64(anna), uint64(ben)}, Key: "k"})
	if must(t, err); again != g {
		t.Error("a retry made a second circle")
	}
	w.hasMembers(g, cleo)
}

// One member cannot use up the groups of an organization. Those that were dissolved make room.
func TestCirclesOfAMemberAreBounded(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	w.put(org, anna)
	var last uint64
	for i := range 10 {
		var err error
		last, err = w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: fmt.Sprint(i)})
		must(t, err)
	}
	_, err := w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: "more"})
	w.refused("an eleventh circle", err, "too_many_groups")
	_, err = w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: "9"})
	must(t, err) // a retry
	_, err = w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: "more"})
	must(t, err)
	if n := w.pending(); n != 11 { // since they were created: nothing runs here
		t.Fatalf("%d groups are pending", n)
	}
	must(t, w.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE organization_groups SET pending = 0`)
		return err
	}))
	_, err = w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: "more"})
	if w.refused("another circle", err, "too_many_groups"); w.pending() != 0 {
		t.Error("a refused group makes others pending: anybody could keep the server at work")
	}
	w.mu.Lock()
	w.groups[id.Conversation(last)].dissolved = true
	w.mu.Unlock()
	_, err = w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: "more"})
	must(t, err)
	_, err = w.group(anna, &chatv1.CreateOrganizationGroupRequest{Organization: org, Key: "still more"})
	w.refused("a circle beyond the room of the dissolved one", err, "too_many_groups")
}

// A change that leaves all groups as they are makes nobody look at them: an organization has up to 200 of 10,000 members.
func TestGroupsArePendingOnlyIfMembersMayChange(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "a")
	w.put(org, anna, d[0])
	_, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d[0], Key: "a"})
	must(t, err)
	for _, c := range []struct {
		what   string
		in     *chatv1.OrganizationMemberInput
		change int
	}{
		{"a title", &chatv1.OrganizationMemberInput{User: uint64(anna), Title: "clerk", Departments: []*chatv1.DepartmentMembership{{Department: d[0]}}}, 0},
		{"a member of no department", input(ben), 0},
		{"a member of a department", input(cleo, d[0]), 1},
	} {
		if w.putInput(org, c.in); w.pending() != c.change {
			t.Errorf("%s leaves %d groups pending, want %d", c.what, w.pending(), c.change)
		}
	}
}
