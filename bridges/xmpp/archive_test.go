package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
)

// fakeRoom is the lobby of a server that answers within the write of a stanza. It has an archive, and gives messages back with ids of its own: only the origin-id is the sender's.
type fakeRoom struct {
	net.Conn
	x *client

	mu      sync.Mutex // guards the fields below
	archive []element  // result elements, oldest first
	sent    int        // messages that the room has received
	pages   int        // that were asked for
}

// enterFakeRoom makes a client that has entered a fake room.
func enterFakeRoom(t *testing.T) (*client, *fakeRoom) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	k, err := openCheckpoints(t.TempDir(), logger)
	if err != nil {
		t.Fatal(err)
	}
	x := newClient(config{domain: bridgeDomain, secret: testSecret, nick: "Rialto"}, k, logger)
	s := &side{client: x}
	x.host = s
	t.Cleanup(func() {
		if got := s.texts(); len(got) > 0 {
			t.Errorf("the bridge has received %q", got)
		}
	})
	f := &fakeRoom{x: x}
	x.stream = &stream{conn: f}
	x.rooms[lobby] = &room{address: lobby, archive: true, ready: true, entered: true, jids: map[string]string{}, delivered: map[string]string{},
		occupants: map[string]*occupant{x.jid(0): {jid: x.jid(0), nick: "Rialto", joined: true}}}
	return x, f
}

func (*fakeRoom) SetWriteDeadline(time.Time) error { return nil }

// add adds a message to the archive, with an origin-id if it has one.
func (f *fakeRoom) add(origin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := strconv.Itoa(len(f.archive))
	m := newElement(nsComponent, "message", "id", "rewritten "+n, "from", lobby+"/Eve").with(newElement(nsStanzaID, "origin-id", "id", origin))
	f.archive = append(f.archive, newElement(nsArchive, "result", "id", n).with(newElement(nsForward, "forwarded").with(m)))
}

// Write answers a stanza: entering is permitted, a message comes back, and the archive gives a page.
func (f *fakeRoom) Write(raw []byte) (int, error) {
	var e element
	if err := xml.Unmarshal([]byte("<stream xmlns='"+nsComponent+"'>"+string(raw)+"</stream>"), &e); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e = e.Children[0]; e.XMLName.Local {
	case "presence":
		f.x.handlePresence(newElement(nsComponent, "presence", "from", e.attr("to"), "to", e.attr("from")).with(newElement(nsOccupant, "x").with(newElement(nsOccupant, "status", "code", "110"))))
	case "message":
		f.sent++
		f.x.handleMessage(newElement(nsComponent, "message", "type", "groupchat", "id", "rewritten", "from", lobby+"/Alice", "to", f.x.jid(0)).with(e.Children...).with(
			newElement(nsStanzaID, "stanza-id", "by", lobby, "id", fmt.Sprint("echo ", f.sent))))
	case "iq":
		f.givePage(e)
	}
	return len(raw), nil
}

// givePage gives the messages of the archive that follow the one that is named.
func (f *fakeRoom) givePage(iq element) {
	f.pages++
	query, _ := iq.child(nsArchive, "query")
	set, _ := query.child(nsPages, "set")
	first := 0
	if after, ok := set.child(nsPages, "after"); ok {
		n, _ := strconv.Atoi(after.Text)
		first = n + 1
	}
	last := min(first+pageSize, len(f.archive))
	for _, result := range f.archive[first:last] {
		result.Attrs = append(result.Attrs, newElement("", "", "queryid", query.attr("queryid")).Attrs...)
		f.x.handleMessage(newElement(nsComponent, "message", "from", lobby).with(result))
	}
	fin := newElement(nsArchive, "fin")
	if last == len(f.archive) {
		fin = newElement(nsArchive, "fin", "complete", "true")
	}
	f.x.handleIQ(newElement(nsComponent, "iq", "type", "result", "id", iq.attr("id"), "from", lobby).with(fin))
}

// A room may replace the ids of messages. The bridge's own ones do not come back then: the echo is the confirmation, and one in the archive or in the history is not sent again.
func TestReplacedIDs(t *testing.T) {
	x, f := enterFakeRoom(t)
	deliver := func(seq uint64, want string) {
		t.Helper()
		id, err := x.Deliver(t.Context(), lobby, bridge.Outgoing{Conversation: 1, Seq: seq, Time: time.Now(), User: 1, Name: "Alice", Text: "hello"})
		if err != nil || id != want {
			t.Errorf("message %d has the id %q (%v), want %q", seq, id, err, want)
		}
	}
	f.add("of Eve")
	f.add(x.idOf(1, 1))
	x.rooms[lobby].entered = false
	x.handleMessage(newElement(nsComponent, "message", "type", "groupchat", "id", "rewritten", "from", lobby+"/Alice", "to", x.jid(0)).with(newElement(nsStanzaID, "origin-id", "id", x.idOf(1, 2)),
		newElement(nsStanzaID, "stanza-id", "by", lobby, "id", "history"), newElement(nsDelay, "delay"), newElement(nsComponent, "body").withText("hello")))
	x.rooms[lobby].entered = true
	deliver(1, "1")
	deliver(2, "history")
	if f.sent != 0 {
		t.Errorf("%d messages were sent again", f.sent)
	}
	deliver(3, "echo 1")
	if m, ok := x.read(x.rooms[lobby], newElement(nsComponent, "message", "id", "rewritten", "from", lobby+"/Alice").with(newElement(nsStanzaID, "origin-id", "id", x.idOf(1, 3)), newElement(nsComponent, "body").withText("hello")), "3"); ok {
		t.Errorf("the bridge's own message is read as %v", m)
	}
}

// However long the archive is, nothing is sent to the room before all of it was searched. One attempt searches a part.
func TestLongArchives(t *testing.T) {
	x, f := enterFakeRoom(t)
	for range maxSearched*pageSize + 1 {
		f.add("of Eve")
	}
	f.add(x.idOf(1, 1))
	m := bridge.Outgoing{Conversation: 1, Seq: 1, Time: time.Now(), User: 1, Name: "Alice", Text: "hello"}
	if id, err := x.Deliver(t.Context(), lobby, m); !errors.Is(err, errSearching) {
		t.Errorf("before the archive was searched, a message has the id %q (%v)", id, err)
	}
	want := strconv.Itoa(maxSearched*pageSize + 1)
	for range 2 {
		if id, err := x.Deliver(t.Context(), lobby, m); id != want || err != nil {
			t.Errorf("a message that is in the archive has the id %q (%v), want %s", id, err, want)
		}
	}
	if f.sent != 0 || f.pages != maxSearched+1 {
		t.Errorf("%d messages were sent, and %d pages read, want %d", f.sent, f.pages, maxSearched+1)
	}
}
