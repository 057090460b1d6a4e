package indexprocess

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
)

// Both processes are of one program, so the payload of a frame needs no lasting form: it is a value of encoding/gob, by itself.
//
//	length of the rest (4 bytes) | kind (1 byte) | number of the call (8 bytes) | payload

// frameKind says what a frame is.
type frameKind byte

const (
	// Of the process that serves.
	readyFrame frameKind = iota + 1 // the first one: the index is open, or cannot be opened
	replyFrame
	beatFrame // says that the process runs
	// Of the one that calls.
	applyFrame
	searchFrame
	checkpointsFrame
	cancelFrame // ends the context of a call
	closeFrame  // closes the index, after the calls in progress
	missingFrame
)

const (
	headerLen = 4
	startLen  = 1 + 8 // kind and number
	// maxFrame bounds a frame, in bytes. A batch is divided into parts that are smaller.
	maxFrame = 16 << 20
	// maxCalls bounds the calls in progress.
	maxCalls = 128
)

// errTooLarge is the error of a frame above maxFrame.
var errTooLarge = errors.New("indexprocess: a frame is too large")

type frame struct {
	kind    frameKind
	call    uint64
	payload []byte
}

// encodeFrame returns the bytes of a frame. value is its payload; nil: it has none.
func encodeFrame(kind frameKind, call uint64, value any) ([]byte, error) {
	b := bytes.NewBuffer(binary.BigEndian.AppendUint64(append(make([]byte, headerLen, 512), byte(kind)), call))
	if value != nil {
		if err := gob.NewEncoder(b).Encode(value); err != nil {
			return nil, err
		}
	}
	if n := b.Len() - headerLen; n > maxFrame {
		return nil, fmt.Errorf("%w: %d bytes, of at most %d", errTooLarge, n, maxFrame)
	}
	binary.BigEndian.PutUint32(b.Bytes(), uint32(b.Len()-headerLen))
	return b.Bytes(), nil
}

// readFrame reads a frame. The error is io.EOF if there is none.
func readFrame(r io.Reader) (frame, error) {
	var header [headerLen]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(header[:])
	if n > maxFrame {
		return frame{}, fmt.Errorf("%w: %d bytes, of at most %d", errTooLarge, n, maxFrame)
	}
	if n < startLen {
		return frame{}, fmt.Errorf("indexprocess: a frame of %d bytes is too short", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return frame{}, fmt.Errorf("indexprocess: a frame ends early: %w", err)
	}
	return frame{frameKind(b[0]), binary.BigEndian.Uint64(b[1:]), b[startLen:]}, nil
}

// decode reads the payload of a frame.
func (f *frame) decode(to any) error { return gob.NewDecoder(bytes.NewReader(f.payload)).Decode(to) }
