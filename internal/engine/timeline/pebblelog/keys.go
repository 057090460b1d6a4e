package pebblelog

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// First bytes of the keys, in their order. docs/formats/pebble.md draws them.
const (
	rowEntry      = 'e'
	rowFirstSeq   = 'h'
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

// authorKey is next to the key of the tail: both are written with most entries, and a row beside the last one costs the memtable little.
func authorKey(b []byte, k timeline.Key, author uint64) []byte {
	return binary.BigEndian.AppendUint64(timelineKey(b, rowTail, k), author)
}

// Lengths of keys that share a first byte.
const (
	tailKeyLen   = 10
	authorKeyLen = 18
)

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
	encodingConversation = 1
	encodingInbox        = 2
	encodingInboxRun     = 3
)

func appendEntry(b []byte, counted uint64, payload []byte) []byte {
	b = binary.AppendUvarint(append(b, encodingConversation), counted)
	return append(b, payload...)
}

func appendPost(b []byte, seq, prev uint64, payload []byte) []byte {
	b = binary.AppendUvarint(append(b, encodingInbox), seq-prev)
	return append(b, payload...)
}

// appendRun writes the value of adjacent inbox entries in one row. prev is the seq before the first.
func appendRun(b []byte, seq, prev uint64, posts []timeline.Post) []byte {
	b = binary.AppendUvarint(append(b, encodingInboxRun), seq-prev)
	for i := range posts {
		b = binary.AppendUvarint(b, uint64(len(posts[i].Payload)))
		b = append(b, posts[i].Payload...)
	}
	return b
}

// decodeEntries appends the entries of a row to entries. last is the seq in its key. Payloads alias value.
func decodeEntries(entries []timeline.Entry, last uint64, value []byte) ([]timeline.Entry, error) {
	if len(value) == 0 || value[0] != encodingInboxRun {
		e, err := decodeEntry(last, value)
		return append(entries, e), err
	}
	gap, n := binary.Uvarint(value[1:])
	if n <= 0 {
		return entries, timeline.ErrCorrupt
	}
	from := len(entries)
	for value = value[1+n:]; len(value) > 0; {
		size, n := binary.Uvarint(value)
		if n <= 0 || size > uint64(len(value)-n) {
			return entries[:from], timeline.ErrCorrupt
		}
		end := n + int(size)
		entries, value = append(entries, timeline.Entry{Payload: value[n:end:end]}), value[end:]
	}
	run := entries[from:]
	first := last - uint64(len(run)) + 1
	if len(run) == 0 || uint64(len(run)) > last || gap == 0 || gap > first {
		return entries[:from], timeline.ErrCorrupt
	}
	for i := range run {
		run[i].Seq, run[i].Prev = first+uint64(i), first+uint64(i)-1
	}
	run[0].Prev = first - gap
	return entries, nil
}

// decodeEntry reads an entry's value. Payload aliases value.
func decodeEntry(seq uint64, value []byte) (timeline.Entry, error) {
	if len(value) < 2 {
		return timeline.Entry{}, timeline.ErrCorrupt
	}
	v, n := binary.Uvarint(value[1:])
	if n <= 0 {
		return timeline.Entry{}, timeline.ErrCorrupt
	}
	e := timeline.Entry{Seq: seq, Payload: value[1+n:]}
	switch value[0] {
	case encodingConversation:
		e.Counted, e.Prev = v, seq-1
	case encodingInbox:
		if v == 0 || v > seq {
			return timeline.Entry{}, timeline.ErrCorrupt
		}
		e.Prev = seq - v
	default:
		return timeline.Entry{}, timeline.ErrCorrupt
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
			return timeline.ErrCorrupt
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
				return nil, timeline.ErrCorrupt
			}
			*p, b = v, b[n:]
		}
		r.To = r.From + more
		if r.To < r.From {
			return nil, timeline.ErrCorrupt
		}
		refs = append(refs, r)
	}
	return refs, nil
}
