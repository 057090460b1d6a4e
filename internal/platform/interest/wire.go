package interest

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// The first bytes of messages. docs/formats/interest.md describes them.
const (
	kindRequest = 1
	kindAnswer  = 2
	kindChanges = 3
)

// maxChanges is how many changes are in one message.
const maxChanges = 10_000

var errMessage = errors.New("this is not a message about interests")

func appendRequest(b []byte, node string, list []Key) []byte {
	b = append(b, kindRequest)
	b = binary.AppendUvarint(b, uint64(len(node)))
	b = append(b, node...)
	for _, c := range list {
		b = binary.BigEndian.AppendUint64(b, uint64(c))
	}
	return b
}

func readRequest(b []byte) (node string, list []Key, err error) {
	if len(b) == 0 || b[0] != kindRequest {
		return "", nil, errMessage
	}
	n, size := binary.Uvarint(b[1:])
	if size <= 0 || n == 0 || n > uint64(len(b)-1-size) {
		return "", nil, errMessage
	}
	b = b[1+size:]
	node, b = string(b[:n]), b[n:]
	if len(b)%8 != 0 {
		return "", nil, errMessage
	}
	for ; len(b) > 0; b = b[8:] {
		list = append(list, Key(binary.BigEndian.Uint64(b)))
	}
	return node, list, nil
}

func appendAnswer(b []byte, knew bool) []byte {
	if knew {
		return append(b, kindAnswer, 1)
	}
	return append(b, kindAnswer, 0)
}

func knewAll(b []byte) bool { return len(b) == 2 && b[0] == kindAnswer && b[1] == 1 }

func appendChanges(b []byte, list []Change) []byte {
	b = append(b, kindChanges)
	for _, c := range list {
		for _, n := range [4]uint64{uint64(c.Key), uint64(c.User), c.From, c.To} {
			b = binary.BigEndian.AppendUint64(b, n)
		}
	}
	return b
}

func readChanges(b []byte) (list []Change, err error) {
	if len(b) == 0 || b[0] != kindChanges || (len(b)-1)%32 != 0 {
		return nil, errMessage
	}
	for b = b[1:]; len(b) > 0; b = b[32:] {
		n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
		list = append(list, Change{Key(n(0)), id.User(n(1)), n(2), n(3)})
	}
	return list, nil
}
