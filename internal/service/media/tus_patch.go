package media

import (
	"bytes"
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// maxBuffers is how many bodies without a length may keep a part in memory at once; others wait.
const maxBuffers = 8

// serveTusPatch appends bytes to an upload. A later request for the same upload ends an earlier one, whose connection is probably broken.
func (s *Service) serveTusPatch(w http.ResponseWriter, r *http.Request) error {
	n, u, m, err := s.ownTus(r)
	if err != nil {
		return err
	}
	if m.protocol == byTusFinal {
		return errTusFinal
	}
	if r.Header.Get("Content-Type") != "application/offset+octet-stream" {
		return errTusType
	}
	from, ok := parseTusNumber(r.Header.Get("Upload-Offset"))
	if !ok {
		return errTusOffset
	}
	sum, expected, err := parseTusChecksum(r.Header.Get("Upload-Checksum"))
	if err != nil {
		return err
	}
	body := &uploadBody{from: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(transferTimeout(u.declared - min(from, u.declared)))}
	ctx, leave := s.active.add(r.Context(), partID{upload: n}, 1, body)
	defer leave()
	unlock, err := s.locks.lock(ctx, partID{upload: n})
	if err != nil {
		return body.classify(err)
	}
	defer unlock()
	if u, err = s.get(ctx, n); err == nil { // what the request before it has stored
		m, err = s.multipart(ctx, n, u)
	}
	if err != nil {
		return err
	}
	offset, err := s.tusOffset(ctx, n, u, m)
	switch {
	case err != nil:
		return err
	case from != offset:
		return errTusConflict
	case r.ContentLength > u.declared-offset:
		return errTusTooLarge
	}
	a := &tusAppend{service: s, n: n, m: m, offset: offset, length: r.ContentLength, body: body, sum: sum, expected: expected}
	if err := a.run(ctx); err != nil {
		return body.classify(err)
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(a.offset, 10))
	setTusExpires(w, u.createdMs)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// tusAppend appends the bytes of one request.
type tusAppend struct {
	service  *Service
	n        id.Upload
	m        multipart
	offset   int64
	length   int64 // of the body's rest; -1: unknown
	body     io.Reader
	sum      hash.Hash // nil: no checksum
	expected []byte
	// Durable, but not recorded before the checksum is known to be right.
	parts []storedPart
	after *tail
}

// run stores the body part by part. Each is recorded when it is durable; if there is a checksum, all are recorded at the end.
func (a *tusAppend) run(ctx context.Context) error {
	s := a.service
	if a.sum != nil {
		a.body = io.TeeReader(a.body, a.sum)
	}
	if err := s.deleteTails(ctx, a.n); err != nil {
		return err
	}
	if a.length < 0 {
		select {
		case s.buffers <- struct{}{}:
			defer func() { <-s.buffers }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for more := a.length != 0; more && a.offset < a.m.size; {
		var err error
		if more, err = a.step(ctx); err != nil {
			return err
		}
		if a.sum == nil {
			if err := a.record(ctx); err != nil {
				return err
			}
		}
	}
	if k, err := io.ReadFull(a.body, make([]byte, 1)); k > 0 { // only of a body without a length
		return errTusTooLarge
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	if a.sum == nil {
		return nil
	}
	if subtle.ConstantTimeCompare(a.sum.Sum(nil), a.expected) != 1 {
		return errors.Join(errTusSum, a.forget(ctx))
	}
	return a.record(ctx)
}

// step stores the bytes up to the end of a part, or of the body.
func (a *tusAppend) step(ctx context.Context) (more bool, err error) {
	p, _ := a.m.at(int(a.offset/a.m.part) + 1)
	within := a.offset - p.Offset
	take := p.Size - within
	src := io.LimitReader(a.body, take)
	broken := error(nil)
	if a.length < 0 {
		buffered, err := io.ReadAll(src)
		if err != nil && (a.sum != nil || len(buffered) == 0) {
			return false, err
		}
		broken = err // what came before is kept
		more = int64(len(buffered)) == take && err == nil
		take = int64(len(buffered))
		src = bytes.NewReader(buffered)
	} else {
		take = min(take, a.length)
		src = io.LimitReader(a.body, take)
		a.length -= take
		more = a.length > 0
	}
	if take == 0 {
		return false, broken
	}
	if within > 0 {
		f, _, err := a.service.deps.Store.Open(ctx, tailKey(a.n, a.m.tail))
		if err != nil {
			return false, err
		}
		defer f.Close()
		src = io.MultiReader(io.LimitReader(f, within), src)
	}
	if within+take == p.Size {
		var stored storedPart
		if stored, err = a.service.putPart(ctx, a.n, a.m, p, src); err != nil {
			return false, err
		}
		a.parts, a.after = append(a.parts, stored), nil
	} else if err = a.putTail(ctx, p, within+take, src); err != nil {
		return false, err
	}
	a.offset += take
	if broken != nil {
		err = errors.Join(broken, a.record(ctx))
	}
	return more, err
}

// putTail stores the beginning of a part.
func (a *tusAppend) putTail(ctx context.Context, p blob.Part, size int64, r io.Reader) error {
	s := a.service
	t := &tail{part: int64(p.Number), size: size}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `UPDATE upload_multiparts SET tails = tails + 1 WHERE upload = $1 RETURNING tails`, int64(a.n)).Scan(&t.number)
	})
	if err != nil {
		return err
	}
	if err := s.deps.Store.Put(ctx, tailKey(a.n, t.number), r, size); err != nil {
		return err
	}
	a.after = t
	return nil
}

// record records what is durable. A tail of an upload that was dropped meanwhile is deleted.
func (a *tusAppend) record(ctx context.Context) error {
	if len(a.parts) == 0 && a.after == nil {
		return nil
	}
	err := a.service.recordParts(ctx, a.n, a.parts, a.after)
	if err == nil {
		a.parts, a.after = nil, nil
		return nil
	}
	if _, gerr := a.service.get(context.WithoutCancel(ctx), a.n); errors.Is(gerr, errNoUpload) {
		return errors.Join(gerr, a.forget(ctx))
	}
	return err
}

// forget deletes a tail that is not recorded. Parts are written again.
func (a *tusAppend) forget(ctx context.Context) error {
	if a.after == nil {
		return nil
	}
	return a.service.deps.Store.Delete(context.WithoutCancel(ctx), tailKey(a.n, a.after.number))
}
