package media

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/signedurl"
)

const (
	s3Algorithm  = "AWS4-HMAC-SHA256"
	s3DateFormat = "20060102T150405Z"
	// maxClockSkew between a client and the server.
	maxClockSkew = 15 * time.Minute
	// maxSignedHeaders of a request. Each is named once, so that a long header is hashed once.
	maxSignedHeaders = 50
)

var (
	errS3Signature   = errs.New(errs.Denied, "bad_signature", "the signature does not match; check the keys, and that no proxy changes the header Host")
	errS3Expired     = errs.New(errs.Denied, "url_expired", "these keys have expired; get new ones by CreateUploadCredentials")
	errS3Session     = errs.New(errs.Denied, "url_expired", "the session that created these keys has ended; get new ones by CreateUploadCredentials")
	errS3Skew        = errs.New(errs.Denied, "bad_clock", "the time of the request is more than 15 minutes from the server's; set the clock")
	errS3Headers     = errs.New(errs.Invalid, "not_supported", "name each of SignedHeaders once, in the order of their bytes")
	errS3Unsupported = errs.New(errs.Invalid, "not_supported", "sign requests with AWS4-HMAC-SHA256 in the header Authorization")
)

// s3Signature is a parsed and verified header Authorization.
type s3Signature struct {
	accessKey, day, region string
	headers                []string
	signature              string
	date                   string
	key                    []byte // by which chunks are signed
}

func (a *s3Signature) scope() string { return a.day + "/" + a.region + "/s3/aws4_request" }

// sign returns the signature of a text.
func (a *s3Signature) sign(text string) string { return hex.EncodeToString(hmacSHA256(a.key, text)) }

func hmacSHA256(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// parseS3Authorization reads a header Authorization of signature version 4.
func parseS3Authorization(header string) (a s3Signature, err error) {
	rest, ok := strings.CutPrefix(header, s3Algorithm+" ")
	if !ok {
		return a, errS3Unsupported
	}
	for _, field := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Credential":
			scope := strings.Split(value, "/")
			if len(scope) != 5 || scope[3] != "s3" || scope[4] != "aws4_request" {
				return a, errS3Unsupported
			}
			a.accessKey, a.day, a.region = scope[0], scope[1], scope[2]
		case "SignedHeaders":
			a.headers = strings.Split(value, ";")
		case "Signature":
			a.signature = value
		}
	}
	if a.accessKey == "" || len(a.day) != len("20060102") || a.region == "" || len(a.signature) != 2*sha256.Size || len(a.headers) > maxSignedHeaders || !slices.Contains(a.headers, "host") {
		return a, errS3Unsupported
	}
	for i := range len(a.headers) - 1 {
		if a.headers[i] >= a.headers[i+1] {
			return a, errS3Headers
		}
	}
	return a, nil
}

// s3Keys returns the access key and the secret key of one upload, valid until ends, and no longer than a session; 0: without a session, for a
// caller with an API key.
func (s *Service) s3Keys(n id.Upload, session id.Session, ends time.Time) (access, secret string) {
	exp := signedurl.Expiry(ends)
	if session > 0 {
		exp += "-" + strconv.FormatUint(uint64(session), 10)
	}
	return n.String() + "-" + exp, s.urls.Sign("s3", n.String(), exp)
}

// verifyS3 checks the signature of a request, and returns the upload for which its keys are.
func (s *Service) verifyS3(r *http.Request) (n id.Upload, a s3Signature, err error) {
	if a, err = parseS3Authorization(r.Header.Get("Authorization")); err != nil {
		return 0, a, err
	}
	name, exp, _ := strings.Cut(a.accessKey, "-")
	number, err := strconv.ParseUint(name, 10, 63)
	if err != nil {
		return 0, a, errS3Signature
	}
	until, of, _ := strings.Cut(exp, "-")
	ends, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return 0, a, errS3Signature
	}
	a.date = r.Header.Get("X-Amz-Date")
	at, err := time.Parse(s3DateFormat, a.date)
	if err != nil || !strings.HasPrefix(a.date, a.day) {
		return 0, a, errS3Unsupported
	}
	now := s.deps.Clock.Now()
	switch { // before the signature: what is too old costs nothing
	case now.Unix() >= ends:
		return 0, a, errS3Expired
	case at.Sub(now).Abs() > maxClockSkew:
		return 0, a, errS3Skew
	}
	a.key = []byte("AWS4" + s.urls.Sign("s3", name, exp))
	for _, part := range []string{a.day, a.region, "s3", "aws4_request"} {
		a.key = hmacSHA256(a.key, part)
	}
	sum := sha256.Sum256([]byte(canonicalS3Request(r, a.headers)))
	expected := a.sign(s3Algorithm + "\n" + a.date + "\n" + a.scope() + "\n" + hex.EncodeToString(sum[:]))
	if subtle.ConstantTimeCompare([]byte(expected), []byte(a.signature)) != 1 {
		return 0, a, errS3Signature
	}
	return id.Upload(number), a, s.checkS3Session(r.Context(), of)
}

// checkS3Session fails if the session for which keys were made has ended.
func (s *Service) checkS3Session(ctx context.Context, of string) error {
	if of == "" {
		return nil
	}
	session, err := strconv.ParseUint(of, 10, 63)
	if err != nil {
		return errS3Signature
	}
	ended, err := s.deps.EndedSessions(ctx, []id.Session{id.Session(session)})
	if err == nil && len(ended) > 0 {
		err = errS3Session
	}
	return err
}

// canonicalS3Request is the form of a request that is signed.
func canonicalS3Request(r *http.Request, signed []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"))
	for _, name := range signed {
		values := slices.Clone(r.Header.Values(name))
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		for i, v := range values {
			values[i] = strings.Join(strings.Fields(v), " ")
		}
		fmt.Fprintf(&b, "%s:%s\n", name, strings.Join(values, ","))
	}
	fmt.Fprintf(&b, "\n%s\n%s", strings.Join(signed, ";"), payloadHash(r))
	return b.String()
}

func payloadHash(r *http.Request) string {
	if hash := r.Header.Get("X-Amz-Content-Sha256"); hash != "" {
		return hash
	}
	return "UNSIGNED-PAYLOAD"
}
