package media

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/byterange"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// inlineTypes are the types that a browser may show in place. It saves all others as files.
var inlineTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "audio/mpeg": true, "audio/wave": true,
	"application/ogg": true, "audio/ogg": true, "video/mp4": true, "video/webm": true}

// Handler serves uploads and downloads under /v1/media/.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+prefix+"{upload}", s.instrumented(http.MethodPut, s.servePut))
	mux.HandleFunc("GET "+prefix+"{upload}", s.instrumented(http.MethodGet, s.serveDownload))
	mux.HandleFunc("PUT "+prefix+"{upload}/parts/{part}", s.instrumentedAs("PUT "+prefix+"parts/", s.servePutPart, s.fail))
	s.handleTus(mux)
	s.handleS3(mux)
	return mux
}

// instrumented serves the requests of a method, writes their errors, and measures their latency until the last byte.
func (s *Service) instrumented(method string, serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return s.instrumentedAs(method+" "+prefix, serve, s.fail)
}

// instrumentedAs is instrumented with another name, and another form of errors.
func (s *Service) instrumentedAs(name string, serve func(http.ResponseWriter, *http.Request) error, fail func(http.ResponseWriter, error)) http.HandlerFunc {
	figures := s.deps.Calls.Add(name)
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		err := serve(w, r)
		if err != nil {
			fail(w, err)
		}
		if r.Context().Err() == nil { // otherwise the client has disconnected
			figures.Done(uint32(began.Nanosecond()), time.Since(began), err)
		}
	}
}

// signed checks a URL for one of some verbs, and returns the verb for which it was issued.
func (s *Service) signed(r *http.Request, verbs ...string) (n id.Upload, verb string, err error) {
	q := r.URL.Query()
	for _, verb := range verbs {
		if n, err = s.parseURL(verb, r.PathValue("upload"), q.Get("exp"), q.Get("sig")); !errors.Is(err, signedurl.ErrBad) {
			return n, verb, err
		}
	}
	return 0, "", signedurl.ErrBad
}

func (s *Service) parseURL(verb, name, exp, sig string) (id.Upload, error) {
	if err := s.urls.Check(verb, name, exp, sig); err != nil {
		return 0, err
	}
	return parseUpload(name)
}

// parseUpload reads the id in a path.
func parseUpload(name string) (id.Upload, error) {
	n, err := strconv.ParseUint(name, 10, 63)
	if err != nil {
		return 0, errNoUpload
	}
	return id.Upload(n), nil
}

func (s *Service) servePut(w http.ResponseWriter, r *http.Request) error {
	n, _, err := s.signed(r, "put")
	if err == nil {
		err = s.receive(w, r, n)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Service) receive(w http.ResponseWriter, r *http.Request, n id.Upload) error {
	ctx := r.Context()
	u, err := s.get(ctx, n)
	if err != nil {
		return err
	}
	body := inputlimit.NewBody(w, r, outputlimit.TransferTimeout(u.declared))
	ctx, leave := s.active.add(ctx, partID{n, wholeUpload}, maxConcurrentPuts, body)
	defer leave()
	if u.stored > 0 { // a client that missed the response retries
		_, err := io.Copy(io.Discard, io.LimitReader(body, u.declared+1))
		return err
	}
	if r.ContentLength >= 0 && r.ContentLength != u.declared {
		return errs.New(errs.Invalid, "wrong_size", "the file does not have the declared size")
	}
	attempt, err := s.beginAttempt(ctx, n)
	if err != nil {
		return err
	}
	sum, err := s.put(ctx, n, attempt, body, u.declared)
	if err != nil {
		return body.Cause(err)
	}
	failpoint.Hit("media/file-stored")
	first, err := s.update(ctx, nil, `UPDATE uploads SET stored = $1, checksum = $2, checksum_piece = $3 WHERE id = $4 AND stored = 0 AND complete = 0`, attempt, sum.sum, sum.piece, int64(n))
	if err != nil || first {
		return err // after an error it is unknown which attempt is stored; the sweep deletes all others
	}
	if err := s.deps.Store.Delete(ctx, blobKey(n, attempt)); err != nil {
		return err
	}
	_, err = s.get(ctx, n) // another attempt was first, or the upload was dropped
	return err
}

func (s *Service) serveDownload(w http.ResponseWriter, r *http.Request) error {
	n, u, verb, err := s.requested(r)
	if err != nil {
		return err
	}
	f, err := s.openStored(r.Context(), blobKey(n, u.stored), u.declared)
	if err != nil {
		return err
	}
	defer f.Close()
	if verb == "avatar" || verb == verbComment {
		w.Header().Set("Surrogate-Control", "max-age=1") // an edge asks again: nobody tells it of another avatar, or of a hidden comment
	}
	byterange.LimitToOne(r)
	h := w.Header()
	disposition := "attachment"
	if inlineTypes[u.mime] {
		disposition = "inline"
		h.Set("Content-Type", u.mime)
	} else {
		h.Set("Content-Type", "application/octet-stream")
	}
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": strings.TrimPrefix(u.name, exportPrefix)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	policy := "same-site"
	if s.config.Origin != "" {
		policy = "cross-origin" // the page that shows it may have another origin
	}
	h.Set("Cross-Origin-Resource-Policy", policy)
	h.Set("Cache-Control", "private, max-age=43200, immutable")
	h.Set("ETag", `"`+n.String()+`"`)
	w = outputlimit.ForFile(w, r, u.declared)
	if cached, ok := f.(*blockcache.Reader); ok {
		return blockcache.ServeContent(w, r, time.UnixMilli(u.createdMs), cached)
	}
	http.ServeContent(w, r, "", time.UnixMilli(u.createdMs), f)
	return nil
}

// openStored opens a stored file.
func (s *Service) openStored(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error) {
	if s.deps.Files != nil {
		return s.deps.Files.Open(ctx, key, size)
	}
	f, _, err := s.deps.Store.Open(ctx, key)
	return f, err
}

// fail writes an error response.
func (s *Service) fail(w http.ResponseWriter, err error) {
	if errs.Is(err, errs.Internal) {
		s.deps.Logger.Error("a file could not be served", "error", err)
	}
	errs.WriteHTTP(w, err)
}
