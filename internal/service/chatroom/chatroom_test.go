package chatroom_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chatroom"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestViewersOfAllNodesGetTheSameOrder: messages sent at several nodes reach all viewers once, in one order.
func TestViewersOfAllNodesGetTheSameOrder(t *testing.T) {
	n := newNodes(t, 3)
	room := n.create()
	viewers := []*viewer{n.mustEnter(0, 2, room), n.mustEnter(1, 3, room), n.mustEnter(2, 4, room), n.mustEnter(2, 5, room)}
	var want []string
	for i := range 30 {
		text := fmt.Sprint("message ", i)
		n.mustSend(i%3, id.User(100+i), room, text)
		want = append(want, text)
	}
	for i, v := range viewers {
		n.until("a viewer has all messages", func() bool { texts, _ := v.texts(); return len(texts) >= len(want) })
		if texts, missed := v.texts(); !slices.Equal(texts, want) || missed != 0 {
			t.Errorf("viewer %d got %q and missed %d, want %q", i, texts, missed, want)
		}
	}
}

// TestThoseWhoEnterGetTheLastMessages: at most 50, at the first node and at one that had no viewers, and then what follows.
func TestThoseWhoEnterGetTheLastMessages(t *testing.T) {
	n := newNodes(t, 2)
	room := n.create()
	for i := range 70 {
		n.nowMs.Add(1000) // so that no limit applies
		n.mustSend(0, id.User(100+i), room, fmt.Sprint(i))
	}
	for node := range 2 {
		v := n.mustEnter(node, 2, room)
		texts, _ := v.texts()
		if len(texts) != 50 || texts[0] != "20" || texts[49] != "69" {
			t.Fatalf("at node %d one enters with %q", node, texts)
		}
		if v.entry.Room.Title != "a room" || v.entry.Viewers == 0 {
			t.Errorf("the entry is %v", v.entry)
		}
	}
	large := n.create()
	for i := range 60 {
		n.nowMs.Add(1000)
		n.mustSend(0, id.User(100+i), large, strings.Repeat("群", 500))
	}
	if texts, _ := n.mustEnter(0, 2, large).texts(); len(texts) > 32<<10/1500 || len(texts) < 15 {
		t.Errorf("one enters with %d messages of 1,500 bytes", len(texts))
	}
}

// TestAKickedUserStaysOutForTheTime, on each node, and with each connection.
func TestAKickedUserStaysOutForTheTime(t *testing.T) {
	n := newNodes(t, 2)
	room := n.create()
	kicked, other := n.mustEnter(1, 2, room), n.mustEnter(1, 3, room)
	kick := func(by, u id.User, seconds uint32) error {
		_, err := n.list[1].Kick(t.Context(), by, &chatv1.KickFromRoomRequest{Room: uint64(room), User: uint64(u), Seconds: seconds})
		return err
	}
	if err := kick(3, 2, 60); reason(err) != "not_moderator" {
		t.Errorf("a viewer's kick: %v", err)
	}
	if err := kick(1, 2, 60); err != nil {
		t.Fatal(err)
	}
	n.until("the user is told", func() bool {
		return kicked.has(func(u *chatv1.RoomUpdate) bool { return u.Left == chatv1.RoomLeft_ROOM_LEFT_KICKED })
	})
	n.until("the user is out", kicked.isOut)
	if other.isOut() {
		t.Error("the kick removed another user")
	}
	for node := range 2 {
		if _, err := n.enter(node, 2, room); reason(err) != "kicked" {
			t.Errorf("the kicked user enters at node %d: %v", node, err)
		}
		if err := n.send(node, 2, room, "hello"); reason(err) != "kicked" || errs.Of(err).Retry <= 0 {
			t.Errorf("the kicked user sends at node %d: %v", node, err)
		}
	}
	n.own(1) // rows survive the owner
	if _, err := n.enter(0, 2, room); reason(err) != "kicked" {
		t.Errorf("the kicked user enters after a change of the owner: %v", err)
	}
	n.mustSend(0, 3, room, "after")
	if texts, _ := kicked.texts(); len(texts) != 0 {
		t.Errorf("the kicked user got %q", texts)
	}
	n.nowMs.Add(59_000)
	if _, err := n.enter(0, 2, room); reason(err) != "kicked" {
		t.Errorf("after 59 of 60 seconds: %v", err)
	}
	n.nowMs.Add(1_000)
	n.mustEnter(0, 2, room)
	n.mustSend(0, 2, room, "back")
}

// TestMutes: of a user for a time, and of all but moderators.
func TestMutes(t *testing.T) {
	n := newNodes(t, 1)
	room := n.create()
	s := n.list[0]
	if _, err := s.Mute(t.Context(), 1, &chatv1.MuteInRoomRequest{Room: uint64(room), User: 2, Seconds: 60}); err != nil {
		t.Fatal(err)
	}
	if err := n.send(0, 2, room, "hello"); reason(err) != "muted" {
		t.Errorf("a muted user: %v", err)
	}
	if v := n.mustEnter(0, 2, room); v.entry.MutedUntilMs != n.nowMs.Load()+60_000 {
		t.Errorf("a muted user enters with %v", v.entry)
	}
	n.nowMs.Add(60_000)
	n.mustSend(0, 2, room, "hello")
	muted := true
	if _, err := s.UpdateRoom(t.Context(), 1, &chatv1.UpdateRoomRequest{Room: uint64(room), Muted: &muted}); err != nil {
		t.Fatal(err)
	}
	if err := n.send(0, 2, room, "hello"); reason(err) != "muted" {
		t.Errorf("while all are muted: %v", err)
	}
	if _, err := s.SetModerator(t.Context(), 1, &chatv1.SetRoomModeratorRequest{Room: uint64(room), User: 3, Moderator: true}); err != nil {
		t.Fatal(err)
	}
	n.mustSend(0, 3, room, "a moderator")
	for _, u := range []uint64{1, 3} {
		if _, err := s.Kick(t.Context(), 3, &chatv1.KickFromRoomRequest{Room: uint64(room), User: u, Seconds: 60}); reason(err) != "not_moderator" {
			t.Errorf("a moderator kicks %d: %v", u, err)
		}
	}
}

// TestABusyRoomRefusesOrdinaryMessagesFirst: a user sends 5 at once; all users 40; and moderators still get through.
func TestABusyRoomRefusesOrdinaryMessagesFirst(t *testing.T) {
	n := newNodes(t, 1)
	room := n.create()
	for i := range 6 {
		if err := n.send(0, 2, room, "x"); (reason(err) == "too_fast") != (i == 5) {
			t.Errorf("message %d of a user: %v", i, err)
		}
	}
	for i := range 35 {
		n.mustSend(0, id.User(100+i), room, "x")
	}
	if err := n.send(0, 99, room, "x"); reason(err) != "room_busy" {
		t.Errorf("message 41 of all: %v", err)
	}
	n.mustSend(0, 1, room, "from the owner")
}

// TestASlowViewerIsToldHowManyItMissed: ordinary messages are left out, those of moderators are not, and others get all.
func TestASlowViewerIsToldHowManyItMissed(t *testing.T) {
	n := newNodes(t, 1)
	room := n.create()
	slow, fast := n.mustEnter(0, 2, room), n.mustEnter(0, 3, room)
	slow.mu.Lock()
	slow.slow = true
	slow.mu.Unlock()
	for i := range 10 {
		n.mustSend(0, id.User(100+i), room, "ordinary")
	}
	n.until("the other viewer has all", func() bool { texts, _ := fast.texts(); return len(texts) == 10 })
	n.mustSend(0, 1, room, "urgent")
	n.until("the slow viewer has the moderator's", func() bool { texts, _ := slow.texts(); return len(texts) == 1 })
	if texts, missed := slow.texts(); texts[0] != "urgent" || missed != 10 {
		t.Errorf("the slow viewer got %q and was told that it missed %d", texts, missed)
	}
}

// TestLikesAreAddedUp over nodes, and only those of users who are in the room.
func TestLikesAreAddedUp(t *testing.T) {
	n := newNodes(t, 2)
	room := n.create()
	v := n.mustEnter(0, 2, room)
	n.mustEnter(1, 3, room)
	for node, u := range []id.User{2, 3} {
		if err := n.list[node].Like(u, room, 100); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		u     id.User
		count uint32
		want  string
	}{{2, 0, "bad_likes"}, {2, 1_000_000, "bad_likes"}, {4, 1, "not_in_room"}, {2, 100, ""}, {2, 1, "too_many_likes"}} {
		if err := n.list[0].Like(c.u, room, c.count); reason(err) != c.want {
			t.Errorf("%d likes of %d: %v", c.count, c.u, err)
		}
	}
	n.until("the viewer is told the sum", func() bool {
		return v.has(func(u *chatv1.RoomUpdate) bool { return u.GetLikes() == 300 })
	})
	n.until("the viewer is told the number of viewers", func() bool {
		return v.has(func(u *chatv1.RoomUpdate) bool { return u.GetViewers() == 2 })
	})
}

// TestAnotherNodeTakesARoomOver: its viewers are served by the next owner, and what moderators said holds.
func TestAnotherNodeTakesARoomOver(t *testing.T) {
	n := newNodes(t, 3)
	room := n.create()
	v := n.mustEnter(1, 2, room)
	announcement := "welcome"
	if _, err := n.list[2].UpdateRoom(t.Context(), 1, &chatv1.UpdateRoomRequest{Room: uint64(room), Announcement: &announcement}); err != nil {
		t.Fatal(err)
	}
	n.mustSend(0, 3, room, "before")
	n.until("the viewer has the first", func() bool { texts, _ := v.texts(); return len(texts) == 1 })
	n.own(2)
	n.mustSend(0, 3, room, "after")
	n.until("the viewer has the second", func() bool { texts, _ := v.texts(); return len(texts) == 2 })
	if texts, _ := v.texts(); !slices.Equal(texts, []string{"before", "after"}) {
		t.Errorf("the viewer got %q", texts)
	}
	if late := n.mustEnter(0, 4, room); late.entry.Room.Announcement != "welcome" {
		t.Errorf("one enters with %v", late.entry)
	}
}

// TestARoomThatIsLoadedAgain counts its messages from 1 again, and its viewers get them.
func TestARoomThatIsLoadedAgain(t *testing.T) {
	n := newNodes(t, 2)
	room := n.create()
	v := n.mustEnter(1, 2, room)
	want := []string{"1", "2", "3"}
	for i, text := range want {
		n.mustSend(0, id.User(100+i), room, text)
	}
	n.until("the viewer has them", func() bool { texts, _ := v.texts(); return len(texts) == len(want) })
	chatroom.Drop(n.list[0], room)
	n.mustSend(0, 3, room, "4")
	n.mustEnter(1, 5, room) // so that the node reports soon
	n.until("the viewer has the fourth", func() bool { texts, _ := v.texts(); return len(texts) == 4 })
	if texts, _ := v.texts(); !slices.Equal(texts, append(want, "4")) {
		t.Errorf("the viewer got %q", texts)
	}
}

// TestUsersThatCannotBeStored are refused, and the room goes on.
func TestUsersThatCannotBeStored(t *testing.T) {
	n := newNodes(t, 1)
	room, s := n.create(), n.list[0]
	const user = 1 << 63
	_, err := s.Kick(t.Context(), 1, &chatv1.KickFromRoomRequest{Room: uint64(room), User: user, Seconds: 60})
	if reason(err) != "no_user" {
		t.Errorf("a kick: %v", err)
	}
	if _, err = s.SetModerator(t.Context(), 1, &chatv1.SetRoomModeratorRequest{Room: uint64(room), User: user, Moderator: true}); reason(err) != "no_user" {
		t.Errorf("a moderator: %v", err)
	}
	chatroom.Drop(s, room) // it can be loaded
	n.mustEnter(0, 2, room)
}

// TestAClosedRoomIsOver for those who are in it, and for those who come later.
func TestAClosedRoomIsOver(t *testing.T) {
	n := newNodes(t, 2)
	room := n.create()
	v := n.mustEnter(1, 2, room)
	if _, err := n.list[1].CloseRoom(t.Context(), 1, &chatv1.CloseRoomRequest{Room: uint64(room)}); err != nil {
		t.Fatal(err)
	}
	n.until("the viewer is told", func() bool {
		return v.has(func(u *chatv1.RoomUpdate) bool { return u.Left == chatv1.RoomLeft_ROOM_LEFT_CLOSED })
	})
	for node := range 2 {
		if _, err := n.enter(node, 3, room); reason(err) != "room_closed" {
			t.Errorf("entering at node %d: %v", node, err)
		}
	}
	if err := n.send(0, 1, room, "x"); reason(err) != "room_closed" {
		t.Errorf("sending: %v", err)
	}
	if list, err := n.list[0].ListRooms(t.Context(), 1); err != nil || len(list.Rooms) != 0 {
		t.Errorf("the owner's list is %v, %v", list, err)
	}
}

// TestOthersDoNotHideAUsersRooms by making the user a moderator of many, which nobody is asked about.
func TestOthersDoNotHideAUsersRooms(t *testing.T) {
	n := newNodes(t, 1)
	own := n.create()
	moderate := func(from, count int) { // newer rooms of user 2, the first one closed
		t.Helper()
		if err := n.db.Write(t.Context(), func(tx *sql.Tx) error {
			for i := range count {
				if _, err := tx.ExecContext(t.Context(), `INSERT INTO rooms (id, owner, title, closed, created_ms) VALUES ($1, 2, 'x', $2, 1)`, from+i, i == 0); err != nil {
					return err
				}
				if _, err := tx.ExecContext(t.Context(), `INSERT INTO room_moderators (room, moderator) VALUES ($1, 1)`, from+i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	moderate(1000, 100)
	n.nextID.Store(2000)
	set := func(u uint64, moderator bool) error {
		r, err := n.list[0].CreateRoom(t.Context(), 3, &chatv1.CreateRoomRequest{Title: "x"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.list[0].SetModerator(t.Context(), 3, &chatv1.SetRoomModeratorRequest{Room: r.Id, User: u, Moderator: moderator})
		return err
	}
	if err := set(1, true); err != nil {
		t.Errorf("the 100th room: %v", err)
	}
	if err := set(1, true); reason(err) != "too_many_moderated" {
		t.Errorf("the 101st room: %v", err)
	}
	if err := set(1, false); err != nil {
		t.Errorf("removing: %v", err)
	}
	if err := set(4, true); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := n.list[0].SetModerator(t.Context(), 3, &chatv1.SetRoomModeratorRequest{Room: 2001, User: 1, Moderator: true}); err != nil {
		t.Errorf("again in the 100th room: %v", err)
	}
	list, err := n.list[0].ListRooms(t.Context(), 1)
	if err != nil || len(list.Rooms) != 101 || list.Rooms[0].Id != uint64(own) || list.Rooms[1].Id != 2001 || list.Rooms[100].Id != 1001 {
		t.Errorf("user 1 has %v, %v", list, err)
	}
	moderate(3000, 201) // as before there was a limit
	if list, err = n.list[0].ListRooms(t.Context(), 1); err != nil || len(list.Rooms) != 200 || list.Rooms[0].Id != uint64(own) {
		t.Errorf("with many more, user 1 has %d rooms, %v", len(list.GetRooms()), err)
	}
}

// TestRoomsThatDoNotExistCostNothing: nobody fills a node with them.
func TestRoomsThatDoNotExistCostNothing(t *testing.T) {
	n := newNodes(t, 1)
	for i := range 5000 {
		if _, err := n.enter(0, 2, id.Room(1<<40+i)); reason(err) != "no_room" {
			t.Fatalf("room %d: %v", i, err)
		}
	}
	n.mustEnter(0, 2, n.create())
}

// TestBadMessagesAreRefused names what is wrong.
func TestBadMessagesAreRefused(t *testing.T) {
	n := newNodes(t, 1)
	room := n.create()
	for text, want := range map[string]string{"": "bad_room_text", " \n": "bad_room_text", strings.Repeat("x", 501): "bad_room_text", "\u202e": "bad_room_text", "ok": ""} {
		if err := n.send(0, 2, room, text); reason(err) != want {
			t.Errorf("%q: error %v, want the reason %q", text, err, want)
		}
	}
	signal := func(c *chatv1.Custom) error {
		_, err := n.list[0].SendMessage(t.Context(), 3, &chatv1.SendRoomMessageRequest{Room: uint64(room), Kind: &chatv1.SendRoomMessageRequest_Signal{Signal: c}})
		return err
	}
	for _, c := range []*chatv1.Custom{{}, {Type: "x", Data: make([]byte, 4097)}, {Type: "x", Fallback: "x"}} {
		if err := signal(c); reason(err) != "bad_room_message" {
			t.Errorf("%.40s: error %v, want the reason bad_room_message", c, err)
		}
	}
	if err := signal(&chatv1.Custom{Type: "app.example/gift", Data: []byte("rose")}); err != nil {
		t.Error(err)
	}
	for _, title := range []string{"", "a\nb", strings.Repeat("x", 101)} {
		if _, err := n.list[0].CreateRoom(t.Context(), 1, &chatv1.CreateRoomRequest{Title: title}); reason(err) != "bad_title" {
			t.Errorf("title %q: %v", title, err)
		}
	}
	_, err := n.list[0].Mute(t.Context(), 1, &chatv1.MuteInRoomRequest{Room: uint64(room), User: 2, Seconds: uint32(366 * 24 * time.Hour / time.Second)})
	if reason(err) != "bad_restriction" {
		t.Errorf("a mute of more than a year: %v", err)
	}
}
