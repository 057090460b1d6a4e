package media

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// tus 1.0 (https://tus.io/protocols/resumable-upload) over the ledger of parts: the core, and the extensions creation, termination, checksum,
// expiration and concatenation. CompleteUpload makes a file of an upload whose bytes have all arrived.

// tusError is an error with a status that its kind does not have.
type tusError struct {
	status int
	cause  *errs.Error
}

func (e *tusError) Error() string { return e.cause.Error() }

// Unwrap returns the error with its kind.
func (e *tusError) Unwrap() error { return e.cause }

var (
	errTusVersion  = &tusError{http.StatusPreconditionFailed, errs.New(errs.Invalid, "wrong_version", "send the header Tus-Resumable: "+tusVersion)}
	errTusType     = &tusError{http.StatusUnsupportedMediaType, errs.New(errs.Invalid, "wrong_type", "send the header Content-Type: application/offset+octet-stream")}
	errTusTooLarge = &tusError{http.StatusRequestEntityTooLarge, errs.New(errs.Invalid, "wrong_size", "these bytes are more than the upload has left")}
	errTusSum      = &tusError{460, errs.New(errs.Invalid, "wrong_checksum", "the bytes do not have the given checksum; send them again")}
	errTusConflict = &tusError{http.StatusConflict, errs.New(errs.Conflict, "wrong_offset", "the upload has another offset; get it by HEAD and continue there")}
	errTusFinal    = &tusError{http.StatusForbidden, errs.New(errs.Denied, "final_upload", "an upload that was concatenated of others takes no bytes: create another upload")}
	errTusMethod   = &tusError{http.StatusMethodNotAllowed, errs.New(errs.Invalid, "wrong_method", "tus has OPTIONS and POST for all uploads, and HEAD, PATCH and DELETE for one")}
)

// handleTus registers the addresses of tus.
func (s *Service) handleTus(mux *http.ServeMux) {
	if s.deps.Authorize == nil {
		return
	}
	all := map[string]http.HandlerFunc{}
	for method, serve := range map[string]func(http.ResponseWriter, *http.Request) error{http.MethodOptions: s.serveTusOptions, http.MethodPost: s.serveTusCreate} {
		all[method] = s.instrumentedAs(method+" "+tusPrefix, s.withTusVersion(serve), s.failTus)
	}
	one := map[string]http.HandlerFunc{http.MethodOptions: all[http.MethodOptions]}
	for method, serve := range map[string]func(http.ResponseWriter, *http.Request) error{http.MethodHead: s.serveTusHead, http.MethodPatch: s.serveTusPatch, http.MethodDelete: s.serveTusDelete} {
		one[method] = s.instrumentedAs(method+" "+tusPrefix, s.withTusVersion(serve), s.failTus)
	}
	mux.HandleFunc(tusPrefix+"{$}", s.byTusMethod(all))
	mux.HandleFunc(tusPrefix+"{upload}", s.byTusMethod(one))
}

func (s *Service) byTusMethod(handlers map[string]http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Tus-Resumable", tusVersion)
		h.Set("Cache-Control", "no-store")
		if serve := handlers[tusMethod(r)]; serve != nil {
			serve(w, r)
			return
		}
		s.failTus(w, errTusMethod)
	}
}

// withTusVersion refuses requests of another version of tus. OPTIONS says which one it is.
func (s *Service) withTusVersion(serve func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if v := r.Header.Get("Tus-Resumable"); v != tusVersion && r.Method != http.MethodOptions {
			w.Header().Set("Tus-Version", tusVersion)
			return errTusVersion
		}
		return serve(w, r)
	}
}

// failTus writes an error response.
func (s *Service) failTus(w http.ResponseWriter, err error) {
	if special := (*tusError)(nil); errors.As(err, &special) {
		errs.WriteHTTPStatus(w, special.cause, special.status)
		return
	}
	s.fail(w, err)
}

func (s *Service) serveTusOptions(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", "creation,termination,checksum,expiration,concatenation")
	h.Set("Tus-Max-Size", strconv.FormatUint(s.config.MaxSize, 10))
	h.Set("Tus-Checksum-Algorithm", "sha1,sha256,md5")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) serveTusCreate(w http.ResponseWriter, r *http.Request) error {
	by, err := s.deps.Authorize(r, true)
	if err != nil {
		return err
	}
	metadata := r.Header.Get("Upload-Metadata")
	name, err := parseTusMetadata(metadata)
	if err != nil {
		return err
	}
	partial, of, err := parseTusConcat(r.Header.Get("Upload-Concat"))
	if err != nil {
		return err
	}
	now := s.deps.Clock.Now()
	var n id.Upload
	if of != nil {
		n, err = s.concatenate(r.Context(), by, name, multipart{protocol: byTusFinal, metadata: metadata, concat: r.Header.Get("Upload-Concat")}, of, now)
	} else {
		n, err = s.createTus(r, by, name, metadata, partial, now)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", tusPrefix+n.String())
	setTusExpires(w, now.UnixMilli())
	w.WriteHeader(http.StatusCreated)
	return nil
}

func (s *Service) createTus(r *http.Request, by id.User, name, metadata string, partial bool, now time.Time) (id.Upload, error) {
	size, ok := parseTusNumber(r.Header.Get("Upload-Length"))
	if !ok {
		return 0, errTusLength
	}
	if err := s.checkSize(uint64(size)); err != nil {
		if size > 0 {
			return 0, &tusError{http.StatusRequestEntityTooLarge, errs.Of(err)}
		}
		return 0, err
	}
	m := multipart{layout: layout{size, blob.PartSize(size)}, protocol: byTus, metadata: metadata}
	if partial {
		m.protocol, m.concat = byTusPartial, "partial"
	}
	return s.insertMultipart(r.Context(), by, name, m, now)
}

// setTusExpires says when an upload that is not complete is dropped.
func setTusExpires(w http.ResponseWriter, createdMs int64) {
	w.Header().Set("Upload-Expires", time.UnixMilli(createdMs).Add(unfinishedRetention).UTC().Format(http.TimeFormat))
}

// ownTus returns the upload of a request, which must be the caller's, and by tus.
func (s *Service) ownTus(r *http.Request) (n id.Upload, u upload, m multipart, err error) {
	by, err := s.deps.Authorize(r, false)
	if err != nil {
		return 0, u, m, err
	}
	if n, err = parseUpload(r.PathValue("upload")); err != nil {
		return 0, u, m, err
	}
	u, m, err = s.ownMultipart(r.Context(), by, n)
	if err == nil && m.protocol == byParts {
		err = errIsNotTus
	}
	return n, u, m, err
}

func (s *Service) serveTusHead(w http.ResponseWriter, r *http.Request) error {
	n, u, m, err := s.ownTus(r)
	if err != nil {
		return err
	}
	offset, err := s.tusOffset(r.Context(), n, u, m)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Upload-Offset", strconv.FormatInt(offset, 10))
	h.Set("Upload-Length", strconv.FormatInt(u.declared, 10))
	if m.metadata != "" {
		h.Set("Upload-Metadata", m.metadata)
	}
	if m.concat != "" {
		h.Set("Upload-Concat", m.concat)
	}
	if u.complete == 0 {
		setTusExpires(w, u.createdMs)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// tusOffset returns how many bytes from the beginning on are stored.
func (s *Service) tusOffset(ctx context.Context, n id.Upload, u upload, m multipart) (int64, error) {
	if u.stored > 0 {
		return u.declared, nil
	}
	parts, err := s.listParts(ctx, n)
	if err != nil {
		return 0, err
	}
	var offset int64
	for i, p := range parts {
		if p.number != i+1 {
			break
		}
		offset += p.size
	}
	if m.tail > 0 && (m.tailPart-1)*m.part == offset {
		offset += m.tailSize
	}
	return offset, nil
}

func (s *Service) serveTusDelete(w http.ResponseWriter, r *http.Request) error {
	n, u, _, err := s.ownTus(r)
	if err == nil {
		err = s.AbortUpload(r.Context(), u.owner, n)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
