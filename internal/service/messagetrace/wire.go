package messagetrace

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// First bytes of requests and answers between nodes; docs/formats/trace.md.
const (
	askFind    byte = 1
	askRecords byte = 2

	answerFound   byte = 1
	answerRecords byte = 2
	answerOff     byte = 3
)

var errMalformed = errors.New("malformed request or answer about a message")

// query asks for the records of a message, and for those of some members.
type query struct {
	conversation, seq uint64
	members           []member
}

// member is a user, with the position of the message in the user's stream, 0 if it is not known.
type member struct {
	user     id.User
	position uint64
}

func appendFind(b []byte, m id.Message) []byte { return append(append(b, askFind), m[:]...) }

func appendQuery(b []byte, q query) []byte {
	b = append(b, askRecords)
	for _, v := range []uint64{q.conversation, q.seq, uint64(len(q.members))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, m := range q.members {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(m.user)), m.position)
	}
	return b
}

// endOf is an error of fields that lack something, or are more than were read.
func endOf(f message.Fields) error {
	if f.Bad() || len(f.Rest()) > 0 {
		return errMalformed
	}
	return nil
}

func readQuery(b []byte) (q query, err error) {
	r := message.FieldsOf(b)
	q.conversation, q.seq = r.Uvarint(), r.Uvarint()
	for range r.Count() {
		q.members = append(q.members, member{id.User(r.Uvarint()), r.Uvarint()})
	}
	return q, endOf(r)
}

// appendFound answers where a message is; conversation 0: the node does not know it.
func appendFound(b []byte, conversation, seq uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(append(b, answerFound), conversation), seq)
}

func readFound(b []byte) (conversation, seq uint64, err error) {
	if len(b) > 0 && b[0] == answerOff {
		return 0, 0, nil
	}
	if len(b) == 0 || b[0] != answerFound {
		return 0, 0, errMalformed
	}
	r := message.FieldsOf(b[1:])
	conversation, seq = r.Uvarint(), r.Uvarint()
	return conversation, seq, endOf(r)
}

// nodeRecords is what a node knows of a message.
type nodeRecords struct {
	off     bool
	spans   flightrecorder.Spans
	pushed  pushes
	records []flightrecorder.Record
}

// pushes sums up those to all devices.
type pushes struct {
	count, firstUs, lastUs uint64
}

func (n nodeRecords) append(b []byte) []byte {
	if n.off {
		return append(b, answerOff)
	}
	b = append(b, answerRecords)
	for _, v := range []uint64{uint64(n.spans.Messages), uint64(n.spans.Devices), n.pushed.count, n.pushed.firstUs, n.pushed.lastUs, uint64(len(n.records))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, c := range n.records {
		b = append(b, byte(c.Kind))
		for _, v := range []uint64{uint64(c.AtUs), c.Seq, c.User, c.Device} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// readRecords reads the answer of a node. The records are of the conversation that was asked for.
func readRecords(b []byte, conversation uint64) (n nodeRecords, err error) {
	if len(b) == 1 && b[0] == answerOff {
		return nodeRecords{off: true}, nil
	}
	if len(b) == 0 || b[0] != answerRecords {
		return n, errMalformed
	}
	r := message.FieldsOf(b[1:])
	n.spans = flightrecorder.Spans{Messages: int64(r.Uvarint()), Devices: int64(r.Uvarint())}
	n.pushed = pushes{r.Uvarint(), r.Uvarint(), r.Uvarint()}
	for range r.Count() {
		if len(r.Rest()) == 0 {
			return n, errMalformed
		}
		c := flightrecorder.Record{Kind: flightrecorder.Kind(r.Byte()), Conversation: conversation}
		c.AtUs, c.Seq, c.User, c.Device = int64(r.Uvarint()), r.Uvarint(), r.Uvarint(), r.Uvarint()
		n.records = append(n.records, c)
	}
	return n, endOf(r)
}
