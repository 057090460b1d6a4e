package media

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	tusPrefix  = "/v1/tus/"
	tusVersion = "1.0.0"
	// maxMetadata of an upload, in bytes. The server keeps it as it came.
	maxMetadata = 4 << 10
	// maxConcatenated uploads in one.
	maxConcatenated = 100
)

var (
	errTusMetadata = errs.New(errs.Invalid, "bad_metadata", "Upload-Metadata has pairs of a key and a Base64 value, separated by commas, 4 KiB in all")
	errTusChecksum = errs.New(errs.Invalid, "bad_checksum", "Upload-Checksum is one of sha1, sha256 and md5, a space, and the checksum in Base64")
	errTusConcat   = errs.New(errs.Invalid, "bad_concat", "Upload-Concat is partial, or final; and 1 to 100 URLs of complete partial uploads, each once, separated by spaces")
	errTusLength   = errs.New(errs.Invalid, "bad_size", "give Upload-Length, the size of the file in bytes")
	errTusOffset   = errs.New(errs.Invalid, "bad_offset", "give Upload-Offset, a number of bytes")
)

// parseTusNumber reads a number of bytes as tus writes it: digits only.
func parseTusNumber(text string) (int64, bool) {
	if text == "" || len(text) > 18 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// parseTusMetadata returns the file's name in an Upload-Metadata, empty if there is none.
func parseTusMetadata(header string) (name string, err error) {
	if len(header) > maxMetadata {
		return "", errTusMetadata
	}
	if header == "" {
		return "", nil
	}
	seen := map[string]bool{}
	for _, pair := range strings.Split(header, ",") {
		key, encoded, _ := strings.Cut(strings.TrimSpace(pair), " ")
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || key == "" || seen[key] || strings.Trim(key, asciiGraphic) != "" {
			return "", errTusMetadata
		}
		seen[key] = true
		if key == "filename" || key == "name" && name == "" {
			if !utf8.Valid(value) {
				return "", errTusMetadata
			}
			name = string(value)
		}
	}
	return name, nil
}

// asciiGraphic are the printable characters of ASCII but the comma.
const asciiGraphic = "!\"#$%&'()*+-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// parseTusChecksum returns the algorithm of an Upload-Checksum, and the expected sum; nil if there is none.
func parseTusChecksum(header string) (sum hash.Hash, expected []byte, err error) {
	if header == "" {
		return nil, nil, nil
	}
	name, encoded, _ := strings.Cut(header, " ")
	switch name {
	case "sha1":
		sum = sha1.New()
	case "sha256":
		sum = sha256.New()
	case "md5":
		sum = md5.New()
	default:
		return nil, nil, errTusChecksum
	}
	expected, err = base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(expected) != sum.Size() {
		return nil, nil, errTusChecksum
	}
	return sum, expected, nil
}

// parseTusConcat reads an Upload-Concat: whether the upload is a part of another, or the parts of which it consists.
func parseTusConcat(header string) (partial bool, of []id.Upload, err error) {
	if header == "" {
		return false, nil, nil
	}
	if header == "partial" {
		return true, nil, nil
	}
	list, ok := strings.CutPrefix(header, "final;")
	urls := strings.Fields(list)
	if !ok || len(urls) == 0 || len(urls) > maxConcatenated {
		return false, nil, errTusConcat
	}
	for _, url := range urls {
		at := strings.LastIndex(url, tusPrefix)
		if at < 0 {
			return false, nil, errTusConcat
		}
		n, err := strconv.ParseUint(url[at+len(tusPrefix):], 10, 63)
		if err != nil || slices.Contains(of, id.Upload(n)) {
			return false, nil, errTusConcat
		}
		of = append(of, id.Upload(n))
	}
	return false, of, nil
}

// tusMethod is the method of a request. Clients behind proxies that know no PATCH name it in a header.
func tusMethod(r *http.Request) string {
	if m := r.Header.Get("X-HTTP-Method-Override"); m != "" && r.Method == http.MethodPost {
		return m
	}
	return r.Method
}
