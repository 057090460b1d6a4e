package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
)

// known are a room's latest messages. Corrections name what they replace by the id that its author gave it, and retractions by that of the room.
type known struct {
	ids     map[string]string // of the room, by author and the author's id
	authors map[string]string // by id of the room
	order   []string          // ids of the room, oldest first
	keys    map[string]string // of ids, by id of the room
}

// maxKnown is how many messages of a room are known.
const maxKnown = 1000

func (k *known) add(author, own, id string) {
	if k.ids == nil {
		k.ids, k.authors, k.keys = map[string]string{}, map[string]string{}, map[string]string{}
	}
	if _, is := k.authors[id]; is {
		return
	}
	if len(k.order) >= maxKnown {
		delete(k.ids, k.keys[k.order[0]])
		delete(k.authors, k.order[0])
		delete(k.keys, k.order[0])
		k.order = k.order[1:]
	}
	key := author + "\x00" + own
	k.ids[key], k.authors[id], k.keys[id], k.order = id, author, key, append(k.order, id)
}

// find returns the id in the room of a message of an author, which is named by either id.
func (k *known) find(author, id string) (string, bool) {
	if k.authors[id] == author && author != "" {
		return id, true
	}
	found, ok := k.ids[author+"\x00"+id]
	return found, ok
}

// authorOf returns an address that is always the same for an occupant: the id that the room gives occupants, or the address in XMPP if the room shows it, or the nick. archived: the message is from the archive.
func (x *client) authorOf(r *room, e element, archived bool) (author, nick string) {
	_, nick = splitJID(e.attr("from"))
	if id, ok := e.child(nsOccupantID, "occupant-id"); ok && r.occupantIDs && id.attr("id") != "" {
		return bounded(r.address + "/" + id.attr("id")), nick
	}
	x.mu.Lock()
	jid := r.jids[nick]
	x.mu.Unlock()
	if archived && r.showsAddresses {
		jid = cmp.Or(archivedAddress(e), jid)
	}
	return bounded(cmp.Or(jid, r.address+"/"+nick)), nick
}

// archivedAddress returns the address that the archive of a room that shows addresses gives a message; empty: that is not certain. Whoever writes may have such a child in a message, too: so it counts only in archives,
// which add it themselves, and only alone.
func archivedAddress(e element) string {
	var items []element
	for _, detail := range e.Children {
		if detail.XMLName.Local != "x" || detail.XMLName.Space != nsOccupant {
			continue
		}
		for _, item := range detail.Children {
			if item.XMLName.Local == "item" {
				items = append(items, item)
			}
		}
	}
	if len(items) != 1 {
		return ""
	}
	address, _ := splitJID(items[0].attr("jid"))
	return address
}

// bounded returns an address in the length that Rialto permits.
func bounded(address string) string {
	if len(address) <= 255 && !strings.ContainsAny(address, "\r\n") {
		return address
	}
	return "sha256 " + digest(address)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// roomID returns the id that a room gives a message; empty: it gives none.
func roomID(r *room, e element) string {
	for _, c := range e.Children {
		if c.XMLName.Local == "stanza-id" && c.XMLName.Space == nsStanzaID && c.attr("by") == r.address {
			return bounded(c.attr("id"))
		}
	}
	return ""
}

// read returns what a message of an occupant says; ok is false if that is nothing for Rialto. id is that in the archive; empty: it did not come from there. The caller holds the room's readMu.
func (x *client) read(r *room, e element, id string) (m bridge.Received, ok bool) {
	author, nick := x.authorOf(r, e, id != "")
	if nick == "" || id != "" && x.ownID(e) != "" { // of those that are not from the archive, handleMessage has left out our own
		return m, false
	}
	own := cmp.Or(e.attr("id"), originOf(e))
	if id = cmp.Or(id, roomID(r, e)); id == "" {
		if own == "" {
			return m, false // it could not be told from a repetition
		}
		id = "sha256 " + digest(author+"\x00"+own)
	}
	m = bridge.Received{Room: r.address, ID: id, Address: author, Name: nickOf(nick)}
	if target, is := retractionOf(e); is {
		m.Recalls, ok = r.known.find(author, target)
		return m, ok // others may not take it back
	}
	m.Text = textOf(e)
	if strings.TrimSpace(m.Text) == "" {
		return m, false // a subject, or that somebody types
	}
	if c, is := e.child(nsCorrection, "replace"); is {
		if m.Edits, ok = r.known.find(author, c.attr("id")); ok {
			return m, true
		}
	}
	if reply, is := e.child(nsReply, "reply"); is {
		m.ReplyTo = bounded(reply.attr("id"))
	}
	r.known.add(author, own, id)
	return m, true
}

// ownID returns the id that idOf made for a message of the bridge; empty: it is not one. Some rooms replace the id of a message, and keep its origin-id (XEP-0359).
func (x *client) ownID(e element) string {
	for _, id := range []string{e.attr("id"), originOf(e)} {
		if x.isOwn(id) {
			return id
		}
	}
	return ""
}

func originOf(e element) string {
	o, _ := e.child(nsStanzaID, "origin-id")
	return o.attr("id")
}

// retractionOf returns the id of the message that this one takes back, in the present form (XEP-0424) or the one before.
func retractionOf(e element) (id string, is bool) {
	if r, ok := e.child(nsRetraction, "retract"); ok {
		return r.attr("id"), true
	}
	if f, ok := e.child(nsFasten, "apply-to"); ok {
		_, is = f.child(nsRetract0, "retract")
		return f.attr("id"), is
	}
	return "", false
}

// textOf returns the text of a message, without what is written only for programs that know no replies (XEP-0428).
func textOf(e element) string {
	body, _ := e.child(nsComponent, "body")
	if body.XMLName.Local == "" {
		body, _ = e.child("jabber:client", "body")
	}
	text := []rune(body.Text)
	for _, f := range e.Children {
		if f.XMLName.Local != "fallback" || f.XMLName.Space != nsFallback || f.attr("for") != nsReply {
			continue
		}
		part, _ := f.child(nsFallback, "body")
		from, err1 := strconv.Atoi(cmp.Or(part.attr("start"), "0"))
		to, err2 := strconv.Atoi(cmp.Or(part.attr("end"), strconv.Itoa(len(text))))
		if err1 == nil && err2 == nil && 0 <= from && from <= to && to <= len(text) {
			text = append(text[:from:from], text[to:]...)
		}
		break
	}
	if action, is := strings.CutPrefix(string(text), "/me "); is {
		return "* " + action
	}
	return string(text)
}

// handleMessage notes what became of an own message, and reads one of somebody else.
func (x *client) handleMessage(e element) {
	address, nick := splitJID(e.attr("from"))
	x.mu.Lock()
	r := x.rooms[address]
	// Everybody in a room sees ids of the bridge, and may send them again. What came before the room was entered may be of an earlier process, whose nicks are not known.
	isOurs := r != nil && (!r.entered || x.nicks[e.attr("from")])
	x.mu.Unlock()
	switch {
	case e.attr("type") == "error":
		condition, text := errorOf(e)
		x.resolve(address, e.attr("id"), answer{refusal: newRefusal(reasonOf(sendRefusals, condition), text)})
	case x.handleArchived(address, e):
	case e.attr("type") != "groupchat":
		if body, ok := e.child(nsComponent, "body"); ok && body.Text != "" {
			_ = x.send(errorTo(e, "service-unavailable")) // nobody reads it; without a connection nobody waits for the answer
		}
	case r == nil:
	case isOurs && x.ownID(e) != "":
		x.readOwn(r, e)
	case e.attr("to") == x.jid(0):
		x.readLive(r, e)
	default:
		x.checkOccupant(r, e.attr("to"), nick)
	}
}

// checkOccupant leaves a room for an occupant whom an earlier process of the bridge has left there.
func (x *client) checkOccupant(r *room, jid, nick string) {
	x.mu.Lock()
	_, known := r.occupants[jid]
	x.mu.Unlock()
	if !known {
		x.leave(r.address, jid, nick)
	}
}

// readOwn notes that a room has a message of the bridge, which it has sent now or before.
func (x *client) readOwn(r *room, e element) {
	id := x.ownID(e)
	if _, before := e.child(nsDelay, "delay"); before {
		x.mu.Lock()
		defer x.mu.Unlock()
		if len(r.delivered) < maxHistory {
			r.delivered[id] = cmp.Or(roomID(r, e), id)
		}
		return
	}
	x.resolve(r.address, id, answer{id: cmp.Or(roomID(r, e), id)})
}

// resolve tells who waits what became of a message.
func (x *client) resolve(room, id string, a answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := room + "\x00" + id
	if c := x.sent[key]; c != nil {
		delete(x.sent, key)
		c <- a
	}
}

// readLive reads a message that has just come, or puts it behind what the archive has from before.
func (x *client) readLive(r *room, e element) {
	r.readMu.Lock()
	defer r.readMu.Unlock()
	switch {
	case r.ready:
		if !x.store(r, e, "", stampOf(e)) {
			x.enterAgain(r)
		}
	case len(r.waiting) < maxWaiting:
		r.waiting = append(r.waiting, e)
	default:
		r.overflow = true
	}
}

// enterAgain has a room entered again, which repeats what could not be stored.
func (x *client) enterAgain(r *room) {
	x.mu.Lock()
	if x.rooms[r.address] == r {
		delete(x.rooms, r.address)
	}
	x.mu.Unlock()
	x.host.Changed()
}

// store reads a message and has it stored; false: that was not possible. The caller holds the room's readMu.
func (x *client) store(r *room, e element, archived string, stamp time.Time) bool {
	if m, ok := x.read(r, e, archived); ok {
		if err := x.host.Received(m); err != nil {
			x.logger.Error("a message from XMPP is read again", "room", r.address, "error", err)
			return false
		}
	}
	x.checkpoints.set(r.address, checkpoint{Since: r.link.Created, ID: cmp.Or(archived, roomID(r, e)), Time: stamp})
	return true
}

// stampOf returns when a message was written.
func stampOf(e element) time.Time {
	if d, ok := e.child(nsDelay, "delay"); ok {
		if t, err := time.Parse(time.RFC3339, d.attr("stamp")); err == nil {
			return t
		}
	}
	return time.Now()
}
