// Package byterange implements the HTTP ranges (RFC 9110, 14) that Rialto uses: it requests a range, parses the range of an answer, and decides which range the server serves.
package byterange

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Header returns the value of Range for length bytes from offset on. length is at least 1.
func Header(offset, length int64) string {
	return "bytes=" + strconv.FormatInt(offset, 10) + "-" + strconv.FormatInt(offset+length-1, 10)
}

// Content is the range that an answer has.
type Content struct {
	// From is the offset of its first byte, Length the number of its bytes, and Size that of the file. They are valid: 0 ≤ From, 0 < Length ≤ Size - From.
	From, Length, Size int64
}

var errContent = errors.New("it is no range of bytes")

// ParseContent reads the value of Content-Range, as bytes 0-99/1000. A range of a file whose size is not known is an error.
func ParseContent(value string) (Content, error) {
	fail := func() (Content, error) { return Content{}, fmt.Errorf("Content-Range %q: %w", value, errContent) }
	text, ok := strings.CutPrefix(value, "bytes ")
	first, text, isRange := strings.Cut(text, "-")
	last, size, isSized := strings.Cut(text, "/")
	if !ok || !isRange || !isSized {
		return fail()
	}
	var numbers [3]int64
	for i, digits := range []string{first, last, size} {
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			return fail()
		}
		numbers[i] = int64(n)
	}
	from, to, of := numbers[0], numbers[1], numbers[2]
	if to < from || of <= to {
		return fail()
	}
	return Content{From: from, Length: to - from + 1, Size: of}, nil
}

// LimitToOne makes a request for several ranges one for the whole file, as HTTP allows. Many small ranges cost more than the file: each has a header, and may be a
// request of its own to where the file is. Origins and edges so answer alike.
func LimitToOne(r *http.Request) {
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range")
	}
}

// FirstByte returns the offset of the first byte that a value of Range names in a file with a size; 0 if it names none. The value has one range.
func FirstByte(value string, size int64) int64 {
	spec, ok := strings.CutPrefix(value, "bytes=")
	if !ok {
		return 0
	}
	from, to, _ := strings.Cut(strings.TrimSpace(spec), "-")
	if from == "" {
		n, err := strconv.ParseInt(to, 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return max(size-n, 0)
	}
	n, err := strconv.ParseInt(from, 10, 64)
	if err != nil || n < 0 || n >= size {
		return 0
	}
	return n
}
