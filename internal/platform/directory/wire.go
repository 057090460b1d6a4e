package directory

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// First bytes of the messages between nodes; see docs/formats/directory.md.
const (
	wireAnnouncement byte = 1
	wireStatusQuery  byte = 2
	wireChanges      byte = 3
	wireAnswer       byte = 4
	wireVerify       byte = 5
	wireVerifyAnswer byte = 6
	wireDevicesQuery byte = 7
	wireDevices      byte = 8
)

// about is the subject of an entry.
type about uint8

const (
	aboutUser       about = 1 // whether a user is connected to the node
	aboutWatch      about = 2 // whether the node watches a user
	aboutFollow     about = 3 // whether the node follows a large conversation
	aboutVisibility about = 4 // an event: who may see a user has changed
	maxEntries            = 4096
)

// key identifies what an entry describes.
type key struct {
	about about
	id    uint64
}

// entry of an announcement.
type entry struct {
	key
	on        bool   // is connected, watches, follows
	loggedOut bool   // aboutUser only
	away      bool   // aboutUser only: all devices are away, or were when the last one was gone
	age       uint32 // aboutUser only: seconds since the last frame; if on and away, since the last activity
}

const (
	entryOn        = 1
	entryLoggedOut = 2
	entryAway      = 4
)

// announcement of a node about one partition.
type announcement struct {
	node     string
	process  uint64 // of the node
	part     uint64
	term     uint64 // of the owner with which the process has registered; 0 requests a new registration
	seq      uint64
	complete bool // nothing else is pending
	entries  []entry
}

// Codes of answers.
const (
	answerAccepted     byte = 1
	answerNotOwner     byte = 2 // the node is not the partition's owner
	answerUnregistered byte = 3 // the owner has no such registration, and needs a full sync
)

// answer of an owner.
type answer struct {
	code     byte
	term     uint64
	statuses []Status // of the watched or requested users, in order
}

// Status of a user.
type Status struct {
	// Known is false while the user's owner does not know the status.
	Known  bool
	Online bool
	// Away: all devices of an online user are away.
	Away bool
	// LastActiveMs is the approximate time of the last frame, in milliseconds since 1970, if the user is online; if away, of the last
	// activity.
	LastActiveMs int64
}

var errWire = errors.New("malformed directory message")

func (a *announcement) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(appendName(append(b, wireAnnouncement), a.node), a.process)
	b = binary.AppendUvarint(b, a.part)
	b = binary.AppendUvarint(b, a.term)
	b = binary.AppendUvarint(b, a.seq)
	b = append(b, flag(a.complete, 1))
	for _, e := range a.entries {
		b = append(b, byte(e.about), flag(e.on, entryOn)|flag(e.loggedOut, entryLoggedOut)|flag(e.away, entryAway))
		b = binary.AppendUvarint(b, e.id)
		if e.about == aboutUser {
			b = binary.AppendUvarint(b, uint64(e.age))
		}
	}
	return b
}

func appendName(b []byte, node string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(node))), node...)
}

func flag(yes bool, bit byte) byte {
	if yes {
		return bit
	}
	return 0
}

// reader decodes a message; failed is set if it ends too early.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.failed = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) name() string {
	size := r.uint()
	if size > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return ""
	}
	name := string(r.b[:size])
	r.b = r.b[size:]
	return name
}

func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.failed, r.b = true, nil
		return 0
	}
	v := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func readAnnouncement(b []byte) (a announcement, err error) {
	r := reader{b: b}
	if r.byte() != wireAnnouncement {
		return a, errWire
	}
	a.node, a.process = r.name(), r.fixed()
	a.part, a.term, a.seq, a.complete = r.uint(), r.uint(), r.uint(), r.byte()&1 != 0
	for len(r.b) > 0 {
		e := entry{key: key{about: about(r.byte())}}
		flags := r.byte()
		e.id, e.on, e.loggedOut, e.away = r.uint(), flags&entryOn != 0, flags&entryLoggedOut != 0, flags&entryAway != 0
		if e.about < aboutUser || e.about > aboutVisibility {
			return a, errWire
		}
		if e.about == aboutUser {
			e.age = uint32(min(r.uint(), 1<<31))
		}
		a.entries = append(a.entries, e)
	}
	if r.failed {
		return a, errWire
	}
	return a, nil
}

func (a *answer) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, wireAnswer, a.code), a.term)
	for _, s := range a.statuses {
		b = append(b, flag(s.Known, 1)|flag(s.Online, 2)|flag(s.Away, 4))
		if s.Online {
			b = binary.AppendUvarint(b, uint64(s.LastActiveMs))
		}
	}
	return b
}

func readAnswer(b []byte) (a answer, err error) {
	r := reader{b: b}
	if r.byte() != wireAnswer {
		return a, errWire
	}
	a.code, a.term = r.byte(), r.uint()
	for len(r.b) > 0 {
		flags := r.byte()
		s := Status{Known: flags&1 != 0, Online: flags&2 != 0, Away: flags&4 != 0}
		if s.Online {
			s.LastActiveMs = int64(r.uint())
		}
		a.statuses = append(a.statuses, s)
	}
	if r.failed {
		return a, errWire
	}
	return a, nil
}

func appendStatusQuery(b []byte, users []id.User) []byte {
	b = append(b, wireStatusQuery)
	for _, u := range users {
		b = binary.AppendUvarint(b, uint64(u))
	}
	return b
}

func readStatusQuery(b []byte) (users []id.User, err error) {
	r := reader{b: b}
	if r.byte() != wireStatusQuery {
		return nil, errWire
	}
	for len(r.b) > 0 {
		users = append(users, id.User(r.uint()))
	}
	if r.failed {
		return nil, errWire
	}
	return users, nil
}

// verification asks an owner whether it still has the registrations of this node.
type verification struct {
	node       string
	process    uint64
	partitions []verifiedPartition
}

type verifiedPartition struct{ number, term uint64 }

func (q *verification) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(appendName(append(b, wireVerify), q.node), q.process)
	for _, p := range q.partitions {
		b = binary.AppendUvarint(binary.AppendUvarint(b, p.number), p.term)
	}
	return b
}

func readVerification(b []byte) (q verification, err error) {
	r := reader{b: b}
	if r.byte() != wireVerify {
		return q, errWire
	}
	q.node, q.process = r.name(), r.fixed()
	for len(r.b) > 0 {
		q.partitions = append(q.partitions, verifiedPartition{r.uint(), r.uint()})
	}
	if r.failed {
		return q, errWire
	}
	return q, nil
}

// appendVerificationAnswer encodes a code for each partition, in order.
func appendVerificationAnswer(b, codes []byte) []byte {
	return append(append(b, wireVerifyAnswer), codes...)
}

func readVerificationAnswer(b []byte) (codes []byte, err error) {
	if len(b) == 0 || b[0] != wireVerifyAnswer {
		return nil, errWire
	}
	return b[1:], nil
}

// change is a notice that a watched user has changed; visibility means that who may see the user may have changed too.
type change struct {
	user       id.User
	visibility bool
}

func appendChange(b []byte, c change) []byte {
	if len(b) == 0 {
		b = append(b, wireChanges)
	}
	return append(binary.AppendUvarint(b, uint64(c.user)), flag(c.visibility, 1))
}

func readChanges(b []byte) (list []change, err error) {
	r := reader{b: b}
	if r.byte() != wireChanges {
		return nil, errWire
	}
	for len(r.b) > 0 {
		list = append(list, change{id.User(r.uint()), r.byte()&1 != 0})
	}
	if r.failed {
		return nil, errWire
	}
	return list, nil
}
