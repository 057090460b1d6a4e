// Package history checks what clients saw. It is told of every send, every receipt and every delivery, and finds what no
// order of events can explain if the server keeps its promises: an acknowledged message that a member lacks, one shown
// twice, two messages in one place, disorder, a gap, a message that nobody sent.
//
// A History may be told by many goroutines; the deliveries of one device must be told in its order.
package history

import (
	"fmt"
	"sync"
)

// Message as its sender knows it: the n-th, from 1, of a sender to a conversation.
type Message struct {
	Conversation uint64
	Sender       uint64
	N            int
}

func (m Message) String() string {
	return fmt.Sprintf("message %d of %d in %d", m.N, m.Sender, m.Conversation)
}

// Place that the server gave a message.
type Place struct {
	ID  string
	Seq uint64
}

// Delivery to a device.
type Delivery struct {
	Message Message
	Place   Place
}

// Violation of a promise.
type Violation struct {
	// Rule: lost, doubled, disorder, gap, conflict or invented.
	Rule, What string
}

func (v Violation) String() string { return v.Rule + ": " + v.What }

// History of a run.
type History struct {
	mu      sync.Mutex // guards all below
	sent    map[Message]bool
	acked   map[Message][]Place
	devices map[string][]Delivery
	members map[uint64][]string // devices of each conversation
}

// New makes an empty history.
func New() *History {
	return &History{sent: map[Message]bool{}, acked: map[Message][]Place{}, devices: map[string][]Delivery{}, members: map[uint64][]string{}}
}

// Member notes that a device belongs to a member of a conversation from its beginning.
func (h *History) Member(conversation uint64, device string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[conversation] = append(h.members[conversation], device)
}

// Sent notes that a client is about to send a message.
func (h *History) Sent(m Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[m] = true
}

// Acked notes a receipt.
func (h *History) Acked(m Message, p Place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked[m] = append(h.acked[m], p)
}

// Delivered notes that a device showed a message.
func (h *History) Delivered(device string, d Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.devices[device] = append(h.devices[device], d)
}

// Count gives how many messages are acknowledged, and how many deliveries there were.
func (h *History) Count() (acked, delivered int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.devices {
		delivered += len(d)
	}
	return len(h.acked), delivered
}

// Missing gives how many acknowledged messages devices still lack.
func (h *History) Missing() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for device, shown := range h.shown() {
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

func (h *History) shown() map[string]map[Message]bool {
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

// seat is a seq of a conversation.
type seat struct {
	conversation, seq uint64
}

// occupant of a seat, and who says so.
type occupant struct {
	message Message
	id      string
	by      string
}

// Check gives all violations once everything has come to rest: after that nothing is under way any more.
func (h *History) Check() (found []Violation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	violate := func(rule, format string, args ...any) {
		found = append(found, Violation{rule, fmt.Sprintf(format, args...)})
	}
	seats := map[seat]occupant{}
	places := map[Message]Place{}
	sit := func(m Message, p Place, by string) {
		s := seat{m.Conversation, p.Seq}
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
	for device, shown := range h.shown() {
		for m := range h.acked {
			if h.isMember(m.Conversation, device) && !shown[m] {
				violate("lost", "%v was acknowledged, and %s never showed it", m, device)
			}
		}
	}
	return found
}

func (h *History) checkDevice(device string, list []Delivery, sit func(Message, Place, string), violate func(string, string, ...any)) {
	last := map[uint64]uint64{}
	sender := map[[2]uint64]int{}
	for _, d := range list {
		m, p := d.Message, d.Place
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
