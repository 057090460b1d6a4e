// Package historycheck checks what clients observed against the guarantees of the server. Tests record every send, receipt and delivery
// in a History. It reports an acknowledged message that a member lacks, a message that was shown twice or that nobody sent, two messages
// with one position, disorder and gaps.
//
// Several goroutines may use a History; the deliveries of one device must be recorded in their order.
package historycheck

import (
	"fmt"
	"maps"
	"sync"
)

// Message is identified as its sender does: the n-th, from 1, of a sender in a conversation.
type Message struct {
	Conversation uint64
	Sender       uint64
	N            int
}

func (m Message) String() string {
	return fmt.Sprintf("message %d of %d in %d", m.N, m.Sender, m.Conversation)
}

// Place is the ID and position that the server gave a message.
type Position struct {
	ID  string
	Seq uint64
}

// Delivery of a message to a device.
type Delivery struct {
	Message  Message
	Position Position
}

// Violation of a guarantee.
type Violation struct {
	// Rule: lost, doubled, disorder, gap, conflict or invented.
	Rule, What string
}

func (v Violation) String() string { return v.Rule + ": " + v.What }

// History of a run.
type History struct {
	mu      sync.Mutex // guards the fields below
	sent    map[Message]bool
	acked   map[Message][]Position
	devices map[string][]Delivery
	members map[uint64][]string // devices of each conversation
}

// New creates an empty history.
func New() *History {
	return &History{sent: map[Message]bool{}, acked: map[Message][]Position{}, devices: map[string][]Delivery{}, members: map[uint64][]string{}}
}

// Member records that a device belongs to a user who is a member of a conversation from its start.
func (h *History) Member(conversation uint64, device string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[conversation] = append(h.members[conversation], device)
}

// Sent records that a client is about to send a message.
func (h *History) Sent(m Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[m] = true
}

// Acked records a receipt.
func (h *History) Acked(m Message, p Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked[m] = append(h.acked[m], p)
}

// Delivered records that a device showed a message.
func (h *History) Delivered(device string, d Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.devices[device] = append(h.devices[device], d)
}

// Count returns the numbers of acknowledged messages and of deliveries.
func (h *History) Count() (acked, delivered int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.devices {
		delivered += len(d)
	}
	return len(h.acked), delivered
}

// Acknowledged returns the positions of the receipts of each message.
func (h *History) Acknowledged() map[Message][]Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.acked)
}

// Missing counts the acknowledged messages that devices still lack.
func (h *History) Missing() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for device, shown := range h.shownByDevice() {
		for m := range h.acked {
			if h.isMember(m.Conversation, device) && !shown[m] {
				n++
			}
		}
	}
	return n
}

func (h *History) isMember(conversation uint64, device string) bool {
	for _, d := range h.members[conversation] {
		if d == device {
			return true
		}
	}
	return false
}

func (h *History) shownByDevice() map[string]map[Message]bool {
	all := map[string]map[Message]bool{}
	for _, devices := range h.members {
		for _, d := range devices {
			if all[d] == nil {
				all[d] = map[Message]bool{}
				for _, x := range h.devices[d] {
					all[d][x.Message] = true
				}
			}
		}
	}
	return all
}

// position is a seq of a conversation.
type position struct {
	conversation, seq uint64
}

// occupant of a seat, and who says so.
type occupant struct {
	message Message
	id      string
	by      string
}

// Check returns all violations, once no message is in flight any more.
func (h *History) Check() (found []Violation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	violate := func(rule, format string, args ...any) {
		found = append(found, Violation{rule, fmt.Sprintf(format, args...)})
	}
	seats := map[position]occupant{}
	places := map[Message]Position{}
	sit := func(m Message, p Position, by string) {
		s := position{m.Conversation, p.Seq}
		if o, ok := seats[s]; ok && (o.message != m || o.id != p.ID) {
			violate("conflict", "seq %d holds %v (%s) for %s and %v (%s) for %s", p.Seq, o.message, o.id, o.by, m, p.ID, by)
		}
		seats[s] = occupant{m, p.ID, by}
		if was, ok := places[m]; ok && was != p {
			violate("doubled", "%v stands at %v and at %v", m, was, p)
		}
		places[m] = p
	}
	for m, list := range h.acked {
		for _, p := range list {
			sit(m, p, "its sender")
		}
	}
	for device, list := range h.devices {
		h.checkDevice(device, list, sit, violate)
	}
	for device, shown := range h.shownByDevice() {
		for m := range h.acked {
			if h.isMember(m.Conversation, device) && !shown[m] {
				violate("lost", "%v was acknowledged, and %s never showed it", m, device)
			}
		}
	}
	return found
}

func (h *History) checkDevice(device string, list []Delivery, sit func(Message, Position, string), violate func(string, string, ...any)) {
	last := map[uint64]uint64{}
	sender := map[[2]uint64]int{}
	for _, d := range list {
		m, p := d.Message, d.Position
		if !h.sent[m] {
			violate("invented", "%s showed %v, which nobody sent", device, m)
		}
		sit(m, p, device)
		at := last[m.Conversation]
		switch {
		case p.Seq == at:
			violate("doubled", "%s showed seq %d of %d twice", device, p.Seq, m.Conversation)
		case p.Seq < at:
			violate("disorder", "%s showed seq %d of %d after %d", device, p.Seq, m.Conversation, at)
		case at != 0 && p.Seq != at+1:
			violate("gap", "%s showed seq %d of %d after %d", device, p.Seq, m.Conversation, at)
		}
		last[m.Conversation] = p.Seq
		key := [2]uint64{m.Conversation, m.Sender}
		if m.N <= sender[key] {
			violate("disorder", "%s showed %v after number %d", device, m, sender[key])
		}
		sender[key] = m.N
	}
}
