// Package blob is the port for files: bytes by key, written once and read at any offset.
//
// Put is atomic. After it returns, the bytes are durable. Before, nobody sees any of them. All methods may be called from many
// goroutines.
package blob

import (
	"context"
	"io"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Store keeps files.
type Store interface {
	// Put stores exactly size bytes of r under key and replaces what was there. If r has more or fewer bytes, or fails, the old bytes stay.
	// A store may refuse a key that has another key and a slash as its prefix.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open opens a file for reading and returns its size.
	Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error)
	// Delete removes a file. A missing file is not an error.
	Delete(ctx context.Context, key string) error
}

// Errors of stores.
var (
	ErrNotFound = errs.New(errs.NotFound, "no_file", "there is no such file")
	ErrSize     = errs.New(errs.Invalid, "wrong_size", "the file does not have the declared size")
	ErrKey      = errs.New(errs.Invalid, "bad_key", "a key has 1 to 200 of a-z, 0-9, - and /, no empty part, and no other key for a folder")
)

// ValidKey reports whether a key is valid: 1 to 200 characters of a-z, 0-9, - and /, without an empty part.
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
