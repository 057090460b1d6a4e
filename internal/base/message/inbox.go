package message

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// First byte of an inbox entry (docs/formats/entry.md).
const (
	inboxRef   byte = 0
	inboxEvent byte = 1
)

// ErrInbox: the bytes are not an inbox entry.
var ErrInbox = errors.New("not an inbox entry")

// AppendInboxRef appends an inbox entry that refers to a conversation's entry.
func AppendInboxRef(b []byte, c id.Conversation, seq uint64) []byte {
	b = append(b, inboxRef)
	b = binary.AppendUvarint(b, uint64(c))
	return binary.AppendUvarint(b, seq)
}

// AppendInboxEvent appends an inbox entry with an event's body (as AppendBody appends it).
func AppendInboxEvent(b, body []byte) []byte { return append(append(b, inboxEvent), body...) }

// DecodeInbox decodes an inbox entry: a reference (seq > 0), or an event's body, which aliases b.
func DecodeInbox(b []byte) (c id.Conversation, seq uint64, body []byte, err error) {
	if len(b) < 2 {
		return 0, 0, nil, ErrInbox
	}
	switch b[0] {
	case inboxEvent:
		return 0, 0, b[1:], nil
	case inboxRef:
		conversation, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return 0, 0, nil, ErrInbox
		}
		seq, m := binary.Uvarint(b[1+n:])
		if m <= 0 || 1+n+m != len(b) || seq == 0 {
			return 0, 0, nil, ErrInbox
		}
		return id.Conversation(conversation), seq, nil, nil
	}
	return 0, 0, nil, ErrInbox
}
