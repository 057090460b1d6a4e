package media

import (
	"bytes"
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"image"
	_ "image/gif" // the formats of pictures
	_ "image/jpeg"
	_ "image/png"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	_ "golang.org/x/image/webp" // a format of pictures
)

const (
	maxPixels    = 40_000_000  // of an image that is shown as one; more is a file
	maxAnimation = 100_000_000 // pixels of all its frames, likewise
)

// timeFor so many bytes, at the slowest.
func timeFor(bytes int64) time.Duration {
	const slowest = 16 << 10 // bytes a second
	return time.Minute + time.Duration(bytes/slowest)*time.Second
}

// inspect finds a file's type and, of an image, its size in pixels, and cuts out of an image what only tells of it.
func (s *Service) inspect(ctx context.Context, n id.Upload, u *upload) error {
	f, size, err := s.deps.Store.Open(ctx, keyOf(n, u.stored))
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	k, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	u.mime, _, err = mime.ParseMediaType(http.DetectContentType(head[:k]))
	if err != nil {
		u.mime = "application/octet-stream"
	}
	if cuts[u.mime] == nil {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	config, _, bad := image.DecodeConfig(f)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	kept, err := cutImage(f, u.mime)
	if err != nil {
		return err
	}
	pixels := int64(config.Width) * int64(config.Height)
	if bad == nil && config.Width > 0 && config.Height > 0 && pixels <= maxPixels && pixels*int64(max(kept.frames, 1)) <= maxAnimation {
		u.width, u.height = int64(config.Width), int64(config.Height)
	} else {
		u.mime = "application/octet-stream" // nobody's browser shall unpack it
	}
	if kept.turned {
		u.width, u.height = u.height, u.width
	}
	if !kept.changed(size) {
		return nil
	}
	// As another attempt: what is read is never changed.
	attempt, err := s.attempt(ctx, n)
	if err != nil {
		return err
	}
	u.stored, u.declared = attempt, kept.size
	return s.deps.Store.Put(ctx, keyOf(n, attempt), &cutFile{file: f, pieces: kept.pieces}, kept.size)
}

// attempt begins one at storing an upload's bytes.
func (s *Service) attempt(ctx context.Context, n id.Upload) (attempt int64, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `UPDATE uploads SET attempts = attempts + 1 WHERE id = $1 RETURNING attempts`, int64(n)).Scan(&attempt)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoUpload
	}
	return attempt, err
}

// shown are the types that a browser may show in place; all else is saved.
var shown = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "audio/mpeg": true, "audio/wave": true,
	"application/ogg": true, "audio/ogg": true, "video/mp4": true, "video/webm": true}

// Handler takes and gives the bytes under /v1/media/.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+prefix+"{upload}", s.put)
	mux.HandleFunc("GET "+prefix+"{upload}", s.give)
	return mux
}

// signed checks a URL.
func (s *Service) signed(verb string, r *http.Request) (id.Upload, error) {
	name, q := r.PathValue("upload"), r.URL.Query()
	exp, sig := q.Get("exp"), q.Get("sig")
	if subtle.ConstantTimeCompare([]byte(sig), []byte(s.signature(verb, name, exp))) != 1 {
		return 0, errs.New(errs.Denied, "bad_url", "this URL is not one that the server gave for this")
	}
	ends, err := strconv.ParseInt(exp, 10, 64)
	if err != nil || s.deps.Clock.Now().Unix() >= ends {
		return 0, errs.New(errs.Denied, "url_expired", "this URL has expired; ask for another")
	}
	n, err := strconv.ParseUint(name, 10, 63)
	if err != nil {
		return 0, errNoUpload
	}
	return id.Upload(n), nil
}

func (s *Service) put(w http.ResponseWriter, r *http.Request) {
	n, err := s.signed("put", r)
	if err == nil {
		err = s.take(w, r, n)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Service) take(w http.ResponseWriter, r *http.Request, n id.Upload) error {
	ctx := r.Context()
	u, err := s.get(ctx, n)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeFor(u.declared))) // see give
	if u.stored > 0 {                                                                      // a client that did not hear of it tries again
		_, err := io.Copy(io.Discard, io.LimitReader(r.Body, u.declared+1))
		return err
	}
	if r.ContentLength >= 0 && r.ContentLength != u.declared {
		return errs.New(errs.Invalid, "wrong_size", "the file has not the size that was declared")
	}
	attempt, err := s.attempt(ctx, n)
	if err != nil {
		return err
	}
	if err := s.deps.Store.Put(ctx, keyOf(n, attempt), r.Body, u.declared); err != nil {
		return err
	}
	first, err := s.set(ctx, `UPDATE uploads SET stored = $1 WHERE id = $2 AND stored = 0 AND complete = 0`, attempt, int64(n))
	if err != nil || first {
		return err // after an error nobody knows which attempt is stored; the sweep finds them all
	}
	if err := s.deps.Store.Delete(ctx, keyOf(n, attempt)); err != nil {
		return err
	}
	_, err = s.get(ctx, n) // another attempt was first, or the upload is gone
	return err
}

func (s *Service) give(w http.ResponseWriter, r *http.Request) {
	n, err := s.signed("get", r)
	if err != nil {
		s.fail(w, err)
		return
	}
	u, err := s.get(r.Context(), n)
	if err == nil && u.complete == 0 {
		err = errNoUpload
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	f, _, err := s.deps.Store.Open(r.Context(), keyOf(n, u.stored))
	if err != nil {
		s.fail(w, err)
		return
	}
	defer f.Close()
	// A writer without deadlines, as a recorder in a test, has no slow client either.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeFor(u.declared)))
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // many small parts cost more than the whole
	}
	h := w.Header()
	disposition := "attachment"
	if shown[u.mime] {
		disposition = "inline"
		h.Set("Content-Type", u.mime)
	} else {
		h.Set("Content-Type", "application/octet-stream")
	}
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": u.name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-site")
	h.Set("Cache-Control", "private, max-age=43200, immutable")
	h.Set("ETag", `"`+n.String()+`"`)
	http.ServeContent(w, r, "", time.UnixMilli(u.createdMs), f)
}

var statuses = map[errs.Kind]int{errs.Invalid: 400, errs.NotFound: 404, errs.Conflict: 409, errs.Denied: 403, errs.Unauthenticated: 401, errs.Exhausted: 429, errs.Unavailable: 503}

// fail answers an error, in Connect's form.
func (s *Service) fail(w http.ResponseWriter, err error) {
	e := errs.Of(err)
	status, ok := statuses[e.Kind]
	if !ok {
		status = http.StatusInternalServerError
		s.deps.Logger.Error("a file could not be served", "error", err)
	}
	body, jerr := json.Marshal(map[string]string{"code": e.Kind.String(), "reason": e.Reason, "message": e.Message})
	if jerr != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	if e.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
	}
	w.WriteHeader(status)
	_, _ = io.Copy(w, bytes.NewReader(body)) // the client may have gone
}
