package presence_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// figures are the directory metrics of a node.
type figures struct {
	Users, Followed int
	Begun, Pushed   uint64
}

func (n *member) figures() figures {
	return figures{n.OwnedUsers(), n.OwnedFollowed(), n.Takeovers(), n.FullSyncs()}
}

// Over all nodes, each online user and each followed conversation is counted once, by its owner.
func TestOwnershipMetrics(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b := m.join("a"), m.join("b")
		for p := range partitions {
			m.move(p, "a", true)
		}
		m.move(1, "b", true)
		for u := id.User(1); u <= 8; u++ { // b owns 1 and 5
			a.connect(u)
		}
		b.connect(1)
		b.connect(2)
		for _, n := range []*member{a, b} {
			for _, c := range []id.Conversation{1, 2} {
				n.follows[c] = true
				n.Follow(c, true)
			}
		}
		a.Follow(3, true)
		pass(time.Minute)
		want := func(n *member, f figures) {
			t.Helper()
			got := n.figures()
			if f.Pushed == 0 {
				f.Pushed = got.Pushed
			}
			if got != f {
				t.Errorf("%s: %+v, want %+v", n.name, got, f)
			}
		}
		want(a, figures{Users: 6, Followed: 2, Begun: partitions})
		want(b, figures{Users: 2, Followed: 1, Begun: 1, Pushed: 1})
		before := a.figures().Pushed
		m.move(1, "a", true)
		pass(time.Minute)
		want(a, figures{Users: 8, Followed: 3, Begun: partitions + 1, Pushed: before + 1})
		want(b, figures{Begun: 1, Pushed: 1})
	})
}
