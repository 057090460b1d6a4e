package chatroom_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/chatroom"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestAPausedOwnerDecidesNothing: a node that believes that it owns a room changes no row after another has loaded it in a later term.
func TestAPausedOwnerDecidesNothing(t *testing.T) {
	n := newNodes(t, 2)
	room := n.create()
	n.mustEnter(0, 2, room)
	paused := "node-0" // its grant does not end
	next := "node-1"
	n.list[1].Assigned(cluster.NewGrant(t.Context(), 0, n.term+1))
	n.owner.Store(&next)
	n.mustEnter(1, 3, room)
	before, err := n.list[1].GetRoom(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	n.owner.Store(&paused)
	yes := true
	s, r := n.list[0], uint64(room)
	for name, decide := range map[string]func() error{
		"kick": func() error {
			_, err := s.Kick(t.Context(), 1, &chatv1.KickFromRoomRequest{Room: r, User: 3, Seconds: 60})
			return err
		},
		"mute": func() error {
			_, err := s.Mute(t.Context(), 1, &chatv1.MuteInRoomRequest{Room: r, User: 3, Seconds: 60})
			return err
		},
		"update": func() error {
			_, err := s.UpdateRoom(t.Context(), 1, &chatv1.UpdateRoomRequest{Room: r, Muted: &yes})
			return err
		},
		"moderator": func() error {
			_, err := s.SetModerator(t.Context(), 1, &chatv1.SetRoomModeratorRequest{Room: r, User: 3, Moderator: true})
			return err
		},
		"close": func() error { _, err := s.CloseRoom(t.Context(), 1, &chatv1.CloseRoomRequest{Room: r}); return err },
	} {
		if err := decide(); reason(err) != "room_moving" {
			t.Errorf("%s: error %v, want the reason room_moving", name, err)
		}
	}
	n.owner.Store(&next)
	after, err := n.list[1].GetRoom(t.Context(), room)
	if err != nil || after.String() != before.String() {
		t.Errorf("the room is %v, %v; it was %v", after, err, before)
	}
	if list, err := n.list[1].ListRestrictions(t.Context(), 1, room); err != nil || len(list.Restrictions) != 0 {
		t.Errorf("restricted are %v, %v", list, err)
	}
	if _, err := n.list[1].Kick(t.Context(), 1, &chatv1.KickFromRoomRequest{Room: r, User: 3, Seconds: 60}); err != nil {
		t.Errorf("a kick at the owner: %v", err)
	}
}

// TestALaterTermThanTheClustersIsReported, so that the cluster takes the partition in a higher one.
func TestALaterTermThanTheClustersIsReported(t *testing.T) {
	n := newNodes(t, 1)
	room := n.create()
	if err := n.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE rooms SET term = 40 WHERE id = $1`, int64(room))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	g := cluster.NewGrant(t.Context(), 0, 7)
	n.list[0].Assigned(g)
	if _, err := n.enter(0, 2, room); reason(err) != "room_moving" || g.Latest() != 40 {
		t.Errorf("entering: %v; reported was %d", err, g.Latest())
	}
}

// TestAModeratorResigns without the owner, and names nobody.
func TestAModeratorResigns(t *testing.T) {
	n := newNodes(t, 1)
	room, s := n.create(), n.list[0]
	set := func(by id.User, u uint64, moderator bool) error {
		_, err := s.SetModerator(t.Context(), by, &chatv1.SetRoomModeratorRequest{Room: uint64(room), User: u, Moderator: moderator})
		return err
	}
	for _, u := range []uint64{2, 3} {
		if err := set(1, u, true); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{"another": set(2, 3, false), "naming": set(2, 4, true), "no moderator": set(4, 4, false), "naming oneself": set(2, 2, true)} {
		if reason(err) != "not_moderator" {
			t.Errorf("%s: error %v, want the reason not_moderator", name, err)
		}
	}
	if err := set(1, 999, true); reason(err) != "no_user" {
		t.Errorf("a user who does not exist: %v", err)
	}
	if err := set(2, 2, false); err != nil {
		t.Error(err)
	}
	if r, err := s.GetRoom(t.Context(), room); err != nil || len(r.Moderators) != 1 || r.Moderators[0] != 3 {
		t.Errorf("the room is %v, want 3 as its only moderator; error %v", r, err)
	}
}

// TestAFewAccountsCannotUseUpTheNode: neither by creating rooms nor by entering them.
func TestAFewAccountsCannotUseUpTheNode(t *testing.T) {
	n := newNodes(t, 1)
	var rooms []id.Room
	for range 33 {
		rooms = append(rooms, n.create())
	}
	for i, room := range rooms[:20] {
		n.mustEnter(0, 2, room)
		n.mustEnter(0, id.User(100+i), room)
	}
	if _, err := n.enter(0, 2, rooms[20]); reason(err) != "too_many_entered" {
		t.Errorf("the 21st room of a user: %v", err)
	}
	for i, room := range rooms[20:31] {
		n.mustEnter(0, id.User(200+i), room)
	}
	n.mustSend(0, 1, rooms[31], "x") // nobody is in it
	n.mustEnter(0, 300, rooms[32])   // so it makes way
	if _, err := n.enter(0, 301, rooms[31]); reason(err) != "too_many_rooms_in_use" {
		t.Errorf("the 33rd room of a creator: %v", err)
	}
	other, err := n.list[0].CreateRoom(t.Context(), 5, &chatv1.CreateRoomRequest{Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	v := n.mustEnter(0, 301, id.Room(other.Id))
	n.list[0].Leave(id.Room(other.Id), v)
	for i := range 21 { // what was left is not counted
		v := n.mustEnter(0, 302, rooms[i])
		n.list[0].Leave(rooms[i], v)
	}
}

// TestAFullNodeForgetsIdleRooms before it refuses others.
func TestAFullNodeForgetsIdleRooms(t *testing.T) {
	n := newNodes(t, 1)
	chatroom.SetMaxActive(n.list[0], 3)
	var rooms []id.Room
	for i := range 5 {
		r, err := n.list[0].CreateRoom(t.Context(), id.User(i+1), &chatv1.CreateRoomRequest{Title: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		rooms = append(rooms, id.Room(r.Id))
	}
	n.mustSend(0, 50, rooms[0], "x")
	n.mustSend(0, 50, rooms[1], "x")
	n.mustEnter(0, 60, rooms[2])
	n.mustEnter(0, 61, rooms[3])
	n.mustEnter(0, 62, rooms[4])
	if err := n.send(0, 50, rooms[0], "x"); reason(err) != "too_many_active_rooms" {
		t.Errorf("a fourth room: %v", err)
	}
	if _, err := n.enter(0, 63, rooms[1]); reason(err) != "too_many_active_rooms" {
		t.Errorf("entering a fourth room: %v", err)
	}
	n.mustEnter(0, 64, rooms[3])
}

// TestClosedRoomsAreDeleted with all their rows, after a month.
func TestClosedRoomsAreDeleted(t *testing.T) {
	n := newNodes(t, 1)
	s, open := n.list[0], n.create()
	var closed []id.Room
	for range 25 { // more than are deleted at once
		closed = append(closed, n.create())
	}
	for _, room := range append(closed, open) {
		if _, err := s.SetModerator(t.Context(), 1, &chatv1.SetRoomModeratorRequest{Room: uint64(room), User: 2, Moderator: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Kick(t.Context(), 1, &chatv1.KickFromRoomRequest{Room: uint64(room), User: 3, Seconds: 60}); err != nil {
			t.Fatal(err)
		}
	}
	for _, room := range closed {
		if _, err := s.CloseRoom(t.Context(), 1, &chatv1.CloseRoomRequest{Room: uint64(room)}); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * 3600 * 1000
	for _, step := range []struct{ days, left int64 }{{29, 26}, {2, 1}} {
		n.nowMs.Add(step.days * day)
		if err := chatroom.Purge(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"rooms", "room_moderators", "room_restrictions"} {
			if got := n.count(t.Context(), table); got != step.left {
				t.Errorf("after %d days more, %s has %d rows, want %d", step.days, table, got, step.left)
			}
		}
	}
}

// count returns the number of rows of a table.
func (n *nodes) count(ctx context.Context, table string) (rows int64) {
	n.t.Helper()
	if err := n.db.Read().QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil {
		n.t.Fatal(err)
	}
	return rows
}

// TestADroppedRoomStaysDropped, also if the tick had it in its list: its other loading would have other viewers and seqs.
func TestADroppedRoomStaysDropped(t *testing.T) {
	n := newNodes(t, 1)
	room := n.create()
	n.mustEnter(0, 2, room)
	if chatroom.TickDropped(n.list[0], room) {
		t.Error("a room that was dropped is used again")
	}
}

// TestTwoNodesPurge: what another node deletes meanwhile does not make rows of other rooms be left.
func TestTwoNodesPurge(t *testing.T) {
	n := newNodes(t, 1)
	s, rooms := n.list[0], []id.Room{}
	for range 25 { // more than are deleted at once
		room := n.create()
		rooms = append(rooms, room)
		if _, err := s.SetModerator(t.Context(), 1, &chatv1.SetRoomModeratorRequest{Room: uint64(room), User: 2, Moderator: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Kick(t.Context(), 1, &chatv1.KickFromRoomRequest{Room: uint64(room), User: 3, Seconds: 60}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CloseRoom(t.Context(), 1, &chatv1.CloseRoomRequest{Room: uint64(room)}); err != nil {
			t.Fatal(err)
		}
	}
	statements := []string{fmt.Sprintf(`CREATE TRIGGER other AFTER DELETE ON room_restrictions WHEN old.room = %d BEGIN DELETE FROM rooms WHERE id = old.room; END`, rooms[0])}
	if sqltest.OnPostgres() {
		statements = []string{
			fmt.Sprintf(`CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF old.room = %d THEN DELETE FROM rooms WHERE id = old.room; END IF; RETURN old; END'`, rooms[0]),
			`CREATE TRIGGER other AFTER DELETE ON room_restrictions FOR EACH ROW EXECUTE FUNCTION other()`,
		}
	}
	for _, statement := range statements {
		if err := n.db.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	n.nowMs.Add(31 * 24 * 3600 * 1000)
	if err := chatroom.Purge(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"rooms", "room_moderators", "room_restrictions"} {
		if got := n.count(t.Context(), table); got != 0 {
			t.Errorf("%s has %d rows", table, got)
		}
	}
}
