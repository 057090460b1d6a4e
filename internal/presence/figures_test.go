package presence_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// figures of the homes of a node.
type figures struct {
	Users, Followed int
	Begun, Told     uint64
}

func (n *member) figures() figures {
	return figures{n.HomeUsers(), n.HomeFollowed(), n.HomesBegun(), n.HomesTold()}
}

// TestFigures: of all nodes together, each user who is online and each conversation that is followed is counted once, with its home.
func TestFigures(t *testing.T) {
	gather(t, reliable, func(m *members) {
		a, b := m.join("a"), m.join("b")
		for p := range partitions {
			m.move(p, "a", true)
		}
		m.move(1, "b", true)
		for u := id.User(1); u <= 8; u++ { // 1 and 5 are at home on b
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
			if f.Told == 0 {
				f.Told = got.Told
			}
			if got != f {
				t.Errorf("%s: %+v, want %+v", n.name, got, f)
			}
		}
		want(a, figures{Users: 6, Followed: 2, Begun: partitions})
		want(b, figures{Users: 2, Followed: 1, Begun: 1, Told: 1})
		before := a.figures().Told
		m.move(1, "a", true)
		pass(time.Minute)
		want(a, figures{Users: 8, Followed: 3, Begun: partitions + 1, Told: before + 1})
		want(b, figures{Begun: 1, Told: 1})
	})
}
