package media

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

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
	body := inputlimit.NewBody(w, r, outputlimit.TransferTimeout(u.declared-min(from, u.declared)))
	ctx, leave := s.active.add(r.Context(), partID{n, wholeUpload}, 1, body)
	defer leave()
	unlock, err := s.locks.lock(ctx, partID{n, wholeUpload})
	if err != nil {
		return body.Cause(err)
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
	a := &tusAppend{service: s, n: n, by: u.owner, m: m, offset: offset, length: r.ContentLength, body: body, sum: sum, expected: expected}
	if err := a.run(ctx); err != nil {
		return body.Cause(err)
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
	by       id.User
	m        multipart
	offset   int64
	length   int64 // of the body's rest; -1: unknown
	body     io.Reader
	sum      hash.Hash // nil: no checksum
	expected []byte
	// Durable, but not recorded. If there is a checksum, parts are not recorded before it is known to be right.
	parts []storedPart
	after *tail
}

// store makes a part durable, and records it unless there is a checksum. The next part is read then only: so a kill costs a client no more than the part that was on its way.
func (a *tusAppend) store(ctx context.Context, p blob.Part, r io.Reader) error {
	var err error
	if a.m.session, err = a.service.beginSession(ctx, a.n, a.m); err != nil {
		return err
	}
	part, err := a.service.putPart(ctx, a.n, a.m, p, r)
	if err != nil {
		return err
	}
	if a.parts = append(a.parts, part); a.sum == nil {
		return a.record(context.WithoutCancel(ctx)) // it is durable, also if its request has ended
	}
	return nil
}

// run stores the body part by part. Each is recorded when it is durable; if there is a checksum, all are recorded at the end.
func (a *tusAppend) run(ctx context.Context) error {
	if err := a.receive(ctx); err != nil || a.sum == nil {
		return err
	}
	if subtle.ConstantTimeCompare(a.sum.Sum(nil), a.expected) != 1 {
		return errors.Join(errTusSum, a.forget(ctx))
	}
	return a.record(ctx)
}

// receive reads the body to its end.
func (a *tusAppend) receive(ctx context.Context) error {
	s := a.service
	if a.sum != nil {
		a.body = io.TeeReader(a.body, a.sum)
	}
	if err := s.deleteTails(ctx, a.n); err != nil {
		return err
	}
	for more := a.length != 0; more && a.offset < a.m.size; {
		var err error
		if more, err = a.step(ctx); err != nil {
			return err
		}
	}
	if k, err := io.ReadFull(a.body, make([]byte, 1)); k > 0 { // only of a body without a length
		return errTusTooLarge
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// step stores the bytes up to the end of a part, or of the body.
func (a *tusAppend) step(ctx context.Context) (more bool, err error) {
	p, _ := a.m.at(int(a.offset/a.m.part) + 1)
	within := a.offset - p.Offset
	take := p.Size - within
	src := io.LimitReader(a.body, take)
	broken := error(nil)
	if a.length < 0 {
		received, err := a.service.deps.Spool.Receive(ctx, src, take)
		if received == nil {
			return false, err
		}
		defer received.Close()
		if err != nil && (a.sum != nil || received.Size() == 0) {
			return false, err
		}
		broken = err // what came before is kept
		more = received.Size() == take && err == nil
		take = received.Size()
		src = received.Reader()
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
		if err := a.service.chargeRewrite(a.by, within, take); err != nil {
			return false, err
		}
		f, _, err := a.service.deps.Store.Open(ctx, tailKey(a.n, a.m.tail))
		if err != nil {
			return false, err
		}
		defer f.Close()
		src = io.MultiReader(io.LimitReader(f, within), src)
	}
	if within+take == p.Size {
		err = a.store(ctx, p, src)
	} else if err = a.putTail(ctx, p, within+take, src); err == nil && a.sum == nil {
		err = a.record(ctx)
	}
	if err != nil {
		return false, err
	}
	a.offset += take
	return more, broken
}

const (
	// freeRewrite is how many times its own bytes a request may write again what came before.
	freeRewrite = 4
	// rewriteRate and rewriteBurst bound what a user's short requests write again beyond it, in KiB a second and KiB.
	rewriteRate  = 4 << 10
	rewriteBurst = 64 << 10
)

// chargeRewrite counts that the beginning of a part is written again for a number of new bytes. Otherwise a byte at a time would write a part
// each.
func (s *Service) chargeRewrite(by id.User, again, added int64) error {
	excess := (again - freeRewrite*added + 1023) >> 10
	if excess <= 0 {
		return nil
	}
	if wait := s.rewrites.Allow(by, int(excess)); wait > 0 {
		return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_requests", Message: "many requests of tus with few bytes; wait, and send at least 1 MiB in each", Retry: wait}
	}
	return nil
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
