package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rialto-im/rialto/bridges/bridge"
)

const (
	// maxWaiting is how many messages wait while the bridge reads the archive. Of more, the archive is read again.
	maxWaiting = 1000
	// maxHistory is how many messages a room without an archive gives who enters it.
	maxHistory = 100
	// maxNicks is how many occupants of a room are known.
	maxNicks = 10_000
	// nickAttempts is how many numbers are tried for a nick that is in use.
	nickAttempts = 5
	// expelledTime is how long a user whom a room has expelled does not enter it again.
	expelledTime = 10 * time.Minute
)

// room is a room that the bridge is in, or enters.
type room struct {
	address     string
	link        bridge.Link
	archive     bool // it has an archive (XEP-0313)
	occupantIDs bool // it tells occupants apart, whatever their nick (XEP-0421)
	// showsAddresses: it shows all occupants the addresses of all.
	showsAddresses bool

	readMu   sync.Mutex // held while a message is read, so that they are read in order; guards the following fields
	ready    bool       // the archive is read: messages are read when they come
	overflow bool       // more than maxWaiting have come before
	waiting  []element
	known    known

	// The client's mutex guards what follows.
	jids      map[string]string    // of occupants whose address the room shows, by nick
	occupants map[string]*occupant // those of the bridge, by address
	entered   bool                 // the bridge is in it, and has read the archive
	delivered map[string]string    // by ids of the bridge's own messages that are there since before it has entered: the room's
	sends     uint64
	// searched is that delivered has all that an earlier process has sent. Before that, searchedTo is the id of the last message of the archive that was searched.
	searched   bool
	searchedTo string
}

// occupant is a user of Rialto in a room.
type occupant struct {
	jid, wanted, nick string
	joined            bool
	answer            chan answer     // of the room, to who enters it
	lastSend          uint64          // number of the room's send
	refused           *bridge.Refusal // it was expelled, and does not return before until
	until             time.Time
}

func splitJID(jid string) (bare, resource string) {
	bare, resource, _ = strings.Cut(jid, "/")
	return bare, resource
}

// isEntered reports whether the bridge is in a room, and reads what is written there.
func (x *client) isEntered(address string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.rooms[address]
	return r != nil && r.entered
}

// Enter enters a room, and reads what was written there since the bridge has read it last. It returns a *bridge.Refusal if the room does not let the bridge in.
func (x *client) Enter(ctx context.Context, address string, link bridge.Link) error {
	select {
	case x.entering <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.entering }()
	if x.isEntered(address) {
		return nil
	}
	r, err := x.discover(ctx, address, link)
	if err != nil {
		return err
	}
	r.link = link
	x.mu.Lock()
	x.rooms[r.address] = r
	x.mu.Unlock()
	if err = x.join(ctx, r, r.occupants[x.jid(0)], x.config.nick, x.historyOf(r)); err == nil {
		err = x.catchUp(ctx, r)
	}
	if err != nil {
		x.forget(r)
	}
	return err
}

// transientConditions are the conditions under which a room may be there and cannot be reached now.
var transientConditions = []string{"remote-server-timeout", "remote-server-not-found", "internal-server-error", "service-unavailable", "resource-constraint", "recipient-unavailable"}

// discover asks what a room can do. The bridge makes no rooms, which entering one that is not there would do.
func (x *client) discover(ctx context.Context, address string, link bridge.Link) (*room, error) {
	info, _, err := x.ask(ctx, "get", address, newElement(nsDiscovery, "query"))
	if err != nil {
		return nil, err
	}
	if from := info.attr("from"); from != address { // characters that the server takes for others: what comes from the room would not be found by this address
		return nil, newRefusal("bad_address", "Write the address of this room as its server does: "+from)
	}
	if info.attr("type") == "error" {
		condition, text := errorOf(info)
		switch isTransient := slices.Contains(transientConditions, condition); {
		case isTransient && link.Pending:
			return nil, newRefusal("unreachable", text)
		case isTransient:
			return nil, errors.New("the room " + address + " cannot be reached: " + condition)
		}
		return nil, newRefusal("no_room", cmp.Or(text, "There is no room "+address+"."))
	}
	r := &room{address: address, jids: map[string]string{}, occupants: map[string]*occupant{}, delivered: map[string]string{}}
	r.occupants[x.jid(0)] = &occupant{jid: x.jid(0)}
	isRoom := false
	query, _ := info.child(nsDiscovery, "query")
	for _, c := range query.Children {
		switch c.attr("var") {
		case nsRoom:
			isRoom = true
		case nsArchive:
			r.archive = true
		case nsOccupantID:
			r.occupantIDs = true
		case "muc_nonanonymous":
			r.showsAddresses = true
		}
	}
	if !isRoom {
		return nil, newRefusal("no_room", address+" is no room of XMPP.")
	}
	return r, nil
}

// historyOf asks a room for what was written since the bridge has read it last, unless its archive has that.
func (x *client) historyOf(r *room) element {
	last, before := x.checkpoints.of(r.address, r.link.Created)
	if r.archive || !before && r.link.Pending {
		return newElement(nsRoom, "history", "maxstanzas", "0")
	}
	return newElement(nsRoom, "history", "maxstanzas", strconv.Itoa(maxHistory), "since", last.Time.UTC().Format(time.RFC3339))
}

// Leave leaves a room, with all occupants of the bridge.
func (x *client) Leave(address string) {
	x.mu.Lock()
	r := x.rooms[address]
	x.mu.Unlock()
	if r != nil {
		x.forget(r)
	}
}

// forget leaves a room that could not be entered, or is not to be.
func (x *client) forget(r *room) {
	x.mu.Lock()
	if x.rooms[r.address] == r {
		delete(x.rooms, r.address)
	}
	var joined []occupant
	for _, o := range r.occupants {
		if o.joined {
			joined = append(joined, *o)
		}
	}
	x.mu.Unlock()
	for _, o := range joined {
		x.leave(r.address, o.jid, o.nick)
	}
}

func (x *client) leave(room, jid, nick string) {
	_ = x.send(newElement(nsComponent, "presence", "type", "unavailable", "from", jid, "to", room+"/"+nick)) // a connection that has ended leaves all rooms
}

// join makes somebody an occupant. A nick that is in use gets a number, and for one that the room does not permit there are simpler ones. It returns a *bridge.Refusal if the room does not want the occupant.
func (x *client) join(ctx context.Context, r *room, o *occupant, name string, history element) error {
	local, _, _ := strings.Cut(o.jid, "@")
	nicks := []string{nickOf(name), simpleNick(name), local}
	for number := 1; ; {
		tried := nicks[0]
		if number > 1 {
			tried += " (" + strconv.Itoa(number) + ")"
		}
		answers := make(chan answer, 1)
		x.mu.Lock()
		o.answer, o.wanted = answers, nickOf(name)
		ended := x.ended
		x.mu.Unlock()
		if err := x.send(newElement(nsComponent, "presence", "from", o.jid, "to", r.address+"/"+tried).with(newElement(nsRoom, "x").with(history))); err != nil {
			return err
		}
		a, err := await(ctx, ended, answers)
		switch {
		case err != nil:
			return err
		case a.refusal == nil:
			return nil
		case a.refusal.Reason == nickTaken && number < nickAttempts:
			number++
		case a.refusal.Reason == nickRefused && len(nicks) > 1:
			nicks, number = nicks[1:], 1
		default:
			return a.refusal
		}
	}
}

// simpleNick returns a name as a nick of letters, digits and some signs. Rooms do not permit emoji and invisible characters.
func simpleNick(name string) string {
	return nickOf(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.' ", r) {
			return r
		}
		return ' '
	}, name))
}

// nickOf returns a name as a nick: without control characters, with at most 64 characters.
func nickOf(name string) string {
	return cmp.Or(bridge.Line(name, 64), "somebody")
}

// Reasons after which another nick is tried.
const nickTaken, nickRefused = "nick_taken", "nick_refused"

// joinRefusals are the answers of rooms to who enters (XEP-0045, 7.2).
var joinRefusals = map[string]string{"forbidden": "banned", "registration-required": "members_only", "not-authorized": "needs_password", "service-unavailable": "room_full", "item-not-found": "no_room",
	"not-allowed": "not_allowed", "conflict": nickTaken, "not-acceptable": nickRefused, "jid-malformed": nickRefused, "gone": "no_room"}

// reasonOf returns a condition of XMPP as a reason of Rialto.
func reasonOf(reasons map[string]string, condition string) string {
	return cmp.Or(reasons[condition], strings.ReplaceAll(condition, "-", "_"), "refused")
}

// refusalTexts say to people what reasons mean, if the room does not.
var refusalTexts = map[string]string{"banned": "The room has banned this user.", "members_only": "Only members may enter the room.", "needs_password": "The room needs a password.",
	"room_full": "The room is full.", "no_room": "There is no such room.", "unreachable": "The server of the room cannot be reached.", "not_allowed": "The room does not permit this.", nickTaken: "Somebody in the room has this name.",
	nickRefused: "The room does not permit this name.", "not_voiced": "Only those with voice may write in the room.", "kicked": "The room has removed this user.", "destroyed": "The room was destroyed."}

// userReasons are the reasons that concern all that a user writes.
var userReasons = []string{"banned", "members_only", "kicked", "not_voiced", nickRefused}

func newRefusal(reason, text string) *bridge.Refusal {
	r := bridge.NewRefusal(reason, cmp.Or(strings.TrimSpace(text), refusalTexts[reason], "The room refuses this: "+reason+"."))
	r.OfUser = slices.Contains(userReasons, r.Reason)
	return r
}

// handlePresence notes the occupants of a room.
func (x *client) handlePresence(e element) {
	address, nick := splitJID(e.attr("from"))
	detail, _ := e.child(nsOccupant, "x")
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.rooms[address]
	if r == nil {
		return
	}
	o := r.occupants[e.attr("to")]
	if o == nil {
		return
	}
	kind := e.attr("type")
	switch {
	case kind == "error":
		condition, text := errorOf(e)
		o.reply(answer{refusal: newRefusal(reasonOf(joinRefusals, condition), text)})
	case hasStatus(detail, "110") && kind == "":
		o.nick, o.joined = nick, true
		x.noteNick(address + "/" + nick)
		o.reply(answer{})
	case hasStatus(detail, "110") || kind == "unavailable" && nick == o.nick && o.joined:
		if !hasStatus(detail, "303") { // another nick, which comes next
			x.removed(r, o, detail)
		}
	case o.jid == x.jid(0): // the others, whom the room shows each occupant
		item, _ := detail.child(nsOccupant, "item")
		if jid, _ := splitJID(item.attr("jid")); kind == "unavailable" || jid == "" || len(r.jids) >= maxNicks {
			delete(r.jids, nick)
		} else {
			r.jids[nick] = jid
		}
	}
}

// maxNoted bounds how many nicks of the bridge's occupants are noted.
const maxNoted = 10_000

// noteNick notes who is an occupant of the bridge. Its messages may come from the room after it has left. The caller holds mu.
func (x *client) noteNick(jid string) {
	if len(x.nicks) >= maxNoted { // those who are there are noted again
		clear(x.nicks)
		for _, r := range x.rooms {
			for _, o := range r.occupants {
				if o.joined {
					x.nicks[r.address+"/"+o.nick] = true
				}
			}
		}
	}
	x.nicks[jid] = true
}

// reply tells who waits for a room's answer.
func (o *occupant) reply(a answer) {
	if o.answer != nil {
		o.answer <- a
		o.answer = nil
	}
}

func hasStatus(detail element, code string) bool {
	for _, c := range detail.Children {
		if c.XMLName.Local == "status" && c.attr("code") == code {
			return true
		}
	}
	return false
}

// removed notes that an occupant is in a room no more. The caller holds mu.
func (x *client) removed(r *room, o *occupant, detail element) {
	o.joined = false
	why := removalOf(detail)
	o.reply(answer{refusal: cmp.Or(why, newRefusal("not_allowed", ""))})
	if o.jid != x.jid(0) {
		if why != nil {
			o.refused, o.until = why, time.Now().Add(expelledTime)
		}
		return
	}
	delete(x.rooms, r.address)
	if why != nil {
		x.host.Expelled(r.address, why)
	}
	x.host.Changed()
}

// removalOf says why somebody was removed for good; nil: they were not, and may return.
func removalOf(detail element) *bridge.Refusal {
	item, _ := detail.child(nsOccupant, "item")
	text, _ := item.child(nsOccupant, "reason")
	if d, ok := detail.child(nsOccupant, "destroy"); ok {
		text, _ = d.child(nsOccupant, "reason")
		return newRefusal("destroyed", text.Text)
	}
	for _, s := range []struct{ code, reason string }{{"333", ""}, {"332", ""}, {"301", "banned"}, {"321", "members_only"}, {"322", "members_only"}, {"307", "kicked"}} {
		if hasStatus(detail, s.code) {
			if s.reason == "" {
				return nil // an error of the connection, or the end of the server
			}
			return newRefusal(s.reason, text.Text)
		}
	}
	return nil
}

// ping asks each room whether the bridge is in it (XEP-0410), until ctx ends. Rooms forget occupants whom they cannot reach.
func (x *client) ping(ctx context.Context) {
	t := time.NewTicker(pingInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		x.mu.Lock()
		self := map[*room]string{}
		for _, r := range x.rooms {
			if bot := r.occupants[x.jid(0)]; bot.joined {
				self[r] = r.address + "/" + bot.nick
			}
		}
		x.mu.Unlock()
		for r, jid := range self {
			x.pingRoom(ctx, r, jid)
		}
	}
}

func (x *client) pingRoom(ctx context.Context, r *room, self string) {
	res, _, err := x.ask(ctx, "get", self, newElement(nsPing, "ping"))
	condition, _ := errorOf(res)
	if errors.Is(err, errNoAnswer) || condition == "not-acceptable" || condition == "item-not-found" {
		x.enterAgain(r)
	}
}
