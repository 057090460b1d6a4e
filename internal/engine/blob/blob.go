// Package blob is the port for files: bytes by key, written once and read at any offset.
//
// Put is atomic. After it returns, the bytes are durable. Before, nobody sees any of them. All methods may be called from many
// goroutines.
package blob

import (
	"context"
	"io"
	"time"

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
	// List returns some of the files whose keys begin with a folder and a slash: those that follow a position, "" at the beginning, at most as many as limit. What a page costs depends on the limit only. A file
	// that is there during the whole listing is on a page; on several if the listing was interrupted. A page may be empty and not the last one.
	List(ctx context.Context, folder, after string, limit int) (Page, error)

	// BeginParts begins a file that is stored in parts, and returns a session for the calls below. Nobody sees the file before JoinParts.
	// A session survives the process. It ends with JoinParts or AbortParts.
	BeginParts(ctx context.Context, key string) (session string, err error)
	// PutPart stores exactly p.Size bytes of r, durably, and returns a tag for JoinParts. After an error the part counts as missing, whatever
	// it was before. The calls of one part must not overlap. Other parts may be stored meanwhile, in any order.
	// Without the session, the error is ErrNotFound.
	PutPart(ctx context.Context, key, session string, p Part, r io.Reader) (tag string, err error)
	// JoinParts makes the parts, which are in order and without gaps, the file of this key. It may be repeated after it succeeded.
	JoinParts(ctx context.Context, key, session string, parts []Part) error
	// AbortParts removes all parts. A missing session is not an error.
	AbortParts(ctx context.Context, key, session string) error
}

// Page is what List returns.
type Page struct {
	Files []File
	// Next is the position behind them; "": there are no more.
	Next string
}

// File is a complete file of a store.
type File struct {
	Key      string
	Size     int64
	Modified time.Time // by the clock of the machine or server that has it
}

// RangeReader reads parts of files by one request each.
type RangeReader interface {
	// ReadRange reads the bytes of a file from an offset within it on: as many as length, or to its end. It returns the size of the file as well.
	ReadRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error)
}

// Part is one part of a file. All parts but the last have the same size, of at least MinPartSize.
type Part struct {
	Number       int // from 1
	Offset, Size int64
	Tag          string // from PutPart, for JoinParts
}

const (
	// MinPartSize of a part that is not the last. S3 requires it.
	MinPartSize = 5 << 20
	// MaxParts of a file. S3 allows 10,000.
	MaxParts = 9000
)

// PartSize is the size of the parts of a file: the smallest that a store accepts.
func PartSize(size int64) int64 { return max(MinPartSize, (size+MaxParts-1)/MaxParts) }

// Contiguous reports whether parts are all parts of a file, in order, and returns the file's size.
func Contiguous(parts []Part) (size int64, ok bool) {
	for i, p := range parts {
		if p.Number != i+1 || p.Offset != size || p.Size <= 0 {
			return 0, false
		}
		size += p.Size
	}
	return size, len(parts) > 0
}

// Errors of stores.
var (
	ErrNotFound = errs.New(errs.NotFound, "no_file", "there is no such file")
	ErrParts    = errs.New(errs.Invalid, "bad_parts", "the parts of a file are numbered from 1, in order and without gaps")
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
