package historycheck_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/historycheck"
)

const chat = 7

func msg(sender uint64, n int) historycheck.Message {
	return historycheck.Message{Conversation: chat, Sender: sender, N: n}
}

// good is a history in which all is well: two senders, three messages, two devices.
func good() *historycheck.History {
	h := historycheck.New()
	for _, d := range []string{"a", "b"} {
		h.Member(chat, d)
	}
	order := []historycheck.Message{msg(1, 1), msg(2, 1), msg(1, 2)}
	for i, m := range order {
		p := historycheck.Position{ID: string(rune('A' + i)), Seq: uint64(i + 2)}
		h.Sent(m)
		h.Acked(m, p)
		for _, d := range []string{"a", "b"} {
			h.Delivered(d, historycheck.Delivery{Message: m, Position: p})
		}
	}
	return h
}

func TestGoodHistoryPasses(t *testing.T) {
	if found := good().Check(); len(found) > 0 {
		t.Fatalf("a good history has the violations %v, want none", found)
	}
}

// Each bad history breaks the rule that it is named for.
func TestBadHistories(t *testing.T) {
	deliver := func(h *historycheck.History, device string, m historycheck.Message, id string, seq uint64) {
		h.Delivered(device, historycheck.Delivery{Message: m, Position: historycheck.Position{ID: id, Seq: seq}})
	}
	for _, c := range []struct {
		name, rule string
		spoil      func(h *historycheck.History)
	}{
		{"an acknowledged message that one device lacks", "lost", func(h *historycheck.History) {
			h.Sent(msg(2, 2))
			h.Acked(msg(2, 2), historycheck.Position{ID: "D", Seq: 5})
			deliver(h, "a", msg(2, 2), "D", 5)
		}},
		{"an acknowledged message that nobody has", "lost", func(h *historycheck.History) {
			h.Sent(msg(2, 2))
			h.Acked(msg(2, 2), historycheck.Position{ID: "D", Seq: 5})
		}},
		{"the same message in two places", "doubled", func(h *historycheck.History) { deliver(h, "a", msg(1, 2), "D", 5) }},
		{"a retry that got another receipt", "doubled", func(h *historycheck.History) {
			h.Acked(msg(1, 1), historycheck.Position{ID: "Z", Seq: 9})
		}},
		{"one seq shown twice", "doubled", func(h *historycheck.History) { deliver(h, "a", msg(1, 2), "C", 4) }},
		{"an older seq after a newer one", "disorder", func(h *historycheck.History) { deliver(h, "b", msg(1, 1), "A", 2) }},
		{"a sender's messages in another order than sent", "disorder", func(h *historycheck.History) {
			h.Sent(msg(2, 2))
			h.Sent(msg(2, 3))
			for _, d := range []string{"a", "b"} {
				deliver(h, d, msg(2, 3), "D", 5)
				deliver(h, d, msg(2, 2), "E", 6)
			}
		}},
		{"a hole in the seqs", "gap", func(h *historycheck.History) {
			h.Sent(msg(2, 2))
			for _, d := range []string{"a", "b"} {
				deliver(h, d, msg(2, 2), "E", 6)
			}
		}},
		{"two devices with different messages at one seq", "conflict", func(h *historycheck.History) {
			h.Sent(msg(2, 2))
			h.Sent(msg(1, 3))
			deliver(h, "a", msg(2, 2), "D", 5)
			deliver(h, "b", msg(1, 3), "E", 5)
		}},
		{"a receipt that names another's place", "conflict", func(h *historycheck.History) {
			h.Sent(msg(2, 2))
			h.Acked(msg(2, 2), historycheck.Position{ID: "C", Seq: 4})
		}},
		{"a message that nobody sent", "invented", func(h *historycheck.History) { deliver(h, "a", msg(9, 1), "D", 5) }},
	} {
		h := good()
		c.spoil(h)
		found := h.Check()
		named := false
		for _, v := range found {
			named = named || v.Rule == c.rule
		}
		if !named {
			t.Errorf("%s: found %v, want %s", c.name, found, c.rule)
		}
	}
}
