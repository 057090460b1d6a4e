package main

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
)

// maxSent is how many bytes a message may have. Servers close the connection of who sends too large stanzas: Prosody those of more than 512 KiB, and others may permit less.
const maxSent = 250_000

// maxOccupants bounds the users of Rialto in a room. If another one writes, the one leaves who has been silent for longest.
const maxOccupants = 50

// sendRefusals are the answers of rooms to messages (XEP-0045, 7.4).
var sendRefusals = map[string]string{"forbidden": "not_voiced", "not-acceptable": notInRoom, "item-not-found": "no_room", "policy-violation": "not_allowed", "resource-constraint": "too_fast"}

// notInRoom is the reason of a room that does not have the sender among its occupants.
const notInRoom = "not_in_room"

// Deliver sends an entry to a room that the bridge has entered, as an occupant of its own for each user. It returns the id that the room gives it once that has it, or a *bridge.Refusal. What the room had before the bridge entered it is not sent again.
func (x *client) Deliver(ctx context.Context, address string, m bridge.Outgoing) (string, error) {
	x.mu.Lock()
	r := x.rooms[address]
	if r == nil || !r.entered {
		x.mu.Unlock()
		return "", bridge.ErrDisconnected
	}
	own := x.idOf(m.Conversation, m.Seq)
	searched := r.searched || !r.archive
	x.mu.Unlock()
	if !searched { // entries come in order: all that an earlier process has sent is behind the first one
		if err := x.search(ctx, r, m.Time); err != nil {
			return "", err
		}
	}
	x.mu.Lock()
	id := r.delivered[own]
	x.mu.Unlock()
	if id != "" {
		return id, nil
	}
	for attempt := 1; ; attempt++ {
		o, err := x.occupantFor(ctx, r, m.User, m.Name)
		if err != nil {
			return "", err
		}
		id, err := x.deliverAs(ctx, r, o, own, m)
		var refusal *bridge.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Reason == notInRoom && attempt == 1: // the room has forgotten the occupant
			x.mu.Lock()
			o.joined = false
			x.mu.Unlock()
		case errors.Is(err, errNoAnswer):
			x.enterAgain(r) // and then searched: the room may have it
			return "", err
		default:
			return id, err
		}
	}
}

// occupantFor returns the occupant of a user, who enters the room if need be.
func (x *client) occupantFor(ctx context.Context, r *room, user uint64, name string) (*occupant, error) {
	jid := x.jid(user)
	x.mu.Lock()
	o := r.occupants[jid]
	var oldest *occupant
	if o == nil {
		oldest = r.makeSpace(x.jid(0))
		o = &occupant{jid: jid}
		r.occupants[jid] = o
	}
	r.sends++
	o.lastSend = r.sends
	refused, joined := o.refused, o.joined && o.wanted == nickOf(name)
	if time.Now().After(o.until) {
		refused = nil
	}
	x.mu.Unlock()
	if oldest != nil && oldest.joined {
		x.leave(r.address, oldest.jid, oldest.nick)
	}
	switch {
	case refused != nil:
		return nil, refused
	case joined:
		return o, nil
	}
	err := x.join(ctx, r, o, name, newElement(nsRoom, "history", "maxstanzas", "0"))
	var refusal *bridge.Refusal
	x.mu.Lock()
	defer x.mu.Unlock()
	if errors.As(err, &refusal) && o.joined { // with the name from before
		return o, nil
	}
	return o, err
}

// makeSpace removes the occupant who has been silent for longest, if there are too many. The caller holds the client's mutex.
func (r *room) makeSpace(bot string) (oldest *occupant) {
	if len(r.occupants) <= maxOccupants {
		return nil
	}
	for _, o := range r.occupants {
		if o.jid != bot && (oldest == nil || o.lastSend < oldest.lastSend) {
			oldest = o
		}
	}
	delete(r.occupants, oldest.jid)
	return oldest
}

// deliverAs sends an entry as an occupant, and waits for the room's answer.
func (x *client) deliverAs(ctx context.Context, r *room, o *occupant, own string, m bridge.Outgoing) (string, error) {
	answers := make(chan answer, 1)
	key := r.address + "\x00" + own
	x.mu.Lock()
	x.sent[key] = answers
	ended := x.ended
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		delete(x.sent, key)
		x.mu.Unlock()
	}()
	stanza := x.stanzaOf(r, o, own, m).String()
	if len(stanza) > maxSent {
		return "", newRefusal("too_long", "XMPP carries at most 250,000 bytes of a message.")
	}
	if err := x.write(stanza); err != nil {
		return "", err
	}
	a, err := await(ctx, ended, answers)
	if err == nil && a.refusal != nil {
		err = a.refusal
	}
	return a.id, err
}

// stanzaOf returns an entry as a message of XMPP.
func (x *client) stanzaOf(r *room, o *occupant, own string, m bridge.Outgoing) element {
	e := newElement(nsComponent, "message", "type", "groupchat", "id", own, "from", o.jid, "to", r.address).with(newElement(nsStanzaID, "origin-id", "id", own))
	body := m.Text
	if m.Recalls != "" {
		body = "A message was taken back, which this program still shows."
		e = e.with(newElement(nsRetraction, "retract", "id", m.Recalls), newElement(nsFallback, "fallback", "for", nsRetraction), newElement(nsHints, "store"))
	}
	if m.Edits != 0 {
		e = e.with(newElement(nsCorrection, "replace", "id", x.idOf(m.Conversation, m.Edits)))
	}
	if m.ReplyTo != "" {
		e = e.with(newElement(nsReply, "reply", "id", m.ReplyTo))
	}
	return e.with(newElement(nsComponent, "body").withText(body))
}
