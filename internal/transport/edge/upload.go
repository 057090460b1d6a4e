package edge

import (
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/signedurl"
)

// S3Prefix is the path of uploads by S3 clients.
const S3Prefix = "/rialto-uploads/"

const (
	// uploadsAtOnce bounds the uploads in progress, each of which has a connection to an origin.
	uploadsAtOnce = 64
	// uploadsOfNetwork bounds those of one network: a client that sends many parts slowly must not keep all others waiting. Common S3 clients send ten parts at once. The /48 of an IPv6 address
	// has three quarters of all.
	uploadsOfNetwork = 12
	// joinTime is how long an origin may take to answer beyond the transfer: it may join parts.
	joinTime        = 2 * time.Minute
	maxUploadAnswer = 64 << 10
)

var (
	errUploads  = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "too many files are being sent through this edge, from this address or in all; try again", Retry: time.Second}
	errNoUpload = errs.New(errs.NotFound, "no_upload", "there is no such upload")
)

// newUploads returns the origins for uploads. They have connections and circuits of their own: uploads last as long as their clients want.
func newUploads(calls *outgoing.Calls, config Config) (*egress.Servers, error) {
	return egress.NewServers(config.Origins, egress.Config{AllowPrivate: true, Kind: outgoing.EdgeUpload, Calls: calls, Timeout: askTimeout, MaxAnswer: maxUploadAnswer})
}

// isUpload reports whether a request is one that an origin takes: a presigned file or part, or one of an S3 client.
func isUpload(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, S3Prefix) {
		return r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodDelete
	}
	return r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, MediaPrefix)
}

// serveUpload sends an upload to an origin as it comes, and keeps nothing of it.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	answer, err := s.upload(w, r)
	switch {
	case err == nil:
		s.stats.Uploads.Add(1)
	case r.Context().Err() != nil && !errors.Is(err, inputlimit.ErrStalled):
		panic(http.ErrAbortHandler) // the client has gone; after a return, net/http would say that the upload is stored
	case errs.IsRefusal(err), errors.Is(err, errUploads):
		s.stats.RefusedUploads.Add(1)
	default:
		s.stats.FailedUploads.Add(1)
	}
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		errs.WriteHTTP(w, err)
		return
	}
	for name, values := range answer.Header {
		if !isOfConnection(name) && !strings.HasPrefix(name, "Access-Control-") && name != "Vary" { // those are the edge's own
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // the client may have gone
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) (*egress.Answer, error) {
	u, group, err := s.parseUpload(r)
	if err != nil {
		return nil, err
	}
	var network netip.Prefix
	if s.deps.Network != nil {
		network = s.deps.Network(r)
	}
	slot, ok := s.uploadSlots.Acquire(network)
	if !ok {
		return nil, errUploads
	}
	defer slot.Release()
	within := outputlimit.TransferTimeout(max(r.ContentLength, 0))
	if r.ContentLength < 0 {
		within = outputlimit.TransferTimeout(unknownLength)
	}
	body := inputlimit.NewPacedBody(w, r, within, uploadWait)
	defer body.Close() // it cannot fail
	u.Body, u.Length, u.Timeout = body, r.ContentLength, within+joinTime
	h := fnv.New32a()
	_, _ = io.WriteString(h, group) // it cannot fail
	answer, err := s.uploads.Stream(r.Context(), h.Sum32(), u)
	if err = body.Cause(err); err == nil || errors.Is(err, inputlimit.ErrStalled) || r.Context().Err() != nil {
		return answer, err
	}
	return nil, errOrigin(err)
}

// uploadWait is how long the edge waits in all for a number of bytes of an upload. It is a quarter as strict as the time for the whole upload: among many parts at once, one may be starved
// for minutes by the others.
func uploadWait(bytes int64) time.Duration { return outputlimit.TransferTimeout(4 * bytes) }

// unknownLength is the size for which an upload of unknown size gets the time, as its bytes arrive.
const unknownLength = 1 << 30

// parseUpload checks the form of an upload, whose signature the origin checks, and returns what the origin is asked, and the group of the upload.
func (s *Server) parseUpload(r *http.Request) (u egress.Upload, group string, err error) {
	u.Method = r.Method
	if name, ok := strings.CutPrefix(r.URL.EscapedPath(), S3Prefix); ok {
		if !isNumber(name) {
			return u, "", errNoUpload
		}
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
			return u, "", signedurl.ErrBad
		}
		// The signature is of the query, of the host, and of any header.
		u.Target, u.Host, u.Header = r.URL.RequestURI(), r.Host, http.Header{}
		for field, values := range r.Header {
			if !isOfConnection(field) && !isOfClient(field) {
				u.Header[field] = values
			}
		}
		u.Header.Set("Proxy-Authorization", "Bearer "+s.config.Secret)
		return u, FileTag(name), nil
	}
	name, ok := strings.CutPrefix(r.URL.EscapedPath(), MediaPrefix)
	name, part, isPart := strings.Cut(name, "/parts/")
	if !ok || !isNumber(name) || isPart && !isNumber(part) {
		return u, "", errNoUpload
	}
	u.Target, err = s.uploadTarget(name, part, r.URL.Query())
	u.Header = http.Header{"Proxy-Authorization": {"Bearer " + s.config.Secret}}
	for _, field := range []string{"Content-Type", "Content-Digest"} {
		if value := r.Header.Get(field); value != "" {
			u.Header.Set(field, value)
		}
	}
	return u, FileTag(name), err
}

// uploadTarget is the target of a presigned upload, or of a part of one.
func (s *Server) uploadTarget(name, part string, q url.Values) (string, error) {
	target := MediaPrefix + name + "?"
	if part != "" {
		size := q.Get("size")
		if !isNumber(size) {
			return "", signedurl.ErrBad
		}
		target = MediaPrefix + name + "/parts/" + part + "?size=" + size + "&"
	}
	exp, sig := q.Get("exp"), q.Get("sig")
	if _, err := parseExpiry(exp); err != nil || !isSignature(sig) {
		return "", signedurl.ErrBad
	}
	return target + "exp=" + exp + "&sig=" + sig, nil
}

// isOfConnection reports whether a header is not for what is behind the other end of a connection.
func isOfConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length":
		return true
	}
	return false
}

// isOfClient reports whether a header tells of a client what an origin would believe, or does not need.
func isOfClient(name string) bool {
	return name == "Cookie" || name == "Origin" || name == "Forwarded" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-")
}
