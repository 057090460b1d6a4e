package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// The part of S3's API that a multipart upload needs, so that any S3 client can write the parts of one upload. It has keys of its own,
// made for this upload, with which nothing can be read.

const (
	s3Bucket = "rialto-uploads"
	s3Prefix = "/" + s3Bucket + "/"
	s3Region = "us-east-1"
	// partListEntry is the maximum size of a part in the list that completes an upload, with all checksums that clients add, in bytes.
	partListEntry = 512
	// partListFrame is the maximum size of the rest of that list.
	partListFrame = 4 << 10
)

var (
	errS3Operation = errs.New(errs.Invalid, "not_supported", "this address has CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload, and PutObject of an upload with one part")
	errS3Key       = errs.New(errs.Denied, "bad_url", "these keys are for another upload")
	errS3Parts     = errs.New(errs.Invalid, "bad_parts", "list all parts in order, with the ETags that they were answered with")
	errS3UploadID  = errs.New(errs.NotFound, "no_upload", "there is no such upload id; begin with CreateMultipartUpload")
)

// CreateUploadCredentials returns the keys with which an S3 client writes the parts of a user's upload. They end with the caller's session.
func (s *Service) CreateUploadCredentials(ctx context.Context, by id.Caller, n id.Upload) (*chatv1.UploadCredentials, error) {
	u, m, err := s.ownMultipart(ctx, by.User, n)
	if err != nil {
		return nil, err
	}
	if m.protocol != byParts {
		return nil, errIsTus
	}
	ends := time.UnixMilli(u.createdMs).Add(unfinishedRetention)
	access, secret := s.s3Keys(n, by.Session, ends)
	return &chatv1.UploadCredentials{Origin: s.config.Origin, Bucket: s3Bucket, Key: n.String(), AccessKey: access, SecretKey: secret, Region: s3Region, ExpiresMs: ends.Unix() * 1000}, nil
}

func (s *Service) handleS3(mux *http.ServeMux) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		mux.HandleFunc(method+" "+s3Prefix+"{upload}", s.instrumentedAs(method+" "+s3Prefix, s.serveS3, s.failS3))
	}
}

// serveS3 serves one operation. The id of the multipart upload is that of the upload.
func (s *Service) serveS3(w http.ResponseWriter, r *http.Request) error {
	n, a, err := s.verifyS3(r)
	if err != nil {
		return err
	}
	if r.PathValue("upload") != n.String() {
		return errS3Key
	}
	q := r.URL.Query()
	if q.Has("uploadId") && q.Get("uploadId") != n.String() {
		return errS3UploadID
	}
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		if _, err := s.get(r.Context(), n); err != nil {
			return err
		}
		return writeXML(w, http.StatusOK, &s3Initiated{Bucket: s3Bucket, Key: n.String(), UploadID: n.String()})
	case r.Method == http.MethodPut && q.Has("uploadId"):
		return s.serveS3Part(w, r, n, &a, q.Get("partNumber"))
	case r.Method == http.MethodPut && len(q) == 0:
		return s.serveS3Object(w, r, n, &a)
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return s.serveS3Complete(w, r, n, &a)
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		u, err := s.get(r.Context(), n)
		if err == nil {
			err = s.AbortUpload(r.Context(), u.owner, n)
		}
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	}
	return errS3Operation
}

func (s *Service) serveS3Part(w http.ResponseWriter, r *http.Request, n id.Upload, a *s3Signature, part string) error {
	number, err := strconv.Atoi(part)
	if err != nil {
		return errBadPart
	}
	length, decode, err := decodeS3Body(r, a)
	if err != nil {
		return err
	}
	checksum, err := s.receivePart(w, r, n, number, length, decode)
	if err == nil {
		w.Header().Set("ETag", `"`+checksum+`"`)
		w.WriteHeader(http.StatusOK)
	}
	return err
}

// serveS3Object stores an upload that has one part.
func (s *Service) serveS3Object(w http.ResponseWriter, r *http.Request, n id.Upload, a *s3Signature) error {
	u, err := s.get(r.Context(), n)
	if err != nil {
		return err
	}
	m, err := s.multipart(r.Context(), n, u)
	if err != nil {
		return err
	}
	if m.count() != 1 {
		return errS3Operation
	}
	length, decode, err := decodeS3Body(r, a)
	if err != nil {
		return err
	}
	checksum, err := s.receivePart(w, r, n, 1, length, decode)
	if err != nil {
		return err
	}
	if _, err := s.joinParts(r.Context(), n); err != nil {
		return err
	}
	w.Header().Set("ETag", `"`+checksum+`"`)
	w.WriteHeader(http.StatusOK)
	return nil
}

// serveS3Complete checks the parts that the client names, and joins them. CompleteUpload makes a file of the upload.
func (s *Service) serveS3Complete(w http.ResponseWriter, r *http.Request, n id.Upload, a *s3Signature) error {
	_, decode, err := decodeS3Body(r, a)
	if err != nil {
		return err
	}
	most, err := s.maxPartList(r.Context(), n)
	if err != nil {
		return err
	}
	body := inputlimit.NewBody(w, r, outputlimit.TransferTimeout(most))
	ctx, leave := s.active.add(r.Context(), partID{n, joining}, maxConcurrentPuts, body)
	defer leave()
	text, err := io.ReadAll(io.LimitReader(decode(body), most+1))
	if err != nil {
		return body.Cause(err)
	}
	if int64(len(text)) > most {
		return errS3Parts
	}
	listed, err := parsePartList(text)
	if err != nil {
		return err
	}
	u, err := s.get(ctx, n)
	if err == nil && u.stored == 0 {
		err = s.checkListed(ctx, n, listed)
	}
	if err == nil {
		_, err = s.joinParts(ctx, n)
	}
	if err != nil {
		return err
	}
	sum := sha256.New()
	for _, p := range listed {
		fmt.Fprintln(sum, p.ETag)
	}
	return writeXML(w, http.StatusOK, &s3Completed{Bucket: s3Bucket, Key: n.String(), Location: s3Prefix + n.String(), ETag: fmt.Sprintf(`"%s-%d"`, hex.EncodeToString(sum.Sum(nil)[:16]), len(listed))})
}

// maxPartList is how long the list that completes an upload can be, in bytes. It is kept in memory, so it may not name more parts than are stored.
func (s *Service) maxPartList(ctx context.Context, n id.Upload) (int64, error) {
	u, err := s.get(ctx, n)
	if err != nil {
		return 0, err
	}
	var parts int64
	if u.stored == 0 {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM upload_parts WHERE upload = $1`, int64(n)).Scan(&parts)
	} else { // the list is not compared any more
		var m multipart
		m, err = s.multipart(ctx, n, u)
		parts = int64(m.count())
	}
	return partListFrame + parts*partListEntry, err
}

// checkListed compares the parts that a client lists with those that are stored.
func (s *Service) checkListed(ctx context.Context, n id.Upload, listed []s3Part) error {
	stored, err := s.listParts(ctx, n)
	if err != nil {
		return err
	}
	if len(listed) != len(stored) {
		return errS3Parts
	}
	for i, p := range stored {
		if listed[i].PartNumber != p.number || strings.Trim(listed[i].ETag, `"`) != p.checksum {
			return errS3Parts
		}
	}
	return nil
}

type s3Part struct {
	PartNumber int
	ETag       string
}

// parsePartList reads the body of CompleteMultipartUpload.
func parsePartList(text []byte) ([]s3Part, error) {
	var list struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []s3Part
	}
	if xml.Unmarshal(text, &list) != nil || len(list.Part) == 0 {
		return nil, errS3Parts
	}
	for i, p := range list.Part {
		if p.PartNumber != i+1 {
			return nil, errS3Parts
		}
	}
	return list.Part, nil
}

type s3Initiated struct {
	XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
	Bucket   string
	Key      string
	UploadID string `xml:"UploadId"`
}

type s3Completed struct {
	XMLName  xml.Name `xml:"CompleteMultipartUploadResult"`
	Location string
	Bucket   string
	Key      string
	ETag     string
}

type s3Error struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
}

func writeXML(w http.ResponseWriter, status int, value any) error {
	text, err := xml.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), text...)) // the client may have disconnected
	return nil
}

// s3Codes are the codes of errors that S3 clients know, by the kind of the error.
var s3Codes = map[errs.Kind]struct {
	status int
	code   string
}{
	errs.Invalid: {http.StatusBadRequest, "InvalidRequest"}, errs.NotFound: {http.StatusNotFound, "NoSuchUpload"}, errs.Conflict: {http.StatusConflict, "OperationAborted"},
	errs.Denied: {http.StatusForbidden, "AccessDenied"}, errs.Exhausted: {http.StatusForbidden, "QuotaExceeded"}, errs.Unavailable: {http.StatusServiceUnavailable, "SlowDown"},
}

// failS3 writes an error in the form of S3.
func (s *Service) failS3(w http.ResponseWriter, err error) {
	e := errs.Of(err)
	answer, ok := s3Codes[e.Kind]
	if !ok {
		answer.status, answer.code = http.StatusInternalServerError, "InternalError"
		s.deps.Logger.Error("a part could not be stored", "error", err)
	}
	switch {
	case errors.Is(err, errS3Signature):
		answer.code = "SignatureDoesNotMatch"
	case errors.Is(err, errBadChecksum):
		answer.code = "BadDigest"
	case errors.Is(err, errS3Parts):
		answer.code = "InvalidPart"
	}
	_ = writeXML(w, answer.status, &s3Error{Code: answer.code, Message: e.Reason + ": " + e.Message}) // these can be marshalled
}
