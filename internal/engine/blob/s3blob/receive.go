package s3blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// payload is what a request sends, complete.
type payload struct {
	size   int64
	sha256 string               // a signed checksum by which the server checks the received bytes
	reader func() io.ReadSeeker // each attempt reads from the beginning by a reader of its own: one that has failed may still be read
	close  func() error
}

// Close frees what holds the bytes.
func (p payload) Close() error { return p.close() }

func payloadOf(b []byte) payload {
	sum := sha256.Sum256(b)
	return payload{int64(len(b)), hex.EncodeToString(sum[:]), func() io.ReadSeeker { return bytes.NewReader(b) }, func() error { return nil }}
}

// receive reads exactly size bytes of a reader that has rest bytes more; they are all if size is rest. Meanwhile the caller has no slot: a client
// may send a byte now and then. If the reader ends earlier, or has more than rest bytes, the error is ErrSize; if it fails, the reader's error.
func (s *Store) receive(ctx context.Context, r io.Reader, size, rest int64) (payload, error) {
	sum := sha256.New()
	p, err := s.config.Spool.Receive(ctx, io.TeeReader(r, sum), size)
	if p == nil {
		return payload{}, err
	}
	if err == nil && p.Size() < size {
		err = blob.ErrSize
	}
	if err == nil && size == rest {
		err = s.end(ctx, r)
	}
	if err != nil {
		return payload{}, errors.Join(err, p.Close())
	}
	return payload{size, hex.EncodeToString(sum.Sum(nil)), p.Reader, p.Close}, nil
}

// end returns ErrSize if r has more bytes.
func (s *Store) end(ctx context.Context, r io.Reader) error {
	p, err := s.config.Spool.Receive(ctx, r, 1)
	if err == nil && p.Size() > 0 {
		err = blob.ErrSize
	}
	return err
}

// acquire waits for one of the slots for requests with a body. Whoever has one has all bytes that it sends.
func (s *Store) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
