package media

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/engine/blob"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A multipart upload has a row in upload_multiparts, and one in upload_parts for each part whose bytes are durable. Presigned parts, S3
// clients and tus write the same rows. docs/decisions/0106-ledger-of-parts.md explains why.

const (
	// partsAttempt is the attempt of the bytes of parts: no other attempt begins before they are joined.
	partsAttempt = 1
	// maxPartSize that a client may choose. A store may keep a part in memory.
	maxPartSize = 16 << 20
	// maxSignedParts in one call.
	maxSignedParts = 100
)

// protocol by which the bytes of a multipart upload come.
type protocol int

const (
	byParts      protocol = 0 // by number: presigned URLs, or an S3 client
	byTus        protocol = 1 // by offset
	byTusPartial protocol = 2 // by offset, to be concatenated with others
	byTusFinal   protocol = 3 // concatenated of others
)

// multipart is a row of upload_multiparts.
type multipart struct {
	layout
	protocol                 protocol
	metadata                 string // of tus, as the client sent it; of parts by number, the purpose
	concat                   string // of tus, as the client sent it
	session                  string // of the store; empty: none has begun
	tail, tailSize, tailPart int64  // the stored bytes of an incomplete part of tus; tail 0: none
}

// layout is how a file is divided: all parts but the last have the same size.
type layout struct{ size, part int64 }

func (l layout) count() int { return int((l.size + l.part - 1) / l.part) }

// at returns a part of the file, or false if it has none with this number.
func (l layout) at(number int) (blob.Part, bool) {
	if number < 1 || number > l.count() {
		return blob.Part{}, false
	}
	offset := int64(number-1) * l.part
	return blob.Part{Number: number, Offset: offset, Size: min(l.part, l.size-offset)}, true
}

var (
	errNoParts        = errs.New(errs.Invalid, "not_multipart", "this upload has no parts; put the file to its URL, or create it with CreateMultipartUpload")
	errIsTus          = errs.New(errs.Invalid, "wrong_protocol", "this upload was created by tus: continue it with PATCH at its own address")
	errIsNotTus       = errs.New(errs.Invalid, "wrong_protocol", "this upload was not created by tus: continue it in parts, with SignParts or an S3 client")
	errUploadComplete = errs.New(errs.Conflict, "upload_complete", "the upload is complete; it is deleted with the messages, posts and videos that name it")
	errPartsComplete  = errs.New(errs.Conflict, "upload_complete", "the upload is complete, so this part is not compared any more; to upload another file, create another upload")
	errNotUploaded    = errs.New(errs.Invalid, "not_uploaded", "put the file's bytes to the upload's URL first")
	errBadPart        = errs.New(errs.Invalid, "bad_part", "the upload has no part with this number; GetMultipartUpload names the parts")
)

// CreateMultipartUpload creates an upload whose bytes come in parts.
func (s *Service) CreateMultipartUpload(ctx context.Context, u id.User, r *chatv1.CreateMultipartUploadRequest) (*chatv1.MultipartUpload, error) {
	if err := s.checkSize(r.Size); err != nil {
		return nil, err
	}
	part := blob.PartSize(int64(r.Size))
	if r.PartSize != 0 {
		if r.PartSize < uint64(part) || r.PartSize > uint64(max(maxPartSize, part)) {
			return nil, errs.New(errs.Invalid, "bad_part_size", fmt.Sprintf("a part of this file has %d to %d bytes", part, max(maxPartSize, part)))
		}
		part = int64(r.PartSize)
	}
	if err := checkPurpose(r.Purpose); err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now()
	n, err := s.insertMultipart(ctx, u, r.Name, multipart{layout: layout{int64(r.Size), part}, metadata: r.Purpose}, now)
	if err != nil {
		return nil, err
	}
	return describeParts(n, layout{int64(r.Size), part}, nil, now.UnixMilli()), nil
}

// insertMultipart creates an upload with a ledger.
func (s *Service) insertMultipart(ctx context.Context, u id.User, name string, m multipart, now time.Time) (id.Upload, error) {
	return s.insertUpload(ctx, u, name, uint64(m.size), now, func(tx *sql.Tx, n id.Upload) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO upload_multiparts (upload, part_size, protocol, metadata, concat) VALUES ($1, $2, $3, $4, $5)`, int64(n), m.part, int64(m.protocol), m.metadata, m.concat)
		return err
	})
}

// describeParts returns what a client needs to continue. present are the numbers of the stored parts, in order.
func describeParts(n id.Upload, l layout, present []int, createdMs int64) *chatv1.MultipartUpload {
	out := &chatv1.MultipartUpload{Upload: uint64(n), Size: uint64(l.size), PartSize: uint64(l.part), Parts: uint32(l.count()), ExpiresMs: createdMs + unfinishedRetention.Milliseconds()}
	for number := 1; number <= l.count(); number++ {
		if len(present) > 0 && present[0] == number {
			present = present[1:]
			continue
		}
		out.Missing = append(out.Missing, uint32(number))
	}
	return out
}

// GetMultipartUpload says which parts of a user's upload are missing, and has the checksums of the others.
func (s *Service) GetMultipartUpload(ctx context.Context, by id.User, n id.Upload) (*chatv1.MultipartUpload, error) {
	u, m, err := s.ownMultipart(ctx, by, n)
	if err != nil {
		return nil, err
	}
	parts, err := s.listParts(ctx, n)
	if err != nil {
		return nil, err
	}
	present := make([]int, len(parts))
	sums := make([][]byte, len(parts))
	for i, p := range parts {
		present[i] = p.number
		if sums[i], err = hex.DecodeString(p.checksum); err != nil {
			return nil, fmt.Errorf("the checksum of part %d of upload %d: %w", p.number, n, err)
		}
	}
	out := describeParts(n, m.layout, present, u.createdMs)
	out.Checksums = sums
	if u.stored > 0 { // joined; once it is complete, the ledger is empty
		out.Missing = nil
	}
	return out, nil
}

// SignParts returns a URL for each of some parts.
func (s *Service) SignParts(ctx context.Context, by id.User, r *chatv1.SignPartsRequest) (*chatv1.SignPartsResponse, error) {
	if len(r.Parts) == 0 || len(r.Parts) > maxSignedParts {
		return nil, inputlimit.ErrParts
	}
	n := id.Upload(r.Upload)
	_, m, err := s.ownMultipart(ctx, by, n)
	if err != nil {
		return nil, err
	}
	if m.protocol != byParts {
		return nil, errIsTus
	}
	ends := s.deps.Clock.Now().Add(urlLifetime)
	out := &chatv1.SignPartsResponse{ExpiresMs: ends.UnixMilli()}
	for _, number := range r.Parts {
		p, ok := m.at(int(number))
		if !ok {
			return nil, errBadPart
		}
		out.Urls = append(out.Urls, s.signPart(n, p, ends))
	}
	return out, nil
}

// signPart returns a URL for the bytes of one part, of its size, of one upload.
func (s *Service) signPart(n id.Upload, p blob.Part, ends time.Time) string {
	exp, number, size := signedurl.Expiry(ends), strconv.Itoa(p.Number), strconv.FormatInt(p.Size, 10)
	return s.config.Origin + prefix + n.String() + "/parts/" + number + "?size=" + size + "&exp=" + exp + "&sig=" + s.urls.Sign("part", n.String()+"/"+number+"/"+size, exp)
}

// AbortUpload drops a user's upload that is not complete, and its bytes.
func (s *Service) AbortUpload(ctx context.Context, by id.User, n id.Upload) error {
	u, err := s.get(ctx, n)
	switch {
	case err != nil:
		return err
	case u.owner != by:
		return errNoUpload
	case u.complete > 0:
		return errUploadComplete
	}
	a := abandoned{id: n}
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT owner, attempts FROM uploads WHERE id = $1`, int64(n)).Scan(&a.owner, &a.attempts); err != nil {
		return err
	}
	defer s.active.evict(n)
	if err := s.drop(ctx, a); err != nil {
		return err
	}
	if _, err := s.get(ctx, n); !errors.Is(err, errNoUpload) {
		return cmp.Or(err, error(errUploadComplete)) // it has just been completed
	}
	return nil
}

// ownMultipart returns a user's own upload that has parts. For all others it fails as if there were none.
func (s *Service) ownMultipart(ctx context.Context, by id.User, n id.Upload) (upload, multipart, error) {
	u, err := s.get(ctx, n)
	if err == nil && u.owner != by {
		err = errNoUpload
	}
	if err != nil {
		return u, multipart{}, err
	}
	m, err := s.multipart(ctx, n, u)
	return u, m, err
}

func (s *Service) multipart(ctx context.Context, n id.Upload, u upload) (m multipart, err error) {
	m.size = u.declared
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT part_size, protocol, metadata, concat, session, tail, tail_size, tail_part FROM upload_multiparts WHERE upload = $1`, int64(n)).
		Scan(&m.part, &m.protocol, &m.metadata, &m.concat, &m.session, &m.tail, &m.tailSize, &m.tailPart)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoParts
	}
	return m, err
}
