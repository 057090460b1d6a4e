package edge

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/signedurl"
)

// Prefixes of what an edge serves.
const (
	MediaPrefix = "/v1/media/"
	VideoPrefix = "/v1/video/"
)

var errNoFile = errs.New(errs.NotFound, "no_file", "there is no such file")

// maxName is the longest name of a video's file, and maxSignature that of a signature.
const maxName, maxSignature = 160, 64

// address is what a signed URL says. Its signature is not checked yet.
type address struct {
	// scope is what a signature is for: a file, or all files of a video for those who see a post. It contains the signature.
	scope string
	// group of the copies: what is purged together.
	group string
	// post by which the files may be seen; empty: none.
	post string
	// name of the file in its group.
	name string
	// target is the path and the query, in the one spelling that the origin is asked for.
	target string
	ends   time.Time
}

// isMedia reports whether the group is one file.
func (a *address) isMedia() bool { return a.name == "" }

// parse reads a URL.
func parse(u *url.URL) (*address, error) {
	path := u.EscapedPath()
	if rest, ok := strings.CutPrefix(path, MediaPrefix); ok {
		q := u.Query()
		return parseMedia(rest, q)
	}
	if rest, ok := strings.CutPrefix(path, VideoPrefix); ok {
		return parseVideo(rest)
	}
	return nil, errNoFile
}

// parseMedia reads UPLOAD?exp=EXPIRY&sig=SIGNATURE, which may begin with post=POST or comment=COMMENT: what shows the file.
func parseMedia(upload string, q url.Values) (*address, error) {
	exp, sig := q.Get("exp"), q.Get("sig")
	ends, err := parseExpiry(exp)
	switch {
	case !isNumber(upload):
		return nil, errNoFile
	case err != nil || !isSignature(sig):
		return nil, signedurl.ErrBad
	}
	a := &address{group: FileTag(upload), target: MediaPrefix + upload + "?", ends: ends}
	for _, by := range []string{"post", "comment"} {
		number := q.Get(by)
		if number == "" {
			continue
		}
		if !isNumber(number) {
			return nil, signedurl.ErrBad
		}
		if by == "post" {
			a.post = PostTag(number)
		}
		a.target += by + "=" + number + "&"
		break // as the origin reads it
	}
	a.target += "exp=" + exp + "&sig=" + sig
	a.scope = a.target
	return a, nil
}

// parseVideo reads VIDEO/POST-EXPIRY-SIGNATURE/FILE.
func parseVideo(rest string) (*address, error) {
	video, rest, _ := strings.Cut(rest, "/")
	token, name, _ := strings.Cut(rest, "/")
	if !isNumber(video) || !isName(name) {
		return nil, errNoFile
	}
	post, signed, _ := strings.Cut(token, "-")
	exp, sig, _ := strings.Cut(signed, "-")
	ends, err := parseExpiry(exp)
	if err != nil || !isNumber(post) || !isSignature(sig) {
		return nil, signedurl.ErrBad
	}
	a := &address{scope: VideoPrefix + video + "/" + token, group: VideoTag(video), name: name, ends: ends}
	a.target = a.scope + "/" + name
	if post != "0" {
		a.post = PostTag(post)
	}
	return a, nil
}

func parseExpiry(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return time.Time{}, signedurl.ErrBad
	}
	return time.Unix(n, 0), nil
}

// isNumber reports whether a text is an id in its one spelling.
func isNumber(text string) bool {
	n, err := strconv.ParseUint(text, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == text
}

func isSignature(text string) bool {
	return text != "" && len(text) <= maxSignature && !strings.ContainsFunc(text, func(r rune) bool { return r != '-' && r != '_' && !isAlphanumeric(r) })
}

// isName reports whether a text is the name of a file in at most two folders.
func isName(text string) bool {
	if len(text) > maxName || strings.Count(text, "/") > 2 {
		return false
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == "" || part[0] == '.' || strings.ContainsFunc(part, func(r rune) bool { return r != '.' && r != '-' && r != '_' && !isAlphanumeric(r) }) {
			return false
		}
	}
	return true
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
