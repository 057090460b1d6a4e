package media_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// aliceSession is the session in which alice creates keys.
const aliceSession id.Session = 5

// s3Client is a client that was not written for Rialto, with the keys of one upload.
func (r *fixture) s3Client(server *httptest.Server, keys *chatv1.UploadCredentials, trailing bool) *minio.Core {
	r.t.Helper()
	c, err := minio.NewCore(strings.TrimPrefix(server.URL, "http://"), &minio.Options{Creds: credentials.NewStaticV4(keys.AccessKey, keys.SecretKey, ""), Region: keys.Region, BucketLookup: minio.BucketLookupPath, TrailingHeaders: trailing, MaxRetries: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *fixture) s3Upload(size int) (*chatv1.MultipartUpload, *chatv1.UploadCredentials) {
	r.t.Helper()
	m := r.multipart(alice, size)
	keys, err := r.CreateUploadCredentials(r.t.Context(), id.Caller{User: alice, Session: aliceSession}, id.Upload(m.Upload))
	if err != nil {
		r.t.Fatal(err)
	}
	return m, keys
}

// TestUploadByS3Client: the multipart upload of an S3 SDK, unmodified, in parallel, with signed chunks, and with checksums in trailers.
func TestUploadByS3Client(t *testing.T) {
	r := open(t, media.Config{})
	r.clock.ms.Store(time.Now().UnixMilli())
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	for what, c := range map[string]struct {
		file    []byte
		options minio.PutObjectOptions
	}{
		"one part":        {threeParts[:1000], minio.PutObjectOptions{}},
		"signed chunks":   {threeParts, minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 3}},
		"checked by MD5":  {threeParts[:5<<20+1], minio.PutObjectOptions{PartSize: 5 << 20, SendContentMd5: true}},
		"checksum":        {threeParts[:5<<20+1], minio.PutObjectOptions{PartSize: 5 << 20, Checksum: minio.ChecksumCRC32C}},
		"unsigned chunks": {threeParts[:5<<20+1], minio.PutObjectOptions{PartSize: 5 << 20, DisableContentSha256: true}},
	} {
		m, keys := r.s3Upload(len(c.file))
		client := r.s3Client(server, keys, true)
		if _, err := client.Client.PutObject(t.Context(), keys.Bucket, keys.Key, bytes.NewReader(c.file), int64(len(c.file)), c.options); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if u, err := r.CompleteUpload(t.Context(), alice, id.Upload(m.Upload)); err != nil || u.Size != uint64(len(c.file)) {
			t.Errorf("%s: upload %v, want %d bytes; error %v", what, u, len(c.file), err)
		}
		if w := r.request(http.MethodGet, r.url(m.Upload), nil); !bytes.Equal(w.Body.Bytes(), c.file) {
			t.Errorf("%s: the download has status %d, %d bytes", what, w.Code, w.Body.Len())
		}
	}
}

// TestS3Refusals: the keys of one upload permit nothing else, and what is wrong is refused with a code of S3.
func TestS3Refusals(t *testing.T) {
	r := open(t, media.Config{})
	r.clock.ms.Store(time.Now().UnixMilli())
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	m, keys := r.s3Upload(len(threeParts))
	other, _ := r.s3Upload(10)
	otherKey := id.Upload(other.Upload).String()
	client := r.s3Client(server, keys, false)
	ctx := t.Context()
	part := func(c *minio.Core, key, upload string, number int, b []byte) (minio.ObjectPart, error) {
		return c.PutObjectPart(ctx, keys.Bucket, key, upload, number, bytes.NewReader(b), int64(len(b)), minio.PutObjectPartOptions{})
	}
	upload, err := client.NewMultipartUpload(ctx, keys.Bucket, keys.Key, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last, err := part(client, keys.Key, upload, 3, piece(threeParts, 3))
	if err != nil {
		t.Fatal(err)
	}
	changed := proto.CloneOf(keys)
	changed.SecretKey = keys.SecretKey + "x"
	extended := proto.CloneOf(keys)
	extended.AccessKey += "0"
	refused := func(what string, err error, code string) {
		t.Helper()
		if got := minio.ToErrorResponse(err); err == nil || got.Code != code || got.Message == "" {
			t.Errorf("%s: %v, code %s, want %s", what, err, got.Code, code)
		}
	}
	_, err = part(client, otherKey, otherKey, 1, []byte("0123456789"))
	refused("another upload", err, "AccessDenied")
	_, err = part(r.s3Client(server, changed, false), keys.Key, upload, 1, piece(threeParts, 1))
	refused("another secret", err, "SignatureDoesNotMatch")
	_, err = part(r.s3Client(server, extended, false), keys.Key, upload, 1, piece(threeParts, 1))
	refused("a later expiry", err, "SignatureDoesNotMatch")
	_, err = part(client, keys.Key, otherKey, 1, piece(threeParts, 1))
	refused("another upload's id", err, "NoSuchUpload")
	_, err = part(client, keys.Key, upload, 4, []byte("x"))
	refused("a part beyond the end", err, "InvalidRequest")
	_, err = part(client, keys.Key, upload, 1, piece(threeParts, 3))
	refused("a short part", err, "InvalidRequest")
	_, err = client.CompleteMultipartUpload(ctx, keys.Bucket, keys.Key, upload, []minio.CompletePart{{PartNumber: 1, ETag: last.ETag}}, minio.PutObjectOptions{})
	refused("a part that was not put", err, "InvalidPart")
	_, err = client.CompleteMultipartUpload(ctx, keys.Bucket, keys.Key, upload, nil, minio.PutObjectOptions{})
	refused("no part", err, "InvalidPart")
	r.wantMissing("after refusals", m.Upload, 1, 2)
	if err := client.AbortMultipartUpload(ctx, keys.Bucket, keys.Key, upload); err != nil {
		t.Error(err)
	}
	_, err = part(client, keys.Key, upload, 1, piece(threeParts, 1))
	refused("after the abort", err, "NoSuchUpload")
	r.clock.ms.Add(16 * time.Minute.Milliseconds())
	_, err = part(client, keys.Key, upload, 1, piece(threeParts, 1))
	refused("another time", err, "AccessDenied")
	r.clock.ms.Add(24 * time.Hour.Milliseconds())
	_, err = part(client, keys.Key, upload, 1, piece(threeParts, 1))
	refused("expired", err, "AccessDenied")
}

// TestS3KeysEndWithTheirSession: who logs out a stolen device ends the keys that it has. They do not name another session.
func TestS3KeysEndWithTheirSession(t *testing.T) {
	r := open(t, media.Config{})
	r.clock.ms.Store(time.Now().UnixMilli())
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	m, keys := r.s3Upload(len(threeParts))
	part := func(keys *chatv1.UploadCredentials, number int) string {
		b := piece(threeParts, number)
		_, err := r.s3Client(server, keys, false).PutObjectPart(t.Context(), keys.Bucket, keys.Key, keys.Key, number, bytes.NewReader(b), int64(len(b)), minio.PutObjectPartOptions{})
		return minio.ToErrorResponse(err).Code
	}
	other := proto.CloneOf(keys)
	other.AccessKey = strings.TrimSuffix(keys.AccessKey, "-5")
	if code := part(other, 3); code != "SignatureDoesNotMatch" {
		t.Errorf("keys without their session: %s", code)
	}
	if code := part(keys, 3); code != "" {
		t.Errorf("before the logout: %s", code)
	}
	r.endSession(aliceSession)
	if code := part(keys, 1); code != "AccessDenied" {
		t.Errorf("after the logout: %s", code)
	}
	r.wantMissing("after the logout", m.Upload, 1, 2)
}

// TestPartsAfterTheJoin are compared until the upload is complete, and refused afterwards: no bytes are acknowledged and discarded.
func TestPartsAfterTheJoin(t *testing.T) {
	r := open(t, media.Config{})
	r.clock.ms.Store(time.Now().UnixMilli())
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	file, other := []byte("0123456789"), []byte("0123456780")
	m, keys := r.s3Upload(len(file))
	client := r.s3Client(server, keys, false)
	put := func(b []byte) (minio.UploadInfo, error) {
		return client.PutObject(t.Context(), keys.Bucket, keys.Key, bytes.NewReader(b), int64(len(b)), "", "", minio.PutObjectOptions{})
	}
	first, err := put(file)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := put(file); err != nil || again.ETag != first.ETag {
		t.Errorf("the same bytes: %v, %v; want %s", again.ETag, err, first.ETag)
	}
	if w := r.putPart(m.Upload, 1, file); w.Code != http.StatusOK || w.Header().Get("ETag") != `"`+first.ETag+`"` {
		t.Errorf("the same bytes to the part's URL: %d %v", w.Code, w.Header())
	}
	if info, err := put(other); minio.ToErrorResponse(err).Code != "OperationAborted" {
		t.Errorf("other bytes: %v, %v", info, err)
	}
	wantStatus(t, "other bytes to the part's URL", r.putPart(m.Upload, 1, other), http.StatusConflict, "part_differs")
	url := r.partURL(m.Upload, 1)
	r.wantFile(m.Upload, file)
	for _, b := range [][]byte{file, other} {
		wantStatus(t, "after the completion", r.request(http.MethodPut, url, bytes.NewReader(b)), http.StatusConflict, "upload_complete")
	}
}

// TestTruncatedChunks are the client's error, wherever they end, and not the server's.
func TestTruncatedChunks(t *testing.T) {
	const body = "a;chunk-signature=x\r\n0123456789\r\n0;chunk-signature=x\r\n"
	for n := range len(body) {
		_, err := io.ReadAll(media.UnsignedChunks(strings.NewReader(body[:n]), ""))
		wantError(t, body[:n], err, errs.Invalid, "bad_chunk")
	}
	if b, err := io.ReadAll(media.UnsignedChunks(strings.NewReader(body), "")); err != nil || string(b) != "0123456789" {
		t.Errorf("the whole body: %q, %v", b, err)
	}
	cut := io.MultiReader(strings.NewReader(body[:25]), iotest.ErrReader(io.ErrUnexpectedEOF)) // a lost connection
	if _, err := io.ReadAll(media.UnsignedChunks(cut, "")); !errs.Is(err, errs.Unavailable) {
		t.Errorf("a lost connection: %v", err)
	}
}

// s3Request is a signed request that no S3 client would send.
func (r *fixture) s3Request(server *httptest.Server, keys *chatv1.UploadCredentials, method, query, body string, change func(*http.Request)) (status int, answer string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, server.URL+"/"+keys.Bucket+"/"+keys.Key+query, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	q = signer.SignV4(*q, keys.AccessKey, keys.SecretKey, "", keys.Region)
	if change != nil {
		change(q)
	}
	w, err := server.Client().Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return w.StatusCode, string(b)
}

// TestListOfPartsIsBounded by the parts that are stored: the server keeps the whole list in memory.
func TestListOfPartsIsBounded(t *testing.T) {
	r := open(t, media.Config{})
	r.clock.ms.Store(time.Now().UnixMilli())
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	file := []byte("0123456789")
	_, keys := r.s3Upload(len(file))
	part, err := r.s3Client(server, keys, false).PutObjectPart(t.Context(), keys.Bucket, keys.Key, keys.Key, 1, bytes.NewReader(file), int64(len(file)), minio.PutObjectPartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list := "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" + part.ETag + "</ETag></Part>" + strings.Repeat(" ", 10_000) + "</CompleteMultipartUpload>"
	if status, answer := r.s3Request(server, keys, http.MethodPost, "?uploadId="+keys.Key, list, nil); status != http.StatusBadRequest || !strings.Contains(answer, "<Code>InvalidPart</Code>") {
		t.Errorf("a list of one part with 10 KB of space: %d %s", status, answer)
	}
	if status, answer := r.s3Request(server, keys, http.MethodPost, "?uploadId="+keys.Key, strings.Replace(list, strings.Repeat(" ", 10_000), "", 1), nil); status != http.StatusOK {
		t.Errorf("the list: %d %s", status, answer)
	}
}

// TestSignaturesAreCheap: before the signature is known to be right, a request makes the server hash each of its headers once, and none if its time is wrong.
func TestSignaturesAreCheap(t *testing.T) {
	r := open(t, media.Config{})
	r.clock.ms.Store(time.Now().UnixMilli())
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	_, keys := r.s3Upload(10)
	authorization := func(from, to string) func(*http.Request) {
		return func(q *http.Request) {
			a := q.Header.Get("Authorization")
			if !strings.Contains(a, from) {
				t.Fatalf("the header Authorization lacks %q: %s", from, a)
			}
			q.Header.Set("Authorization", strings.Replace(a, from, to, 1))
		}
	}
	for what, c := range map[string]struct {
		change func(*http.Request)
		answer string
	}{
		"a header named twice":     {authorization("SignedHeaders=host;", "SignedHeaders=host;host;"), "SignedHeaders"},
		"headers in another order": {authorization("host;x-amz-content-sha256;x-amz-date", "x-amz-date;host;x-amz-content-sha256"), "SignedHeaders"},
		"another time, a wrong signature": {func(q *http.Request) {
			q.Header.Set("X-Amz-Date", time.Now().UTC().Add(-16*time.Minute).Format("20060102T150405Z"))
			authorization("/"+time.Now().UTC().Format("20060102")+"/", "/"+time.Now().UTC().Add(-16*time.Minute).Format("20060102")+"/")(q)
		}, "bad_clock"},
	} {
		if status, answer := r.s3Request(server, keys, http.MethodPost, "?uploads", "", c.change); status < 400 || !strings.Contains(answer, c.answer) {
			t.Errorf("%s: %d %s; want %s", what, status, answer, c.answer)
		}
	}
}
