package message

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/id"
	"google.golang.org/protobuf/encoding/protowire"
)

// Tags of the fast-path fields (field<<3 | wire type).
const (
	varint = 0
	length = 2
)

func tag(field, typ uint64) byte { return byte(field<<3 | typ) }

func appendVarintField(b []byte, field, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(append(b, tag(field, varint)), v)
}

func uvarintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

func varintFieldLen(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + uvarintLen(v)
}

// Stored is an entry with its position.
type Stored struct {
	Conversation id.Conversation
	Seq          uint64
	Counted      uint64
	Entry        Entry
	// State has the fields of rialto.chat.v1.Message that updates of the message have set, in protobuf. Entry.Content is the present one.
	State []byte
	// Deleted: the user who reads has deleted the message for themself.
	Deleted bool
}

// AppendProto appends the protobuf of rialto.chat.v1.Message.
func (s *Stored) AppendProto(b []byte) []byte {
	b = appendVarintField(b, 1, uint64(s.Conversation))
	b = appendVarintField(b, 2, s.Seq)
	b = append(b, tag(3, length), 19)
	b = s.Entry.ID.Append(b)
	b = appendVarintField(b, 4, uint64(s.Entry.Sender))
	b = appendVarintField(b, 5, uint64(s.Entry.Device))
	b = appendVarintField(b, 6, s.Entry.ClientSeq)
	b = appendVarintField(b, 7, uint64(s.Entry.ID.Ms()))
	b = appendVarintField(b, 8, s.Counted)
	if len(s.Entry.Content) > 0 {
		b = append(b, tag(9, length))
		b = binary.AppendUvarint(b, uint64(len(s.Entry.Content)))
		b = append(b, s.Entry.Content...)
	}
	return append(b, s.State...)
}

// AppendEdited appends the fields of rialto.chat.v1.Message that name an edit: its seq, and its time in milliseconds since 1970.
func AppendEdited(b []byte, seq uint64, ms int64) []byte {
	return appendVarintField(appendVarintField(b, 10, seq), 11, uint64(ms))
}

// AppendPlace appends the protobuf of a rialto.chat.v1.Unreadable.
func (s *Stored) AppendPlace(b []byte) []byte {
	return appendVarintField(appendVarintField(b, 1, uint64(s.Conversation)), 2, s.Seq)
}

// Field numbers of rialto.chat.v1.Event's body.
const (
	FieldMessage      = 4
	FieldConversation = 5
	FieldMark         = 6
	FieldRelation     = 7
	FieldProfile      = 8
	FieldJoinRequests = 9
	FieldUnreadable   = 10
	FieldSettings     = 11
	FieldFollow       = 12
	FieldDeletion     = 13
	FieldInvitations  = 14
	FieldFolders      = 15
	FieldTicket       = 16
)

// AppendEventProto appends the protobuf of rialto.chat.v1.Event: position, prev, and body, the encoded field of the body
// (tag, length, value), as AppendBody appends it.
func AppendEventProto(b []byte, at Position, prev Position, body []byte) []byte {
	b = appendVarintField(b, 1, uint64(at.Epoch()))
	b = appendVarintField(b, 2, uint64(at))
	b = appendVarintField(b, 3, uint64(prev))
	return append(b, body...)
}

// EventLen is the length that AppendEventProto appends.
func EventLen(at, prev Position, body []byte) int {
	return varintFieldLen(uint64(at.Epoch())) + varintFieldLen(uint64(at)) + varintFieldLen(uint64(prev)) + len(body)
}

// BodyIs reports whether an event's body, as AppendBody appends it, is of a field below 16.
func BodyIs(body []byte, field int) bool {
	return len(body) > 0 && body[0] == tag(uint64(field), length)
}

// AppendBody appends one length-delimited field of an Event: tag, length, value. From field 16 on, a tag has two bytes.
func AppendBody(b []byte, field int, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|length)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// EventFieldLen is the length that AppendEventField appends, for fields below 16.
func EventFieldLen(at, prev Position, body []byte) int {
	n := EventLen(at, prev, body)
	return 1 + uvarintLen(uint64(n)) + n
}

// AppendEventField appends field number, length and event, as inside a ServerFrame (4) or a SyncResponse (1).
func AppendEventField(b []byte, field int, at, prev Position, body []byte) []byte {
	b = append(b, tag(uint64(field), length))
	b = binary.AppendUvarint(b, uint64(EventLen(at, prev, body)))
	return AppendEventProto(b, at, prev, body)
}

// AppendReceiptProto appends a ServerFrame field 3 (receipts) for a stored draft. Refused drafts use the generated code.
func AppendReceiptProto(b []byte, d *Draft) []byte {
	n := varintFieldLen(uint64(d.Conversation)) + varintFieldLen(d.ClientSeq) + 2 + 19 +
		varintFieldLen(d.Seq) + varintFieldLen(uint64(d.ID.Ms())) + varintFieldLen(d.Counted)
	if d.ClientMsgID != "" {
		n += 1 + uvarintLen(uint64(len(d.ClientMsgID))) + len(d.ClientMsgID)
	}
	if d.Duplicate {
		n += 2
	}
	b = append(b, tag(3, length))
	b = binary.AppendUvarint(b, uint64(n))
	b = appendVarintField(b, 1, uint64(d.Conversation))
	b = appendVarintField(b, 2, d.ClientSeq)
	if d.ClientMsgID != "" {
		b = AppendBody(b, 3, []byte(d.ClientMsgID))
	}
	b = append(b, tag(4, length), 19)
	b = d.ID.Append(b)
	b = appendVarintField(b, 5, d.Seq)
	b = appendVarintField(b, 6, uint64(d.ID.Ms()))
	b = appendVarintField(b, 7, d.Counted)
	if d.Duplicate {
		b = append(b, tag(8, varint), 1)
	}
	return b
}

// TextOf returns the text of a Content that is one plain text field, without copying; ok is false for any other content.
func TextOf(content []byte) (text []byte, ok bool) {
	if len(content) == 0 || content[0] != tag(1, length) {
		return nil, false
	}
	n, k := binary.Uvarint(content[1:])
	if k <= 0 || uint64(len(content)-1-k) != n {
		return nil, false
	}
	return content[1+k:], true
}

// Fields of Content that chat writes into rows.
const (
	fieldMentions = 20
	fieldStreamed = 31
)

// HasEffect reports whether a Content has mentions, or begins a streamed message.
func HasEffect(content []byte) bool {
	for len(content) > 0 {
		field, typ, n := protowire.ConsumeTag(content)
		if n < 0 || field == fieldMentions || field == fieldStreamed {
			return n >= 0
		}
		if content = content[n:]; len(content) > 0 {
			if n = protowire.ConsumeFieldValue(field, typ, content); n < 0 {
				return false
			}
			content = content[n:]
		}
	}
	return false
}

// AppendText appends a Content of one text.
func AppendText(b []byte, text string) []byte {
	b = append(b, tag(1, length))
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// AppendJSONString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendJSONString(b []byte, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c < 0x20 || c == 0x7f:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			default:
				b = append(b, c)
			}
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, "\ufffd"...)
		case r == '\u2028' || r == '\u2029':
			b = append(b, '\\', 'u', '2', '0', '2', hex[r&15])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}

// AppendJSONID appends a 64-bit number as a JSON string.
func AppendJSONID(b []byte, v uint64) []byte {
	b = append(b, '"')
	b = strconv.AppendUint(b, v, 10)
	return append(b, '"')
}
