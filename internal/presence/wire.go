package presence

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/id"
)

// First bytes of what nodes tell and ask each other; see docs/formats/presence.md.
const (
	wireAnnouncement byte = 1
	wireQuestion     byte = 2
	wireChanges      byte = 3
	wireAnswer       byte = 4
	wireStill        byte = 5
	wireStillAnswer  byte = 6
)

// about says what an entry of an announcement is about.
type about uint8

const (
	aboutUser    about = 1 // whether the node has connections of a user
	aboutWatch   about = 2 // whether it wants to know of a user
	aboutFollow  about = 3 // whether it follows a large conversation
	aboutSight   about = 4 // once: what others may see of a user is something else than before
	mostAnnounce       = 4096
)

// key of what is announced.
type key struct {
	about about
	id    uint64
}

// entry of an announcement.
type entry struct {
	key
	on  bool   // there are connections, it watches, it follows
	out bool   // of a user: logged out
	age uint32 // of a user: seconds since the last frame
}

const (
	entryOn  = 1
	entryOut = 2
)

// announcement of a node about one partition.
type announcement struct {
	node   string
	part   uint64
	life   uint64 // of the register that has all that was told before; 0 asks for a new one
	number uint64
	whole  bool // with this, all is told
	list   []entry
}

// Answers to announcements and questions.
const (
	answerTaken   byte = 1
	answerNotMine byte = 2 // the node is not the partition's home
	answerStale   byte = 3 // the home has no such register: it has to be told all again
)

// answer of a home.
type answer struct {
	code   byte
	life   uint64
	sights []sight // of what is watched, or asked for, in order
}

// sight is what a home knows of a user.
type sight struct {
	known  bool
	online bool
	ms     int64 // of the last frame, about; only of one who is online
}

var errWire = errors.New("not of presence's form")

func (a *announcement) append(b []byte) []byte {
	b = appendName(append(b, wireAnnouncement), a.node)
	b = binary.AppendUvarint(b, a.part)
	b = binary.BigEndian.AppendUint64(b, a.life)
	b = binary.AppendUvarint(b, a.number)
	b = append(b, flag(a.whole, 1))
	for _, e := range a.list {
		b = append(b, byte(e.about), flag(e.on, entryOn)|flag(e.out, entryOut))
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

// reader takes bytes apart; bad is set where they end too soon.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) name() string {
	size := r.uint()
	if size > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	name := string(r.b[:size])
	r.b = r.b[size:]
	return name
}

func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
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
	a.node = r.name()
	a.part, a.life, a.number, a.whole = r.uint(), r.fixed(), r.uint(), r.byte()&1 != 0
	for len(r.b) > 0 {
		e := entry{key: key{about: about(r.byte())}}
		flags := r.byte()
		e.id, e.on, e.out = r.uint(), flags&entryOn != 0, flags&entryOut != 0
		if e.about < aboutUser || e.about > aboutSight {
			return a, errWire
		}
		if e.about == aboutUser {
			e.age = uint32(min(r.uint(), 1<<31))
		}
		a.list = append(a.list, e)
	}
	if r.bad {
		return a, errWire
	}
	return a, nil
}

func (a *answer) append(b []byte) []byte {
	b = append(b, wireAnswer, a.code)
	b = binary.BigEndian.AppendUint64(b, a.life)
	for _, s := range a.sights {
		b = append(b, flag(s.known, 1)|flag(s.online, 2))
		if s.online {
			b = binary.AppendUvarint(b, uint64(s.ms))
		}
	}
	return b
}

func readAnswer(b []byte) (a answer, err error) {
	r := reader{b: b}
	if r.byte() != wireAnswer {
		return a, errWire
	}
	a.code, a.life = r.byte(), r.fixed()
	for len(r.b) > 0 {
		flags := r.byte()
		s := sight{known: flags&1 != 0, online: flags&2 != 0}
		if s.online {
			s.ms = int64(r.uint())
		}
		a.sights = append(a.sights, s)
	}
	if r.bad {
		return a, errWire
	}
	return a, nil
}

func appendQuestion(b []byte, users []id.User) []byte {
	b = append(b, wireQuestion)
	for _, u := range users {
		b = binary.AppendUvarint(b, uint64(u))
	}
	return b
}

func readQuestion(b []byte) (users []id.User, err error) {
	r := reader{b: b}
	if r.byte() != wireQuestion {
		return nil, errWire
	}
	for len(r.b) > 0 {
		users = append(users, id.User(r.uint()))
	}
	if r.bad {
		return nil, errWire
	}
	return users, nil
}

// still asks a node whether it has, of partitions whose home it is, the registers of this one.
type still struct {
	node string
	list []stillPart
}

type stillPart struct{ part, life uint64 }

func (q *still) append(b []byte) []byte {
	b = appendName(append(b, wireStill), q.node)
	for _, p := range q.list {
		b = binary.BigEndian.AppendUint64(binary.AppendUvarint(b, p.part), p.life)
	}
	return b
}

func readStill(b []byte) (q still, err error) {
	r := reader{b: b}
	if r.byte() != wireStill {
		return q, errWire
	}
	q.node = r.name()
	for len(r.b) > 0 {
		q.list = append(q.list, stillPart{r.uint(), r.fixed()})
	}
	if r.bad {
		return q, errWire
	}
	return q, nil
}

// appendStillAnswer answers each part with a code, in order.
func appendStillAnswer(b, codes []byte) []byte { return append(append(b, wireStillAnswer), codes...) }

func readStillAnswer(b []byte) (codes []byte, err error) {
	if len(b) == 0 || b[0] != wireStillAnswer {
		return nil, errWire
	}
	return b[1:], nil
}

// change of a user, that a node which watches is told of; all: in who may see it as well.
type change struct {
	user id.User
	all  bool
}

func appendChange(b []byte, c change) []byte {
	if len(b) == 0 {
		b = append(b, wireChanges)
	}
	return append(binary.AppendUvarint(b, uint64(c.user)), flag(c.all, 1))
}

func readChanges(b []byte) (list []change, err error) {
	r := reader{b: b}
	if r.byte() != wireChanges {
		return nil, errWire
	}
	for len(r.b) > 0 {
		list = append(list, change{id.User(r.uint()), r.byte()&1 != 0})
	}
	if r.bad {
		return nil, errWire
	}
	return list, nil
}
