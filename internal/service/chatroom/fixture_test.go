package chatroom_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/chatroom"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// nodes are services that share a bus and a database. The first owns all rooms, until own says otherwise.
type nodes struct {
	t      *testing.T
	db     *sqldb.DB
	bus    bus.Bus
	nowMs  atomic.Int64
	nextID atomic.Uint64
	owner  atomic.Pointer[string]
	term   uint64
	end    context.CancelFunc // of the owner's grant
	list   []*chatroom.Service
}

func (n *nodes) Now() time.Time                       { return time.UnixMilli(n.nowMs.Load()) }
func (n *nodes) Next(context.Context) (uint64, error) { return n.nextID.Add(1), nil }

// Exist has all users but 999, and those whose ids no account has.
func (n *nodes) Exist(_ context.Context, users []id.User) error {
	if slices.ContainsFunc(users, func(u id.User) bool { return u == 999 || u > math.MaxInt64 }) {
		return errs.New(errs.NotFound, "no_user", "one of these users does not exist")
	}
	return nil
}

func newNodes(t *testing.T, count int) *nodes {
	t.Helper()
	n := &nodes{t: t, bus: membus.New(), end: func() {}}
	n.nowMs.Store(1_800_000_000_000)
	var err error
	if n.db, err = sqldb.Open(t.Context(), sqltest.Place(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.db.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range count {
		s, err := chatroom.New(t.Context(), chatroom.Deps{DB: n.db, IDs: n, Accounts: n, Bus: n.bus, Node: fmt.Sprint("node-", i), Partition: func(uint64) int { return 0 },
			Owner: func(int) string { return *n.owner.Load() }, Flush: func() {}, Clock: n, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		n.list = append(n.list, s)
		running.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		n.until("the node serves", s.Ready)
	}
	t.Cleanup(func() { cancel(); running.Wait(); n.end() })
	n.own(0)
	return n
}

// own makes a node the owner of all rooms, in the next term.
func (n *nodes) own(i int) {
	n.end()
	for _, s := range n.list {
		s.Revoked(0)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.term, n.end = n.term+1, cancel
	name := fmt.Sprint("node-", i)
	n.owner.Store(&name)
	n.list[i].Assigned(cluster.NewGrant(ctx, 0, n.term))
}

// until waits for a condition.
func (n *nodes) until(what string, is func() bool) {
	n.t.Helper()
	eventually.True(n.t, what, is)
}

// viewer records what it is pushed.
type viewer struct {
	user  id.User
	mu    sync.Mutex // guards all below
	slow  bool       // takes nothing but what is urgent
	entry *chatv1.RoomEntry
	got   []*chatv1.RoomUpdate
	out   bool // was removed
}

func (v *viewer) PushRoom(f *message.RoomFrame, urgent bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.slow && !urgent {
		return false
	}
	b, err := f.Encoded(false)
	if err != nil {
		panic(err)
	}
	var frame gatewayv1.ServerFrame
	if err := proto.Unmarshal(b, &frame); err != nil {
		panic(err)
	}
	v.got = append(v.got, frame.Rooms...)
	return true
}

func (v *viewer) RemovedFromRoom(id.Room) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out = true
}

// EntersRoom is false: in these tests, who leaves does not come back.
func (v *viewer) EntersRoom(id.Room) bool { return false }

// isOut reports whether the viewer was removed.
func (v *viewer) isOut() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.out
}

// texts are those of the entry and of all updates, in order, and missed how many messages it was told that it missed.
func (v *viewer) texts() (texts []string, missed uint32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	add := func(list []*chatv1.RoomMessage) {
		for _, m := range list {
			texts = append(texts, m.GetText())
		}
	}
	add(v.entry.GetRecent())
	for _, u := range v.got {
		missed += u.Missed
		add(u.Messages)
	}
	return texts, missed
}

// has reports whether an update fulfils a condition.
func (v *viewer) has(is func(u *chatv1.RoomUpdate) bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.got, is)
}

// enter puts a new connection of a user into a room at a node.
func (n *nodes) enter(node int, u id.User, room id.Room) (*viewer, error) {
	v := &viewer{user: u}
	err := n.list[node].Enter(n.t.Context(), u, room, v, func(e *chatv1.RoomEntry) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.entry = proto.Clone(e).(*chatv1.RoomEntry)
	})
	return v, err
}

func (n *nodes) mustEnter(node int, u id.User, room id.Room) *viewer {
	n.t.Helper()
	v, err := n.enter(node, u, room)
	if err != nil {
		n.t.Fatal(err)
	}
	return v
}

// create makes a room of user 1.
func (n *nodes) create() id.Room {
	n.t.Helper()
	r, err := n.list[0].CreateRoom(n.t.Context(), 1, &chatv1.CreateRoomRequest{Title: "a room"})
	if err != nil {
		n.t.Fatal(err)
	}
	return id.Room(r.Id)
}

func (n *nodes) send(node int, u id.User, room id.Room, text string) error {
	_, err := n.list[node].SendMessage(n.t.Context(), u, &chatv1.SendRoomMessageRequest{Room: uint64(room), Kind: &chatv1.SendRoomMessageRequest_Text{Text: text}})
	return err
}

func (n *nodes) mustSend(node int, u id.User, room id.Room, text string) {
	n.t.Helper()
	if err := n.send(node, u, room, text); err != nil {
		n.t.Fatal(err)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}
