package media

import (
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
)

var (
	errBadChecksum   = errs.New(errs.Invalid, "wrong_checksum", "the bytes do not have the given checksum; send them again")
	errBadDigest     = errs.New(errs.Invalid, "bad_checksum", "Content-Digest is sha-256=:BASE64: of 32 bytes")
	errWrongPartSize = errs.New(errs.Invalid, "wrong_size", "the part does not have its size; all parts but the last have the size that the upload names")
)

// servePutPart stores the bytes that come to the URL of a part, and answers with their checksum as ETag.
func (s *Service) servePutPart(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := s.parsePartURL(r.PathValue("upload"), r.PathValue("part"), q.Get("size"), q.Get("exp"), q.Get("sig"))
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(r.PathValue("part"))
	if err != nil {
		return errBadPart
	}
	sum, err := parseContentDigest(r.Header.Get("Content-Digest"))
	if err != nil {
		return err
	}
	checksum, err := s.receivePart(w, r, n, number, r.ContentLength, func(body io.Reader) io.Reader {
		if sum == nil {
			return body
		}
		return &checkedReader{from: body, sum: sha256.New(), expected: sum, wrong: errBadChecksum}
	})
	if err == nil {
		w.Header().Set("ETag", `"`+checksum+`"`)
		w.WriteHeader(http.StatusOK)
	}
	return err
}

// parsePartURL checks the signature of a part's URL, and its expiry.
func (s *Service) parsePartURL(upload, part, size, exp, sig string) (id.Upload, error) {
	if err := s.urls.Check("part", upload+"/"+part+"/"+size, exp, sig); err != nil {
		return 0, err
	}
	return parseUpload(upload)
}

// receivePart stores the body of a request as a part. length is that of its bytes, -1 if it is unknown; decode makes them of the body.
func (s *Service) receivePart(w http.ResponseWriter, r *http.Request, n id.Upload, number int, length int64, decode func(body io.Reader) io.Reader) (checksum string, err error) {
	ctx := r.Context()
	u, err := s.get(ctx, n)
	if err != nil {
		return "", err
	}
	m, err := s.multipart(ctx, n, u)
	if err != nil {
		return "", err
	}
	p, ok := m.at(number)
	switch {
	case m.protocol != byParts:
		return "", errIsTus
	case !ok:
		return "", errBadPart
	case length >= 0 && length != p.Size:
		return "", errWrongPartSize
	}
	if u.stored > 0 { // joined: a client that missed the response retries
		if _, err := s.findPart(ctx, n, number); errors.Is(err, sql.ErrNoRows) {
			return "", errPartsComplete
		} else if err != nil {
			return "", err
		}
	}
	body := inputlimit.NewBody(w, r, outputlimit.TransferTimeout(p.Size))
	ctx, leave := s.active.add(ctx, partID{n, number}, maxConcurrentPuts, body)
	defer leave()
	checksum, err = s.storePart(ctx, n, m, p, decode(body))
	return checksum, body.Cause(err)
}

// parseContentDigest reads the SHA-256 of a Content-Digest (RFC 9530); nil if there is none.
func parseContentDigest(header string) ([]byte, error) {
	for _, one := range strings.Split(header, ",") {
		value, ok := strings.CutPrefix(strings.TrimSpace(one), "sha-256=:")
		if !ok {
			continue
		}
		value, ok = strings.CutSuffix(value, ":")
		sum, err := base64.StdEncoding.DecodeString(value)
		if !ok || err != nil || len(sum) != sha256.Size {
			return nil, errBadDigest
		}
		return sum, nil
	}
	return nil, nil
}

// checkedReader fails at the end of its bytes if they do not have the expected checksum.
type checkedReader struct {
	from     io.Reader
	sum      hash.Hash
	expected []byte
	wrong    error
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && subtle.ConstantTimeCompare(c.sum.Sum(nil), c.expected) != 1 {
		err = c.wrong
	}
	return n, err
}
