package directory

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
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

func readAnnouncement(b []byte) (a announcement, err error) {
	r := message.FieldsOf(b)
	if r.Byte() != wireAnnouncement {
		return a, errWire
	}
	a.node, a.process = string(r.Bytes()), r.Uint64()
	a.part, a.term, a.seq, a.complete = r.Uvarint(), r.Uvarint(), r.Uvarint(), r.Byte()&1 != 0
	for len(r.Rest()) > 0 {
		e := entry{key: key{about: about(r.Byte())}}
		flags := r.Byte()
		e.id, e.on, e.loggedOut, e.away = r.Uvarint(), flags&entryOn != 0, flags&entryLoggedOut != 0, flags&entryAway != 0
		if e.about < aboutUser || e.about > aboutVisibility {
			return a, errWire
		}
		if e.about == aboutUser {
			e.age = uint32(min(r.Uvarint(), 1<<31))
		}
		a.entries = append(a.entries, e)
	}
	if r.Bad() {
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
	r := message.FieldsOf(b)
	if r.Byte() != wireAnswer {
		return a, errWire
	}
	a.code, a.term = r.Byte(), r.Uvarint()
	for len(r.Rest()) > 0 {
		flags := r.Byte()
		s := Status{Known: flags&1 != 0, Online: flags&2 != 0, Away: flags&4 != 0}
		if s.Online {
			s.LastActiveMs = int64(r.Uvarint())
		}
		a.statuses = append(a.statuses, s)
	}
	if r.Bad() {
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
	r := message.FieldsOf(b)
	if r.Byte() != wireStatusQuery {
		return nil, errWire
	}
	for len(r.Rest()) > 0 {
		users = append(users, id.User(r.Uvarint()))
	}
	if r.Bad() {
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
	r := message.FieldsOf(b)
	if r.Byte() != wireVerify {
		return q, errWire
	}
	q.node, q.process = string(r.Bytes()), r.Uint64()
	for len(r.Rest()) > 0 {
		q.partitions = append(q.partitions, verifiedPartition{r.Uvarint(), r.Uvarint()})
	}
	if r.Bad() {
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
	r := message.FieldsOf(b)
	if r.Byte() != wireChanges {
		return nil, errWire
	}
	for len(r.Rest()) > 0 {
		list = append(list, change{id.User(r.Uvarint()), r.Byte()&1 != 0})
	}
	if r.Bad() {
		return nil, errWire
	}
	return list, nil
}
