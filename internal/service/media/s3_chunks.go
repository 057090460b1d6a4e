package media

import (
	"bufio"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
)

const (
	maxChunkHeader = 256 // bytes
	maxTrailers    = 4 << 10
	emptySHA256    = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

var (
	errS3Chunk   = errs.New(errs.Invalid, "bad_chunk", "a chunk of the body is not well-formed or has a wrong signature: sign each chunk with the key of this upload, as aws-chunked says, or send the part unsigned")
	errS3Payload = errs.New(errs.Invalid, "not_supported", "X-Amz-Content-Sha256 is a SHA-256, UNSIGNED-PAYLOAD, or a STREAMING form of signature version 4")
)

// s3Checksums are the checksums of S3 that are verified, by the end of their header's name. Others are ignored.
var s3Checksums = map[string]func() hash.Hash{
	"crc32":  func() hash.Hash { return crc32.NewIEEE() },
	"crc32c": func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"sha1":   sha1.New,
	"sha256": sha256.New,
}

const s3ChecksumPrefix = "x-amz-checksum-"

// decodeS3Body returns the length of the bytes in a request's body, and how they are decoded and checked.
func decodeS3Body(r *http.Request, a *s3Signature) (length int64, decode func(io.Reader) io.Reader, err error) {
	hash := payloadHash(r)
	length = r.ContentLength
	var checks []func(io.Reader) io.Reader
	for name, newHash := range s3Checksums {
		header := r.Header.Get(s3ChecksumPrefix + name)
		if header == "" {
			continue
		}
		expected, err := base64.StdEncoding.DecodeString(header)
		if err != nil {
			return 0, nil, errBadChecksum
		}
		checks = append(checks, func(r io.Reader) io.Reader {
			return &checkedReader{from: r, sum: newHash(), expected: expected, wrong: errBadChecksum}
		})
	}
	chunked, signed := false, false
	switch hash {
	case "UNSIGNED-PAYLOAD":
	case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER":
		chunked, signed = true, true
	case "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
		chunked = true
	default:
		expected, err := hex.DecodeString(hash)
		if err != nil || len(expected) != sha256.Size {
			return 0, nil, errS3Payload
		}
		checks = append(checks, func(r io.Reader) io.Reader {
			return &checkedReader{from: r, sum: sha256.New(), expected: expected, wrong: errBadChecksum}
		})
	}
	if chunked {
		if length, err = strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64); err != nil || length < 0 {
			return 0, nil, errS3Chunk
		}
	}
	trailer := strings.ToLower(r.Header.Get("X-Amz-Trailer"))
	return length, func(body io.Reader) io.Reader {
		if chunked {
			body = newChunkReader(body, a, signed, trailer)
		}
		for _, check := range checks {
			body = check(body)
		}
		return body
	}, nil
}

// chunkReader decodes a body of aws-chunked, and checks the signature of each chunk and the checksum in the trailer.
type chunkReader struct {
	from     *bufio.Reader
	by       *s3Signature
	signed   bool
	previous string // signature
	left     int64  // bytes of the current chunk
	expected string // its signature
	chunk    hash.Hash
	sum      hash.Hash // of all chunks; nil: the trailer has no checksum
	trailer  string    // the name of the checksum
	err      error
}

func newChunkReader(body io.Reader, by *s3Signature, signed bool, trailer string) *chunkReader {
	c := &chunkReader{from: bufio.NewReaderSize(body, 64<<10), by: by, signed: signed, previous: by.signature, chunk: sha256.New(), trailer: trailer}
	name, ok := strings.CutPrefix(trailer, s3ChecksumPrefix)
	if newHash := s3Checksums[name]; ok && newHash != nil {
		c.sum = newHash()
	}
	return c
}

// Read returns io.EOF only after the last chunk and the trailer were verified.
func (c *chunkReader) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.from.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	c.chunk.Write(p[:n])
	if c.sum != nil {
		c.sum.Write(p[:n])
	}
	switch {
	case errors.Is(err, io.EOF):
		c.err = errS3Chunk
	case err != nil:
		c.err = err
	case c.left == 0:
		c.err = c.endChunk()
	}
	return n, c.err
}

// next reads the header of a chunk. After the last one it returns io.EOF.
func (c *chunkReader) next() error {
	line, err := c.line()
	if err != nil {
		return err
	}
	size, rest, _ := strings.Cut(line, ";")
	c.expected, _ = strings.CutPrefix(rest, "chunk-signature=")
	n, err := strconv.ParseUint(size, 16, 40)
	if err != nil {
		return errS3Chunk
	}
	c.left = int64(n)
	c.chunk.Reset()
	if n > 0 {
		return nil
	}
	if err := c.verifyChunk(); err != nil {
		return err
	}
	if err := c.readTrailers(); err != nil {
		return err
	}
	return io.EOF
}

// line reads a line that ends with CRLF.
func (c *chunkReader) line() (string, error) {
	text, err := c.from.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
		return "", errS3Chunk
	case err != nil:
		return "", err
	}
	line, ok := strings.CutSuffix(string(text), "\r\n")
	if !ok || len(text) > maxChunkHeader {
		return "", errS3Chunk
	}
	return line, nil
}

// endChunk verifies a chunk whose bytes have all been read.
func (c *chunkReader) endChunk() error {
	if line, err := c.line(); err != nil || line != "" {
		return errors.Join(err, errS3Chunk)
	}
	return c.verifyChunk()
}

func (c *chunkReader) verifyChunk() error {
	if !c.signed {
		return nil
	}
	return c.verify("AWS4-HMAC-SHA256-PAYLOAD\n" + c.by.date + "\n" + c.by.scope() + "\n" + c.previous + "\n" + emptySHA256 + "\n" + hex.EncodeToString(c.chunk.Sum(nil)))
}

func (c *chunkReader) verify(text string) error {
	c.previous = c.by.sign(text)
	if subtle.ConstantTimeCompare([]byte(c.previous), []byte(c.expected)) != 1 {
		return errS3Chunk
	}
	return nil
}

// readTrailers reads the rest of the body, and checks the checksum in it.
func (c *chunkReader) readTrailers() error {
	text, err := io.ReadAll(io.LimitReader(c.from, maxTrailers+1))
	if err != nil {
		return err
	}
	if len(text) > maxTrailers {
		return errS3Chunk
	}
	fields := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[strings.ToLower(name)] = value
		}
	}
	if c.trailer == "" {
		return nil
	}
	value, ok := fields[c.trailer]
	if !ok {
		return errS3Chunk
	}
	if c.signed {
		sum := sha256.Sum256([]byte(c.trailer + ":" + value + "\n"))
		c.expected = fields["x-amz-trailer-signature"]
		if err := c.verify("AWS4-HMAC-SHA256-TRAILER\n" + c.by.date + "\n" + c.by.scope() + "\n" + c.previous + "\n" + hex.EncodeToString(sum[:])); err != nil {
			return err
		}
	}
	if c.sum == nil {
		return nil
	}
	if expected, err := base64.StdEncoding.DecodeString(value); err != nil || subtle.ConstantTimeCompare(expected, c.sum.Sum(nil)) != 1 {
		return errBadChecksum
	}
	return nil
}
