// Package blob is the port of files: bytes by key, written once and read in any part.
//
// Put is all or nothing: after it returned, the bytes are durable; before, nobody sees any of them. All methods may be
// called from many goroutines.
package blob

import (
	"context"
	"io"

	"github.com/rialto-im/rialto/internal/errs"
)

// Store keeps files.
type Store interface {
	// Put stores exactly size bytes of r under key, in place of what was there. Where r has more or fewer, or fails, what was
	// there stays. A store may refuse a key that begins with another and a slash.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open gives a file for reading, and its size.
	Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error)
	// Delete drops a file; one that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// Errors of stores.
var (
	ErrNotFound = errs.New(errs.NotFound, "no_file", "there is no such file")
	ErrSize     = errs.New(errs.Invalid, "wrong_size", "the file has not the size that was declared")
	ErrKey      = errs.New(errs.Invalid, "bad_key", "a key has 1 to 200 of a-z, 0-9, - and /, no empty part, and no other key for a folder")
)

// ValidKey tells whether a key is one: 1 to 200 of a-z, 0-9, - and /, and no empty part.
func ValidKey(key string) bool {
	if key == "" || len(key) > 200 || key[len(key)-1] == '/' {
		return false
	}
	last := byte('/')
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
		case c == '/' && last != '/':
		default:
			return false
		}
		last = key[i]
	}
	return true
}
