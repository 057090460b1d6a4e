package gateway

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// order writes down in which order the greeting asks the rooms.
type order struct {
	*rooms
	mu   sync.Mutex // guards list
	list []string
	come bool // whether the conversation's messages come to this node in time
}

func (o *order) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, what)
}

func (o *order) Connected(id.Caller)                { o.note("connected") }
func (o *order) Announced(context.Context, id.User) { o.note("announced") }
func (o *order) Follow(id.Conversation, bool)       { o.note("follow") }
func (o *order) Followed(context.Context, id.Conversation) bool {
	o.note("followed")
	return o.come
}
func (o *order) Large(context.Context, []id.User) ([][]id.Conversation, error) {
	o.note("large")
	return [][]id.Conversation{{5}}, nil
}
func (o *order) LargeTails(context.Context, []id.Conversation) ([]uint64, error) {
	o.note("its tail")
	return []uint64{3}, nil
}
func (o *order) Tails(context.Context, []id.User) ([]message.Position, error) {
	o.note("tail")
	return []message.Position{4}, nil
}

// What a greeting reads is read when all that comes later comes here: else what is between would be nowhere.
func TestAGreetingReadsAfterItIsKnown(t *testing.T) {
	for come, want := range map[bool][]string{
		true:  {"connected", "announced", "large", "follow", "followed", "its tail", "tail"},
		false: {"connected", "announced", "large", "follow", "followed", "tail"},
	} {
		c, r := bench(t)
		c.ready = false
		o := &order{rooms: r, come: come}
		c.server.deps.Presence, c.server.deps.Inbox, c.server.hub.followers = o, o, o
		if err := c.greet(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.list, want) || c.at != 4 {
			t.Errorf("asked %v, want %v; it is at %d", o.list, want, c.at)
		}
		// Of messages that did not come yet, the check takes all for missed.
		if at := c.server.hub.conversation(5).rooms[5].at.Load(); come != (at == 3) || !come && at != 0 {
			t.Errorf("the conversation is at %d, where its messages come: %v", at, come)
		}
	}
}
