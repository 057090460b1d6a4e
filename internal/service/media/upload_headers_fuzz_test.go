package media_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/service/media"
)

// FuzzTusHeaders: what is accepted means what it says, and nothing makes a parser fail.
func FuzzTusHeaders(f *testing.F) {
	for _, text := range []string{"", "0", "007", "-1", "+1", "999999999999999999", "9999999999999999999", "filename d29ybGQ=,private", "filename d29ybGQ=,filename d29ybGQ=", "name /w==", "a ,b",
		"sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "md5 AAAAAAAAAAAAAAAAAAAAAA==", "sha1", "sha512 AA==", "partial", "final;/v1/tus/1 /v1/tus/2", "final;https://a/v1/tus/1", "final;", "final;/v1/tus/x",
		"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", "md5=:x:, sha-256=:x:", "\x00", strings.Repeat("a ,", 5000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := media.ParseTusNumber(text); ok && (n < 0 || strings.TrimLeft(text, "0") != strings.TrimLeft(strconv.FormatInt(n, 10), "0")) {
			t.Errorf("%q is the number %d", text, n)
		}
		if name, err := media.ParseTusMetadata(text); err == nil && (!utf8.ValidString(name) || len(text) > 4<<10 || name != "" && !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(name)))) {
			t.Errorf("%.50q has the name %q", text, name)
		}
		if partial, of, err := media.ParseTusConcat(text); err == nil {
			if len(of) > 100 || partial && of != nil || !partial && of == nil && text != "" {
				t.Errorf("%q: partial %v, of %v", text, partial, of)
			}
			for _, n := range of {
				if !strings.Contains(text, "/v1/tus/") || n > 1<<63-1 {
					t.Errorf("%q is of %d", text, n)
				}
			}
		}
		if sum, expected, err := media.ParseTusChecksum(text); err == nil && (sum == nil) != (text == "") || err == nil && sum != nil && len(expected) != sum.Size() {
			t.Errorf("%q: %d bytes", text, len(expected))
		}
		if sum, err := media.ParseContentDigest(text); err == nil && sum != nil && len(sum) != 32 {
			t.Errorf("%q: %d bytes", text, len(sum))
		}
	})
}

// FuzzS3Headers: an accepted Authorization has all that a signature needs, and an accepted list of parts is in order.
func FuzzS3Headers(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=1-2/20260101/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + strings.Repeat("a", 64))
	f.Add("AWS4-HMAC-SHA256 Credential=1-2/20260101/us-east-1/s3/aws4_request,SignedHeaders=,Signature=" + strings.Repeat("a", 64))
	f.Add("AWS4-HMAC-SHA256 Credential=////,SignedHeaders=host,Signature=")
	f.Add("AWS4-HMAC-SHA256 ")
	f.Add("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>")
	f.Add("<CompleteMultipartUpload><Part><PartNumber>2</PartNumber></Part></CompleteMultipartUpload>")
	f.Add("<!DOCTYPE a [<!ENTITY b \"c\">]><CompleteMultipartUpload>&b;</CompleteMultipartUpload>")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := media.ParseS3Authorization(text); err == nil && (!strings.HasPrefix(text, "AWS4-HMAC-SHA256 ") || !strings.Contains(text, "/s3/aws4_request") || !strings.Contains(text, "host")) {
			t.Errorf("%q is accepted", text)
		}
		if parts, err := media.ParsePartList([]byte(text)); err == nil {
			for i, p := range parts {
				if p.PartNumber != i+1 {
					t.Errorf("%q: part %d is the %dth", text, p.PartNumber, i+1)
				}
			}
		}
	})
}

// FuzzChunks: the decoded bytes are those that were encoded; a changed body gives no other bytes without an error.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("hello"), 2, "")
	f.Add([]byte(""), 1, "")
	f.Add([]byte("0123456789"), 100, "5\r\nhello\r\n0\r\n\r\n")
	f.Add([]byte("x"), 1, "ffffffffff\r\n")
	f.Add([]byte("x"), 1, "-1\r\n")
	f.Add([]byte("x"), 1, strings.Repeat("0", 300)+"\r\n")
	f.Fuzz(func(t *testing.T, file []byte, chunk int, raw string) {
		if got, err := io.ReadAll(media.UnsignedChunks(strings.NewReader(raw), "")); err == nil && len(got) >= len(raw) {
			t.Errorf("%d bytes came of %d", len(got), len(raw))
		}
		if chunk < 1 {
			return
		}
		var body bytes.Buffer
		for rest := file; len(rest) > 0; {
			n := min(chunk, len(rest))
			fmt.Fprintf(&body, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		body.WriteString("0\r\n\r\n")
		if got, err := io.ReadAll(media.UnsignedChunks(bytes.NewReader(body.Bytes()), "")); err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s came of %s, %v", hex.EncodeToString(got), hex.EncodeToString(file), err)
		}
		if _, err := io.ReadAll(media.UnsignedChunks(bytes.NewReader(body.Bytes()[:body.Len()-5]), "")); err == nil && len(file) > 0 {
			t.Error("a body without its last chunk is accepted")
		}
	})
}
