package media

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/signedurl"
)

// Sweep drops incomplete uploads, once.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// CleanName returns a form of a file name that is safe to display and to save.
func CleanName(name string) string { return cleanName(name) }

// Slack is how much longer than its messages an upload is kept.
const Slack = usedTimeSlack

// Steps are the migrations of the service's tables.
func Steps() []string { return migrations }

// Totals of a user's files: the stored ones and the recounted ones.
func (s *Service) Totals(ctx context.Context, u id.User) (kept, are [2]int64, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if err := tx.QueryRowContext(ctx, `SELECT used, unfinished FROM upload_sums WHERE owner = $1`, int64(u)).Scan(&kept[0], &kept[1]); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT CAST(coalesce(sum(declared), 0) AS BIGINT), coalesce(sum(CASE WHEN complete = 0 THEN 1 ELSE 0 END), 0) FROM uploads WHERE owner = $1 AND complete <> -1`, int64(u)).Scan(&are[0], &are[1])
	})
	return kept, are, err
}

// StripMetadata returns the kept bytes of an image, and its properties.
func StripMetadata(file []byte, mime string) (kept []byte, frames int, rotated, changed bool, err error) {
	c, err := stripMetadata(bytes.NewReader(file), mime)
	if err != nil {
		return nil, 0, false, false, err
	}
	kept, err = io.ReadAll(&strippedFile{file: bytes.NewReader(file), pieces: c.pieces})
	if err == nil && int64(len(kept)) != c.size {
		err = fmt.Errorf("the size is %d bytes, but %d were read", c.size, len(kept))
	}
	return kept, c.frames, c.rotated, c.changed(int64(len(file))), err
}

// Signer returns a service that only signs and checks URLs.
func Signer(secret []byte, c clock.Clock, origin string) *Service {
	return &Service{urls: signedurl.Signer{Secret: secret, Clock: c}, config: Config{Origin: origin}}
}

// Sign returns a signed URL.
func (s *Service) Sign(verb string, n id.Upload, ends time.Time) string { return s.sign(verb, n, ends) }

// Signed returns the upload and verb of a request's URL.
func (s *Service) Signed(r *http.Request, verbs ...string) (id.Upload, string, error) {
	return s.signed(r, verbs...)
}

// Parsers of headers and bodies.
var (
	ParseTusMetadata     = parseTusMetadata
	ParseTusNumber       = parseTusNumber
	ParseTusConcat       = parseTusConcat
	ParseTusChecksum     = parseTusChecksum
	ParseContentDigest   = parseContentDigest
	ParseS3Authorization = parseS3Authorization
	ParsePartList        = parsePartList
)

// UnsignedChunks decodes a body of aws-chunked without signatures.
func UnsignedChunks(body io.Reader, trailer string) io.Reader {
	return newChunkReader(body, &s3Signature{}, false, trailer)
}
