package pebblelog

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/timeline"
)

// First bytes of the keys, in their order. docs/formats/pebble.md draws them.
const (
	rowAuthor     = 'a'
	rowEntry      = 'e'
	rowHead       = 'h'
	rowToken      = 'k'
	rowCheckpoint = 'p'
	rowRecord     = 'r'
	rowSum        = 's'
	rowTail       = 't'
)

func timelineKey(b []byte, row byte, k timeline.Key) []byte {
	b = append(b, row, byte(k.Kind))
	return binary.BigEndian.AppendUint64(b, k.ID)
}

func entryKey(b []byte, k timeline.Key, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(timelineKey(b, rowEntry, k), seq)
}

func authorKey(b []byte, k timeline.Key, author uint64) []byte {
	return binary.BigEndian.AppendUint64(timelineKey(b, rowAuthor, k), author)
}

func tokenKey(b []byte, t *timeline.Token, k timeline.Key) []byte {
	if t.Counter == 0 {
		b = append(append(b, rowSum), t.Sum[:]...)
	} else {
		b = append(b, rowToken)
		b = binary.BigEndian.AppendUint64(b, t.Sender)
		b = binary.BigEndian.AppendUint64(b, t.Device)
		b = binary.BigEndian.AppendUint64(b, t.Counter)
	}
	b = append(b, byte(k.Kind))
	return binary.BigEndian.AppendUint64(b, k.ID)
}

func recordKey(b []byte, partition uint16, seq uint64) []byte {
	b = append(b, rowRecord)
	b = binary.BigEndian.AppendUint16(b, partition)
	return binary.BigEndian.AppendUint64(b, seq)
}

func checkpointKey(b []byte, partition uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, rowCheckpoint), partition)
}

// First byte of an entry's value.
const (
	formConversation = 1
	formInbox        = 2
)

func appendEntry(b []byte, counted uint64, payload []byte) []byte {
	b = binary.AppendUvarint(append(b, formConversation), counted)
	return append(b, payload...)
}

func appendPost(b []byte, seq, prev uint64, payload []byte) []byte {
	b = binary.AppendUvarint(append(b, formInbox), seq-prev)
	return append(b, payload...)
}

// decodeEntry reads an entry's value. Payload aliases value.
func decodeEntry(seq uint64, value []byte) (timeline.Entry, error) {
	if len(value) < 2 {
		return timeline.Entry{}, timeline.ErrDamaged
	}
	v, n := binary.Uvarint(value[1:])
	if n <= 0 {
		return timeline.Entry{}, timeline.ErrDamaged
	}
	e := timeline.Entry{Seq: seq, Payload: value[1+n:]}
	switch value[0] {
	case formConversation:
		e.Counted, e.Prev = v, seq-1
	case formInbox:
		if v == 0 || v > seq {
			return timeline.Entry{}, timeline.ErrDamaged
		}
		e.Prev = seq - v
	default:
		return timeline.Entry{}, timeline.ErrDamaged
	}
	return e, nil
}

func appendTail(b []byte, t *timeline.Tail) []byte {
	b = binary.AppendUvarint(b, t.Seq)
	b = binary.AppendUvarint(b, t.Counted)
	return binary.AppendUvarint(b, t.Access)
}

func uvarints(b []byte, into ...*uint64) error {
	for _, p := range into {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return timeline.ErrDamaged
		}
		*p, b = v, b[n:]
	}
	return nil
}

func appendRef(b []byte, r timeline.Ref) []byte {
	b = append(b, byte(r.Key.Kind))
	b = binary.AppendUvarint(b, r.Key.ID)
	b = binary.AppendUvarint(b, r.From)
	return binary.AppendUvarint(b, r.To-r.From)
}

func decodeRefs(b []byte) ([]timeline.Ref, error) {
	var refs []timeline.Ref
	for len(b) > 0 {
		r := timeline.Ref{Key: timeline.Key{Kind: timeline.Kind(b[0])}}
		b = b[1:]
		var more uint64
		for _, p := range []*uint64{&r.Key.ID, &r.From, &more} {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, timeline.ErrDamaged
			}
			*p, b = v, b[n:]
		}
		r.To = r.From + more
		if r.To < r.From {
			return nil, timeline.ErrDamaged
		}
		refs = append(refs, r)
	}
	return refs, nil
}
